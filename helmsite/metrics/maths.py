r"""Equal answers in LaTeX, up to the ways of writing them that MATH's authors list.

The rules are those of Hendrycks et al. (2021) as HELM applies them: texts are compared,
nothing is computed, so 0.25 and \frac{1}{4} differ (0.5 alone is a special case).
"""

from __future__ import annotations

from helmsite.metrics.kinds import text_metric
from helmsite.schema import MetricFacts

_BOX = "\\boxed"
_UNIT = "\\text{ "
_FIRST = (
    ("\n", ""),
    ("\\!", ""),  # a negative space
    ("\\\\", "\\"),
    ("tfrac", "frac"),
    ("dfrac", "frac"),
    ("\\left", ""),
    ("\\right", ""),
    ("^{\\circ}", ""),
    ("^\\circ", ""),
    ("\\$", ""),
)
_AFTER_UNIT = (("\\%", ""), (" .", " 0."), ("{.", "{0."))


class UnclearError(Exception):
    """LaTeX that the rules do not cover; such texts are compared as they are."""


def canonical(text: str) -> str:
    """Return a formula in the one way of writing it that is compared.

    Raises:
        UnclearError: a fraction or root without anything behind it, or two units.
    """
    text = _replaced(text, _FIRST)
    if _UNIT in text:
        if text.count(_UNIT) > 1:
            raise UnclearError
        text = text.partition(_UNIT)[0]
    text = _replaced(text, _AFTER_UNIT)
    if not text:
        return text
    if text.startswith("."):
        text = f"0{text}"
    left, sign, right = text.partition("=")
    if sign and "=" not in right and len(left) <= 2:  # "k = 5"
        text = right
    text = _braced_fractions(_braced_roots(text).replace(" ", ""))
    return _fraction("\\frac{1}{2}" if text == "0.5" else text)


def boxed(text: str) -> str | None:
    r"""Return what stands in the last \boxed{...} of a solution, None without one."""
    start = text.rfind(_BOX)
    if start < 0 or not text.startswith(f"{_BOX}{{", start):
        return None
    depth = 0
    for place in range(start, len(text)):
        if text[place] == "{":
            depth += 1
        elif text[place] == "}":
            depth -= 1
            if depth == 0:
                return text[start + len(_BOX) + 1 : place]
    return None


def _replaced(text: str, pairs: tuple[tuple[str, str], ...]) -> str:
    for old, new in pairs:
        text = text.replace(old, new)
    return text


def _braced_roots(text: str) -> str:
    r"""Write \sqrt3 as \sqrt{3}."""
    head, *parts = text.split("\\sqrt")
    if not all(parts):
        raise UnclearError
    done = (p if p[0] == "{" else f"{{{p[0]}}}{p[1:]}" for p in parts)
    return "\\sqrt".join([head, *done])


def _braced_fractions(text: str) -> str:
    r"""Write \frac12 and \frac1{2} as \frac{1}{2}; a lone \frac1 leaves all as it is."""
    head, *parts = text.split("\\frac")
    done = [head]
    for part in parts:
        if not part:
            raise UnclearError
        if part[0] == "{":
            done.append(part)
        elif len(part) < 2:
            return text
        else:
            above, below = part[0], part[1]
            rest = part[1:] if below == "{" else f"{{{below}}}{part[2:]}"
            done.append(f"{{{above}}}{rest}")
    return "\\frac".join(done)


def _fraction(text: str) -> str:
    r"""Write a/b of two whole numbers as \frac{a}{b}."""
    above, _, below = text.partition("/")
    try:
        plain = f"{int(above)}/{int(below)}" == text
    except ValueError:
        return text
    return f"\\frac{{{above}}}{{{below}}}" if plain else text


def equal(gold: str, prediction: str) -> bool:
    """Say whether two formulas are the same once written alike."""
    try:
        return canonical(gold) == canonical(prediction)
    except UnclearError:
        return gold == prediction


@text_metric(
    MetricFacts(
        name="math_equiv",
        title="Equivalent",
        description="Share of instances whose answer is the same formula as a correct reference up to spacing, units and ways of writing fractions and roots.",
        family="accuracy",
        higher_is_better=True,
        format="share",
        source="HELM",
    )
)
def math_equiv(gold: str, prediction: str) -> float:
    """Return 1 if both are the same formula."""
    return float(equal(gold, prediction))


@text_metric(
    MetricFacts(
        name="math_equiv_chain_of_thought",
        title="Equivalent (chain of thought)",
        description="Share of instances whose last boxed formula is the same as that of a correct reference up to spacing, units and ways of writing fractions and roots.",
        family="accuracy",
        higher_is_better=True,
        format="share",
        source="HELM",
    )
)
def math_equiv_chain_of_thought(gold: str, prediction: str) -> float:
    """Return 1 if both last boxed formulas are the same, or neither has one."""
    expected, found = boxed(gold), boxed(prediction)
    if expected is None or found is None:
        return float(expected is found)
    return float(equal(expected, found))

"""Numbers as people read them."""

from __future__ import annotations

import datetime as dt
import math
from typing import TYPE_CHECKING

from helmsite.render.text import plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from helmsite.query.rows import Cell

HUGE = 1e12
ROUNDED = 1e5
DOT = "·"
MINUS = "−"
FAMILY_ORDER = (
    "accuracy",
    "calibration",
    "robustness",
    "fairness",
    "bias",
    "toxicity",
    "efficiency",
)
LAST_FAMILY = "general_information"
FAMILY_TITLES = {
    "bbq_metrics": "BBQ metrics",
    "apps_metrics": "APPS metrics",
    "calibration_detailed": "Calibration (detailed)",
    "robustness_detailed": "Robustness (detailed)",
    "fairness_detailed": "Fairness (detailed)",
    "efficiency_detailed": "Efficiency (detailed)",
}
"""Those of HELM's families whose title is not their name in plain words."""
HOLES = {
    "not run": "this model was not run here",
    "not reported": "the source does not report it",
    "not measurable": "the metric is not defined for this run",
    "failed": "every request failed",
    "not asked": "the run stopped before any instance was asked",
}


def unknown(raw: float) -> str:
    """Return what is shown for a number out of range: a question mark and the number."""
    return f"? ({raw:g})".replace("-", MINUS)


def hole(reason: str) -> str:
    """Return why a cell has no value, with what that means where it is known."""
    return f"{reason}: {HOLES[reason]}" if reason in HOLES else f"? ({plain(reason)})"


def hole_order(reason: str) -> tuple[int, str]:
    """Return a reason's place in a list: known ones first."""
    return (list(HOLES).index(reason) if reason in HOLES else len(HOLES), reason)


def significant(value: float) -> str:
    """Return three significant digits, without an exponent where that is readable.

    Whole numbers, and others below 100,000, keep the digits before the point.
    """
    size = abs(value)
    if not math.isfinite(value):
        return unknown(value)
    if value == 0:
        return "0"
    if size >= 1e9 or size < 1e-5:
        return f"{value:.2e}".replace("-", MINUS)
    if size >= ROUNDED and not value.is_integer():
        value = float(f"{value:.2e}")
    places = max(0, 2 - math.floor(math.log10(size)))
    return f"{value:,.{places}f}".replace("-", MINUS)


def value(number: float, form: str = "number") -> str:
    """Return a value in its metric's format: a share has three decimals."""
    if not math.isfinite(number) or abs(number) >= HUGE:
        return significant(number)
    if form == "share":
        return f"{number:.3f}".replace("-", MINUS)
    if form == "integer":
        return f"{number:,.0f}".replace("-", MINUS)
    if form == "seconds" and 0 < abs(number) < 1:
        return f"{significant(number * 1000)} ms"
    shown = significant(number)
    return f"{shown} s" if form == "seconds" else shown


def rough(number: float, form: str = "number") -> str:
    """Return a value for a sentence: two decimals for a share, else as in a table."""
    if form == "share" and (0.005 <= abs(number) <= 0.995 or number in {0, 1}):
        return f"{number:.2f}".replace("-", MINUS)
    return value(number, form)


def interval(cell: Cell, form: str = "number") -> str:
    """Return '95 % interval 0.25 to 0.37', '' without one."""
    if cell.ci_low is None or cell.ci_high is None:
        return ""
    return f"95 % interval {rough(cell.ci_low, form)} to {rough(cell.ci_high, form)}"


def count(number: int, noun: str = "", plural: str = "") -> str:
    """Return '1,200 runs', '1 run' or 'no runs'; a bare number without a noun."""
    if not noun:
        return f"{number:,}"
    word = noun if number == 1 else plural or f"{noun}s"
    return f"{number:,} {word}" if number else f"no {word}"


def parameters(number: int | None) -> str:
    """Return a model's size, as in 135M or 7.2B; '' if unknown."""
    if not number:
        return ""
    for unit, size in (("T", 1e12), ("B", 1e9), ("M", 1e6), ("K", 1e3)):
        if number >= size:
            return f"{number / size:.3g}{unit}"
    return str(number)


def moment(seconds: float | None, *, exact: bool = False) -> str:
    """Return a UTC date and time to the minute (`exact`: the second), '' if unknown."""
    if seconds is None:
        return ""
    try:
        at = dt.datetime.fromtimestamp(seconds, dt.UTC)
    except (ValueError, OverflowError, OSError):  # not a year from 1 to 9999
        return unknown(seconds)
    return f"{at.isoformat(' ', 'seconds')[: 19 if exact else 16]} UTC"


def day(seconds: float | None) -> str:
    """Return a UTC date, '' if unknown."""
    shown = moment(seconds)
    return shown if shown.startswith("?") else shown[:10]


def seconds(number: float) -> str:
    """Return a duration: 12 ms, 1.23 s, 4 min 5 s."""
    if not 0 <= number < HUGE:
        return unknown(number)
    if number < 0.001:
        return "under 1 ms"
    if number < 1:
        return f"{number * 1000:.0f} ms"
    if number < 100:
        return f"{significant(number)} s"
    minutes, rest = divmod(round(number), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def size(number: int) -> str:
    """Return a size in bytes, as in 89 KB."""
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("KB", 1e3)):
        if number >= factor:
            return f"{number / factor:.3g} {unit}"
    return f"{number} bytes"


def quoted(text: str) -> str:
    """Return a text as SQL writes it."""
    return "'" + text.replace("'", "''") + "'"


def listed(words: Sequence[str], joint: str = "and") -> str:
    """Return words as in a sentence: a, b and c."""
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} {joint} {words[-1]}"


def family(name: str) -> str:
    """Return what a family of metrics is called: "BBQ metrics", "General information"."""
    words = plain(name).replace("_", " ")
    return FAMILY_TITLES.get(name, words[:1].upper() + words[1:])


def families(names: Sequence[str]) -> list[str]:
    """Return families in HELM's order, then unknown ones by name, general facts last."""
    known = {name: place for place, name in enumerate(FAMILY_ORDER)}
    known[LAST_FAMILY] = len(known) + 1
    return sorted(names, key=lambda n: (known.get(n, len(known) - 1), n))

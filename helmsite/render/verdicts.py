"""Scores in words: a symbol and a word for each, never colour alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from markupsafe import Markup, escape

from helmsite.render import formats
from helmsite.render.blocks import Verdict
from helmsite.render.text import plain

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from helmsite.query.rows import TrialView
    from helmsite.schema import MetricFacts, Score

Key = tuple[str, str, float | None, str]

UNKNOWN = {
    "failed": ("failed", "!", "request failed"),
    "not asked": ("missing", "–", "not asked"),
    "not measurable": ("missing", "–", "not measurable"),
    "nan": ("missing", "–", "not a number"),
    "unparsed": ("missing", "?", "no answer found"),
    "": ("missing", "–", "not scored"),
}
ORDER = {"accuracy": 0}
FEW = 3
JUDGED = {"right", "wrong", "partly"}
FACTUAL = {"general_information", "efficiency"}
KNOWN = 500
MAIN = "main metric"


def _made(name: str, kind: str, symbol: str, word: str, answer: str = "") -> Verdict:
    mark = Markup(f"<b class={kind}>{escape(word)}</b>")  # noqa: S704 (escaped)
    return Verdict(name, kind, symbol, word, answer, mark)


OUTCOMES = {
    "1": _made(MAIN, "right", "✓", "right"),
    "0": _made(MAIN, "wrong", "✗", "wrong"),
    "p": _made(MAIN, "partly", "◐", "partly right"),
    "f": _made(MAIN, "failed", "!", "failed"),
    "-": _made(MAIN, "missing", "–", "not scored"),
}


def is_verdict(metric: MetricFacts | None) -> bool:
    """Return whether a metric judges an answer as right, partly right or wrong."""
    return (
        metric is not None
        and metric.family == "accuracy"
        and metric.format == "share"
        and metric.higher_is_better is True
    )


def verdict(
    score: Score, metric: MetricFacts | None, said: Collection[str] = ()
) -> Verdict:
    """Return a score with its symbol and word.

    The answer that was judged is left out where it is one of those `said` anyway.
    """
    name = plain(metric.title if metric else score.metric)
    name = f"{name} ({plain(score.scorer)})" if score.scorer else name
    answer = "" if score.text.strip() in said else plain(score.text[:300])[:200]
    if score.value is None:
        unknown = ("missing", "?", f"? ({plain(score.missing)})")
        kind, symbol, word = UNKNOWN.get(score.missing, unknown)
        return _made(name, kind, symbol, word, answer)
    form = metric.format if metric else "number"
    if not is_verdict(metric):
        return _made(name, "number", "", formats.value(score.value, form), answer)
    if score.value >= 1:
        return _made(name, "right", "✓", "right", answer)
    if score.value <= 0:
        return _made(name, "wrong", "✗", "wrong", answer)
    return _made(name, "partly", "◐", formats.value(score.value, form), answer)


class Verdicts:
    """The verdicts of a run. What many instances say alike is made once.

    Args:
        metrics: what is known of each metric, by its name.
        main: the name of the main metric, '' without one.
    """

    def __init__(self, metrics: Mapping[str, MetricFacts], main: str) -> None:
        self._metrics, self._main = metrics, main
        self._places: dict[tuple[tuple[str, str], ...], list[int]] = {}
        self._made: dict[Key, Verdict] = {}

    def of(
        self, scores: Sequence[Score], said: Collection[str] = ()
    ) -> tuple[tuple[Verdict, ...], tuple[Verdict, ...]]:
        """Return the verdicts to show and those to fold away, each in order.

        Shown are the main metric's and those that judge the answer otherwise; where
        there are no more than three they are all shown. Metrics that say the same share
        a verdict. Counts and times (finish reasons, tokens, runtime) are left out: they
        stand beside the completion as facts. What is `said` beside the verdict is not
        told again as the answer that was judged.
        """
        if not scores:
            return (), ()
        made = []
        for at in self._order(scores):
            score = scores[at]
            key = (score.metric, score.scorer, score.value, score.missing)
            known = None if score.text else self._made.get(key)
            made.append(known or self._verdict(score, key, said))
        if len(made) <= FEW:
            return _joined(made), ()
        leading = made[0].kind
        shown = [v for i, v in enumerate(made) if not i or v.kind in JUDGED - {leading}]
        return _joined(shown), tuple(v for v in made if v not in shown)

    def _order(self, scores: Sequence[Score]) -> list[int]:
        """Return the places of the scores that are told, the main one's first."""
        key = tuple([(s.metric, s.scorer) for s in scores])
        known = self._places.get(key)
        if known is None:
            told = [at for at, (name, _) in enumerate(key) if self._is_told(name)]
            known = sorted(told, key=lambda at: self._place(*key[at]))
            if len(self._places) == KNOWN:
                self._places.clear()
            self._places[key] = known
        return known

    def _is_told(self, name: str) -> bool:
        facts = self._metrics.get(name)
        return name == self._main or facts is None or facts.family not in FACTUAL

    def _place(self, name: str, scorer: str) -> tuple[bool, int, str, str]:
        facts = self._metrics.get(name)
        family = facts.family if facts else ""
        return (name != self._main, ORDER.get(family, 1), name, scorer)

    def _verdict(self, score: Score, key: Key, said: Collection[str]) -> Verdict:
        made = verdict(score, self._metrics.get(score.metric), said)
        if not made.answer:
            if len(self._made) == KNOWN:
                self._made.clear()
            self._made[key] = made
        return made


def _joined(made: Sequence[Verdict]) -> tuple[Verdict, ...]:
    """Return verdicts, those that say the same of one answer as one, with all names."""
    if len(made) < 2:
        return tuple(made)
    found: dict[tuple[str, ...], Verdict] = {}
    for v in made:
        key = (v.kind, v.word, v.answer, v.metric if v.kind == "number" else "")
        known = found.get(key)
        names = f"{known.metric}, {v.metric}" if known else ""
        found[key] = (
            Verdict(names, v.kind, v.symbol, v.word, v.answer, v.mark) if names else v
        )
    return tuple(found.values())


def outcome(trial: TrialView, metric: MetricFacts | None) -> tuple[str, float | None]:
    """Return a trial's code and value under the main metric.

    Codes: 1 right, 0 wrong, p partly right, f failed, n a number that is no verdict,
    - not scored. A score of the whole instance counts before those of its completions.
    """
    main = metric.name if metric else ""
    found = [s for s in trial.scores if s.metric == main]
    if len(found) == 1 and (only := found[0].value) is not None:
        value = only
    else:
        replies = [r for q in trial.requests for r in q.replies]
        found = found or [s for r in replies for s in r.scores if s.metric == main]
        values = [s.value for s in found if s.value is not None]
        if not values:
            broken = any(s.missing == "failed" for s in found)
            broken = broken or any(r.completion.error for r in replies)
            return ("f" if broken else "-"), None
        value = sum(values) / len(values)
    if not is_verdict(metric):
        return "n", value
    return ("1" if value >= 1 else "0" if value <= 0 else "p"), value


def short(code: str, value: float | None) -> Verdict:
    """Return an outcome as a verdict without a metric's name."""
    if code == "n":
        return _made(MAIN, "number", "", formats.significant(value or 0.0))
    return OUTCOMES[code]

"""The score index of a run: what its pages filter, sort and search by, as a script.

It is a classic script because nothing else can be loaded from file://. One row per
article, one column per thing that is asked for (see `columns`); what may differ between
trials has a column for each. docs/site.md describes the fields.
"""

from __future__ import annotations

import json
import math
import re
from itertools import islice
from typing import TYPE_CHECKING, Any

from helmsite.render.columns import Column, IdColumn, decode, each_id
from helmsite.render.names import anchor
from helmsite.render.text import plain
from helmsite.render.textindex import shard
from helmsite.render.tokens import script_json
from helmsite.render.verdicts import is_verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from helmsite.query.rows import InstanceView, RunSummary, TrialView
    from helmsite.render.textindex import TextIndex
    from helmsite.schema import Completion, Score

CALL = re.compile(r"helmsite\.index\((.*)\);\s*", re.DOTALL)
MAX_PROB = "max_prob"
OTHERS, CANDIDATES = 4, 8
FEW = 64
NO_TEXTS = "The site was built without text search (text_search under [site])."

Value = float | str | None


class ScoreIndex:
    """Collects one row per instance in the order of the pages.

    `texts` collects what they say, None for a site without text search.
    """

    def __init__(self, run: RunSummary, texts: TextIndex | None = None) -> None:
        self._run_id = run.manifest.run_id
        self._texts = texts
        main, known = run.main_metric, run.manifest.metrics
        others = [m for m in known if is_verdict(m) and m != main][:CANDIDATES]
        self._metrics = [*([main] if main else []), *others]
        self._pages: list[int] = []
        self._rows = 0
        self._ids = IdColumn()
        self._split, self._sub, self._perturbation = Column(), Column(), Column()
        self._groups: dict[str, Column] = {}
        self._values = [(m.name, is_verdict(m), _Trials()) for m in self._metrics]
        self._finish, self._tokens, self._characters = _Trials(), _Trials(), _Trials()
        self._max_prob, self._probability = _Trials(), _Trials()
        self._trials: set[int] = set()

    def __len__(self) -> int:
        return self._rows

    def start_page(self) -> None:
        """Say that the next row is the first of a page."""
        self._pages.append(0)

    def add(self, view: InstanceView) -> None:
        """Add a row."""
        instance, row = view.instance, self._rows
        self._rows += 1
        self._pages[-1] += 1
        self._ids.add(instance.instance_id)
        self._split.put(row, instance.split)
        self._sub.put(row, instance.sub_split)
        self._perturbation.put(row, instance.perturbation)
        for dimension, names in instance.attributes.items():
            column = self._groups.get(dimension)
            if column is None:
                column = self._groups[dimension] = Column(())
            column.put(row, names)
        for trial in view.trials:
            self._trials.add(trial.trial)
            scores, broken = _scores(trial)
            self._judge(row, trial.trial, scores, broken)
            self._measure(row, trial)
        if self._texts:
            self._texts.add(view)

    def _judge(
        self, row: int, trial: int, scores: dict[str, list[Score]], broken: bool
    ) -> None:
        for name, judges, values in self._values:
            values.put(trial, row, _value(scores.get(name, ()), broken, judges))
        if MAX_PROB in scores:
            kept = [s.value for s in scores[MAX_PROB] if s.value is not None]
            if kept:
                self._max_prob.put(trial, row, _permille(sum(kept) / len(kept)))

    def _measure(self, row: int, trial: TrialView) -> None:
        answers = _answers(trial)
        if not answers:
            return
        number = trial.trial
        length, first = answers[0]
        reason, tokens, failed = first.finish_reason, _tokens(first), bool(first.error)
        if len(answers) > 1:
            made = [completion for _, completion in answers]
            failed = any(c.error for c in made)
            reasons = dict.fromkeys(c.finish_reason for c in made if c.finish_reason)
            reason, length = ", ".join(reasons), sum(length for length, _ in answers)
            counts = [t for c in made if (t := _tokens(c)) is not None]
            tokens = sum(counts) if len(counts) == len(answers) else None
        if failed:
            self._finish.put(number, row, "failed")
            return
        self._finish.put(number, row, reason)
        self._characters.put(number, row, length)
        if tokens is not None:
            self._tokens.put(number, row, tokens)
        if (likely := _mean(answers)) is not None:
            share = _permille(math.exp(min(likely, 0.0)))
            self._probability.put(number, row, share)

    def script(self) -> str:
        """Return the script; the text index is finished with it."""
        n, trials = self._rows, sorted(self._trials)
        measured = self._tokens.known()
        tokens = measured > 0 and measured == self._characters.known()
        own = self._max_prob or self._probability
        length = self._tokens if tokens else self._characters
        payload = {
            "run": self._run_id,
            "rows": n,
            "pages": self._pages,
            "ids": self._ids.encoded(),
            "trials": trials,
            "metrics": list(self._told(trials)),
            "split": self._split.encoded(),
            "pert": self._perturbation.encoded(),
            "sub": self._sub.encoded(),
            "groups": {
                dimension: _filled(column, n)
                for dimension, column in sorted(self._groups.items())
            },
            "finish": self._finish.columns(trials, n),
            "length": length.columns(trials, n),
            "unit": "tokens" if tokens else "characters",
            "confidence": own.columns(trials, n),
            "sure": MAX_PROB if own is self._max_prob else "tokens",
            "texts": self._texts.manifest() if self._texts else NO_TEXTS,
        }
        return f"helmsite.index({script_json(payload)});\n"

    def _told(self, trials: Sequence[int]) -> Iterator[dict[str, Any]]:
        """Yield the main metric and those others whose verdicts cost little."""
        left = OTHERS
        for place, metric in enumerate(self._metrics):
            columns = self._values[place][2].columns(trials, self._rows)
            main = place == 0
            if not main and (not left or any(not _small(c) for c in columns)):
                continue
            left -= not main
            yield {
                "name": metric.name,
                "title": plain(metric.title or metric.name),
                "verdict": is_verdict(metric),
                "values": columns,
            }


class _Trials(dict[int, Column]):
    """What is known of each trial's rows; None where there is no such trial."""

    def put(self, trial: int, row: int, value: Value) -> None:
        """Keep a value; rows come in order."""
        column = self.get(trial)
        if column is None:
            column = self[trial] = Column()
        column.put(row, value)

    def columns(self, trials: Iterable[int], rows: int) -> list[Any]:
        """Return a column for each trial; none where nothing is known."""
        if not self:
            return []
        return [_filled(self.get(trial) or Column(), rows) for trial in trials]

    def known(self) -> int:
        """Return how many values there are."""
        return sum(len(column) - column.count(None) for column in self.values())


def _filled(column: Column, rows: int) -> Any:
    column.fill(rows)
    return column.encoded()


def read(script: str) -> dict[str, Any] | None:
    """Return the payload of a score index, None where a text is none."""
    match = CALL.fullmatch(script)
    return json.loads(match[1]) if match else None


def anchors(payload: dict[str, Any]) -> list[list[str]]:
    """Return the anchors of a score index's articles, page by page."""
    return list(each_page(payload))


def each_page(payload: dict[str, Any]) -> Iterator[list[str]]:
    """Yield the anchors of the articles of each page."""
    rows = payload["rows"]
    made = map(anchor, each_id(payload["ids"], rows), decode(payload["pert"], rows))
    for size in payload["pages"]:
        yield list(islice(made, size))


def texts(payload: dict[str, Any]) -> list[str]:
    """Return the files of the text index that a score index names."""
    kinds = payload.get("texts")
    if not isinstance(kinds, dict):
        return []
    return [shard(name) for kind in kinds.values() for name in kind["names"] if name]


def _scores(trial: TrialView) -> tuple[dict[str, list[Score]], bool]:
    """Return scores by metric, and if a request failed.

    A metric's scores of the whole instance count before those of its completions.
    """
    found: dict[str, list[Score]] = {}
    broken = False
    for request in trial.requests:
        for reply in request.replies:
            broken = broken or bool(reply.completion.error)
            _add(reply.scores, found)
    if trial.scores:
        whole: dict[str, list[Score]] = {}
        _add(trial.scores, whole)
        found.update(whole)
    return found, broken


def _add(scores: Iterable[Score], found: dict[str, list[Score]]) -> None:
    for score in scores:
        known = found.get(score.metric)
        if known is None:
            found[score.metric] = [score]
        else:
            known.append(score)


def _value(found: Sequence[Score], broken: bool, verdict: bool) -> float | str:
    """Return a metric's value, or why there is none, as `verdicts.outcome` says it.

    f is failed, - not scored, n a number without a place on any scale. Rounding never
    makes something of a partly right answer that it is not.
    """
    values = [s.value for s in found if s.value is not None]
    if not values:
        return "f" if broken or any(s.missing == "failed" for s in found) else "-"
    value = sum(values) / len(values)
    if verdict and not 0 < value < 1:
        return 1 if value >= 1 else 0
    if not math.isfinite(value):
        return "n"
    short = float(f"{value:.4g}")
    if verdict:
        return min(short, 0.9999)
    return int(short) if short == int(short) and abs(short) < 1e15 else short


def _answers(trial: TrialView) -> list[tuple[int, Completion]]:
    """Return the completions that length and confidence are about, with their characters.

    Those are the first of each request; options of separate multiple choice are none.
    """
    found = []
    for view in trial.requests:
        if view.replies and view.request.reference_index < 0:
            completion, start = view.replies[0].completion, view.request.score_start
            given = len(view.request.prompt) - start if start is not None else 0
            found.append((given or len(completion.text), completion))
    return found


def _tokens(completion: Completion) -> int | None:
    if completion.usage.completion_tokens is not None:
        return completion.usage.completion_tokens
    return None if completion.tokens is None else len(completion.tokens)


def _mean(answers: Sequence[tuple[int, Completion]]) -> float | None:
    """Return the mean log-probability of all tokens, None where none is known."""
    values: Sequence[Any] = answers[0][1].token_logprobs or ()
    if len(answers) > 1:
        values = [v for _, c in answers for v in c.token_logprobs or ()]
    try:
        return sum(values) / len(values) if values else None
    except TypeError:  # some are not known: seldom, so they are not looked for before
        known = [v for v in values if v is not None]
        return sum(known) / len(known) if known else None


def _permille(share: float) -> int | None:
    return round(1000 * min(max(share, 0.0), 1.0)) if math.isfinite(share) else None


def _small(column: Any) -> bool:
    return isinstance(column, dict) and len(column["of"]) <= FEW

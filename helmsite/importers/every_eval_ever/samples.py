"""Lines of a samples file → instances, replies and scores.

A line is a sample under one metric: its prompt and its answers stand in each. Lines of
one sample are one instance; of one repeat they are one reply with several scores.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from msgspec import structs

from helmsite.importers import redact
from helmsite.importers.every_eval_ever.line import (
    attributes,
    conversation,
    references,
)
from helmsite.importers.every_eval_ever.results import WORST
from helmsite.schema import Completion, Instance, Reply, Request, Score

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator

    from helmsite.importers.every_eval_ever.line import Line
    from helmsite.importers.every_eval_ever.results import Measure
    from helmsite.schema import Decoding
    from helmsite.schema.records import Missing

PROMPTS = {"helm", "lm_eval"}
"""Tools of which conversions put the whole prompt where the question belongs.

Exports of helmsite, which name the trial, do not.
"""
_Key = tuple[str, str, int, int, int]


@dataclass
class _Take:
    """One repeat of a sample: the first of its lines, and a score for each."""

    line: Line
    scores: dict[_Key, Score] = field(default_factory=dict)


@dataclass
class _Sample:
    line: Line
    number: int
    split: str
    sub_split: str
    takes: dict[int, _Take] = field(default_factory=dict)


class Samples:
    """The samples of one scenario, line by line.

    Args:
        tool: what made them.
        decoding: what all requests share.
        hidden: counts secrets in messages of errors.
    """

    def __init__(self, tool: str, decoding: Decoding, hidden: Counter[str]) -> None:
        self._tool, self._decoding, self._hidden = tool, decoding, hidden
        self._groups: dict[tuple[str, str], list[_Sample]] = defaultdict(list)
        self._count = 0
        self._twice = 0

    def __len__(self) -> int:
        """Return how many instances there are."""
        return self._count

    def add(self, found: Line, measure: Measure) -> None:
        """Take a line whose score is of a measure.

        Raises:
            SourceError: its score is no number.
        """
        perturbation = found.metadata.get("perturbation", "")
        if not perturbation and measure.perturbation not in WORST:
            perturbation = measure.perturbation
        key = (
            measure.metric,
            found.metadata.get("scorer", measure.scorer),
            found.index("request_index"),
            found.index("reference_index"),
            found.index("completion_index"),
        )
        score = _score(found, key)
        several = self._groups[found.sample, perturbation]
        for sample in several:
            if sample.line.what != found.what:
                continue
            trial = self._trial(sample, found, key, score)
            if trial is not None:
                self._put(sample, trial, found, key, score)
                return
        split = found.metadata.get("split", measure.split)
        made = _Sample(found, self._count, split, found.metadata.get("sub_split", ""))
        self._count += 1
        several.append(made)
        self._put(made, found.trial or 0, found, key, score)

    def _trial(
        self, sample: _Sample, found: Line, key: _Key, score: Score | None
    ) -> int | None:
        """Return the repeat that a line is of; None if it contradicts one that is there."""
        said = found.trial
        if said is not None:
            take = sample.takes.get(said)
            there = take.scores.get(key) if take else None
            if take and there and score:
                if _alike(there, score) and take.line.said == found.said:
                    self._twice += 1
                    return said
                return None
            return said
        free = [
            n
            for n, take in sample.takes.items()
            if key not in take.scores and score is not None
        ]
        same = [n for n in free if sample.takes[n].line.said == found.said]
        return next(iter([*same, *free]), max(sample.takes, default=-1) + 1)

    def _put(
        self, sample: _Sample, trial: int, found: Line, key: _Key, score: Score | None
    ) -> None:
        take = sample.takes.setdefault(trial, _Take(found))
        if score is not None:
            take.scores[key] = _beside(score, found, take.line)

    def _ids(self) -> Iterator[tuple[str, str, _Sample]]:
        """Yield the samples with their ids; of one id the second has `#2` at its end."""
        taken = {(sample, p) for sample, p in self._groups if sample}
        for (name, perturbation), several in self._groups.items():
            for n, sample in enumerate(several, 1):
                identifier = name or str(sample.number)
                if n > 1 and name:
                    identifier = f"{name}#{n}"
                while n > 1 and (identifier, perturbation) in taken:
                    identifier += "#2"
                yield identifier, perturbation, sample

    def instances(self) -> list[Instance]:
        """Return the instances, in the order of their first lines."""
        found = []
        for identifier, perturbation, sample in self._ids():
            line = sample.line
            made, letters = references(line)
            extra = dict(line.extra)
            if line.rest:
                extra["metadata"] = line.rest
            if letters:
                extra["reference"] = list(line.references)
            if identifier != line.sample and line.sample:
                extra["sample_id"] = line.sample
            found.append(
                Instance(
                    identifier,
                    line.raw,
                    made,
                    perturbation=perturbation,
                    position=sample.number,
                    split=sample.split,
                    sub_split=sample.sub_split,
                    attributes=attributes(line),
                    extra=extra,
                )
            )
        return sorted(found, key=lambda each: each.position)

    def replies(self) -> list[Reply]:
        """Return the replies: one for each repeat and output."""
        return [
            reply
            for identifier, perturbation, sample in self._ids()
            for trial in sorted(sample.takes)
            for reply in self._replies(identifier, perturbation, trial, sample)
        ]

    def scores(self) -> list[Score]:
        """Return the scores as the source reports them."""
        return [
            structs.replace(
                score,
                instance_id=identifier,
                perturbation=perturbation,
                trial=trial,
            )
            for identifier, perturbation, sample in self._ids()
            for trial, take in sorted(sample.takes.items())
            for score in take.scores.values()
        ]

    def warnings(self) -> list[str]:
        """Return what a reader should know of the samples."""
        several = sum(len(each) > 1 for name, each in self._groups.items() if name[0])
        told = []
        if several:
            told.append(
                f"{several} sample ids stand for more than one input (a perturbed version "
                "or another trial, which the format cannot tell): the further ones end in "
                "#2, #3, ..."
            )
        if self._twice:
            told.append(f"{self._twice} lines stand in the file twice and count once.")
        return told

    def _replies(
        self, identifier: str, perturbation: str, trial: int, sample: _Sample
    ) -> Iterator[Reply]:
        """Yield what was sent in a repeat with each of its outputs."""
        line = sample.takes[trial].line
        sent, transcript, last, thought = conversation(line)
        prompt = line.formatted
        is_prompt = self._tool in PROMPTS and "trial" not in line.metadata
        if is_prompt and not prompt and not sent:
            prompt = line.raw
        request = Request(
            identifier,
            prompt,
            self._decoding,
            perturbation=perturbation,
            trial=trial,
            prompt_kind="exact" if prompt else "absent",
            messages=sent,
            output_mapping=references(line)[1],
        )
        outputs = (last,) if line.messages else line.outputs or ("",)
        thoughts = (thought,) if line.messages else line.thoughts
        if len(thoughts) != len(outputs):
            thoughts = ("\n\n".join(thoughts), *[""] * (len(outputs) - 1))
        first = self._facts(line, sample.line)
        for n, text in enumerate(outputs):
            facts = first if n == 0 else {"error": first["error"]}
            completion = Completion(
                text,
                reasoning=thoughts[n],
                transcript=transcript,
                finish_reason=line.metadata.get("stop_reason", ""),
                **facts,
            )
            yield Reply(request, completion, n)

    def _facts(self, line: Line, instance: Line) -> dict[str, Any]:
        """Return what is told of all outputs of a repeat; it stands at the first of them."""
        extra: dict[str, Any] = dict(line.spent)
        if line is not instance:
            extra |= _different(
                {**line.extra, "metadata": line.rest},
                {**instance.extra, "metadata": instance.rest},
            )
        error = redact.text(line.error, self._hidden) if line.error else ""
        if error and not line.has_failed:
            extra["error"] = error
        return {
            "usage": line.usage,
            "duration_s": line.duration_s,
            "error": error if line.has_failed else "",
            "extra": {k: v for k, v in extra.items() if v},
        }


def _score(found: Line, key: _Key) -> Score | None:
    if not found.is_scored:
        return None
    value = found.score
    missing: Missing = "" if value is not None else "nan"
    details = dict(found.verdict)
    if found.result:
        details["evaluation_result_id"] = found.result
    if not found.is_judged:
        if value is not None:
            details["score"] = value
        value, missing = None, "failed"
    if found.answers:
        answer = ("extracted_value", found.answer)  # it is in `text`
        details["answer_attribution"] = [
            dict(pair for pair in each.items() if pair != answer)
            for each in found.answers
        ]
    return Score(
        "",
        key[0],
        value,
        scorer=key[1],
        request_index=key[2],
        reference_index=key[3],
        completion_index=key[4],
        weight=found.weight,
        text=found.answer,
        details=details,
        origin="reported",
        missing=missing,
    )


def _alike(one: Score, other: Score) -> bool:
    return (one.value, one.text, one.missing) == (
        other.value,
        other.text,
        other.missing,
    )


def _beside(score: Score, found: Line, first: Line) -> Score:
    """Return a score with what its line says otherwise than the first of its repeat.

    Conversions of Inspect write the answer that a scorer judged in place of the output.
    """
    if found is first:
        return score
    more = _different(_told(found), _told(first))
    text = score.text
    if "output" in more and not text:
        text = more["output"][0]
    return structs.replace(score, text=text, details={**score.details, **more})


def _told(found: Line) -> dict[str, Any]:
    """Return what lines of one repeat should agree in."""
    return {
        **found.extra,
        **found.spent,
        "metadata": found.rest,
        "output": list(found.outputs),
        "reasoning_trace": list(found.thoughts),
        "messages": list(found.messages),
        "formatted": found.formatted,
        "error": found.error,
    }


def _different(other: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in other.items() if v != own.get(k) and v not in ("", [], {})}

"""Instances with their replies and scores as lines of a samples file.

A line for each score, as the format wants it; where an instance has none, one line that
says why, so that no sample is lost. Log-probabilities have no place in the format.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from itertools import groupby
from typing import TYPE_CHECKING, Any

from helmsite.exporters.every_eval_ever.aggregate import VERSION, evaluation_id
from helmsite.exporters.every_eval_ever.results import as_text
from helmsite.exporters.every_eval_ever.turns import is_turn, kind, turns
from helmsite.importers import redact
from helmsite.schema import Stat
from helmsite.schema.records import ORIGINAL

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator, Sequence

    from helmsite.archive import RunFiles
    from helmsite.exporters.every_eval_ever.results import Results
    from helmsite.schema import Instance, Reply, Score

UNTOLD = "The request failed."
INDEXES = ("request_index", "reference_index", "completion_index")


class Lines:
    """The samples of a run.

    Args:
        run: its tables.
        results: its aggregates, whose ids the lines point to.
        hidden: counts secrets in messages of errors.
    """

    def __init__(self, run: RunFiles, results: Results, hidden: Counter[str]) -> None:
        self._run, self._results, self._hidden = run, results, hidden
        self._manifest = run.manifest
        self._facts = {m.name: m for m in run.manifest.metrics}
        self.ids: list[str] = []
        self.splits: dict[str, None] = {}

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Yield the lines in the order of the instances; few are held at a time."""
        replies = groupby(
            self._run.replies(),
            lambda r: (r.request.instance_id, r.request.perturbation),
        )
        scores = groupby(self._run.scores(), lambda s: (s.instance_id, s.perturbation))
        asked, judged = next(replies, None), next(scores, None)
        for instance in self._run.instances():
            key = instance.instance_id, instance.perturbation
            said: list[Reply] = []
            found: list[Score] = []
            if asked and asked[0] == key:
                said, asked = list(asked[1]), next(replies, None)
            if judged and judged[0] == key:
                found, judged = list(judged[1]), next(scores, None)
            if not instance.perturbation:
                self.ids.append(instance.instance_id)
                self.splits[instance.split] = None
            yield from self._of_instance(instance, said, found)

    def _of_instance(
        self, instance: Instance, replies: list[Reply], scores: list[Score]
    ) -> Iterator[dict[str, Any]]:
        said: dict[int, list[Reply]] = defaultdict(list)
        found: dict[int, list[Score]] = defaultdict(list)
        for reply in replies:
            if reply.request.mode == ORIGINAL:
                said[reply.request.trial].append(reply)
        for score in scores:
            if self._is_chosen(score):
                found[score.trial].append(score)
        for trial in sorted({*said, *found}):
            yield from self._of_trial(instance, trial, said[trial], found[trial])

    def _is_chosen(self, score: Score) -> bool:
        return score.metric in self._results.metrics and not self._results.is_left_out(
            score.metric, score.scorer, score.origin
        )

    def _of_trial(
        self,
        instance: Instance,
        trial: int,
        replies: Sequence[Reply],
        scores: Sequence[Score],
    ) -> Iterator[dict[str, Any]]:
        base = self._base(instance, trial, replies)
        metadata = base["metadata"]
        rows = [s for s in scores if s.value is not None or s.missing == "failed"]
        for score in rows:
            yield {
                **base,
                **({"error": UNTOLD} if score.value is None else {}),
                **({"error": base["error"]} if "error" in base else {}),
                **self._joined(score, instance),
                "answer_attribution": _attribution(score, base),
                "evaluation": self._evaluation(score, base),
                "metadata": {**metadata, **self._told(score)},
            }
        if not rows:
            reasons = sorted({s.missing for s in scores if s.missing})
            missing = ", ".join(reasons) or "not scored"
            yield {
                **base,
                "answer_attribution": [],
                "evaluation": {"score": 0.0, "is_correct": False},
                "metadata": {**metadata, "score_missing": missing},
            }

    def _base(
        self, instance: Instance, trial: int, replies: Sequence[Reply]
    ) -> dict[str, Any]:
        """Return what all lines of a repeat share."""
        gold = list(instance.gold)
        raw = instance.input or "\n".join(m.content for m in instance.messages)
        given: dict[str, Any] = {"raw": raw, "reference": gold}
        choices = [r.text for r in instance.references]
        if choices != gold or "multiple_choice" in self._manifest.spec.adapter.method:
            given["choices"] = choices
        made: dict[str, Any] = {
            "schema_version": VERSION,
            "evaluation_id": evaluation_id(self._manifest),
            "model_id": self._manifest.spec.model.name,
            "evaluation_name": self._manifest.spec.scenario,
            "sample_id": instance.instance_id,
            "sample_hash": hashlib.sha256(
                "".join([raw, *gold]).encode("utf-8")
            ).hexdigest(),
            "interaction_type": "single_turn",
            "input": given,
            "output": {"raw": []},
            "messages": None,
            "metadata": _metadata(instance, trial),
        }
        if replies:
            self._add_replies(made, replies)
        return made

    def _add_replies(self, made: dict[str, Any], replies: Sequence[Reply]) -> None:
        request, first = replies[0].request, replies[0].completion
        sent = request.messages
        if len(sent) > 1 or any(map(is_turn, first.transcript)):
            made["messages"] = turns(request, first)
            made["interaction_type"] = kind(made["messages"])
            made["output"] = None
        else:
            texts = [r.completion for r in replies if r.request.score_start is None]
            good = [c for c in texts if not c.error]
            made["output"] = {"raw": [c.text for c in good]}
            if any(c.reasoning for c in good):
                made["output"]["reasoning_trace"] = [c.reasoning for c in good]
            whole = request.prompt[: request.score_start]
            formatted = whole or (sent[0].content if sent else "")
            if formatted:
                made["input"] = {**made["input"], "formatted": formatted}
        if first.finish_reason:
            made["metadata"]["stop_reason"] = first.finish_reason
        if usage := _usage(replies):
            made["token_usage"] = usage
        seconds = [r.completion.duration_s for r in replies if not r.completion_index]
        if seconds and all(s is not None and s >= 0 for s in seconds):
            made["performance"] = {"latency_ms": sum(s or 0 for s in seconds) * 1000}
        errors = [r.completion.error for r in replies if r.completion.error]
        if errors:
            made["error"] = redact.text(errors[0], self._hidden)

    def _joined(self, score: Score, instance: Instance) -> dict[str, Any]:
        """Return the id of the aggregate that a score is part of, if it is exported."""
        stat = Stat(
            score.metric,
            None,
            split=instance.split,
            perturbation=instance.perturbation,
            computed_on="perturbed" if instance.perturbation else "",
            scorer=score.scorer,
            origin=score.origin,
        )
        identifier = self._results.id_of(stat)
        known = identifier in self._results.stats
        return {"evaluation_result_id": identifier} if known else {}

    def _evaluation(self, score: Score, base: dict[str, Any]) -> dict[str, Any]:
        said = score.details.get("is_correct")
        facts = self._facts.get(score.metric)
        is_right = (
            facts is not None
            and facts.format == "share"
            and facts.higher_is_better is True
            and score.value == 1
        )
        made: dict[str, Any] = {
            "score": 0.0 if score.value is None else score.value,
            "is_correct": said if isinstance(said, bool) else is_right,
        }
        if base["messages"]:
            calls = (t.get("tool_calls") or () for t in base["messages"])
            made["num_turns"] = len(base["messages"])
            made["tool_calls_count"] = sum(map(len, calls))
        return made

    def _told(self, score: Score) -> dict[str, str]:
        """Return what of a score has no field, as texts."""
        scorer = self._results.scorer(score.metric, score.scorer, score.origin)
        made = {"metric": score.metric, "scorer": scorer, "origin": score.origin}
        for name in INDEXES:
            if getattr(score, name) >= 0:
                made[name] = str(getattr(score, name))
        if score.value is None:
            made["score_missing"] = score.missing
        if score.weight is not None:
            made["weight"] = repr(score.weight)
        return {k: v for k, v in made.items() if v}


def _attribution(score: Score, base: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what was judged, if the score says so."""
    if not score.text:
        return []
    last = max(0, len(base["messages"] or ()) - 1)
    source = f"messages[{last}].content" if base["messages"] else "output.raw"
    return [
        {
            "turn_idx": last,
            "source": source,
            "extracted_value": score.text,
            "extraction_method": score.scorer or score.metric,
            "is_terminal": True,
        }
    ]


def _metadata(instance: Instance, trial: int) -> dict[str, str]:
    own = instance.extra.get("metadata")
    more = own if isinstance(own, dict) else {}
    made = {
        **{str(k): as_text(v) for k, v in more.items()},
        "trial": str(trial),
        "split": instance.split,
        "sub_split": instance.sub_split,
        "perturbation": instance.perturbation,
    }
    if instance.attributes:
        groups = {k: list(v) for k, v in instance.attributes.items()}
        made["attributes"] = as_text(groups)
    return {k: v for k, v in made.items() if v}


def _usage(replies: Sequence[Reply]) -> dict[str, int] | None:
    """Return the tokens of a repeat, if the counts of all its replies are known.

    A prompt counts once, however many completions it has.
    """
    read = [r.completion.usage.prompt_tokens for r in replies if not r.completion_index]
    said = [r.completion.usage.completion_tokens for r in replies]
    if not read or any(n is None or n < 0 for n in (*read, *said)):
        if len(said) < 2 or any(n is None or n < 0 for n in (*read, said[0])):
            return None
        said = said[:1]  # all of them are counted at the first
    inside, outside = sum(n or 0 for n in read), sum(n or 0 for n in said)
    made = {
        "input_tokens": inside,
        "output_tokens": outside,
        "total_tokens": inside + outside,
    }
    cached = [
        r.completion.usage.cached_tokens for r in replies if not r.completion_index
    ]
    if all(n is not None and n >= 0 for n in cached):
        made["input_tokens_cache_read"] = sum(n or 0 for n in cached)
    return made

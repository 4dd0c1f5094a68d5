"""Scores from outside replies: a detector's, and people's; beside all that is there."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from helmsite import detectors, metrics, query
from helmsite.errors import MetricError
from helmsite.metrics import toxicity
from helmsite.schema import MetricFacts, Score, failed
from helmsite.schema.records import ORIGINAL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from helmsite.archive import Archive
    from helmsite.detectors import Detector
    from helmsite.schema import Completion, Manifest, Reply, Stat

    Key = tuple[str, str, int]

BATCH = 256


class Addition(NamedTuple):
    """Rows for a run, what they mean, and which of its rows they take the place of."""

    rows: Sequence[Score]
    facts: tuple[MetricFacts, ...]
    replaces: Callable[[Score | Stat], bool]
    stats: Sequence[Stat] = ()


def added(archive: Archive, run_id: str, addition: Addition) -> Manifest:
    """Write rows and their aggregates beside the others of a run."""
    manifest = archive.manifest(run_id)
    stats = query.summarise(
        archive.instances(run_id),
        addition.rows,
        addition.facts,
        manifest.perturbations,
        (),
        scenario=manifest.scenario.name,
    )
    names = {facts.name for facts in addition.facts}
    kept = tuple(facts for facts in manifest.metrics if facts.name not in names)
    old_scores = (s for s in archive.scores(run_id) if not addition.replaces(s))
    old_stats = (s for s in archive.stats(run_id) if not addition.replaces(s))
    return archive.write_scores(
        run_id,
        [*old_scores, *addition.rows],
        [*old_stats, *stats, *addition.stats],
        (*kept, *addition.facts),
    )


def detect(
    archive: Archive,
    run_id: str,
    detector: Detector,
    told: Callable[[int, int], None] | None = None,
) -> Manifest:
    """Score the toxicity of a run's completions by a detector; no model is called.

    Its rows and aggregates have `name@version` as their scorer. Those of other detectors
    and versions, and what a source reported, stay beside them. `told` hears how many of
    the texts have been judged.

    Raises:
        ArchiveError: there is no such run.
        MetricError: nothing was generated in the run, or the detector cannot judge.
    """
    made = _generated(archive.replies(run_id))
    if not made:
        raise MetricError(
            f"Run {run_id} has no generated text, so there is no toxicity in it.",
            "Detectors judge generation, joint multiple choice and chat. Type: helmsite ls",
        )
    texts = sorted({c.text for of in made.values() for c in of if c.text})
    scores = dict(zip(texts, _judged(detector, texts, told), strict=True))
    scorer = detectors.identity(detector)
    facts = tuple(metric.facts for metric in toxicity.METRICS)
    rows = []
    for (instance_id, perturbation, trial), completions in sorted(made.items()):
        measures = toxicity.judged([c.text for c in completions], scores)
        is_sound = not failed(completions)
        rows += [
            Score(
                instance_id,
                name,
                measure.value if is_sound else None,
                perturbation=perturbation,
                trial=trial,
                scorer=scorer,
                details=measure.details if is_sound else {},
                missing="" if is_sound else "failed",
            )
            for name, measure in measures.items()
        ]
    names = {fact.name for fact in facts}

    def replaces(row: Score | Stat) -> bool:
        own = row.scorer in (scorer, "") and row.origin == "computed"
        return own and row.metric in names

    return added(archive, run_id, Addition(rows, facts, replaces))


def _judged(
    detector: Detector,
    texts: Sequence[str],
    told: Callable[[int, int], None] | None,
) -> list[float | None]:
    found: list[float | None] = []
    for start in range(0, len(texts), BATCH):
        batch = texts[start : start + BATCH]
        scores = detector.score(batch)
        wrong = [s for s in scores if s is not None and not 0 <= s <= 1]
        if len(scores) != len(batch) or wrong:
            raise MetricError(
                f"The detector {detector.name!r} gave {len(scores)} scores for {len(batch)} texts{', not all from 0 to 1' if wrong else ''}.",
                "Each text needs a number from 0 to 1, or None. Correct the detector.",
            )
        found += scores
        if told:
            told(len(found), len(texts))
    return found


def _generated(replies: Iterable[Reply]) -> dict[Key, list[Completion]]:
    """Return the completions of each instance's first request, in their order."""
    found: dict[Key, list[Reply]] = defaultdict(list)
    for reply in replies:
        request = reply.request
        is_first = request.request_index <= 0 and request.mode == ORIGINAL
        if is_first and request.score_start is None:
            key = request.instance_id, request.perturbation, request.trial
            found[key].append(reply)
    return {
        key: [r.completion for r in sorted(of, key=lambda r: r.completion_index)]
        for key, of in found.items()
    }


def has_texts(archive: Archive, run_id: str) -> bool:
    """Say whether anything was generated in a run."""
    return bool(_generated(archive.replies(run_id)))


def toxic_names(names: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Part metrics' names into those that a detector gives and the others.

    Raises:
        MetricError: one of the others is unknown; `toxicity` may be meant.
    """
    own = {toxicity.GROUP, *(metric.facts.name for metric in toxicity.METRICS)}
    toxic = tuple(name for name in names if name in own)
    rest = tuple(name for name in names if name not in own)
    metrics.resolve(rest, (toxicity.GROUP,))
    return toxic, rest

"""From replies to scores and aggregates, for new runs and for archived ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from helmsite import metrics, query

if TYPE_CHECKING:
    from collections.abc import Sequence

    from helmsite.archive import Archive
    from helmsite.schema import (
        AdapterSpec,
        Instance,
        Manifest,
        ModelCard,
        PerturbationFacts,
        Reply,
        Score,
        Stat,
    )


class About(NamedTuple):
    """What scores depend on beside instances and replies; all of it is in a manifest."""

    scenario: str
    perturbations: Sequence[PerturbationFacts] = ()
    card: ModelCard | None = None


def verdicts(
    instances: Sequence[Instance],
    replies: Sequence[Reply],
    adapter: AdapterSpec,
    names: Sequence[str],
    about: About,
    sandbox: metrics.Sandbox | None = None,
) -> tuple[list[Score], list[Stat]]:
    """Return the scores of replies and the aggregates of those scores."""
    scores = metrics.score(instances, replies, adapter, names, about.card, sandbox)
    stats = query.summarise(
        instances,
        scores,
        metrics.resolve(names),
        about.perturbations,
        metrics.population(names),
        scenario=about.scenario,
    )
    return scores, stats


def rescore(
    archive: Archive,
    run_id: str,
    extra: Sequence[str] = (),
    sandbox: metrics.Sandbox | None = None,
) -> Manifest:
    """Score an archived run again, without its model; `extra` adds metrics to it.

    Programs that the model wrote are run in the `sandbox`; without one the scores of
    metrics that run them stay as they are.

    What a source reported, the scores of detectors, people and metrics that are not
    installed here, or are another tool's of the same name, stay as they are.

    Raises:
        ArchiveError: there is no such run.
        MetricError: an unknown metric in `extra`, or a library that one needs is missing.
    """
    manifest = archive.manifest(run_id)
    adapter = manifest.spec.adapter
    known = [m.name for m in manifest.metrics if metrics.is_ours(m)]
    if not manifest.is_native:  # what a source reports need not be computable here
        made = {s.metric for s in archive.stats(run_id) if s.origin == "computed"}
        known = [name for name in known if name in made]
    wanted = tuple(dict.fromkeys([*known, *extra]))
    card = manifest.card
    names = metrics.applicable(adapter.method, wanted, adapter.num_outputs, card)
    metrics.require(names)
    if sandbox is None:
        there = {m.name for m in manifest.metrics if metrics.runs_code(m.name)}
        names = tuple(name for name in names if name not in there)
    scores, stats = verdicts(
        archive.instances(run_id),
        list(archive.replies(run_id)),
        adapter,
        names,
        About(manifest.scenario.name, manifest.perturbations, card),
        sandbox,
    )
    facts = metrics.resolve(names)
    kept = tuple(m for m in manifest.metrics if m.name not in set(names))
    return archive.write_scores(
        run_id,
        [*scores, *(s for s in archive.scores(run_id) if _stays(s, names))],
        [*stats, *(s for s in archive.stats(run_id) if _stays(s, names))],
        (*facts, *kept),
        metrics.renewed(manifest.warnings, metrics.notes(names, scores, sandbox)),
    )


def _stays(row: Score | Stat, computed: Sequence[str]) -> bool:
    return row.origin == "reported" or row.scorer != "" or row.metric not in computed

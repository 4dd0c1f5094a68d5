"""Results without instances: stats.json alone, or the runs that a runs.json lists."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from helmsite.errors import SourceError
from helmsite.importers.found import Aggregates
from helmsite.importers.helm import verdicts
from helmsite.importers.helm.naming import Perturbations, entry_of
from helmsite.importers.helm.specs import Schema, Spec
from helmsite.importers.helm.survey import CARDS, RUNS, SCHEMA
from helmsite.importers.values import Row
from helmsite.schema import PublishedStat

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from helmsite.importers.helm.folder import Folder
    from helmsite.schema import Stat

GIVEN = (
    "language_modeling",
    "multiple_choice_separate_original",
    "multiple_choice_separate_calibrated",
)


def published(
    spec: Spec, stats: Iterable[Stat], run: str, file: str
) -> list[PublishedStat]:
    """Return the aggregates of a run, of a file, as results without instances."""
    settings = {
        "run": run,
        "method": spec.adapter.method,
        "max_train_instances": spec.adapter.max_train_instances,
        "num_train_trials": spec.adapter.num_train_trials,
    }
    return [
        PublishedStat(spec.entry.scenario, spec.model, stat, settings, file)
        for stat in stats
    ]


def listed(folder: Folder) -> Iterator[Aggregates]:
    """Yield the aggregates of each run that a runs.json lists."""
    schema = Schema(folder.value(SCHEMA), folder.value(CARDS))
    found = folder.value(RUNS)
    place = folder.place(RUNS)
    if not isinstance(found, list):
        raise place.error("expected a list of runs")
    for n, each in enumerate(found):
        try:
            row = Row(each, place.inside(n))
            said = row.row("run_spec")
            name = said.text("name")
            spec = Spec(said, None, entry_of(name), folder.problem)
            told = spec.adapter.method in GIVEN or not silent(row.get("stats"))
            reader = verdicts.Reader(
                Perturbations(spec.perturbation_specs, schema.perturbations),
                windows=False,
                told=told,
                problem=folder.problem,
            )
            stats = reader.stats(row.items("stats"), row.at("stats"))
        except SourceError as error:
            folder.problem(error)
            continue
        yield Aggregates(
            results=published(spec, stats, name, place.file),
            scenarios=(schema.scenario(spec, {}, encrypted=False),),
            metrics=tuple(map(schema.facts, dict.fromkeys(s.metric for s in stats))),
            cards=(schema.card(spec.model),),
            suite=folder.found.options["suite"],
        )


def silent(stats: Any) -> bool:
    """Return whether statistics say that all log-probabilities were 0."""
    found = [
        stat.get("mean")
        for stat in (stats if isinstance(stats, list) else [])
        if isinstance(stat, dict)
        and isinstance(stat.get("name"), dict)
        and stat["name"].get("name") == "logprob"
        and stat.get("count")
    ]
    return bool(found) and not any(found)

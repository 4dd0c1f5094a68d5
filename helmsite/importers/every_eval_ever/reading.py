"""An evaluation of Every Eval Ever while it is read: results and samples → runs."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import structs

from helmsite.errors import SourceError
from helmsite.importers import reading
from helmsite.importers.every_eval_ever.header import adapter, hidden, read_json
from helmsite.importers.every_eval_ever.line import inline, line
from helmsite.importers.every_eval_ever.results import Measure, guessed, scenario_facts
from helmsite.importers.every_eval_ever.samples import Samples
from helmsite.importers.found import Aggregates, Imported
from helmsite.importers.titles import metric_title
from helmsite.importers.values import Place, Row
from helmsite.schema import (
    DataRevision,
    MetricFacts,
    PerturbationFacts,
    PublishedStat,
    RunSpec,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from helmsite.importers.every_eval_ever.header import Header
    from helmsite.importers.every_eval_ever.line import Line
    from helmsite.importers.every_eval_ever.results import Result
    from helmsite.importers.found import Found, Notes
    from helmsite.schema import AdapterSpec, Reply, ScenarioFacts, Stat

DETAILS = "detailed_evaluation_results"
INLINE = "detailed_evaluation_results_per_samples"


class Reading:
    """One find while it is read."""

    def __init__(self, told: Header, found: Found, notes: Notes) -> None:
        self._header, self._found, self._notes = told, found, notes
        self.results: list[Result] = []
        self._samples: dict[str, Samples] = {}
        self._chats: set[str] = set()
        self._warnings: list[str] = []
        self._lines = 0
        self._other_models: dict[str, None] = {}
        self._guessed: dict[str, dict[str, None]] = {}

    def inline(self, row: Row) -> None:
        """Take the samples that stand in the aggregate file (0.1)."""
        place = row.at(INLINE)
        listed = row.get(INLINE)
        for n, each in enumerate(listed if isinstance(listed, list) else []):
            try:
                self._add(inline(Row(each, place.inside(n))))
            except SourceError as error:
                self._notes.problem(error)

    def lines(self, path: Path, name: str) -> None:
        """Take the lines of a samples file; a broken one is a problem."""
        for number, value in reading.json_lines(path):
            self._lines += 1
            try:
                if isinstance(value, SourceError):
                    raise SourceError(name, value.why, number, value.field)
                row = Row(value, Place(name, number))
                self._add(line(row))
                said = row.text("model_id", "")
                if said not in {"", self._header.model.name}:
                    self._other_models[said] = None
            except SourceError as error:
                self._notes.problem(error)

    def _add(self, found: Line) -> None:
        scenario, measure = self._meant(found)
        known = self._samples.get(scenario)
        if known is None:
            decoding = self._adapter(scenario, is_chat=bool(found.messages)).decoding
            known = Samples(self._header.tool, decoding, self._notes.hidden)
            self._samples[scenario] = known
        if found.messages:
            self._chats.add(scenario)
        known.add(found, measure)

    def _meant(self, found: Line) -> tuple[str, Measure]:
        """Return the scenario and the measure that a line is about."""
        named = [r for r in self.results if r.name == found.name]
        if "metric" in found.metadata:  # an export of helmsite
            scenario = named[0].scenario.name if named else found.name
            own = (found.metadata.get(k, "") for k in ("metric", "scorer", "split"))
            metric, scorer, split = own
            return scenario, Measure(metric, scorer, split)
        for each in (*named, *self.results):
            if found.result and each.id == found.result:
                return each.scenario.name, each.measure
        scenarios = list(dict.fromkeys(r.scenario.name for r in named or self.results))
        if named or len(scenarios) == 1:
            scenario = scenarios[0]
        else:
            scenario = _own_name(found, self._header)
        among = named or self.results
        if not found.result and len(among) == 1:
            return scenario, among[0].measure
        measure = guessed(found.result, self._header)
        if not measure.scorer and self._header.tool == "lm_eval":
            said = found.metadata.get("filter", "none")
            measure = measure._replace(scorer="" if said == "none" else said)
        if found.is_scored:
            self._guessed.setdefault(scenario, {})[measure.metric] = None
        return scenario, measure

    def verify(self, row: Row, path: Path) -> None:
        """Say whether the samples file is the one that the aggregate is about."""
        said = row.get(DETAILS)
        said = said if isinstance(said, dict) else {}
        place = row.at(DETAILS)
        checksum, algorithm = said.get("checksum"), said.get("hash_algorithm", "sha256")
        if isinstance(checksum, str) and checksum and algorithm in {"sha256", "md5"}:
            real = reading.digest(path) if algorithm == "sha256" else _md5(path)
            if real != checksum.strip().lower():
                why = "the samples file has another checksum: it was changed, or cut"
                self._notes.problem(place.inside("checksum").error(why))
                self._warnings.append(
                    "The samples file is not the one that the aggregates were made "
                    "with: its checksum differs."
                )
        rows = said.get("total_rows")
        if isinstance(rows, int) and rows != self._lines:
            why = f"{rows} lines are announced, and {self._lines} are there"
            self._notes.problem(place.inside("total_rows").error(why))
            self._warnings.append(f"Of the samples, {why}.")

    def made(self) -> Iterator[Imported | Aggregates]:
        """Yield the runs, then the results without samples."""
        if self._other_models:
            names = ", ".join(list(self._other_models)[:3])
            self._warnings.append(
                f"Some samples are said to be of other models: {names}."
            )
        for scenario, samples in self._samples.items():
            if len(samples):
                yield self._run(scenario, samples)
        rest = [r for r in self.results if r.scenario.name not in self._samples]
        if rest:
            yield self._aggregates(rest)
        if not rest and not any(map(len, self._samples.values())):
            raise SourceError(self._found.names[0], "it holds no results")

    def _adapter(self, scenario: str, *, is_chat: bool = False) -> AdapterSpec:
        settings = next(
            (r.settings for r in self.results if r.scenario.name == scenario), {}
        )
        return adapter(settings, is_chat=is_chat)

    def _run(self, scenario: str, samples: Samples) -> Imported:
        about = [r for r in self.results if r.scenario.name == scenario]
        facts = about[0].scenario if about else self._unnamed(scenario)
        source = about[0].source if about else {}
        metrics = {r.facts.name: r.facts for r in about}
        for metric in self._guessed.get(scenario, {}):
            metrics.setdefault(metric, _plain_facts(metric, self._header))
        settings = {
            **self._header.settings,
            "source_data": source or self._header.settings.get("source_data", {}),
            "generation_config": about[0].settings if about else {},
        }
        several = len(self._samples) > 1
        replies = samples.replies()
        return Imported(
            key=f"{self._found.key}#{scenario}" if several else self._found.key,
            spec=RunSpec(
                scenario=scenario,
                model=self._header.model,
                adapter=self._adapter(scenario, is_chat=scenario in self._chats),
                data=_revision(source),
                settings=hidden(
                    {k: v for k, v in settings.items() if v}, self._notes.hidden
                ),
            ),
            scenario=facts,
            card=self._header.card,
            instances=samples.instances(),
            replies=replies,
            scores=samples.scores(),
            stats=[_stat(r, about[0]) for r in about],
            metrics=tuple(metrics.values()),
            perturbations=_perturbations(self._header),
            version=self._header.version,
            started_at=self._header.started_at,
            cancelled=self._header.details.get("helmsite_status") == "cancelled",
            warnings=(*self._warnings, *_fewer(about, replies), *samples.warnings()),
        )

    def _unnamed(self, scenario: str) -> ScenarioFacts:
        return scenario_facts(scenario, Row({}, Place("")), self._header)

    def _aggregates(self, rest: Sequence[Result]) -> Aggregates:
        model = self._header.model
        who = {
            "revision": model.revision,
            "quantisation": model.quantisation,
            "runtime": model.runtime,
            **model.settings,
        }
        shared = {
            "source": self._header.settings.get("source_metadata", {}),
            "library": self._header.settings.get("eval_library", {}),
            "model": {k: v for k, v in who.items() if v},
        }
        cells = []
        for each in rest:
            settings = {**shared, **each.settings, "source_data": each.source}
            told = hidden({k: v for k, v in settings.items() if v}, self._notes.hidden)
            cells.append(
                PublishedStat(
                    each.scenario.name,
                    model.name,
                    each.stat,
                    settings=told,
                    source_file=self._found.names[0],
                )
            )
        return Aggregates(
            results=cells,
            scenarios=tuple({r.scenario.name: r.scenario for r in rest}.values()),
            metrics=tuple({r.facts.name: r.facts for r in rest}.values()),
            cards=(self._header.card,),
            suite=self._header.collection if self._header.is_published else "",
            version=self._header.version,
        )


def _md5(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(
                file, lambda: hashlib.new("md5", usedforsecurity=False)
            ).hexdigest()
    except OSError as error:
        raise SourceError(str(path), error.strerror or str(error)) from error


def _own_name(found: Line, header: Header) -> str:
    """Return the scenario of a line of which no aggregate tells."""
    name = found.name or header.collection or "unnamed"
    filtered = found.metadata.get("filter", "")
    if header.tool == "lm_eval" and filtered:
        return name.removesuffix(f"/{filtered}") or name
    return name


def _plain_facts(metric: str, header: Header) -> MetricFacts:
    """Return the facts of a metric of which only scores of samples are known."""
    said = f"As reported by {header.library or 'the source'}."
    return MetricFacts(metric, metric_title(metric), said, "", source=header.library)


def _fewer(about: Sequence[Result], replies: Sequence[Reply]) -> list[str]:
    """Say so if the aggregates are about more samples than there are."""
    places = {
        (r.request.instance_id, r.request.perturbation, r.request.trial)
        for r in replies
    }
    plain = (r.stat.n_scored for r in about if not r.stat.perturbation)
    told, there = max(plain, default=0), len(places)
    if told <= there:
        return []
    return [
        f"The source's aggregates are over {told:,} samples, of which {there:,} are here."
    ]


def _perturbations(header: Header) -> tuple[PerturbationFacts, ...]:
    """Return the perturbations that exports of helmsite tell of."""
    said = read_json(header.details.get("perturbations", ""))
    try:
        return msgspec.convert(said or (), tuple[PerturbationFacts, ...])
    except msgspec.ValidationError:
        return ()


def _revision(source: dict[str, Any]) -> DataRevision:
    found = source.get("hf_repo") or source.get("url") or ""
    first = found[0] if isinstance(found, list) and found else found
    return DataRevision(source=first if isinstance(first, str) else "")


def _stat(result: Result, first: Result) -> Stat:
    """Return an aggregate, with what is told of it otherwise than of the run's first one."""
    more = {
        name: own
        for name, own, shared in (
            ("generation_config", result.settings, first.settings),
            ("source_data", result.source, first.source),
        )
        if own and own != shared
    }
    return structs.replace(result.stat, details={**result.stat.details, **more})

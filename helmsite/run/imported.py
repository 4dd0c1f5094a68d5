"""One result of another tool, from its files to the archive."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from msgspec import structs

from helmsite import __version__, importers, metrics
from helmsite.config import Maps, informed
from helmsite.errors import HelmsiteError, SourceError
from helmsite.importers import Aggregates, Notes, reading, redact
from helmsite.query.summarise import stat_key
from helmsite.run.reported import aggregates, computed_again, storable
from helmsite.run.scoring import About, verdicts
from helmsite.schema import Manifest, Provenance, Record, run_id

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from helmsite.archive import Archive
    from helmsite.importers import Found, Imported
    from helmsite.run.definitions import Definitions
    from helmsite.schema import (
        MetricFacts,
        ModelCard,
        RunSpec,
        ScenarioFacts,
        Score,
        Stat,
    )

MARK = 8
Fate = Literal["new", "replaced", "kept apart", "unchanged", "aggregates", "failed"]


class Wish(Record, frozen=True):
    """How results are taken: under which suite ('': the source's own word), which names.

    `again` takes what is in the archive already, too; `strict` takes nothing of a find
    in which anything is wrong.
    """

    suite: str = ""
    maps: Maps = Maps()
    again: bool = False
    strict: bool = False


class Made(Record, frozen=True):
    """A run that came into the archive, or was there; `note` says what to know of it."""

    run_id: str
    fate: Fate
    model: str
    scenario: str
    instances: int = 0
    equal: int = 0
    different: tuple[str, ...] = ()
    note: str = ""


def digest(found: Found) -> str:
    """Return what a find's content is known by: of one file alone, its SHA-256.

    Raises:
        SourceError: a file cannot be read.
    """
    marks = sorted(
        (Path(file).name, reading.digest(Path(file))) for file in found.files
    )
    if found.reading:
        marks.append(("", found.reading))
    if len(marks) == 1:
        return marks[0][1]
    return hashlib.sha256("".join(f"{n} {d}\n" for n, d in marks).encode()).hexdigest()


class Taker:
    """Takes finds into an archive.

    Args:
        archive: where they go.
        wish: how.
        definitions: the scenarios that are known by name.
    """

    def __init__(self, archive: Archive, wish: Wish, definitions: Definitions) -> None:
        self._archive, self._wish, self._definitions = archive, wish, definitions

    def take(
        self, found: Found, mark: str, notes: Notes, *, apart: bool = False
    ) -> Iterator[Made | Aggregates]:
        """Archive the runs of a find; yield what became of them. Aggregates are yielded.

        What is broken ends in a problem among the notes; other runs are not touched.

        Args:
            found: the find.
            mark: its digest.
            notes: is told of problems and of what was replaced.
            apart: another find has the same key, so the origin of this one has its mark.
        """
        try:
            several = importers.load(found.importer).read(found, notes)
            if self._wish.strict:
                several = iter(list(several))
                if notes.problems:
                    return
            for each in several:
                if isinstance(each, Aggregates):
                    yield self._named(each, found, mark, notes)
                else:
                    yield self._archived(each, found, mark, notes, apart=apart)
        except SourceError as error:
            notes.problem(error)
        except RecursionError:
            notes.problem(SourceError(found.names[0], reading.DEEP))
        except HelmsiteError as error:
            notes.problem(SourceError(found.names[0], str(error.message).rstrip(".")))

    def _archived(
        self, of: Imported, found: Found, mark: str, notes: Notes, *, apart: bool
    ) -> Made:
        of = replace(of, scenario=self._facts(of.scenario), card=self._card(of.card))
        spec = self._spec(of, notes)
        suite = self._wish.suite or of.suite or "imported"
        origin = f"{found.importer}:{of.key}"
        name = run_id(spec.spec_id, suite, origin)
        old = self._archive.find(name)
        fate: Fate = "new"
        if apart or (old is not None and self._is_older(found, mark, old)):
            fate, origin = "kept apart", f"{origin}#{mark[:MARK]}"
            name = run_id(spec.spec_id, suite, origin)
            old = self._archive.find(name)
        elif old is not None:
            fate = "replaced"
        scores, stats, facts, told = _judged(of)
        warnings = [*of.warnings, *told.warnings]
        if fate == "kept apart":
            warnings.append(
                "Other files give another result of this run; both are kept, each by itself."
            )
        manifest = Manifest(
            run_id=name,
            spec_id=spec.spec_id,
            suite=suite,
            origin=origin,
            status="cancelled" if of.cancelled else "complete",
            spec=spec,
            scenario=of.scenario,
            card=of.card,
            metrics=facts,
            perturbations=of.perturbations,
            provenance=Provenance(
                helmsite_version=__version__,
                source_tool=found.importer,
                source_version=of.version,
                source_files=found.names,
                source_sha256=mark,
                source_at=found.when,
                started_at=of.started_at,
                finished_at=of.finished_at,
                verified=(*of.verified, *told.verified),
            ),
            warnings=tuple(warnings),
        )
        self._archive.write_run(manifest, of.instances, of.replies, scores, stats)
        return Made(
            run_id=name,
            fate=fate,
            model=spec.model.name,
            scenario=spec.scenario,
            instances=sum(not i.perturbation for i in of.instances),
            equal=told.equal,
            different=told.different,
        )

    @staticmethod
    def _is_older(found: Found, mark: str, old: Manifest) -> bool:
        """Return whether the archive has a newer result of the same run from other files."""
        source = old.provenance
        same = (source.source_files, source.source_at) == (found.names, found.when)
        if found.reading and same:
            return False  # the same file, read in another way
        return source.source_sha256 != mark and found.when <= (source.source_at or 0.0)

    def _spec(self, of: Imported, notes: Notes) -> RunSpec:
        """Return the spec under the names that the user wants, without secrets."""
        maps, spec = self._wish.maps, of.spec
        name = maps.models.get(spec.model.name, spec.model.name)
        model = structs.replace(
            spec.model,
            name=name,
            settings=redact.settings(spec.model.settings, notes.hidden),
        )
        return structs.replace(
            spec,
            model=model,
            scenario=self._scenario(spec.scenario),
            settings=redact.settings(spec.settings, notes.hidden),
        )

    def _card(self, card: ModelCard) -> ModelCard:
        maps = self._wish.maps
        name = maps.models.get(card.name, card.name)
        given = maps.cards.get(name)
        known = informed(structs.replace(card, name=name))
        if given is None:
            return known
        said = {
            field: getattr(given, field)
            for field in given.__struct_fields__
            if getattr(given, field) not in ("", None, ())
        }
        return structs.replace(known, **said)

    def _scenario(self, name: str) -> str:
        """Return the name that the user wants, or that runs made here have."""
        meant = self._wish.maps.scenarios.get(name)
        return self._definitions.name(name) if meant is None else meant

    def _facts(self, facts: ScenarioFacts) -> ScenarioFacts:
        """Return what the source says of a scenario, and what is known of it by its name.

        A scenario that is known has one title, whoever ran it.
        """
        name = self._scenario(facts.name)
        facts = structs.replace(facts, name=name)
        known = self._definitions.facts(name)
        if known is None:
            return facts
        usual = type(facts)(name)
        more = {
            field: getattr(known, field)
            for field in facts.__struct_fields__
            if field not in {"name", "main_metric", "main_split"}
            and (field == "title" or getattr(facts, field) == getattr(usual, field))
        }
        return structs.replace(facts, **more)

    def _named(
        self, of: Aggregates, found: Found, mark: str, notes: Notes
    ) -> Aggregates:
        """Return aggregates under the names that the user wants, as an archive holds them."""
        maps = self._wish.maps
        named = (
            structs.replace(
                row,
                model=maps.models.get(row.model, row.model),
                scenario=self._scenario(row.scenario),
                source_file=row.source_file or found.names[0],
                source_sha256=row.source_sha256 or mark,
            )
            for row in of.results
        )
        rows, wrong = storable(named)
        for why in wrong:
            notes.problem(SourceError(found.names[0], why))
        return Aggregates(
            results=rows,
            scenarios=tuple(map(self._facts, of.scenarios)),
            metrics=tuple(map(_known, of.metrics)),
            cards=tuple(map(self._card, of.cards)),
            suite=self._wish.suite or of.suite or "imported",
            version=of.version,
        )


class _Told(Record, frozen=True):
    equal: int
    different: tuple[str, ...]
    warnings: tuple[str, ...]
    again: str = ""

    @property
    def verified(self) -> tuple[str, ...]:
        """What the source's aggregates were held against, as sentences."""
        verb = "follows" if self.equal == 1 else "follow"
        follow = (
            f"{self.equal} of the source's aggregates {verb} from its own instances."
        )
        return tuple(filter(None, [follow if self.equal else "", self.again]))


def _judged(
    of: Imported,
) -> tuple[list[Score], list[Stat], tuple[MetricFacts, ...], _Told]:
    """Return scores and aggregates, reported and computed, and what there is to say."""
    said = aggregates(of)
    scores, stats = list(of.scores), said.stats
    facts = {each.name: _known(each) for each in of.metrics}
    warnings, again = [], ""
    if said.different:
        warnings.append(
            f"{len(said.different)} of the source's aggregates are not what its own "
            f"instances give: {_listed(said.different)}."
        )
    if of.compute:
        names = _computable(of)
        made, summed = verdicts(
            of.instances,
            list(of.replies),
            of.spec.adapter,
            names,
            About(of.scenario.name, of.perturbations, of.card),
        )
        scores += made
        again = computed_again(said.stats, summed)
        there = {stat_key(s) for s in summed}
        stats = [s for s in stats if stat_key(s) not in there]
        stats += summed
        facts = {each.name: each for each in metrics.resolve(names)} | {
            name: each for name, each in facts.items() if name not in set(names)
        }
        warnings += metrics.notes(names, made, None)
    return (
        scores,
        stats,
        tuple(facts.values()),
        _Told(said.equal, said.different, tuple(warnings), again),
    )


def _known(facts: MetricFacts) -> MetricFacts:
    """Return our own words on a metric if it is one of ours."""
    return metrics.resolve([facts.name])[0] if metrics.is_ours(facts) else facts


def _computable(of: Imported) -> tuple[str, ...]:
    """Return the metrics that can be computed here, and those that come along with them."""
    known = [name for name in of.compute if metrics.is_known(name)]
    adapter = of.spec.adapter
    names = metrics.applicable(adapter.method, known, adapter.num_outputs, of.card)
    return tuple(name for name in names if _can(name))


def _can(name: str) -> bool:
    if metrics.runs_code(name):
        return False
    try:
        metrics.require([name])
    except HelmsiteError:
        return False
    return True


def _listed(names: Iterable[str], most: int = 5) -> str:
    shown = list(names)
    more = f" and {len(shown) - most} more" if len(shown) > most else ""
    return ", ".join(shown[:most]) + more

"""A HELM run from its files to records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import structs

from helmsite.errors import SourceError
from helmsite.importers import redact
from helmsite.importers.found import Aggregates, Imported
from helmsite.importers.helm import states, survey, verdicts
from helmsite.importers.helm.aggregates import GIVEN, listed, published, silent
from helmsite.importers.helm.display import Shown, displayed, scores
from helmsite.importers.helm.folder import Folder
from helmsite.importers.helm.naming import Perturbations, entry_of
from helmsite.importers.helm.specs import Schema, Spec, names_of
from helmsite.importers.values import Row, plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from helmsite.importers.found import Found, Notes
    from helmsite.importers.helm.states import States
    from helmsite.importers.helm.verdicts import Scores
    from helmsite.schema import MetricFacts, Reply, Score, Stat

REPORTED_ONLY = {"summac", "BERTScore-P", "BERTScore-R", "BERTScore-F", *verdicts.COSTS}
"""Metrics that need a model of their own, or come along where they are known."""

MEANT = (
    ("ClassificationMetric", "classification_", {"labels": None, "delimiter": None}),
    (
        "CopyrightMetric",
        "longest_common_prefix_length",
        {"normalize_by_prefix_length": True},
    ),
    ("CopyrightMetric", "edit_", {"normalize_by_prefix_length": True}),
)
"""Part of a class's name, beginning of its metrics' names, and the arguments that ours mean."""

LATEST = 253_402_300_800
"""Seconds since the epoch at which archives end: the year 10000."""

ZEROS = (
    "All log-probabilities of answers are 0: the model's client did not tell them. They, and "
    "what HELM computed from them, count as missing."
)
HIDDEN = (
    "The source encrypted the texts of this run; prompts, answers and references are marks "
    "that stand for them, and nothing can be computed from them."
)
SLIM = (
    "Of scenario_state.json only the slim version is among the files, which has the first "
    "two tokens of each completion: tokens are left out, and given texts have no "
    "log-probability."
)
DISPLAY = (
    "scenario_state.json is not among the files. Prompts and first completions are from "
    "HELM's display files: there are no tokens, log-probabilities, times or further completions."
)


def read(found: Found, notes: Notes) -> Iterator[Imported | Aggregates]:
    """Yield a run, or aggregates where nothing tells of instances.

    Raises:
        SourceError: nothing of it can be used.
    """
    folder = Folder(found, notes)
    try:
        if survey.RUNS in folder.paths:
            yield from listed(folder)
        else:
            yield _Run(folder).read()
    finally:
        folder.end()


class _Run:
    """One run, on its way into records."""

    def __init__(self, folder: Folder) -> None:
        self.folder = folder
        name = folder.found.options["name"]
        self.state = folder.row(survey.STATE)
        self.schema = Schema(folder.value(survey.SCHEMA), folder.value(survey.CARDS))
        spec = folder.row(survey.SPEC) or self._listed_spec(name)
        try:
            asked = self.state.row("adapter_spec", None) if self.state else None
        except SourceError as error:
            folder.problem(error)
            asked = None
        self.spec = Spec(spec, asked, entry_of(name), folder.problem)
        self.perturbations = Perturbations(
            self.spec.perturbation_specs, self.schema.perturbations
        )
        self.warnings: list[str] = []

    def read(self) -> Imported | Aggregates:
        """Return the run.

        Raises:
            SourceError: nothing of it can be used.
        """
        folder = self.folder
        reported = folder.value(survey.STATS)
        asked, shown = self._asked()
        known = asked is not None and not shown
        told = states.told(asked or []) if known else not self._silent(reported)
        reader = verdicts.Reader(
            self.perturbations,
            windows=self.spec.adapter.method == "language_modeling",
            told=told,
            problem=folder.problem,
        )
        stats = self._stats(reader, reported)
        if not asked:
            return self._aggregates(stats)
        scores = self._scores(reader)
        made = self._states(asked, scores.prompt_tokens, told=told)
        if not made.instances:
            return self._aggregates(stats)
        rows = [
            row
            for row in scores.rows
            if (row.instance_id, row.perturbation) in made.instances
        ]
        if lost := len(scores.rows) - len(rows):
            why = (
                f"{lost} scores are of instances that were not asked; they are left out"
            )
            folder.problem(folder.place(survey.SCORES).error(why))
        if not rows and all(reply.completion.error for reply in made.replies):
            why = "no request has an answer, as after helm-run --dry-run"
            raise folder.place(survey.STATE).error(why)
        if self._is_slim:
            self.warnings.append(SLIM)
        if shown:
            self.warnings.append(DISPLAY)
        elif not told:
            self.warnings.append(ZEROS)
        compute = () if shown or made.encrypted else self._compute(rows, stats)
        return self._imported(made, rows, stats, scores.weighted, compute)

    def _silent(self, reported: Any) -> bool:
        return self.spec.adapter.method not in GIVEN and silent(reported)

    @property
    def _is_slim(self) -> bool:
        path = self.folder.paths.get(survey.STATE)
        return path is not None and path.stem.endswith("_slim")

    def _listed_spec(self, name: str) -> Row | None:
        """Return the run's spec among all of its suite, where its folder has none."""
        found = self.folder.value(survey.SPECS)
        for n, each in enumerate(found if isinstance(found, list) else []):
            if isinstance(each, dict) and each.get("name") == name:
                return Row(each, self.folder.place(survey.SPECS).inside(n))
        return None

    def _asked(self) -> tuple[list[Any] | None, bool]:
        """Return request states, and whether they are made of files for display."""
        folder = self.folder
        if self.state:
            try:
                return self.state.items("request_states"), False
            except SourceError as error:
                folder.problem(error)
        kinds = (survey.INSTANCES, survey.REQUESTS, survey.PREDICTIONS)
        instances, requests, predictions = (
            Shown(folder.value(kind), folder.place(kind)) for kind in kinds
        )
        if predictions.value is None:
            return None, False
        made = displayed(
            instances, requests, predictions, self.perturbations, folder.problem
        )
        return made, True

    def _stats(self, reader: verdicts.Reader, found: Any) -> list[Stat]:
        if found is None:
            return []
        try:
            return reader.stats(found, self.folder.place(survey.STATS))
        except SourceError as error:
            self.folder.problem(error)
            return []

    def _scores(self, reader: verdicts.Reader) -> Scores:
        found = self.folder.value(survey.SCORES)
        place = self.folder.place(survey.SCORES)
        if found is None:
            found = scores(self.folder.value(survey.PREDICTIONS))
            place = self.folder.place(survey.PREDICTIONS)
        try:
            return reader.scores(found, place)
        except SourceError as error:
            self.folder.problem(error)
            return verdicts.Scores()

    def _states(
        self, asked: list[Any], tokens: dict[verdicts.Key, int], *, told: bool
    ) -> States:
        hidden = self.folder.notes.hidden
        reader = states.Reader(
            adapter=self.spec.adapter,
            model=self.spec.model,
            perturbations=self.perturbations,
            prompt_tokens=tokens,
            told=told,
            problem=self.folder.problem,
            clean=lambda said: redact.text(said, hidden),
            slim=self._is_slim,
        )
        kind = survey.STATE if self.state else survey.PREDICTIONS
        made = reader.read(asked, self.folder.place(kind).inside("request_states"))
        if made.encrypted:
            self.warnings.append(HIDDEN)
        if made.unsure:
            self.warnings.append(
                f"Of {made.unsure} scored texts the tokens do not end where the text begins: "
                "the fewest that hold it are taken."
            )
        return made

    def _compute(self, rows: Sequence[Score], stats: Sequence[Stat]) -> tuple[str, ...]:
        """Return the metrics to compute: those that were asked for or reported.

        Where a class of metrics got arguments that change what its names mean, its values
        stay as reported.
        """
        found = {s.metric: None for s in rows} | {s.metric: None for s in stats}
        asked = [n for _, args in self.spec.metrics for n in names_of(args)]
        return tuple(
            name
            for name in dict.fromkeys([*asked, *found])
            if name not in REPORTED_ONLY and not name.startswith(self._otherwise())
        )

    def _otherwise(self) -> tuple[str, ...]:
        """Return how the names begin of metrics that mean something else in this run."""
        return tuple(
            {
                prefix: None
                for kind, args in self.spec.metrics
                for part, prefix, usual in MEANT
                if part in kind
                and any(args.get(k, v) not in (None, v) for k, v in usual.items())
            }
        )

    def _facts(
        self,
        rows: Sequence[Score],
        stats: Sequence[Stat],
        weighted: set[str],
        compute: tuple[str, ...],
    ) -> tuple[MetricFacts, ...]:
        """Return what is said about the metrics reported.

        The mean of HELM is over requests: of a metric with several requests an instance
        it is a ratio. HELM's worst case is the least value whatever is better, so those
        that are computed here, with facts of their own, have no direction.
        """
        names = {s.metric: None for s in rows} | {s.metric: None for s in stats}
        made = []
        for name in names:
            facts = self.schema.facts(name)
            if name in weighted:
                facts = structs.replace(facts, aggregation="ratio")
            if name.startswith(self._otherwise()):
                facts = structs.replace(facts, source="HELM")
            if name in compute:
                facts = structs.replace(facts, higher_is_better=None)
            made.append(facts)
        return tuple(made)

    def _imported(
        self,
        made: States,
        rows: Sequence[Score],
        stats: Sequence[Stat],
        weighted: set[str],
        compute: tuple[str, ...],
    ) -> Imported:
        folder, facts = self.folder, self.perturbations.facts
        there = {name for _, name in made.instances}
        used = tuple(f for f in facts if f.name in there)
        scenario = folder.row(survey.SCENARIO)
        said = dict(scenario.value) if scenario else {}
        began, ended = _times(made.replies)
        return Imported(
            key=folder.found.key,
            spec=self.spec.run_spec([f.name for f in used], _more(said)),
            scenario=self.schema.scenario(self.spec, said, encrypted=made.encrypted),
            card=self.schema.card(self.spec.model),
            instances=list(made.instances.values()),
            replies=made.replies,
            scores=rows,
            stats=stats,
            metrics=self._facts(rows, stats, weighted, compute),
            compute=compute,
            perturbations=used,
            suite=folder.found.options["suite"],
            started_at=began,
            finished_at=ended,
            by_request=frozenset(weighted),
            warnings=tuple(self.warnings),
        )

    def _aggregates(self, stats: Sequence[Stat]) -> Aggregates:
        folder = self.folder
        if not stats:
            raise SourceError(
                folder.found.names[0], "nothing in this folder is a result"
            )
        scenario = folder.row(survey.SCENARIO)
        said = dict(scenario.value) if scenario else {}
        return Aggregates(
            results=published(
                self.spec, stats, folder.found.title, folder.names[survey.STATS]
            ),
            scenarios=(self.schema.scenario(self.spec, said, encrypted=False),),
            metrics=tuple(
                map(self.schema.facts, dict.fromkeys(s.metric for s in stats))
            ),
            cards=(self.schema.card(self.spec.model),),
            suite=folder.found.options["suite"],
        )


def _times(replies: Sequence[Reply]) -> tuple[float | None, float | None]:
    """Return when the first request of this run was made, and when the last was answered."""
    own = [r.completion for r in replies if not r.completion.cached]
    began = [c.started_at for c in own if c.started_at is not None]
    ended = [
        c.started_at + (c.duration_s or 0) for c in own if c.started_at is not None
    ]
    sound = began and min(began) >= 0 and max(ended) < LATEST
    return (min(began), max(ended)) if sound else (None, None)


def _more(scenario: dict[str, Any]) -> dict[str, Any]:
    """Return what scenario.json says, as a setting: not all of it has a field of ours.

    Older ones list all instances, and a folder of the machine that they were made on.
    """
    rest = {k: v for k, v in scenario.items() if k not in {"instances", "output_path"}}
    return {"scenario": plain(rest)} if rest else {}

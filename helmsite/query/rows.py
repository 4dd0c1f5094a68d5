"""What a page is told: frozen rows, one class per thing a page shows.

`render` sees these and nothing else of the archive. A number comes with how many
observations it rests on, its interval and the run that it came from.
"""

from __future__ import annotations

from typing import Any, Literal

from helmsite.schema import (
    AdapterSpec,
    Completion,
    Instance,
    Manifest,
    MetricFacts,
    ModelCard,
    Record,
    Request,
    ScenarioFacts,
    Score,
    Stat,
)

Hole = Literal["", "not run", "not reported", "not measurable", "failed", "not asked"]


class Cell(Record, frozen=True):
    """One value of a table. `missing` says why `value` is None; '' if there is one.

    `heat` is 0 (worst of its column) to 8 (best), -1 without a good direction or value.
    `best` is set only where no other cell of the column is as good. `other_runs` are the
    runs that could have filled the cell and were not chosen. `origin` is 'reported' for a
    number that its source computed. `scorer` names who or what judged, if it was not the
    metric alone. In a column of several scenarios `value` is the mean over `held` `of`
    them, and no single run fills the cell. `source` names what fills a cell that no run
    fills, of results that came without instances: the key of a SourceFile, a hyphen and
    what tells it from others of that file; `more_sources` more could have filled it.
    """

    value: float | None = None
    ci_low: float | None = None
    ci_high: float | None = None
    n_scored: int = 0
    n_asked: int = 0
    missing: Hole = "not run"
    run_id: str = ""
    other_runs: tuple[str, ...] = ()
    best: bool = False
    heat: int = -1
    origin: str = "computed"
    scorer: str = ""
    held: int = 0
    of: int = 0
    source: str = ""
    more_sources: int = 0

    @property
    def is_filled(self) -> bool:
        """Whether a run or another result says something of the cell, be it a reason."""
        return bool(self.run_id or self.source)

    @property
    def is_whole(self) -> bool:
        """Whether there is a value, and of all scenarios that the column stands for."""
        return self.value is not None and self.held == self.of


class Column(Record, frozen=True):
    """A column of a leaderboard: one scenario under one metric and split.

    One that stands for several scenarios has a column for each in `members`. `scenario`
    is then what they are called together; the group `board` shows each under `family`.
    """

    scenario: ScenarioFacts
    metric: MetricFacts
    split: str = ""
    perturbation: str = ""
    computed_on: str = ""
    members: tuple[Column, ...] = ()
    board: str = ""
    family: str = ""

    @property
    def parts(self) -> tuple[Column, ...]:
        """The columns that each stand for one scenario."""
        return self.members or (self,)


class LeaderboardRow(Record, frozen=True):
    """A model's line. `win_rate` is None where it shares no column with another model.

    `win_rate_columns` counts the columns that it rests on. `coverage` is the share of
    the table's columns that have a value. `band` numbers the rank band: models of one
    band cannot be told apart from its first (0 = not banded). `variant` tells the line
    from others of its model: its checkpoint, how it was asked.
    """

    card: ModelCard
    cells: tuple[Cell, ...]
    win_rate: float | None = None
    win_rate_columns: int = 0
    coverage: float = 0.0
    band: int = 0
    variant: str = ""


class SourceFile(Record, frozen=True):
    """A file of results that came without instances, with how much it says.

    `key` is the same in every archive that holds it in a batch of this suite and name;
    `path` is where the batch is in the archive.
    """

    key: str
    path: str
    suite: str
    batch: str
    file: str
    sha256: str = ""
    tool: str = ""
    version: str = ""
    n_values: int = 0
    n_scenarios: int = 0
    models: tuple[str, ...] = ()


class Leaderboard(Record, frozen=True):
    """Models × scenarios for one group and one family of metrics."""

    group: str
    family: str
    columns: tuple[Column, ...]
    rows: tuple[LeaderboardRow, ...]


class Joint(Record, frozen=True):
    """Scenarios that share a column; `board` is the group that shows each of them."""

    title: str
    board: str
    scenarios: tuple[str, ...]


class Group(Record, frozen=True):
    """A named set of scenarios.

    `families` are accuracy and those others with at least one value. `joints` say which
    of the scenarios share a column. An `inner` group shows what a column of others is
    the mean of.
    """

    name: str
    title: str
    description: str = ""
    scenarios: tuple[str, ...] = ()
    families: tuple[str, ...] = ()
    joints: tuple[Joint, ...] = ()
    inner: bool = False


class RunSummary(Record, frozen=True):
    """A run in a list, with its main number."""

    manifest: Manifest
    main: Cell
    main_metric: MetricFacts | None = None
    n_instances: int = 0
    n_trials: int = 0


class ScenarioSummary(Record, frozen=True):
    """A scenario in a list. `best` is its best main number, `best_model` whose it is.

    `groups` are the names of the groups that show it.
    """

    facts: ScenarioFacts
    main_metric: MetricFacts | None = None
    best: Cell = Cell()
    best_model: str = ""
    n_models: int = 0
    n_runs: int = 0
    n_instances: int = 0
    groups: tuple[str, ...] = ()


class ModelSummary(Record, frozen=True):
    """A model in a list. `win_rate` is the accuracy win rate over all scenarios."""

    card: ModelCard
    n_scenarios: int = 0
    n_runs: int = 0
    win_rate: float | None = None
    win_rate_columns: int = 0
    n_sources: int = 0


class Part(Record, frozen=True):
    """The main metric on a part of a scenario: a cell for each row of its page's table."""

    split: str
    sub_split: str
    cells: tuple[Cell, ...]


class Gap(Record, frozen=True):
    """How far a run's best group of a dimension is ahead of its worst one.

    `dimension` is that of attributes, '' for sub-splits. `value` is positive whatever
    direction is good; its interval is of these two groups, though they were chosen for
    being the ends of `groups`: with many groups some gap is to be expected by chance.
    """

    metric: str
    scorer: str = ""
    origin: str = "computed"
    split: str = ""
    higher: bool = True
    dimension: str = ""
    best: str = ""
    worst: str = ""
    value: float = 0.0
    ci_low: float | None = None
    ci_high: float | None = None
    groups: int = 0
    run_id: str = ""


class Variant(Record, frozen=True):
    """A model under some of its settings.

    `label` says which, as far as they differ from its others; `step` is that of a
    checkpoint, None where it names none. `way` tells how it was asked apart from that:
    variants of one way differ in their checkpoint alone.
    """

    label: str
    step: float | None
    way: str
    cells: tuple[Cell, ...]


class Course(Record, frozen=True):
    """A model's main number on a scenario over its checkpoints, in order of their steps."""

    card: ModelCard
    points: tuple[tuple[float, Cell], ...]


class SourceLine(Record, frozen=True):
    """A number in a source; `entry` tells scenario, model and settings from the others."""

    entry: str
    scenario: ScenarioFacts
    metric: MetricFacts
    model: str
    settings: dict[str, Any]
    stat: Stat


class SourcePage(Record, frozen=True):
    """A file of results that came without instances, with all of its numbers.

    `cards` are its models; lines go by model and settings, scenario and metric.
    """

    source: SourceFile
    cards: tuple[ModelCard, ...]
    lines: tuple[SourceLine, ...]


class ScenarioPage(Record, frozen=True):
    """One scenario: every model under every metric of it, each row from one run.

    `parts` are its splits and, within each, its sub-splits and attributes; `gaps` are
    between the groups of each run, in the main metric. The example has its completion,
    its instance and its run where they are known. `courses` are of models with several
    checkpoints.
    """

    facts: ScenarioFacts
    metrics: tuple[MetricFacts, ...]
    rows: tuple[LeaderboardRow, ...]
    columns: tuple[Column, ...]
    runs: tuple[RunSummary, ...]
    example: Request | None = None
    example_reply: Completion | None = None
    example_instance: Instance | None = None
    example_run: str = ""
    parts: tuple[Part, ...] = ()
    gaps: tuple[Gap, ...] = ()
    main_metric: MetricFacts | None = None
    courses: tuple[Course, ...] = ()


class ModelResult(Record, frozen=True):
    """A model's main number on a scenario; rank is among `of` models with a value."""

    column: Column
    cell: Cell
    rank: float | None = None
    of: int = 0


class ModelPage(Record, frozen=True):
    """One model: its card, and its value and rank on each scenario's main metric.

    Where it has a number under several settings, `variants` are its lines under these,
    and `columns` what their cells are about: scenarios of one name share a column.
    `n_sources` counts the files without instances that tell of it.
    """

    card: ModelCard
    results: tuple[ModelResult, ...]
    runs: tuple[RunSummary, ...]
    columns: tuple[Column, ...] = ()
    variants: tuple[Variant, ...] = ()
    n_sources: int = 0


class RunPage(Record, frozen=True):
    """One run: what was run, every aggregate of it and the gaps between its groups."""

    summary: RunSummary
    stats: tuple[Stat, ...]
    defaults: AdapterSpec
    example: Request | None = None
    gaps: tuple[Gap, ...] = ()


class ReplyView(Record, frozen=True):
    """One completion with the verdicts that are about it alone."""

    completion: Completion
    completion_index: int
    scores: tuple[Score, ...] = ()


class RequestView(Record, frozen=True):
    """One request with its completions.

    `own_start` is the code-point offset in the prompt where the instance's own part
    begins; what stands before is the same for all of its trial: instructions and
    in-context examples.
    """

    request: Request
    replies: tuple[ReplyView, ...]
    own_start: int = 0


class TrialView(Record, frozen=True):
    """All requests of one trial; `scores` are the verdicts on the instance as a whole."""

    trial: int
    requests: tuple[RequestView, ...]
    scores: tuple[Score, ...] = ()


class InstanceView(Record, frozen=True):
    """One instance (or a perturbed version of it) with all its trials."""

    instance: Instance
    trials: tuple[TrialView, ...] = ()


class Difference(Record, frozen=True):
    """A paired comparison on the instances that both runs hold with equal content."""

    first: str
    second: str
    metric: str
    n: int
    mean: float | None
    ci_low: float | None = None
    ci_high: float | None = None
    details: dict[str, Any] = {}


class Overview(Record, frozen=True):
    """The site in one glance; `state` digests the manifests it was built from.

    `n_instances` and `n_requests` add up all runs; `newest` is when the last one ended,
    in seconds since the epoch.
    """

    n_models: int
    n_scenarios: int
    n_runs: int
    n_instances: int
    n_requests: int
    state: str
    newest: float | None = None

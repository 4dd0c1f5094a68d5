"""What each template is told: one record per page. These records are the theme's API.

A template's variables are exactly the fields of its record. `docs/site.md` lists them,
and a test compares records and templates both ways.
"""

from __future__ import annotations

from markupsafe import Markup

from helmsite.render.blocks import Article, Clip, ReferenceView, Shared
from helmsite.render.parts import Board, CellView, Fact, Frame, Link, RunLine, Stats
from helmsite.schema import Record


class Page(Record, frozen=True):
    """The base of every page."""

    frame: Frame


class BoardPage(Page, frozen=True):
    """leaderboard.html: one group under one family of metrics.

    `parts` are the pages of a leaderboard that is too wide for one, `sizes` its models'
    means against their sizes, `over` what they are means of.
    """

    sentence: str
    description: str
    groups: tuple[Link, ...]
    families: tuple[Link, ...]
    board: Board
    win_rule: str
    parts: tuple[Link, ...] = ()
    sizes: Markup = Markup("")
    over: str = ""


class ScenarioLine(Record, frozen=True):
    """A scenario in a list."""

    link: Link
    task: str
    language: str
    models: int
    runs: int
    instances: int
    metric: str
    best: CellView
    best_model: Link | None


class ScenariosPage(Page, frozen=True):
    """scenarios.html: every scenario."""

    sentence: str
    scenarios: tuple[ScenarioLine, ...]


class ContaminationLine(Record, frozen=True):
    """A reason to think that a model knew a scenario; `links` lead to what it is about."""

    links: tuple[Link, ...]
    evidence: str
    note: str = ""
    url: str = ""


class ScenarioView(Page, frozen=True):
    """scenario.html: one scenario, every model under every metric of it.

    `sizes` is the main metric against the models' sizes, `courses` against the steps of
    their checkpoints, `parts` are its values by split and dimension. The example is a prompt with the `reply`, what was right, and where
    its `instance` is.
    """

    sentence: str
    description: str
    facts: tuple[Fact, ...]
    citation: str
    metrics: tuple[Fact, ...]
    chart: Markup
    board: Board
    example: Clip | None
    example_note: str
    runs: tuple[RunLine, ...]
    sizes: Markup = Markup("")
    parts: tuple[Stats, ...] = ()
    reply: Clip | None = None
    references: tuple[ReferenceView, ...] = ()
    instance: Link | None = None
    contamination: tuple[ContaminationLine, ...] = ()
    courses: Markup = Markup("")


class ModelLine(Record, frozen=True):
    """A model in a list; `sources` counts the files without instances that tell of it."""

    link: Link
    creator: str
    size: str
    size_sort: str
    access: str
    scenarios: int
    runs: int
    win: CellView
    sources: int = 0


class ModelsPage(Page, frozen=True):
    """models.html: every model."""

    sentence: str
    models: tuple[ModelLine, ...]
    over: str = "over n columns"


class ModelRow(Record, frozen=True):
    """A model's number on one scenario."""

    scenario: Link
    metric: str
    arrow: str
    cell: CellView
    rank: str
    rank_sort: str


class ModelView(Page, frozen=True):
    """model.html: one model's card, ranks and runs.

    `win` tells its mean win rate, `not_run` are the site's scenarios that it has no run
    of, `setups` which clients, revisions and weights its runs had. `variants` are its
    numbers under several settings, `course` draws them over its checkpoints, `sources`
    are the files of results without instances that tell of it.
    """

    sentence: str
    description: str
    facts: tuple[Fact, ...]
    results: tuple[ModelRow, ...]
    runs: tuple[RunLine, ...]
    win: str = ""
    contamination: tuple[ContaminationLine, ...] = ()
    chart: Markup = Markup("")
    not_run: tuple[Link, ...] = ()
    setups: tuple[Fact, ...] = ()
    course: Markup = Markup("")
    variants: Stats | None = None
    sources: tuple[Link, ...] = ()


class RunsPage(Page, frozen=True):
    """runs.html: every run, or those of one of the `parts` of a long list.

    `sources` leads to the list of results that came without instances, if there are any.
    """

    sentence: str
    runs: tuple[RunLine, ...]
    parts: tuple[Link, ...] = ()
    sources: Link | None = None


class SourceRow(Record, frozen=True):
    """A file of results that came without instances, in a list."""

    link: Link
    tool: str
    suite: str
    models: tuple[Link, ...]
    more: int
    scenarios: int
    values: int


class SourcesPage(Page, frozen=True):
    """sources.html: every file of results that came without instances, or a part of them."""

    sentence: str
    sources: tuple[SourceRow, ...]
    parts: tuple[Link, ...] = ()


class SourceView(Page, frozen=True):
    """source.html: one such file: what made it, its settings, and all of its numbers."""

    sentence: str
    facts: tuple[Fact, ...]
    settings: tuple[Fact, ...]
    tables: tuple[Stats, ...]


class FileLine(Record, frozen=True):
    """A file of a run; `href` is '' where it is not on offer, `note` says why or what."""

    name: str
    href: str
    size: str = ""
    bytes: int = 0
    rows: int = 0
    sha256: str = ""
    note: str = ""


class RunView(Page, frozen=True):
    """run.html: one run, its numbers, settings and the way to its instances.

    `differs` are the settings that are not the preset's; `index` is the address of the
    score index, '' where no instance is published, and `index_bytes` its size. `ended`
    says what is to know of how it ended, `asked` how the model was set up and asked, `read` is SQL for one of the
    `files`. `told_by` is the tool of a run that has no preset: `settings` are all it told.
    """

    sentence: str
    links: tuple[Link, ...]
    warnings: tuple[str, ...]
    verified: tuple[str, ...]
    stats: tuple[Stats, ...]
    differs: tuple[Fact, ...]
    settings: tuple[Fact, ...]
    provenance: tuple[Fact, ...]
    example: Clip | None
    pages: tuple[Link, ...]
    index: str
    withheld: str
    index_bytes: int = 0
    status: str = "complete"
    ended: tuple[str, ...] = ()
    asked: tuple[Fact, ...] = ()
    files: tuple[FileLine, ...] = ()
    read: str = ""
    told_by: str = ""


class InstancesPage(Page, frozen=True):
    """instances.html: up to 50 instances of a run, already rendered as articles."""

    sentence: str
    shared: tuple[Shared, ...]
    articles: tuple[Markup, ...]
    number: int
    previous: str
    following: str
    run: Link
    index: str
    legend: bool


class Download(Record, frozen=True):
    """A run's files that the site offers; `bytes` and `size` are the tables' together."""

    run: Link
    files: tuple[Link, ...]
    bytes: int = 0
    size: str = ""


class ColumnLine(Record, frozen=True):
    """A column of a table, or a field of the manifest."""

    name: str
    type: str
    meaning: Markup


class TableView(Record, frozen=True):
    """A table of a run: what one row is, its key and its columns."""

    name: str
    row: str
    key: tuple[str, ...]
    columns: tuple[ColumnLine, ...]


class Example(Record, frozen=True):
    """Code to paste. `language` is SQL (DuckDB) or Python."""

    title: str
    language: str
    code: str


class Examples(Record, frozen=True):
    """Examples that are run in the same place; `note` says where."""

    title: str
    note: str
    examples: tuple[Example, ...]


class DataPage(Page, frozen=True):
    """data.html: how to read the archive without helmsite.

    `index` is the address of the list of files, '' where none is on offer. `sources` leads
    to the list of results that came without instances, if there are any.
    """

    sentence: str
    example_run: str
    downloads: tuple[Download, ...]
    tables: tuple[TableView, ...] = ()
    manifest: tuple[ColumnLine, ...] = ()
    examples: tuple[Examples, ...] = ()
    index: str = ""
    sources: Link | None = None


class PatternsPage(Page, frozen=True):
    """patterns.html: every component once, for theme authors and tests."""

    board: Board
    stats: Stats
    chart: Markup
    facts: tuple[Fact, ...]
    runs: tuple[RunLine, ...]
    shared: tuple[Shared, ...]
    articles: tuple[Markup, ...]
    legend: bool


TEMPLATES: dict[str, type[Record]] = {
    "leaderboard.html": BoardPage,
    "scenarios.html": ScenariosPage,
    "scenario.html": ScenarioView,
    "models.html": ModelsPage,
    "model.html": ModelView,
    "runs.html": RunsPage,
    "run.html": RunView,
    "instances.html": InstancesPage,
    "sources.html": SourcesPage,
    "source.html": SourceView,
    "data.html": DataPage,
    "patterns.html": PatternsPage,
    "instance.html": Article,
}

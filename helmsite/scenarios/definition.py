"""What a scenario file says: its keys, as records."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from helmsite.schema import Record, Taxonomy
from helmsite.schema.manifest import Method, Publication

Kind = Literal["string", "integer", "number", "boolean"]
FileFormat = Literal["csv", "tsv", "json", "jsonl", "parquet", "text", "lines", ""]
Encoding = Literal["utf-8", "latin-1", "cp1252", "utf-16", ""]
AnswerForm = Literal["index", "number", "letter", "text", ""]
Split = Literal["train", "valid", "test"]
Texts = str | tuple[str, ...]


class Parameter(Record, frozen=True):
    """A parameter of a scenario; without a default it must be given.

    `shapes` says what it decides: which instances there are, or only how a model is
    asked and judged in a run.
    """

    type: Kind = "string"
    values: tuple[str | int | float | bool, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    default: str | int | float | bool | None = None
    shapes: Literal["instances", "run"] = "instances"
    description: str = ""


class Hub(Record, frozen=True):
    """A file of a dataset on the Hugging Face hub, or a split of it as Parquet."""

    repo: str
    revision: str = "main"
    file: str = ""
    config: str = ""
    split: str = ""


class Reading(Record, frozen=True, kw_only=True):
    """How a file is read."""

    format: FileFormat = ""
    records: str = ""
    columns: tuple[str, ...] = ()
    delimiter: str = ""
    quotes: bool | None = None
    encoding: Encoding = ""


class Origin(Reading, frozen=True, kw_only=True):
    """Where a file comes from if it is not here, and how it is read.

    `member` is what is taken out of an archive: the path of a file, or a pattern.
    `size` and `note` are for people: how much it is, and what must be done by hand.
    """

    url: Texts = ()
    hf: Hub | None = None
    sha256: str = ""
    member: str = ""
    size: str = ""
    note: str = ""


class Place(Origin, frozen=True, kw_only=True):
    """A file, a folder or all files of a pattern.

    A path that comes out empty names a file that these parameters need not. A loader
    does without an `optional` file that cannot be had, and the run says so.
    """

    path: str
    optional: bool = False


Where = str | Place | tuple[str | Place, ...]


class Source(Origin, frozen=True, kw_only=True):
    """Which files hold the rows; paths are templates, relative to the scenario file.

    `files` goes by split; for a loader it goes by the names that the loader asks for.
    What is said beside it of reading holds for all files that do not say it themselves.
    """

    path: Texts = ()
    files: dict[str, Where] = {}


class SplitRule(Record, frozen=True):
    """How rows come to splits: all, by a column, the first ones, or by shares."""

    all: Split | None = None
    column: str = ""
    map: dict[str, Split | None] = {}
    first: dict[Split, int | float] = {}
    rest: Split | None = None
    shares: dict[Split, float] = {}
    seed: int = 0
    by: str = ""


class SkipRule(Record, frozen=True):
    """Rows that are left out and counted; the reason is shown with a run."""

    when: str
    reason: str


class ReferenceForm(Record, frozen=True):
    """One reference of each row; `when` false leaves it out."""

    text: str
    correct: bool | str = False
    tags: Texts = ()
    when: str = ""


class References(Record, frozen=True):
    """The references of a row: choices with an answer, correct texts, or a list."""

    choices: Texts = ()
    answer: Texts = ()
    answer_is: AnswerForm = ""
    correct: Texts = ()
    incorrect: Texts = ()
    items: tuple[ReferenceForm, ...] = ()


class Definition(Record, frozen=True):
    """A scenario file, read and checked; templates are still text."""

    name: str
    title: str
    description: str = ""
    licence: str = ""
    citation: str = ""
    url: str = ""
    taxonomy: Taxonomy = Taxonomy()
    groups: tuple[str, ...] = ()
    publication: Publication = "full"
    caution: str = ""
    parameters: dict[str, Parameter] = {}
    variants: dict[str, dict[str, dict[str, Any]]] = {}
    source: Source = Source()
    generator: str = ""
    loader: str = ""
    where: str = ""
    skip: tuple[SkipRule, ...] = ()
    split: SplitRule = SplitRule()
    id: str = ""
    input: str = ""
    messages: str = ""
    references: References = References()
    allow_no_correct: bool = False
    sub_split: str = ""
    attributes: dict[str, Texts] = {}
    extra: dict[str, str] = {}
    adapter: dict[str, Any] = {}
    methods: dict[Method, dict[str, Any]] = {}
    metrics: tuple[str, ...] = ()
    main_metric: str = ""
    main_split: Literal["test", "valid"] = "test"
    perturbations: tuple[str, ...] = ()


class ScenarioFile(Record, frozen=True):
    """A definition, where it stands, and the keys that it really has."""

    path: Path
    definition: Definition
    keys: tuple[str, ...]

"""What a scenario file says: its keys, as records."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from helmsite.schema import Record, Taxonomy
from helmsite.schema.manifest import Method, Publication

Kind = Literal["string", "integer", "number", "boolean"]
FileFormat = Literal["csv", "tsv", "json", "jsonl", "parquet", ""]
AnswerForm = Literal["index", "number", "letter", "text", ""]
Split = Literal["train", "valid", "test"]
Texts = str | tuple[str, ...]


class Parameter(Record, frozen=True):
    """A parameter of a scenario; without a default it must be given."""

    type: Kind = "string"
    values: tuple[str | int | float | bool, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    default: str | int | float | bool | None = None
    description: str = ""


class Place(Record, frozen=True):
    """Where a file or folder is, and where it comes from if it isn't there."""

    path: str
    url: Texts = ()


class Source(Record, frozen=True):
    """Which files hold the rows; paths are templates, relative to the scenario file.

    `files` goes by split; for a loader it goes by the names that the loader asks for.
    """

    path: Texts = ()
    files: dict[str, Texts | Place] = {}
    format: FileFormat = ""
    records: str = ""
    columns: tuple[str, ...] = ()
    delimiter: str = ""
    quotes: bool = True


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
    parameters: dict[str, Parameter] = {}
    source: Source = Source()
    generator: str = ""
    loader: str = ""
    where: str = ""
    split: SplitRule = SplitRule()
    input: str = ""
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

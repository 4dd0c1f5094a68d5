"""What importers find and give: the contract between them and the pipeline."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from helmsite.schema import AdapterSpec, Record

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from helmsite.errors import SourceError
    from helmsite.importers.tree import Tree
    from helmsite.schema import (
        Instance,
        MetricFacts,
        ModelCard,
        PerturbationFacts,
        PublishedStat,
        Reply,
        RunSpec,
        ScenarioFacts,
        Score,
        Stat,
    )


BARE = AdapterSpec(
    input_prefix="",
    input_suffix="",
    reference_prefix="",
    reference_suffix="",
    output_prefix="",
    output_suffix="",
    instance_prefix="",
    max_train_instances=0,
    num_outputs=1,
)
"""An adapter that puts nothing around inputs: HELM's words are no other tool's default."""


class Problem(Record, frozen=True):
    """Something in a file that cannot be taken as it is; `line` 0 means all of the file."""

    file: str
    why: str
    line: int = 0
    field: str = ""

    def __str__(self) -> str:
        at = f", line {self.line}" if self.line else ""
        return f"{self.file}{at}: {f'{self.field}: ' if self.field else ''}{self.why}."


@dataclass
class Notes:
    """What a person should know: problems, files left out and why, what was replaced.

    `hidden` counts the credentials and home folders that were replaced, by kind.
    """

    problems: list[Problem] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)
    hidden: Counter[str] = field(default_factory=Counter)

    def problem(self, error: SourceError) -> None:
        """Keep what is wrong, and go on."""
        self.problems.append(Problem(error.file, error.why, error.line, error.field))

    def skip(self, file: str, reason: str) -> None:
        """Say that a file is left out, and why."""
        self.skipped[file] = reason

    def take(self, other: Notes) -> None:
        """Add what another one holds."""
        self.problems += other.problems
        self.skipped |= other.skipped
        self.hidden += other.hidden


class Found(Record, frozen=True):
    """A run (or some that stand in the same files) as it lies on disk, not yet read.

    Attributes:
        importer: name of the importer.
        key: the source's own key of the run, the same wherever its files lie: it becomes
            part of the run's origin. Two different results with one key are told apart.
        files: absolute paths of all files that the result depends on.
        names: the same files as they are told of, from the folder that was given.
        title: what it is, for people.
        model, scenario, instances: as far as it is known without reading everything.
        when: seconds since the epoch, by the source's own word, else by its newest file.
        options: what the importer needs to know again when it reads.
        reading: what the result depends on beside its files (a mapping that the user gave),
            as a digest; '' if there is nothing.
    """

    importer: str
    key: str
    files: tuple[str, ...]
    names: tuple[str, ...]
    title: str
    model: str = ""
    scenario: str = ""
    instances: int | None = None
    when: float = 0.0
    options: dict[str, Any] = {}
    reading: str = ""


@dataclass
class Imported:
    """A run as an archive takes it. `scores` and `stats` are as the source reports them.

    `compute` names metrics of helmsite that are computed from the replies, beside what is
    reported. `key` is Found.key, or begins with it where a Found holds several runs.
    `suite` is the source's word for it, '' if it has none. `cancelled` says that the
    source gave up before the end. `warnings` are what a reader of the numbers should know,
    `verified` what was found to hold (hashes, values that were computed again): sentences.
    `by_request` names metrics that each request of an instance has by itself: a worst case
    of theirs is one of requests, which their scores, means of an instance's, do not tell.
    """

    key: str
    spec: RunSpec
    scenario: ScenarioFacts
    card: ModelCard
    instances: Sequence[Instance]
    replies: Collection[Reply]
    scores: Sequence[Score] = ()
    stats: Sequence[Stat] = ()
    metrics: tuple[MetricFacts, ...] = ()
    compute: tuple[str, ...] = ()
    perturbations: tuple[PerturbationFacts, ...] = ()
    suite: str = ""
    version: str = ""
    started_at: float | None = None
    finished_at: float | None = None
    cancelled: bool = False
    warnings: tuple[str, ...] = ()
    verified: tuple[str, ...] = ()
    by_request: frozenset[str] = frozenset()


@dataclass
class Aggregates:
    """Results that come without instances, with the facts that their cells need."""

    results: Sequence[PublishedStat]
    scenarios: tuple[ScenarioFacts, ...] = ()
    metrics: tuple[MetricFacts, ...] = ()
    cards: tuple[ModelCard, ...] = ()
    suite: str = ""
    version: str = ""


class Importer(Protocol):
    """Takes the results of one tool; `title` is the tool's name, for people."""

    title: str

    def survey(self, tree: Tree, notes: Notes) -> Iterator[Found]:
        """Claim the files that it recognises by their content; yield the runs in them.

        Only heads and small files are read. A file of the tool that is of no use (a log, a
        cache) is claimed and skipped with a reason.
        """

    def read(self, found: Found, notes: Notes) -> Iterator[Imported | Aggregates]:
        """Yield what a find holds. What can be left out alone is, with a problem.

        Raises:
            SourceError: nothing of it can be used.
        """

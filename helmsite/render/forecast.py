"""How large a site will be, told before it is written.

Of runs that are taken over the size is known. Of the others a page is rendered: an
instance of the same scenario and method takes about as much. What the archive stores of
it says little, since a prompt that repeats in every row takes next to nothing there.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from helmsite.render import formats
from helmsite.render.runpages import PAGE_BYTES, PER_PAGE, InstancePages, is_shown
from helmsite.schema import Record

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from helmsite.query.rows import RunSummary
    from helmsite.render.record import RunRecord, SiteRecord
    from helmsite.render.runpages import Job
    from helmsite.render.source import Reader
    from helmsite.render.theme import Theme

PAGE = 40_000  # a page that is not one of instances
SAMPLED = 24  # kinds of runs of which a page is rendered to learn what it takes

Kind = tuple[str, str]


class Forecast(Record, frozen=True):
    """What a site will weigh, about; `rendered` and `reused` count runs."""

    pages: int
    bytes: int
    rendered: int
    reused: int

    @property
    def sentence(self) -> str:
        """What a user reads before anything is written."""
        rest = f", {self.reused:,} taken over" if self.reused else ""
        return (
            f"About {formats.count(self.pages, 'page')} and {formats.size(self.bytes)}; "
            f"{formats.count(self.rendered, 'run')} to render{rest}."
        )

    def over(self, budget_mb: int) -> list[str]:
        """Return a warning where the site will be larger than its budget."""
        if self.bytes <= budget_mb * 1_000_000:
            return []
        return [
            f"The site will take about {formats.size(self.bytes)}, more than the budget "
            f"of {budget_mb} MB. Raise size_budget_mb under [site], or set "
            "`publication: aggregates` in scenarios whose instances nobody needs online."
        ]


class _Tally:
    """Counts what would be written."""

    def __init__(self) -> None:
        self.bytes = 0

    def write(self, path: str, content: str | bytes) -> None:
        """Count a file."""
        del path
        if isinstance(content, str):
            content = content.encode("utf-8", "replace")
        self.bytes += len(content)


class Sizes:
    """What an instance takes on its pages, by scenario and method.

    Args:
        runs: every run of the new site.
        earlier: a site that may have runs of the same kinds, whatever became of them.
    """

    def __init__(self, runs: Sequence[RunSummary], earlier: SiteRecord) -> None:
        self._each: dict[Kind, float] = {}
        for run in runs:
            record = earlier.runs.get(run.manifest.run_id)
            if record is not None and record.instances and run.n_instances:
                size = sum(_in_pages(record))
                self._each.setdefault(_kind(run), size / run.n_instances)

    def learn(self, jobs: Sequence[Job], reader: Reader, theme: Theme) -> None:
        """Render a page of each kind of run that is not known yet, the largest first."""
        for job in sorted(jobs, key=lambda j: -j.run.n_instances):
            unknown = _kind(job.run) not in self._each and is_shown(job.run)
            if unknown and len(self._each) < SAMPLED:
                self._each[_kind(job.run)] = _sample(job, reader, theme)

    def of(self, run: RunSummary) -> int:
        """Return how many bytes a run's pages of instances will take, about."""
        if not is_shown(run):
            return 0
        mean = sum(self._each.values()) / max(1, len(self._each))
        return round(run.n_instances * self._each.get(_kind(run), mean))


def forecast(
    jobs: Sequence[Job], reused: Mapping[str, RunRecord], sizes: Sizes, others: int
) -> Forecast:
    """Return what a site will weigh; `others` are its pages about no single run."""
    pages = others + len(jobs)
    total = pages * PAGE
    for job in jobs:
        size = sizes.of(job.run)
        pages += (
            max(-(-job.run.n_instances // PER_PAGE), size // PAGE_BYTES) if size else 0
        )
        files = job.run.manifest.files
        stored = [files[t.stem].bytes for t in job.tables or () if t.stem in files]
        total += size + sum(stored)
    for record in reused.values():
        pages += sum(path.endswith(".html") for path in record.files)
        total += sum(mark.size for mark in record.files.values())
    return Forecast(pages, total, len(jobs), len(reused))


def _kind(run: RunSummary) -> Kind:
    return run.manifest.scenario.name, run.manifest.spec.adapter.method


def _in_pages(record: RunRecord) -> list[int]:
    """Return the sizes of a run's files but for its page and the tables on offer."""
    return [
        mark.size
        for path, mark in record.files.items()
        if not path.startswith("data/") and not path.endswith("/index.html")
    ]


def _sample(job: Job, reader: Reader, theme: Theme) -> float:
    """Return what an instance of a run takes: as those of its first page do."""
    tally = _Tally()
    pages = InstancePages(job.run, theme, job.frames, tally, _silent)
    shown = 0
    for view in islice(reader.instances(job.run.manifest.run_id), PER_PAGE):
        pages.add(view)
        shown += not view.instance.perturbation
    pages.finish()
    tally.write("", pages.index.script())
    return tally.bytes / max(1, shown)


def _silent(count: int) -> None:
    """Report no progress."""

"""How large a site will be, told before it is written.

Of runs that are taken over the size is known. Of the others a page is rendered: an
instance of the same scenario and method takes about as much. What the archive stores of
it says little, since a prompt that repeats in every row takes next to nothing there.
"""

from __future__ import annotations

from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

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
SHARDS = "search/"  # of the text index: equal ones of several runs are one file
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
            f"of {budget_mb} MB. Under [site], raise size_budget_mb, or leave out the "
            "search of texts (text_search = false); or set `publication: aggregates` in "
            "scenarios whose instances nobody needs online."
        ]


class _Tally:
    """Counts what would be written, the shards of the text index by their names."""

    def __init__(self) -> None:
        self.pages = 0
        self.shards: dict[str, int] = {}

    def write(self, path: str, content: str | bytes, sha256: str = "") -> None:
        """Count a file."""
        del sha256
        if isinstance(content, str):
            content = content.encode("utf-8", "replace")
        if path.startswith(SHARDS):
            self.shards[path] = len(content)
        else:
            self.pages += len(content)


class Each(NamedTuple):
    """What an instance takes: in files of its run, and in those of all such runs."""

    own: float
    shared: float


class Sizes:
    """What an instance takes on its pages, by scenario and method.

    Args:
        runs: every run of the new site.
        earlier: a site that may have runs of the same kinds, whatever became of them.
    """

    def __init__(self, runs: Sequence[RunSummary], earlier: SiteRecord) -> None:
        self._each: dict[Kind, Each] = {}
        used = Counter(path for run in earlier.runs.values() for path in run.files)
        for run in runs:
            record = earlier.runs.get(run.manifest.run_id)
            if record is not None and record.instances and run.n_instances:
                sizes = [0, 0]
                for path, mark in record.files.items():
                    sizes[used[path] > 1] += mark.size * _is_of_instances(path)
                own, shared = (size / run.n_instances for size in sizes)
                self._each.setdefault(_kind(run), Each(own, shared))

    def learn(self, jobs: Sequence[Job], reader: Reader, theme: Theme) -> None:
        """Render a page of each kind of run that is not known yet, the largest first.

        Of two runs of a kind, so that what they share can be told.
        """
        found: dict[Kind, list[Job]] = {}
        for job in sorted(jobs, key=lambda j: -j.run.n_instances):
            if is_shown(job.run) and job.run.n_instances:
                found.setdefault(_kind(job.run), []).append(job)
        for kind, of_kind in found.items():
            if kind not in self._each and len(self._each) < SAMPLED:
                self._each[kind] = _sample(of_kind[:2], reader, theme)

    def of(self, run: RunSummary) -> Each:
        """Return how many bytes a run's instances will take, about."""
        if not is_shown(run):
            return Each(0.0, 0.0)
        known = self._each.get(_kind(run))
        if known is None:
            mean = sum(each.own for each in self._each.values())
            known = Each(mean / max(1, len(self._each)), 0.0)
        return Each(known.own * run.n_instances, known.shared * run.n_instances)


def forecast(
    jobs: Sequence[Job], reused: Mapping[str, RunRecord], sizes: Sizes, others: int
) -> Forecast:
    """Return what a site will weigh; `others` are its pages about no single run."""
    pages = others + len(jobs)
    total = float(pages * PAGE)
    taken = {
        p: mark.size for record in reused.values() for p, mark in record.files.items()
    }
    total += sum(taken.values())
    pages += sum(path.endswith(".html") for path in taken)
    shared: dict[str, float] = {}
    for job in jobs:
        size, scenario = sizes.of(job.run), job.run.manifest.scenario.name
        if size.own:
            full = size.own / PAGE_BYTES
            pages += max(-(-job.run.n_instances // PER_PAGE), int(full))
        shared[scenario] = max(shared.get(scenario, 0.0), size.shared)
        files = job.run.manifest.files
        stored = [files[t.stem].bytes for t in job.tables or () if t.stem in files]
        total += size.own + sum(stored)
    if not reused:
        total += sum(shared.values())
    return Forecast(pages, round(total), len(jobs), len(reused))


def _kind(run: RunSummary) -> Kind:
    return run.manifest.scenario.name, run.manifest.spec.adapter.method


def _is_of_instances(path: str) -> bool:
    """Return whether a run's file is neither its page nor a table on offer."""
    return not path.startswith("data/") and not path.endswith("/index.html")


def _sample(jobs: Sequence[Job], reader: Reader, theme: Theme) -> Each:
    """Return what an instance of such runs takes: as those of the first page do."""
    tallies = [_tally(job, reader, theme) for job in jobs]
    first, shown = tallies[0]
    common = set.intersection(*(set(tally.shards) for tally, _ in tallies))
    shared = sum(first.shards[name] for name in common) if len(jobs) > 1 else 0
    whole = first.pages + sum(first.shards.values())
    return Each((whole - shared) / shown, shared / shown)


def _tally(job: Job, reader: Reader, theme: Theme) -> tuple[_Tally, int]:
    """Render a page of a run into nothing; return what it takes, for how many."""
    tally = _Tally()
    pages = InstancePages(job.run, theme, job.frames, tally, _silent)
    shown = 0
    for view in islice(reader.instances(job.run.manifest.run_id), PER_PAGE):
        pages.add(view)
        shown += not view.instance.perturbation
    pages.finish()
    tally.write("", pages.index.script())
    return tally, max(1, shown)


def _silent(count: int) -> None:
    """Report no progress."""

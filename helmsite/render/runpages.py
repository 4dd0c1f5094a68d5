"""A run's folder: its page, its pages of instances, its score index, its long texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from markupsafe import Markup
from msgspec import structs

from helmsite.query.rows import Overview
from helmsite.render import runview
from helmsite.render.articles import Articles
from helmsite.render.downloads import write_tables
from helmsite.render.frames import Frames
from helmsite.render.links import check_index, check_pages
from helmsite.render.output import Writer
from helmsite.render.record import Mark, RunRecord, run_settings
from helmsite.render.scoreindex import ScoreIndex
from helmsite.render.textindex import TextIndex

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from helmsite.config import SiteConfig
    from helmsite.query.rows import InstanceView, RunPage, RunSummary
    from helmsite.render.blocks import Shared
    from helmsite.render.output import Inspector, Leak
    from helmsite.render.pages import InstancesPage
    from helmsite.render.source import Reader
    from helmsite.render.theme import Theme
    from helmsite.schema import Manifest

PER_PAGE = 50
PAGE_BYTES = 400_000
SLOT = "\0"  # no text of a page has one
BOM = "\ufeff"  # without it, servers' text files are read as windows-1252
NOWHERE = Overview(0, 0, 0, 0, 0, "")


class Job(NamedTuple):
    """A run to be rendered. `tables` are on offer; None where the site offers no file."""

    run: RunSummary
    frames: Frames
    key: str
    tables: tuple[Path, ...] | None


class Kit(NamedTuple):
    """What runs are rendered with; can be sent to another process."""

    reader: Reader
    overrides: str
    root: Path
    inspector: Inspector | None


class Made(NamedTuple):
    """A run that was rendered; `problems` are broken links, `leaks` credentials."""

    run_id: str
    record: RunRecord
    warnings: tuple[str, ...]
    problems: tuple[str, ...]
    leaks: tuple[Leak, ...]


class Keeper(Protocol):
    """Takes the files of a run."""

    def write(self, path: str, content: str | bytes, sha256: str = "") -> None:
        """Keep a file; its digest need not be found again where it is given."""


def is_shown(run: RunSummary) -> bool:
    """Return whether a run's instances are published."""
    return run.manifest.scenario.publication == "full"


def run_frames(site: SiteConfig, frames: Frames, manifest: Manifest) -> Frames:
    """Return the frames of a run's pages: with nothing in them that is about other runs.

    So what a run's pages say can only depend on the run, the theme and these.
    """
    run_id, model = manifest.run_id, manifest.card.name
    return Frames(
        run_settings(site),
        frames.map.part(manifest.scenario.name, model, run_id),
        NOWHERE,
        {model: frames.model_title(model)},
        {run_id: frames.run_name(manifest)},
    )


def render_run(job: Job, kit: Kit, theme: Theme, tell: Callable[[int], None]) -> Made:
    """Write everything that a site has of a run, and check the links inside of it.

    Args:
        job: the run.
        kit: what it is read from and written to.
        theme: the site's templates.
        tell: called with how many instances have been rendered since the last call.
    """
    manifest, site = job.run.manifest, job.frames.map
    writer = Writer(kit.root, kit.inspector)
    offered: dict[str, Mark] = {}
    warnings: tuple[str, ...] = ()
    if job.tables is not None:
        folder = site.data(manifest.run_id)
        written, warnings = write_tables(manifest, job.tables, folder, writer)
        offered = {address: writer.files[address] for address in written}
    page = kit.reader.page(job.run)
    instances: Iterable[InstanceView] = ()
    if is_shown(job.run):
        instances = kit.reader.instances(manifest.run_id)
    pages = InstancePages(job.run, theme, job.frames, writer, tell)
    script = write_run(page, pages, instances, offered)
    folder = site.run(manifest.run_id).rpartition("/")[0]
    checked = check_pages(writer.pages, writer.files, f"{folder}/")
    problems = [*checked.problems]
    if script:
        problems += check_index(
            f"{folder}/index.js", script, writer.pages, writer.files
        )
    key = "" if warnings else job.key
    record = RunRecord(key, len(pages.index), writer.files, checked.outward)
    return Made(manifest.run_id, record, warnings, tuple(problems), tuple(writer.leaks))


def write_run(
    page: RunPage,
    pages: InstancePages,
    instances: Iterable[InstanceView],
    offered: Mapping[str, Mark],
) -> str:
    """Write a run's pages of instances, its score index and its page; return the index.

    It is '' where the site shows no instance of the run.
    """
    for each in instances:
        pages.add(each)
    pages.finish()
    view, script = runview.run(page, pages.frames, pages.spans, offered), ""
    if pages.spans:
        folder, script = view.frame.path.rpartition("/")[0], pages.index.script()
        pages.writer.write(f"{folder}/index.js", script)
        view = structs.replace(view, index_bytes=len(script))
    pages.writer.write(view.frame.path, pages.theme.render("run.html", view))
    return script


class _Rendered(NamedTuple):
    view: InstanceView
    html: str
    shared: tuple[Shared, ...]


class InstancePages:
    """Lays a run's instances out on pages and writes these as they fill.

    A page begins at an original, so that its perturbed versions are beside it; only a
    group that no page could hold is divided. `spans` are each page's first and last row.
    """

    def __init__(
        self,
        run: RunSummary,
        theme: Theme,
        frames: Frames,
        writer: Keeper,
        tell: Callable[[int], None],
    ) -> None:
        self.theme, self.frames, self.writer = theme, frames, writer
        texts = TextIndex(writer.write) if frames.text_search else None
        self.index = ScoreIndex(run, texts)
        self.spans: list[tuple[int, int]] = []
        self._run, self._tell = run, tell
        self._folder = frames.map.run(run.manifest.run_id).rpartition("/")[0]
        self._articles = Articles(run, self._keep)
        self._page: list[_Rendered] = []
        self._group: list[_Rendered] = []
        self._sizes = [0, 0]  # of the page and of the group, in characters

    def add(self, view: InstanceView) -> None:
        """Render an instance; it belongs to the group of the original before it."""
        own = view.instance
        if not own.perturbation or not self._is_of_group(own.instance_id):
            self._close_group()
        elif self._is_full(self._group, self._sizes[1]):
            self._close_group()
            self._flush(last=False)
            self._articles.turn_page()
        self._group.append(self._rendered(view))
        self._sizes[1] += len(self._group[-1].html)

    def _rendered(
        self, view: InstanceView, twins: Sequence[InstanceView] = ()
    ) -> _Rendered:
        article = self._articles.article(view, twins)
        html = self.theme.fragment("instance.html", article)
        return _Rendered(view, html, self._articles.take_shared())

    def finish(self) -> None:
        """Write the last page."""
        self._close_group()
        if self._page:
            self._flush(last=True)

    def _is_of_group(self, instance_id: str) -> bool:
        return (
            bool(self._group)
            and self._group[0].view.instance.instance_id == instance_id
        )

    @staticmethod
    def _is_full(rendered: list[_Rendered], size: int) -> bool:
        return len(rendered) >= PER_PAGE or size > PAGE_BYTES

    def _close_group(self) -> None:
        """Put the group on the page, on a new one where it does not fit."""
        if not self._group:
            return
        first, *twins = [each.view for each in self._group]
        if twins and not first.instance.perturbation:
            # Only now is it known what its twins change in an original.
            before, self._group[0] = self._group[0], self._rendered(first, twins)
            self._sizes[1] += len(self._group[0].html) - len(before.html)
        together = len(self._page) + len(self._group), sum(self._sizes)
        if self._page and (together[0] > PER_PAGE or together[1] > PAGE_BYTES):
            self._flush(last=False)
        self._page += self._group
        self._sizes = [sum(self._sizes), 0]
        self._group = []

    def _flush(self, *, last: bool) -> None:
        manifest, rendered = self._run.manifest, self._page
        first = self.spans[-1][1] if self.spans else 0
        self.spans.append((first, first + len(rendered)))
        self.index.start_page()
        shared: dict[str, Shared] = {}
        for each in rendered:
            self.index.add(each.view)
            for part in each.shared:
                shared.setdefault(part.key, part)
        slots = tuple(map(_slot, range(len(rendered))))
        legend = any("data-l=" in each.html for each in rendered)
        page = runview.instances(
            manifest,
            self.frames,
            len(self.spans),
            (*self.spans[-1], self._run.n_instances),
            (tuple(shared.values()), slots, legend),
            last,
        )
        self.writer.write(page.frame.path, self._laid_out(page))
        self._tell(sum(not each.view.instance.perturbation for each in rendered))
        self._page, self._sizes = [], [0, self._sizes[1]]

    def _laid_out(self, page: InstancesPage) -> bytes:
        """Return a page's HTML, its articles in their slots.

        They are most of it, and so none of them is copied on the way. A theme may do
        with articles what it likes: its templates are given them as they are.
        """
        articles = [each.html for each in self._page]
        if not self.theme.folders:
            parts = self.theme.render("instances.html", page).split(SLOT)
            if parts[1::2] == [str(n) for n in range(len(articles))]:
                parts[1::2] = articles
                return b"".join([_raw(part) for part in parts])
        page = structs.replace(page, articles=tuple(map(Markup, articles)))
        return _raw(self.theme.render("instances.html", page))

    def _keep(self, name: str, text: str) -> None:
        self.writer.write(f"{self._folder}/{name}", BOM + text)


def _slot(number: int) -> Markup:
    return Markup(f"{SLOT}{number}{SLOT}")  # noqa: S704 (a number)


def _raw(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")

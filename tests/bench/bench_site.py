"""Measure the site at scale and write the table of docs/performance.md.

`python -m tests.bench.bench_site [--keep DIR] [--only build,large,pages,helm] [--helm BIN]`

Makes archives of 200 runs × 1000 and of 1 run × 100,000 instances with 3 KB prompts, then
runs the commands that a user types, each in a process of its own. `--keep` keeps archives
and results: parts can be measured one after the other, and the table holds them all.
HELM's helm-summarize is measured on the same content where it is on the PATH or in BIN.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import shutil
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from helmsite.archive import Archive
from tests.bench import archives, helm_runs, measure, visits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Browser

    from tests.bench.measure import Cost

ROOT = Path(__file__).parents[2]
DOCUMENT = ROOT / "docs" / "performance.md"
START, END = "<!-- bench -->", "<!-- /bench -->"
HELMSITE = [sys.executable, "-m", "helmsite"]
SMALL = 10  # times fewer instances than the large run, for what memory depends on


class Row(msgspec.Struct):
    """A line of the table: a goal of '' is none, `met` None where there is none."""

    what: str
    found: str
    goal: str = ""
    met: bool | None = None


class Part(msgspec.Struct):
    """What was measured together; `busy` is the load of the machine just before."""

    rows: list[Row] = []
    busy: float = 0.0


class Sizes(NamedTuple):
    runs: int
    instances: int
    large: int

    @property
    def are_usual(self) -> bool:
        return self == USUAL


USUAL = Sizes(200, 1000, 100_000)


class Place:
    """Where the archives, the sites and the caches of a bench are."""

    def __init__(self, folder: Path, sizes: Sizes, helm: str | None) -> None:
        self.folder = folder
        self.sizes = sizes
        self.helm = helm
        self.project = folder / "project"
        self.project.mkdir(parents=True, exist_ok=True)
        (self.project / "helmsite.toml").touch()

    def archive(self, runs: int, instances: int) -> Path:
        """Return an archive; it is made where it is not there yet."""
        made = self.folder / f"{runs}x{instances}"
        if not (made / "done").exists():
            shutil.rmtree(made, ignore_errors=True)
            say(f"making {runs:,} × {instances:,} instances")
            archives.make(made / "runs", runs, instances)
            (made / "done").touch()
        return made / "runs"

    def copy(self, archive: Path) -> Path:
        """Return a copy to work with: its files are links to the same bytes."""
        copy = self.folder / "work" / archive.parent.name
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(archive, copy, copy_function=os.link)
        return copy

    def run(self, *arguments: str) -> Cost:
        """Run helmsite with caches of its own."""
        env = {"XDG_CACHE_HOME": str(self.folder / "cache")}
        command = [*HELMSITE, arguments[0], "-p", str(self.project), *arguments[1:]]
        return measure.run(command, env=env)

    def build(self, archive: Path, site: Path) -> Cost:
        return self.run("build", "-a", str(archive), "-o", str(site))

    def forget(self, *folders: Path) -> None:
        """Put folders aside until all is measured.

        ext4 looks for a free inode past all that were deleted in the last minutes: files
        made right after thousands were deleted would cost several times as much.
        """
        for folder in (self.folder / "cache", *folders):
            if folder.exists():
                self.aside.mkdir(exist_ok=True)
                folder.rename(tempfile.mkdtemp(dir=self.aside))

    @property
    def aside(self) -> Path:
        return self.folder / "aside"


# the parts


def many_runs(place: Place) -> Iterator[Row]:
    """Build a site of many runs, again with nothing changed, again with one run more."""
    n, sizes = place.sizes.runs, place.sizes
    archive = place.copy(place.archive(n, sizes.instances))
    site = place.folder / "site-many"
    place.forget(site)
    what = f"{n} runs × {sizes.instances:,}"
    table = place.run("aggregate", "-a", str(archive))
    yield row(f"{what}: aggregate", table)
    cold = place.build(archive, site)
    yield row(f"{what}: build", cold)
    total, peak = table.wall + cold.wall, max(table.mb, cold.mb)
    yield goal(f"{what}: both, wall", f"{total:.1f} s", "60 s", total < 60)
    yield goal(f"{what}: both, memory", f"{peak:.0f} MB", "1000 MB", peak < 1000)
    files, mb = measure.size(site)
    pages, html = measure.size(site, ".html")
    yield Row(f"{what}: site", f"{files:,} files, {mb:.0f} MB")
    yield Row(f"{what}: pages in it", f"{pages:,} files, {html:.0f} MB")
    same = sorted(place.build(archive, site) for _ in range(3))[1]
    yield timed(f"{what}: build, nothing changed", same, 3)
    archives.write_run(Archive(archive), 0, archives.MODELS, sizes.instances)
    yield timed(f"{what}: build, one run more", place.build(archive, site), 6)
    yield row(
        f"{what}: aggregate, nothing changed",
        place.run("aggregate", "-a", str(archive)),
    )


def one_large_run(place: Place) -> Iterator[Row]:
    """Build a site of one large run, and of a smaller one to compare its memory with."""
    few = place.sizes.large // SMALL
    site = place.folder / "site-large"
    costs = []
    for count in (few, place.sizes.large):
        place.forget(site)
        costs.append(place.build(place.archive(1, count), site))
    small, large = costs
    what = f"1 run × {place.sizes.large:,}"
    pages, html = measure.size(site, ".html")
    yield row(f"{what}: build", large)
    yield goal(f"{what}: CPU", f"{large.cpu:.1f} s", "15 s", large.cpu <= 15)
    yield goal(
        f"{what}: pages", f"{pages:,} files, {html:.0f} MB", "400 MB", html <= 400
    )
    yield Row(
        f"{what}: memory beside that of {few:,}",
        f"{large.mb:.0f} MB and {small.mb:.0f} MB",
    )


def pages(place: Place) -> Iterator[Row]:
    """Open pages cold in Chromium: over http, over a slow line, from the disk."""
    path = shutil.which("chromium") or shutil.which("google-chrome")
    if path is None:
        yield Row("pages", "Chromium is not installed")
        return
    sites = {
        "many": place.archive(place.sizes.runs, place.sizes.instances),
        "large": place.archive(1, place.sizes.large),
    }
    for name, archive in sites.items():
        if not (place.folder / f"site-{name}" / "index.html").exists():
            place.build(archive, place.folder / f"site-{name}")
    with visits.chromium(path) as browser:
        for what, site, page in _pages(place):
            yield from _page(browser, what, place.folder / f"site-{site}", page)


def _pages(place: Place) -> Iterator[tuple[str, str, str]]:
    """Yield name, site and address of each page that is opened."""
    yield "leaderboard", "many", "index.html"
    many, large = (place.folder / f"site-{s}" / "runs" for s in ("many", "large"))
    run = min(p for p in many.iterdir() if p.is_dir())
    yield "run page", "many", f"runs/{run.name}/index.html"
    nth = min(776, place.sizes.instances - 1)
    yield f"instance {nth + 1}", "many", _instance(run, nth)
    (run,) = (p for p in large.iterdir() if p.is_dir())
    yield "page of the large run", "large", f"runs/{run.name}/index.html"
    last = place.sizes.large - 1
    yield f"instance {last + 1:,}", "large", _instance(run, last)


def _instance(run: Path, number: int) -> str:
    """Return the permalink of an instance of the bench."""
    wanted = f"<article id=i-id{number}>"
    for page in sorted(run.glob("*.html"), key=lambda p: (len(p.name), p.name))[::-1]:
        if wanted in page.read_text(encoding="utf-8"):
            return f"runs/{run.name}/{page.name}#i-id{number}"
    raise RuntimeError(f"{run} shows no instance {number}")


def _page(browser: Browser, what: str, site: Path, page: str) -> Iterator[Row]:
    with visits.served(site) as address:
        near = visits.visit(browser, f"{address}/{page}")
        far = visits.visit(browser, f"{address}/{page}", slow=True)
    disk = visits.visit(browser, (site / page.partition("#")[0]).as_uri() + _rest(page))
    is_light = near.kb < 150 and not near.foreign
    weight = f"{near.kb:.0f} KB, {near.requests} requests, {near.foreign} elsewhere"
    if "#" in page:
        most, is_light = "150 KB, 5 requests, 0", is_light and near.requests <= 5
    else:
        most = "150 KB, 0 elsewhere"
    yield goal(f"{what}: cold, gzip", weight, most, is_light)
    paint = f"{near.paint:.0f} ms, loaded {near.load:.0f} ms"
    yield goal(
        f"{what}: first paint on this machine", paint, "300 ms", near.paint < 300
    )
    yield Row(
        f"{what}: first paint at 60 ms, 10 Mbit/s",
        f"{far.paint:.0f} ms, loaded {far.load:.0f} ms",
    )
    yield Row(
        f"{what}: first paint from the disk",
        f"{disk.paint:.0f} ms, loaded {disk.load:.0f} ms",
    )


def _rest(page: str) -> str:
    return page[page.index("#") :] if "#" in page else ""


def helm(place: Place) -> Iterator[Row]:
    """Run helm-summarize on the same content: as it comes, and with one thread."""
    found = shutil.which("helm-summarize", path=place.helm)
    if found is None:
        yield Row("HELM's helm-summarize", "not installed")
        return
    archive = place.archive(place.sizes.runs, place.sizes.instances)
    folder, site = place.folder / "helm", place.folder / "site-helm"
    place.forget(folder, site)
    own = [place.run("aggregate", "-a", str(archive)), place.build(archive, site)]
    files, mb = measure.size(site)
    cpu, wall = sum(c.cpu for c in own), sum(c.wall for c in own)
    peak = max(c.mb for c in own)
    yield Row(
        "helmsite: aggregate and build, once more",
        f"{wall:.1f} s, {cpu:.1f} CPU s, {peak:.0f} MB; {files:,} files, {mb:.0f} MB",
    )
    place.forget(site)
    say("writing HELM's run folders")
    told = helm_runs.write(Archive(archive), folder)
    for threads in ("1", "8"):
        command = [found, *told, "--num-threads", threads]
        cost = measure.run(command, folder=place.folder, may_fail=True)
        name = f"helm-summarize --num-threads {threads}"
        if cost.status:
            yield Row(name, f"{row(name, cost).found}; ended with an error, no tables")
            continue
        files, mb = measure.size(folder / "runs")
        yield Row(name, f"{row(name, cost).found}; {files:,} files, {mb:.0f} MB")
        ratio = (
            f"{cost.wall / wall:.1f} × the time, {cost.cpu / cpu:.1f} × the CPU time"
        )
        yield Row("that is, of helmsite's", ratio)
    shutil.rmtree(folder, ignore_errors=True)


PARTS: dict[str, Callable[[Place], Iterator[Row]]] = {
    "build": many_runs,
    "large": one_large_run,
    "pages": pages,
    "helm": helm,
}


# the table


def row(what: str, cost: Cost) -> Row:
    return Row(what, f"{cost.wall:.1f} s, {cost.cpu:.1f} CPU s, {cost.mb:.0f} MB")


def timed(what: str, cost: Cost, most: float) -> Row:
    return goal(what, row(what, cost).found, f"{most} s", cost.wall < most)


def goal(what: str, found: str, wanted: str, met: bool) -> Row:
    return Row(what, found, wanted, met)


def table(parts: dict[str, Part]) -> str:
    """Return the table in Markdown."""
    marks = {None: "", True: " ✓", False: " ✗"}
    rows = [one for name in PARTS if name in parts for one in parts[name].rows]
    lines = [f"| {r.what} | {r.found} | {r.goal}{marks[r.met]} |" for r in rows]
    return "\n".join(["| what | measured | goal |", "|---|---|---|", *lines])


def machine(parts: dict[str, Part]) -> str:
    """Say what the numbers depend on."""
    packages = [f"{name} {version(name)}" for name in ("pyarrow", "duckdb", "jinja2")]
    busy = [f"{name} {parts[name].busy:.1f}" for name in PARTS if name in parts]
    return (
        f"{os.cpu_count()} cores ({platform.machine()}), Python "
        f"{platform.python_version()}, {', '.join(packages)}. "
        f"Load of the machine just before each part: {', '.join(busy)}."
    )


def write_table(parts: dict[str, Part]) -> None:
    """Put the table between its marks in docs/performance.md."""
    text = DOCUMENT.read_text(encoding="utf-8")
    block = f"{START}\n{table(parts)}\n\n{machine(parts)}\n{END}"
    between = re.compile(f"{re.escape(START)}.*?{re.escape(END)}", re.DOTALL)
    DOCUMENT.write_text(between.sub(lambda _: block, text), encoding="utf-8")


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def measured(place: Place, names: list[str]) -> dict[str, Part]:
    """Measure parts; return them with those that were measured here before."""
    known = place.folder / "results.json"
    kind = dict[str, Part]
    found = msgspec.json.decode(known.read_bytes(), type=kind) if known.exists() else {}
    for name in names:
        found[name] = Part(busy=os.getloadavg()[0])
        for one in PARTS[name](place):
            found[name].rows.append(one)
            mark = {None: "", True: "ok", False: "MISSED"}[one.met]
            say(f"{one.what:<52}{one.found:<40}{one.goal:<24}{mark}")
        known.write_bytes(msgspec.json.encode(found))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--keep", type=Path, help="folder of archives and results")
    parser.add_argument("--only", default=",".join(PARTS), help="parts, by commas")
    parser.add_argument("--helm", help="folder that holds helm-summarize")
    parser.add_argument("--runs", type=int, default=USUAL.runs)
    parser.add_argument("--instances", type=int, default=USUAL.instances)
    parser.add_argument("--large", type=int, default=USUAL.large)
    given = parser.parse_args()
    names = given.only.split(",")
    if unknown := sorted(set(names) - set(PARTS)):
        parser.error(f"no part {', '.join(unknown)}; there are {', '.join(PARTS)}")
    sizes = Sizes(given.runs, given.instances, given.large)
    with tempfile.TemporaryDirectory() as temporary:
        folder = (given.keep or Path(temporary)).resolve()
        place = Place(folder, sizes, given.helm)
        found = measured(place, names)
        shutil.rmtree(place.aside, ignore_errors=True)
    if sizes.are_usual:
        write_table(found)
        say(f"The table is in {DOCUMENT.relative_to(ROOT)}.")


if __name__ == "__main__":
    main()

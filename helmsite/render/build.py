"""Building the site, told as one story: gather, check, write, check again, swap in."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from helmsite.errors import BuildError
from helmsite.render import datapage
from helmsite.render.downloads import allowed
from helmsite.render.earlier import Earlier
from helmsite.render.forecast import Forecast, Sizes, forecast
from helmsite.render.gather import concerns, frames_of, gather
from helmsite.render.links import check_outward, check_pages
from helmsite.render.output import MARKER, refuse_foreign, remove_leftovers, staged
from helmsite.render.record import Basis, Mark, SiteRecord, encode, own_summary
from helmsite.render.runpages import Job, Kit, run_frames
from helmsite.render.source import Means
from helmsite.render.summaries import summary_pages, write_front, write_static
from helmsite.render.text import web_address
from helmsite.render.theme import Theme
from helmsite.render.workers import render_all
from helmsite.schema import Record

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from helmsite.config import SiteConfig
    from helmsite.render.frames import Frames
    from helmsite.render.gather import Gathered
    from helmsite.render.output import Leak, Writer
    from helmsite.render.record import RunRecord
    from helmsite.render.runpages import Made
    from helmsite.render.source import Reader, Source

    Downloads = Mapping[str, Sequence[Path]]

ALONE = Means()
SHOWN, PLACES = 20, 3
FIXED_PAGES = 6  # the front, the lists, the data and the patterns


class BuildReport(Record, frozen=True):
    """What a site holds now. `warnings` are things to know that did not stop the build.

    `rendered` and `reused` count runs. Where nothing had changed, `current` is set and
    nothing was written. `notes` say what of the earlier site could not be used.
    """

    pages: int
    files: int
    bytes: int
    instances: int
    warnings: tuple[str, ...] = ()
    rendered: int = 0
    reused: int = 0
    current: bool = False
    notes: tuple[str, ...] = ()


class Plan(NamedTuple):
    """Which runs are rendered and which are taken over; `notes` say why some are not."""

    jobs: tuple[Job, ...]
    reused: dict[str, RunRecord]
    notes: tuple[str, ...]


def build(
    results: Source,
    out: Path,
    site: SiteConfig,
    *,
    strict: bool = False,
    downloads: Mapping[str, Sequence[Path]] | None = None,
    means: Means = ALONE,
) -> BuildReport:
    """Build the site of an archive in a folder, which is replaced at the very end.

    The same archive gives the same bytes, whatever was there before: of an earlier site,
    what is still true is taken over. Where anything fails, an earlier build stays.

    Args:
        results: the archive's numbers and instances.
        out: the folder to make; it may hold nothing but an earlier build.
        site: title, groups, overrides of the theme.
        strict: whether a warning stops the build, a credential on a page among them.
        downloads: Parquet files to offer under data/runs/, by run id; each must be what
            the run's manifest says, and run.json comes with them.
        means: processes, progress, and what looks for credentials.

    Raises:
        BuildError: `out` is not ours, a template is broken, a link leads nowhere, the
            base address is none, or there is a warning in a strict build.
    """
    check_base_url(site)
    refuse_foreign(out)
    downloads = downloads or {}
    theme = Theme(site.overrides)
    basis = Basis(site, theme)
    whole = basis.whole(results.overview().state, _names(downloads))
    earlier = Earlier(out, means.inspector if strict else None, means.tell)
    if earlier.record.whole == whole and earlier.is_whole():
        return unchanged(earlier, site, strict=strict)
    gathered = gather(results, means.tell)
    frames = frames_of(gathered, site)
    plan = planned(gathered, frames, downloads, basis, earlier)
    reader = results.reader()
    expected = expectation(plan, gathered, earlier, reader, theme)
    if means.told is not None:
        means.told(expected)
    lasting = concerns(gathered, site)
    warnings = [*lasting, *expected.over(site.size_budget_mb)]
    stop_if_strict(warnings, strict=strict)
    with staged(out, means.inspector) as writer:
        take_over(plan.reused, earlier, writer)
        kit = Kit(reader, site.overrides, writer.root, means.inspector)
        made = render_all(plan.jobs, kit, theme, means)
        runs = {**plan.reused, **{m.run_id: m.record for m in made}}
        for run in runs.values():
            writer.adopt(run.files)
        write_static(theme, gathered, frames, writer)
        offered = offered_by(gathered, runs, frames)
        for template, page in summary_pages(gathered, results, frames, offered):
            writer.write(page.frame.path, theme.render(template, page))
        write_front(theme, gathered, frames, writer)
        writer.write(datapage.INDEX, datapage.index(gathered.runs, offered, frames))
        means.tell("checking links", 0, 1)
        stop_at_broken_links(made, runs, writer)
        leaks = [*earlier.leaks, *writer.leaks, *(x for m in made for x in m.leaks)]
        told = credentials(leaks)
        stop_at_credentials(told, strict=strict)
        missing = [w for m in made for w in m.warnings]
        stop_if_strict(missing, strict=strict)
        record = recorded(whole, runs, [*lasting, *missing], writer)
        writer.write(MARKER, encode(record))
    notes = (*plan.notes, *left_behind(earlier))
    return report(
        record,
        writer.files,
        [*warnings, *missing, *told],
        plan,
        notes=notes,
    )


def _names(downloads: Downloads) -> dict[str, list[str]]:
    return {
        run_id: [path.name for path in files] for run_id, files in downloads.items()
    }


def unchanged(earlier: Earlier, site: SiteConfig, *, strict: bool) -> BuildReport:
    """Return the report on a site that needs nothing: every file is as it would be made.

    Raises:
        BuildError: a strict build, and there is a warning or a credential on a page.
    """
    record = earlier.record
    remove_leftovers(earlier.root.absolute())
    files = {**record.every_file, MARKER: earlier.marker}
    weight = Forecast(0, sum(m.size for m in files.values()), 0, len(record.runs))
    warnings = [*record.warnings, *weight.over(site.size_budget_mb)]
    stop_if_strict(warnings, strict=strict)
    stop_at_credentials(credentials(earlier.leaks), strict=strict)
    plan = Plan((), record.runs, ())
    return report(record, files, warnings, plan, current=True)


def report(
    record: SiteRecord,
    files: Mapping[str, Mark],
    warnings: Sequence[str],
    plan: Plan,
    *,
    notes: Sequence[str] = (),
    current: bool = False,
) -> BuildReport:
    """Return what a site holds."""
    return BuildReport(
        pages=sum(path.endswith(".html") for path in files),
        files=len(files),
        bytes=sum(mark.size for mark in files.values()),
        instances=sum(run.instances for run in record.runs.values()),
        warnings=tuple(warnings),
        rendered=len(plan.jobs),
        reused=len(plan.reused),
        current=current,
        notes=tuple(notes),
    )


def planned(
    gathered: Gathered,
    frames: Frames,
    downloads: Downloads,
    basis: Basis,
    earlier: Earlier,
) -> Plan:
    """Decide for each run whether the earlier site's files are what it needs."""
    jobs = {}
    for summary in gathered.runs:
        manifest, own = summary.manifest, own_summary(summary)
        around = run_frames(basis.site, frames, manifest)
        tables = downloads.get(manifest.run_id, ())
        offered = tuple(sorted(allowed(manifest, tables))) if tables else None
        names = None if offered is None else [path.name for path in offered]
        key = basis.key(own, around, names)
        jobs[manifest.run_id] = Job(own, around, key, offered)
    reused, notes = earlier.usable({run_id: job.key for run_id, job in jobs.items()})
    left = tuple(job for run_id, job in jobs.items() if run_id not in reused)
    return Plan(left, reused, tuple(notes))


def expectation(
    plan: Plan, gathered: Gathered, earlier: Earlier, reader: Reader, theme: Theme
) -> Forecast:
    """Return how large the site will be, about."""
    sizes = Sizes(gathered.runs, earlier.record)
    sizes.learn(plan.jobs, reader, theme)
    lists = (gathered.boards, gathered.scenarios, gathered.models, gathered.sources)
    others = FIXED_PAGES + sum(map(len, lists))
    return forecast(plan.jobs, plan.reused, sizes, others)


def take_over(
    reused: Mapping[str, RunRecord], earlier: Earlier, writer: Writer
) -> None:
    """Make the files of runs that have not changed files of the new site."""
    for record in reused.values():
        for path, mark in record.files.items():
            writer.link(path, earlier.root / path, mark)


def offered_by(
    gathered: Gathered, runs: Mapping[str, RunRecord], frames: Frames
) -> dict[str, dict[str, Mark]]:
    """Return each run's files on offer by their addresses, the manifest first."""
    found = {}
    for run in gathered.runs:
        run_id = run.manifest.run_id
        folder = f"{frames.map.data(run_id)}/"
        files = runs[run_id].files
        own = [path for path in files if path.startswith(folder)]
        if own:
            first = f"{folder}run.json"
            own.sort(key=lambda path: (path != first, path))
            found[run_id] = {path: files[path] for path in own}
    return found


def recorded(
    whole: str,
    runs: Mapping[str, RunRecord],
    warnings: Sequence[str],
    writer: Writer,
) -> SiteRecord:
    """Return the record of what was written."""
    of_runs = {path for record in runs.values() for path in record.files}
    others = {p: mark for p, mark in writer.files.items() if p not in of_runs}
    return SiteRecord(whole, dict(runs), others, tuple(warnings))


def left_behind(earlier: Earlier) -> list[str]:
    """Return a note on files that somebody put into the earlier site."""
    strangers = [s for s in earlier.strangers() if not s.startswith(("runs/", "data/"))]
    if not strangers:
        return []
    more = f" and {len(strangers) - 1} more" if len(strangers) > 1 else ""
    return [
        f"{strangers[0]}{more} was not made by a build; the new site is without it."
    ]


def stop_if_strict(warnings: Sequence[str], *, strict: bool) -> None:
    """Make sure that a strict build has no warning.

    Raises:
        BuildError: with every warning.
    """
    if strict and warnings:
        raise BuildError("\n".join(warnings), "Leave out --strict to see the site.")


def credentials(found: Sequence[Leak]) -> list[str]:
    """Return a sentence for each credential on the pages, with some of its places."""
    places: dict[str, set[str]] = {}
    for leak in found:
        places.setdefault(leak.kind, set()).add(leak.path)
    told = []
    for kind, paths in sorted(places.items()):
        some, more = sorted(paths)[:PLACES], len(paths) - PLACES
        rest = f" and {more:,} more files" if more > 0 else ""
        holds = "hold" if len(paths) > 1 else "holds"
        told.append(f"{', '.join(some)}{rest} {holds} {kind}.")
    return told


def stop_at_credentials(found: Sequence[str], *, strict: bool) -> None:
    """Make sure that a strict build publishes no credential.

    Raises:
        BuildError: with the places, and never with what stands there.
    """
    if strict and found:
        raise BuildError(
            "The new site would publish credentials; it was not put in place.\n"
            + _listed(found),
            "Make them invalid where they were issued, then take the run out of the "
            "archive. docs/publishing.md says how to allow a harmless one.",
        )


def check_base_url(site: SiteConfig) -> None:
    """Make sure that permalinks will lead somewhere.

    Raises:
        BuildError: the base address is no http(s) address.
    """
    if not site.base_url or web_address(site.base_url):
        return
    rest = site.base_url.strip().partition("://")[2] or site.base_url.strip()
    raise BuildError(
        f"The base address {site.base_url!r} does not begin with https:// or http://.",
        f"Write https://{rest.lstrip('/')} for it, or leave it out.",
    )


def stop_at_broken_links(
    made: Sequence[Made], runs: Mapping[str, RunRecord], writer: Writer
) -> None:
    """Make sure that every link of the new site leads somewhere.

    Runs were checked by themselves when they were rendered, in this build or an earlier
    one; here their links to other pages are, and everything that is about several runs.

    Raises:
        BuildError: with every link that leads nowhere.
    """
    broken = [problem for run in made for problem in run.problems]
    own = check_pages(writer.pages, writer.files, "")
    broken += own.problems
    outward = [*own.outward, *(x for run in runs.values() for x in run.outward)]
    broken += check_outward(outward, writer.root, writer.files, writer.pages)
    if broken:
        raise BuildError(
            "The new site has broken links; it was not put in place.\n"
            + _listed(broken),
            "If you override templates, compare their links with the bundled ones.",
        )


def _listed(found: Sequence[str]) -> str:
    rest = [f"… and {len(found) - SHOWN} more"] if len(found) > SHOWN else []
    return "\n".join([*found[:SHOWN], *rest])

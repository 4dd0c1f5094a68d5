"""`helmsite import`: results of other tools into the archive."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from helmsite.cli.options import one_line, place

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from helmsite.cli.options import Place
    from helmsite.importers import Found, Notes
    from helmsite.importers.table.mapping import Mapping as TableMapping
    from helmsite.run.imported import Made
    from helmsite.run.importing import Report, Survey

SHOWN = 3
MOST_PROBLEMS = 20
FILE = click.Path(path_type=Path, dir_okay=False)


@click.command("import")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--suite",
    metavar="NAME",
    default="",
    help="Name in the archive; default: the source's own, else `imported`.",
)
@click.option(
    "-f",
    "--from",
    "chosen",
    metavar="TOOL",
    multiple=True,
    help="Only results of this tool (repeatable); default: as their content tells.",
)
@click.option(
    "--model-map",
    type=FILE,
    multiple=True,
    help="File of models' names that mean the same, and cards.",
)
@click.option(
    "--scenario-map",
    type=FILE,
    multiple=True,
    help="File of scenarios' names that mean the same.",
)
@click.option(
    "--map",
    "mapping",
    metavar="FILE",
    help="What the columns of tables hold: a file, or the name of a ready mapping.",
)
@click.option(
    "--column",
    "columns",
    metavar="FIELD=COLUMN",
    multiple=True,
    help="A column of tables and what it holds (repeatable).",
)
@click.option(
    "--constant",
    "constants",
    metavar="FIELD=TEXT",
    multiple=True,
    help="What is the same for all rows of tables (repeatable).",
)
@click.option("--again", is_flag=True, help="Take what is in the archive already, too.")
@click.option(
    "--strict", is_flag=True, help="Take no result in which anything is wrong."
)
@click.option(
    "-n", "--dry-run", is_flag=True, help="Say what is there; archive nothing."
)
@click.option(
    "--report", type=FILE, help="Write what became of each file here, as JSON lines."
)
@click.option(
    "-w",
    "--workers",
    type=click.IntRange(1, 256),
    help="Processes that read and score; default: one per core.",
)
@place
def command(  # noqa: PLR0913 - one for each option
    place: Place,
    *,
    paths: tuple[Path, ...],
    suite: str,
    chosen: tuple[str, ...],
    model_map: tuple[Path, ...],
    scenario_map: tuple[Path, ...],
    mapping: str | None,
    columns: tuple[str, ...],
    constants: tuple[str, ...],
    report: Path | None,
    workers: int | None,
    again: bool,
    strict: bool,
    dry_run: bool,
) -> None:
    """Put results of other tools into the archive: files and folders as they lie on disk.

    HELM, lm-evaluation-harness, HELMET, Inspect, Every Eval Ever, tables and more are
    recognised by their content. The same files again add nothing; what is newer takes the
    place of what is older; two different results of one run are both kept.

    Exit code: 0 all is in the archive, 6 something could not be taken, 2 --strict found
    something wrong or there is no result at all.
    """
    from helmsite.cli.progress import ImportReporter
    from helmsite.config import read_maps
    from helmsite.errors import ConfigError
    from helmsite.render.workers import cores
    from helmsite.run.imported import Wish
    from helmsite.run.importing import Import, survey

    project = place.project()
    wish = Wish(
        suite, read_maps([*model_map, *scenario_map]), again=again, strict=strict
    )
    found = survey(paths, chosen, _mapping(mapping, columns, constants))
    _say_found(found)
    _say_skipped(found.notes.skipped)
    if dry_run or not found.found:
        _say_problems(found.notes)
        _write(report, found, None)
        click.echo("Nothing was archived.")
        if found.found:
            return
        raise ConfigError(
            ["There are no results in what was given."],
            "What can be imported, and how to explain a table: docs/importing.md.",
        )
    with ImportReporter() as reporter:
        importing = Import(place.archive(project), project, wish, workers or cores())
        try:
            done = importing.take(found.found, reporter)
        except KeyboardInterrupt:
            click.echo(
                "\nStopped. What is archived stays: the same command goes on from here.",
                err=True,
            )
            raise SystemExit(130) from None
    _say_done(done)
    left = {k: v for k, v in done.notes.skipped.items() if k not in found.notes.skipped}
    _say_skipped(left)
    done.notes.problems[:0] = found.notes.problems
    _say_problems(done.notes)
    _write(report, found, done)
    if done.notes.problems:
        raise SystemExit(2 if strict else 6)


def _mapping(
    named: str | None, columns: Sequence[str], constants: Sequence[str]
) -> TableMapping | None:
    """Return what the user says about tables, None if nothing."""
    from helmsite.importers.table import mapping

    base = mapping.named(named) if named else None
    return mapping.given(columns, constants, base) if columns or constants else base


def _say_found(found: Survey) -> None:
    from helmsite.importers import load

    by_tool: dict[str, list[Found]] = defaultdict(list)
    for each in found.found:
        by_tool[each.importer].append(each)
    for tool, several in by_tool.items():
        known = [each.instances for each in several]
        models = {each.model for each in several} - {""}
        scenarios = {each.scenario for each in several} - {""}
        counts = [_count(len(several), "result")]
        counts += [_count(len(models), "model")] if models else []
        counts += [_count(len(scenarios), "scenario")] if scenarios else []
        if all(n is not None for n in known):
            counts.append(_count(sum(n or 0 for n in known), "instance"))
        files = len({file for each in several for file in each.files})
        click.echo(
            f"{load(tool).title}: {', '.join(counts)} in {_count(files, 'file')}."
        )


def _say_skipped(skipped: Mapping[str, str]) -> None:
    """Say which files are left out, those of one reason together."""
    by_reason: dict[str, list[str]] = defaultdict(list)
    for name, reason in sorted(skipped.items()):
        by_reason[reason].append(name)
    for reason, names in sorted(by_reason.items(), key=lambda e: (-len(e[1]), e[0])):
        what = names[0] if len(names) == 1 else f"{len(names):,} files like {names[0]}"
        click.echo(one_line(f"  left out: {what}: {reason}"))


def _say_done(done: Report) -> None:
    fates: dict[str, list[Made]] = defaultdict(list)
    for each in done.made:
        fates[each.fate].append(each)
    parts = [
        f"{len(fates[fate])} {fate}"
        for fate in ("new", "replaced", "kept apart")
        if fates[fate]
    ]
    if done.unchanged:
        parts.append(f"{len(done.unchanged)} there already")
    if done.failed:
        parts.append(f"{len(done.failed)} that could not be taken")
    cells = sum(done.cells.values())
    told = [f"{_count(cells, 'value')} without instances"] if cells else []
    instances = sum(each.instances for each in done.made)
    if done.made:
        runs = _count(len(done.made), "run")
        told.insert(0, f"{runs} with {_count(instances, 'instance')}")
    click.echo(
        f"Archived {' and '.join(told) or 'nothing'}"
        + (f": {', '.join(parts)}." if parts else ".")
    )
    for each in fates["replaced"]:
        click.echo(
            one_line(
                f"  {each.run_id}  {each.model} · {each.scenario}: newer files took the place of older ones"
            )
        )
    for each in fates["kept apart"]:
        click.echo(
            one_line(
                f"  {each.run_id}  {each.model} · {each.scenario}: another result of a run that is there; both are kept"
            )
        )
    _say_verified(done.made)
    for what, count in sorted(done.notes.hidden.items()):
        click.echo(f"  replaced: {what} ({_count(count, 'time')})")


def _say_verified(made: Sequence[Made]) -> None:
    equal = sum(each.equal for each in made)
    different = [each for each in made if each.different]
    if equal or different:
        odd = sum(len(each.different) for each in different)
        follow = "aggregate follows" if equal == 1 else "aggregates follow"
        do = "does" if odd == 1 else "do"
        click.echo(
            f"  verified: {equal:,} {follow} from the instances, {odd:,} {do} not"
        )
    for each in different[:MOST_PROBLEMS]:
        shown = ", ".join(each.different[:SHOWN])
        more = (
            f" and {len(each.different) - SHOWN} more"
            if len(each.different) > SHOWN
            else ""
        )
        click.echo(
            one_line(
                f"    {each.run_id}  {each.model} · {each.scenario}: {shown}{more}"
            )
        )


def _say_problems(notes: Notes) -> None:
    for each in notes.problems[:MOST_PROBLEMS]:
        click.echo(one_line(f"Problem: {each}"), err=True)
    more = len(notes.problems) - MOST_PROBLEMS
    if more > 0:
        click.echo(
            f"... and {more:,} more problems; --report FILE has them all.", err=True
        )


def _write(path: Path | None, found: Survey, done: Report | None) -> None:
    """Write a line for each file (what became of it) and for each problem."""
    if path is None:
        return
    import msgspec

    lines = [msgspec.json.encode(row) for row in _rows(found, done)]
    try:
        path.write_bytes(b"\n".join([*lines, b""]))
    except OSError as error:
        from helmsite.errors import ConfigError

        reason = error.strerror or str(error)
        raise ConfigError(
            [f"{path}: cannot be written: {reason}."], "Choose another place."
        ) from error


def _rows(found: Survey, done: Report | None) -> Iterable[Mapping[str, object]]:
    unchanged = {id(each) for each in done.unchanged} if done else set()
    failed = {id(each) for each in done.failed} if done else set()
    for each in found.found:
        fate = (
            "there already"
            if id(each) in unchanged
            else "failed"
            if id(each) in failed
            else "imported"
            if done
            else "found"
        )
        for name in each.names:
            yield {
                "file": name,
                "fate": fate,
                "tool": each.importer,
                "result": each.title,
            }
    notes = done.notes if done else found.notes
    for name, reason in sorted((found.notes.skipped | notes.skipped).items()):
        yield {"file": name, "fate": "left out", "reason": reason}
    for problem in notes.problems:
        yield {
            "file": problem.file,
            "problem": problem.why,
            "line": problem.line,
            "field": problem.field,
        }


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"

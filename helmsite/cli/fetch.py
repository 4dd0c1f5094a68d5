"""`helmsite fetch`: download the data of scenarios ahead of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from helmsite.cli.options import one_line, place, size, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from helmsite.cli.options import Place
    from helmsite.config import Project
    from helmsite.fetching import Fetcher
    from helmsite.scenarios.ahead import Need

BY_HAND = "to be put here by hand"


@click.command()
@click.argument("what", nargs=-1, metavar="[SUITE | SCENARIO | ENTRY]...")
@click.option("--all", "everything", is_flag=True, help="The data of every scenario.")
@click.option(
    "-g",
    "--group",
    "groups",
    multiple=True,
    help="Scenarios of this group (repeatable).",
)
@click.option(
    "--perturbation",
    "perturbed",
    multiple=True,
    metavar="NAME",
    help="The word lists of this preset or perturbation (repeatable).",
)
@click.option(
    "-n", "--dry-run", is_flag=True, help="Say what is needed; fetch nothing."
)
@place
def command(
    place: Place,
    what: tuple[str, ...],
    everything: bool,
    groups: tuple[str, ...],
    perturbed: tuple[str, ...],
    dry_run: bool,
) -> None:
    """Download the data of scenarios and word lists, so that runs need no network.

    A SCENARIO's name stands for all of its sub-scenarios (mmlu: every subject); an ENTRY
    is written as in a suite. What is here already is left as it is.

    Exit code: 0 all data is here, 2 some of it could not be had.
    """
    from helmsite.cli.progress import Downloads
    from helmsite.errors import ConfigError, HelmsiteError
    from helmsite.fetching import Fetcher
    from helmsite.scenarios.ahead import needs

    project = place.project()
    entries = [
        *_entries(project, what),
        *_chosen(project, groups, everything=everything),
    ]
    if not (entries or perturbed):
        raise ConfigError(
            ["Which data?"],
            "Name a suite or scenarios (`helmsite ls scenarios`), or type --all.",
        )
    chosen = [*perturbed, *_perturbations(project, what)]
    failed = 0
    told: set[str] = set()
    with Downloads() as bar:
        fetcher = Fetcher(progress=bar.told)
        for need in needs(
            entries, project.scenario_folders, project.data_folders, fetcher
        ):
            _say_licence(need, told)
            if need.is_here or dry_run:
                _say_need(need)
                continue
            try:
                path = need.fetch()
            except HelmsiteError as error:
                failed += not need.place.optional
                _say_failure(need, error)
            else:
                click.echo(one_line(f"  {need.place.path}  {_amount(path)}  fetched"))
        failed += _fetch_lists(project, chosen, fetcher, dry_run=dry_run)
    if failed:
        click.echo(f"{failed} could not be had.", err=True)
        raise SystemExit(2)


def _entries(project: Project, what: Sequence[str]) -> Iterable[str]:
    """Yield the scenarios of suites, names and run entries as HELM writes them."""
    from helmsite.run.definitions import Definitions
    from helmsite.schema.entries import read_entry

    known = Definitions(project)
    for word in what:
        suite = project.suite(word) if project.has_suite(word) else None
        for entry in [e.scenario for e in suite.scenarios] if suite else [word]:
            name = read_entry(entry).scenario.partition(":")[0]
            yield from _swept(read_entry(entry, known.parameters(name)).scenario)


def _swept(scenario: str) -> Iterator[str]:
    """Yield a scenario for each value that HELM's names stand for (`default_sweep`).

    tokenizer=default is the model's own: no model is known here, so it stays open.
    """
    import itertools

    from helmsite.run.choice import SWEEPS, TOKENIZER
    from helmsite.schema import format_entry, parse_entry

    name, given = parse_entry(scenario)
    if given.get(TOKENIZER) == "default":
        del given[TOKENIZER]
    values = [SWEEPS.get((key, value), (value,)) for key, value in given.items()]
    for chosen in itertools.product(*values):
        yield format_entry(name, dict(zip(given, chosen, strict=True)))


def _chosen(
    project: Project, groups: Sequence[str], *, everything: bool
) -> Iterable[str]:
    """Yield the names of all scenarios, or of those of some groups."""
    from helmsite import scenarios
    from helmsite.errors import ConfigError, suggest

    if not (groups or everything):
        return []
    entries = scenarios.listing(project.scenario_folders).entries
    if everything:
        return [entry.name for entry in entries]
    known = {group for entry in entries for group in (*entry.groups, entry.name)}
    for group in groups:
        if group not in known:
            raise ConfigError(
                [f"There is no group {group!r}.{suggest(group, known)}"],
                f"Groups: {', '.join(sorted(known))}.",
            )
    return [e.name for e in entries if {*e.groups, e.name} & set(groups)]


def _perturbations(project: Project, what: Sequence[str]) -> Iterable[str]:
    """Yield the perturbations that suites and run entries name."""
    from helmsite import perturbations
    from helmsite.schema.entries import read_entry

    for word in what:
        suite = project.suite(word) if project.has_suite(word) else None
        if suite:
            yield from suite.perturbations or ()
        for entry in suite.scenarios if suite else ():
            yield from entry.perturbations or ()
        for text in [e.scenario for e in suite.scenarios] if suite else [word]:
            if preset := read_entry(text).augmentation:
                yield from (
                    n for of in perturbations.variants(preset).values() for n in of
                )


def _fetch_lists(
    project: Project, names: Sequence[str], fetcher: Fetcher, *, dry_run: bool
) -> int:
    """Fetch the word lists that perturbations lack; return how many could not be had."""
    from pathlib import Path

    from helmsite import perturbations
    from helmsite.errors import HelmsiteError

    own = Path(project.root) / "data"
    folders = perturbations.places((own, *project.data_folders))
    words = perturbations.WordLists(perturbations.find_in(folders), folders[-1])
    failed = 0
    for facts in perturbations.lacking(perturbations.resolve(names, words)):
        click.echo(one_line(f"{facts.file}: licence {facts.licence}"))
        if dry_run or not facts.direct:
            how = facts.source if facts.direct else f"{BY_HAND} ({facts.source})"
            click.echo(one_line(f"  {facts.file}  {how}"))
            failed += not (dry_run or facts.direct)
            continue
        try:
            fetcher.fetch([facts.source], folders[-1] / facts.file)
        except HelmsiteError as error:
            failed += 1
            click.echo(visible(f"  {facts.file}: {error}"), err=True)
        else:
            amount = _amount(folders[-1] / facts.file)
            click.echo(one_line(f"  {facts.file}  {amount}  fetched"))
    return failed


def _say_licence(need: Need, told: set[str]) -> None:
    chosen = need.chosen
    name, said = chosen.name.partition(":")[0], chosen.definition
    key = f"{name} {said.title} {said.licence}"
    if key in told:
        return
    told.add(key)
    hidden = ", instances are never published" if said.publication != "full" else ""
    click.echo(one_line(f"{name}: licence {said.licence or 'not stated'}{hidden}"))


def _say_need(need: Need) -> None:
    here = "here" if need.is_here else need.source or BY_HAND
    about = f"  {need.place.size}" if need.place.size else ""
    click.echo(one_line(f"  {need.place.path}{about}  {here}"))


def _say_failure(need: Need, error: Exception) -> None:
    optional = " (the scenario does without)" if need.place.optional else ""
    click.echo(visible(f"  {need.place.path}{optional}: {error}"), err=True)


def _amount(path: object) -> str:
    from pathlib import Path

    found = Path(str(path))
    files = [found] if found.is_file() else [p for p in found.rglob("*") if p.is_file()]
    return size(sum(file.stat().st_size for file in files))

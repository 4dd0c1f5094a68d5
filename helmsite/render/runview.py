"""A run's page: the sentence, the numbers, what is unusual about it, where it came from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from helmsite.query.rows import Cell
from helmsite.render import board as boards
from helmsite.render import formats, sentences
from helmsite.render.names import digest, link, slug, up
from helmsite.render.pages import InstancesPage, RunView
from helmsite.render.parts import CellView, ColumnView, Fact, Link, RowView, Stats
from helmsite.render.text import plain
from helmsite.render.views import example

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from markupsafe import Markup

    from helmsite.query.rows import RunPage
    from helmsite.render.frames import Frames
    from helmsite.render.parts import Frame, Shared
    from helmsite.schema import AdapterSpec, Manifest, MetricFacts, Stat

WITHHELD = (
    "Only aggregates of this scenario are published: its instances, prompts and "
    "completions stay in the archive."
)
Names = dict[str, "MetricFacts"]


def frame(manifest: Manifest, frames: Frames, page: int | None = None) -> Frame:
    """Return the frame of a run's page; runs that are like it change its title alone."""
    path = frames.map.run(manifest.run_id, page)
    root = up(path)
    crumbs = [Link("Runs", root + "runs/index.html")]
    name = frames.run_name(manifest).title
    if page is not None:
        crumbs.append(Link(name, "index.html"))
        name = f"Instances of {name}, page {page}"
    state = f"run {manifest.run_id}, spec {manifest.spec_id[:12]}"
    return frames.frame(path, name, "Runs", tuple(crumbs), state)


def run(
    page: RunPage,
    frames: Frames,
    pages: Sequence[tuple[int, int]],
    download: str = "",
) -> RunView:
    """Return a run's page; `pages` are the first and last row of each page of instances."""
    manifest = page.summary.manifest
    adapter = manifest.spec.adapter
    own = frame(manifest, frames)
    links = [
        Link(
            sentences.scenario_title(manifest.scenario),
            link(own.path, frames.map.scenario(manifest.scenario.name)),
            "scenario",
        ),
        Link(
            plain(manifest.card.title or manifest.card.name),
            link(own.path, frames.map.model(manifest.card.name)),
            "model",
        ),
    ]
    withheld = manifest.scenario.publication == "aggregates"
    differs, settings = adapter_facts(adapter, page.defaults)
    return RunView(
        frame=msgspec.structs.replace(own, download=link(own.path, download)),
        sentence=sentences.run(page.summary),
        links=tuple(links),
        warnings=tuple(plain(w) for w in manifest.warnings),
        stats=tuple(tables(page.stats, manifest, page.summary.main_metric)),
        differs=differs,
        settings=settings,
        provenance=tuple(_provenance(manifest)),
        example=example(page.example.prompt) if page.example and not withheld else None,
        pages=tuple(
            Link(f"{first + 1:,}–{last:,}", f"{number}.html")
            for number, (first, last) in enumerate(pages, 1)
        ),
        index="index.js" if pages else "",
        withheld=WITHHELD if withheld else "",
    )


def instances(
    manifest: Manifest,
    frames: Frames,
    number: int,
    rows: tuple[int, int, int],
    parts: tuple[tuple[Shared, ...], tuple[Markup, ...]],
    last: bool,
) -> InstancesPage:
    """Return a page of instances: rows (first, last, of all), shared parts and articles."""
    own = frame(manifest, frames, number)
    first, end, whole = rows
    of = "" if manifest.perturbations or whole < end else f" of {whole:,}"
    return InstancesPage(
        frame=own,
        sentence=f"Instances {first + 1:,} to {end:,}{of}.",
        shared=parts[0],
        articles=parts[1],
        number=number,
        previous=f"{number - 1}.html" if number > 1 else "",
        following="" if last else f"{number + 1}.html",
        run=Link(frames.run_name(manifest).title, "index.html"),
        index="index.js",
        legend=any("data-l=" in article for article in parts[1]),
    )


def setting(value: Any) -> str:
    """Return a setting as text: strings as they are, the rest as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, tuple) and all(isinstance(v, str) for v in value):
        return ", ".join(f"“{v}”" for v in value) or "none"
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return msgspec.json.encode(value).decode()


def adapter_facts(
    adapter: AdapterSpec, defaults: AdapterSpec
) -> tuple[tuple[Fact, ...], tuple[Fact, ...]]:
    """Return the settings that differ from the preset's, and the others that say something.

    A field that is empty, as in the preset, does not exist.
    """
    differs, same = [], []
    for name in adapter.__struct_fields__:
        value, default = getattr(adapter, name), getattr(defaults, name)
        if value != default:
            differs.append(
                Fact(name, setting(value), other=setting(default) or "empty")
            )
        elif value not in ("", None, ()):
            same.append(Fact(name, setting(value)))
    return tuple(differs), tuple(same)


def _provenance(manifest: Manifest) -> Iterable[Fact]:
    made, model, data = manifest.provenance, manifest.spec.model, manifest.spec.data
    took = (
        made.finished_at - made.started_at
        if made.started_at and made.finished_at
        else None
    )
    tool = f"{made.source_tool} {made.source_version}".strip()
    settings = ", ".join(
        f"{k} = {setting(v)}" for k, v in sorted(model.settings.items())
    )
    known = [
        ("Run", manifest.run_id),
        ("Spec", manifest.spec_id),
        ("Suite", manifest.suite),
        ("Scenario", manifest.spec.scenario),
        ("Origin", manifest.origin),
        ("Status", manifest.status),
        ("Started", formats.moment(made.started_at)),
        ("Finished", formats.moment(made.finished_at)),
        ("Duration", formats.seconds(took) if took is not None else ""),
        ("helmsite", made.helmsite_version),
        ("Made by", tool),
        ("Client", model.client),
        ("Model revision", model.revision),
        ("Weights SHA-256", model.weights_sha256),
        ("Runtime", model.runtime),
        ("Quantisation", model.quantisation),
        ("Model settings", settings),
        ("Data", " ".join(p for p in (data.source, data.revision) if p)),
        ("Data SHA-256", data.sha256),
        ("Generator", data.generator),
        ("Perturbations", ", ".join(manifest.spec.perturbations)),
    ]
    return (Fact(name, plain(value)) for name, value in known if value)


def tables(
    stats: Sequence[Stat], manifest: Manifest, main: MetricFacts | None
) -> Iterable[Stats]:
    """Return a run's aggregates as tables: by split, group, perturbation and trial.

    The main metric comes first, then family by family; what describes the requests
    rather than the answers (counts and `general_information`) is in a last table, to
    fold away.
    """
    metrics: Names = {m.name: m for m in manifest.metrics}
    order = {m.name: i for i, m in enumerate(manifest.metrics)}
    found = {m.family for m in manifest.metrics}
    families = {name: i for i, name in enumerate(formats.families(sorted(found)))}
    first_name = main.name if main else ""

    def place(stat: Stat) -> tuple[bool, int, int, str, str]:
        facts = metrics.get(stat.metric)
        return (
            stat.metric != first_name,
            families[facts.family] if facts else len(families),
            order.get(stat.metric, len(order)),
            stat.metric,
            stat.scorer,
        )

    def general(stat: Stat) -> bool:
        facts = metrics.get(stat.metric)
        if facts is None or stat.metric == first_name:
            return False
        return boards.describes(facts)

    ordered = sorted(stats, key=place)
    across = [s for s in ordered if s.trial == -1]
    whole = [s for s in across if not s.sub_split and not s.perturbation]
    split = manifest.scenario.main_split
    main_split = [s for s in ordered if s.split == split] or ordered
    told = [s for s in whole if not general(s)]
    described = [s for s in whole if general(s)]
    if told:
        yield _by_metric("By split", told, metrics)
    for caption, first, chosen, key in (
        ("By group", "Group", _groups(main_split), _sub_split),
        ("Under perturbations", "Perturbation", _perturbed(main_split), _perturbation),
        ("By trial", "Trial", _trials(main_split), _trial),
    ):
        telling = [s for s in chosen if not general(s)]
        if telling:
            yield _by_row(caption, first, telling, metrics, key)
    if described:
        made = _by_metric("What was asked and how it ended", described, metrics)
        yield msgspec.structs.replace(made, folded=bool(told))


def _groups(stats: Sequence[Stat]) -> list[Stat]:
    return [s for s in stats if s.sub_split and not s.perturbation and s.trial == -1]


def _perturbed(stats: Sequence[Stat]) -> list[Stat]:
    return [s for s in stats if s.perturbation and not s.sub_split and s.trial == -1]


def _trials(stats: Sequence[Stat]) -> list[Stat]:
    found = [
        s for s in stats if s.trial >= 0 and not s.sub_split and not s.perturbation
    ]
    return found if len({s.trial for s in found}) > 1 else []


def _sub_split(stat: Stat) -> str:
    return stat.sub_split


def _perturbation(stat: Stat) -> str:
    return (
        f"{stat.perturbation}, {stat.computed_on}"
        if stat.computed_on
        else stat.perturbation
    )


def _trial(stat: Stat) -> str:
    return f"Trial {stat.trial}"


def _metric_name(stat: Stat, metrics: Names) -> str:
    facts = metrics.get(stat.metric)
    name = plain(facts.title if facts else stat.metric)
    return f"{name} ({plain(stat.scorer)})" if stat.scorer else name


def _cell(stat: Stat | None, metrics: Names) -> CellView:
    if stat is None:
        return CellView("·", title="not run: no such value in this run")
    facts = metrics.get(stat.metric)
    form = facts.format if facts else "number"
    if stat.value is None:
        return CellView("·", title=stat.missing or "not measurable")
    cell = Cell(
        value=stat.value,
        ci_low=stat.ci_low,
        ci_high=stat.ci_high,
        n_scored=stat.n_scored,
        n_asked=stat.n_asked,
        missing="",
    )
    words = [formats.interval(cell, form)]
    if stat.n_asked:
        words.append(f"{stat.n_scored:,} of {stat.n_asked:,} observations scored")
    if stat.origin == "reported":
        words.append("as reported by the source")
    return CellView(
        text=formats.value(stat.value, form),
        sort=repr(round(stat.value, 9)),
        title="; ".join(w for w in words if w),
        bar=boards.bar(cell, (0.0, 1.0)) if form == "share" else None,
        part=f"{stat.n_scored:,}/{stat.n_asked:,}"
        if stat.n_scored < stat.n_asked
        else "",
    )


def _by_metric(caption: str, stats: Sequence[Stat], metrics: Names) -> Stats:
    splits = list(dict.fromkeys(s.split for s in stats))
    rows: dict[tuple[str, str, str], dict[str, Stat]] = {}
    for stat in stats:
        key = (stat.metric, stat.scorer, stat.origin)
        rows.setdefault(key, {})[stat.split] = stat
    views = []
    for (name, _, origin), by_split in rows.items():
        facts = metrics.get(name)
        some = next(iter(by_split.values()))
        mark = boards.arrow(facts)[0]
        notes = [mark, "reported" if origin == "reported" else ""]
        notes.append(facts.description if facts else "")
        views.append(
            RowView(
                _metric_name(some, metrics),
                "",
                " ".join(plain(n) for n in notes if n),
                tuple(_cell(by_split.get(split), metrics) for split in splits),
            )
        )
    columns = tuple(ColumnView(slug(s) or "all", s or "all") for s in splits)
    return Stats(caption, "Metric", columns, tuple(views))


def _by_row(
    caption: str,
    first: str,
    stats: Sequence[Stat],
    metrics: Names,
    key: Callable[[Stat], str],
) -> Stats:
    names = list(dict.fromkeys((s.metric, s.scorer) for s in stats))
    rows: dict[str, dict[tuple[str, str], Stat]] = {}
    for stat in stats:
        rows.setdefault(key(stat), {}).setdefault((stat.metric, stat.scorer), stat)
    columns = []
    for name, scorer in names:
        facts = metrics.get(name)
        mark, words = boards.arrow(facts)
        label = plain(facts.title if facts else name)
        column = slug(f"{name} {scorer}".strip()) or digest(name)
        columns.append(ColumnView(column, label, plain(scorer), "", mark, words))
    views = [
        RowView(plain(row), "", "", tuple(_cell(found.get(n), metrics) for n in names))
        for row, found in rows.items()
    ]
    return Stats(caption, first, tuple(columns), tuple(views))

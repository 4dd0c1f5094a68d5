"""A run's page: the sentence, the numbers, what is unusual about it, where it came from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import structs

from helmsite.render import formats, sentences
from helmsite.render.names import link, up
from helmsite.render.pages import FileLine, InstancesPage, RunView
from helmsite.render.parts import Fact, Link
from helmsite.render.record import Mark
from helmsite.render.runtables import tables
from helmsite.render.text import plain
from helmsite.render.views import example

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from markupsafe import Markup

    from helmsite.query.rows import RunPage, RunSummary
    from helmsite.render.blocks import Shared
    from helmsite.render.frames import Frames
    from helmsite.render.parts import Frame
    from helmsite.schema import AdapterSpec, Manifest

FEW = 5
WITHHELD = (
    "Only aggregates of this scenario are published: its instances, prompts and "
    "completions stay in the archive."
)
LICENSED = "Its licence does not let them be shown: {}."
KEPT_BACK = "not published: only aggregates of this scenario are"
BLANKED = "published without the texts that were judged"


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
    files = f"{'' if page is None else 'index.html'}#downloads"
    return frames.frame(path, name, "Runs", tuple(crumbs), state, files)


def run(
    page: RunPage,
    frames: Frames,
    pages: Sequence[tuple[int, int]],
    offered: Mapping[str, Mark],
) -> RunView:
    """Return a run's page.

    Args:
        page: the run's numbers.
        frames: what stands around pages.
        pages: the first and last row of each page of instances.
        offered: the run's files on offer, by their addresses from the site's root.
    """
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
    told_by = _foreign(manifest)
    differs, settings = adapter_facts(adapter, page.defaults)
    if told_by:
        differs, settings = (), told_facts(adapter)
    return RunView(
        frame=own,
        sentence=sentences.run(_valued(page)),
        links=tuple(links),
        warnings=tuple(plain(w) for w in _warnings(manifest)),
        verified=tuple(map(plain, manifest.provenance.verified)),
        stats=tuple(
            tables(
                page.stats,
                manifest,
                page.summary.main_metric,
                page.gaps,
                linked=bool(pages),
            )
        ),
        differs=differs,
        settings=settings,
        provenance=tuple(_provenance(manifest)),
        example=example(page.example.prompt) if page.example and not withheld else None,
        pages=tuple(
            Link(f"{first + 1:,}–{last:,}", f"{number}.html")
            for number, (first, last) in enumerate(pages, 1)
        ),
        index="index.js" if pages else "",
        withheld=_withheld(manifest) if withheld else "",
        status=manifest.status,
        ended=sentences.ended(page.summary),
        asked=tuple(_asked(manifest)),
        files=tuple(_files(manifest, own.path, offered)),
        read=_read(frames, offered),
        told_by=told_by,
    )


def _warnings(manifest: Manifest) -> Iterable[str]:
    if manifest.scenario.caution:
        yield f"Caution: {manifest.scenario.caution}"
    yield from manifest.warnings


def _withheld(manifest: Manifest) -> str:
    licence = manifest.scenario.licence
    why = f" {LICENSED.format(plain(licence))}" if licence else ""
    return f"{WITHHELD}{why}"


def _files(
    manifest: Manifest, path: str, offered: Mapping[str, Mark]
) -> Iterable[FileLine]:
    """Yield a run's files: what they hold, and the address of those on offer.

    One that is published without its texts is another file than the archive's.
    """
    known = {address.rsplit("/", 1)[-1]: address for address in offered}
    for stem, facts in sorted(manifest.files.items()):
        name = f"{stem}.parquet"
        address = known.get(name, "")
        mark = offered.get(address) or Mark(facts.bytes, facts.sha256)
        private = manifest.scenario.publication == "aggregates" and stem != "stats"
        kept_back = BLANKED if address and private else KEPT_BACK
        yield FileLine(
            name=plain(name),
            href=link(path, address),
            size=formats.size(mark.size),
            bytes=mark.size,
            rows=facts.rows,
            sha256=plain(mark.sha256),
            note=kept_back if private else "",
        )
    if "run.json" in known:
        yield FileLine("run.json", link(path, known["run.json"]), note="the manifest")


def _read(frames: Frames, offered: Iterable[str]) -> str:
    """Return one line of SQL that reads a file of the run, '' if none is on offer."""
    tables_here = [a for a in offered if a.endswith(".parquet")]
    if not tables_here:
        return ""
    liked = [
        a for a in tables_here if a.endswith(("/scores.parquet", "/stats.parquet"))
    ]
    return f"FROM {formats.quoted(frames.address((liked or tables_here)[0]))} LIMIT 10;"


def instances(
    manifest: Manifest,
    frames: Frames,
    number: int,
    rows: tuple[int, int, int],
    parts: tuple[tuple[Shared, ...], tuple[Markup, ...], bool],
    last: bool,
) -> InstancesPage:
    """Return a page of instances.

    Args:
        manifest: the run's.
        frames: those of its pages.
        number: the page's, from 1.
        rows: the first, the one after the last, and how many the run has.
        parts: what articles share, the articles, and whether there is a legend to them.
        last: whether no page follows.
    """
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
        legend=parts[2],
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


SAID = ("method", "max_train_instances")
THOUGHTS = ("chain_of_thought_prefix", "chain_of_thought_suffix")


def adapter_facts(
    adapter: AdapterSpec, defaults: AdapterSpec
) -> tuple[tuple[Fact, ...], tuple[Fact, ...]]:
    """Return the settings that differ from the preset's, and the others that say something.

    A field that is empty or plays no part, as in the preset, does not exist.
    """
    differs, same = [], []
    thinks = adapter.method == "multiple_choice_joint_chain_of_thought"
    for name in adapter.__struct_fields__:
        value, default = getattr(adapter, name), getattr(defaults, name)
        if value != default:
            differs.append(
                Fact(name, setting(value), other=setting(default) or "empty")
            )
        elif value not in ("", None, ()) and (thinks or name not in THOUGHTS):
            same.append(Fact(name, setting(value)))
    return tuple(differs), tuple(same)


def _valued(page: RunPage) -> RunSummary:
    """Return the run; where its main metric has a value on another split alone, with it."""
    found, metric = page.summary, page.summary.main_metric
    if found.main.value is not None or metric is None:
        return found
    for stat in page.stats:
        whole = stat.trial == -1 and not stat.sub_split and not stat.perturbation
        if whole and stat.metric == metric.name and stat.value is not None:
            main = structs.replace(
                found.main, value=stat.value, ci_low=stat.ci_low, ci_high=stat.ci_high,
                missing="", n_scored=stat.n_scored, n_asked=stat.n_asked,
            )  # fmt: skip
            return structs.replace(found, main=main)
    return found


def _foreign(manifest: Manifest) -> str:
    """Return the tool of a run that knows nothing of HELM's presets, '' of all others."""
    tool = manifest.provenance.source_tool
    return "" if manifest.is_native or tool == "helm" else plain(tool)


def told_facts(adapter: AdapterSpec) -> tuple[Fact, ...]:
    """Return the settings of a run of another tool, as far as it told any.

    It has no preset. An empty prefix, a field's own default, one completion, and a
    temperature where there is no limit of tokens are what an importer leaves where its
    source says nothing.
    """
    usual = structs.replace(type(adapter)(), num_outputs=1)
    if adapter.max_tokens == 0:
        usual = structs.replace(usual, max_tokens=0, temperature=adapter.temperature)
    return tuple(
        Fact(name, setting(value))
        for name in adapter.__struct_fields__
        if (value := getattr(adapter, name)) not in ("", None, ())
        and (name in SAID or value != getattr(usual, name))
    )


def _asked(manifest: Manifest) -> Iterable[Fact]:
    """Yield how the model was set up and asked: settings, decoding, seeds."""
    model, adapter = manifest.spec.model, manifest.spec.adapter
    decoding = adapter.decoding if adapter.method else None
    known: list[tuple[str, Any]] = [("client", model.client)]
    known += sorted(model.settings.items())
    if decoding is not None:
        known += [
            ("decoding: temperature", f"{decoding.temperature:g}"),
            ("decoding: max_tokens", decoding.max_tokens),
            ("decoding: completions", decoding.num_completions),
            ("decoding: candidates a token", decoding.top_k_per_token),
            ("decoding: stop", decoding.stop_sequences),
            ("decoding: random", decoding.random),
            ("seeds", _seeds(adapter)),
        ]
    known += sorted(manifest.spec.settings.items())
    return (
        Fact(plain(name), setting(value))
        for name, value in known
        if value not in ("", None, ())
    )


def _seeds(adapter: AdapterSpec) -> str:
    """Return what chose examples and instances (docs/adapters.md)."""
    told = []
    if adapter.max_train_instances > 0 and adapter.method != "language_modeling":
        trials = formats.listed([str(n) for n in range(min(adapter.train_trials, 10))])
        more = ", …" if adapter.train_trials > 10 else ""
        plural = "s" if adapter.train_trials > 1 else ""
        told.append(
            f"in-context examples: {trials}{more} (the trial{plural})"
            if adapter.sample_train
            else "in-context examples: none (consecutive slices)"
        )
    if adapter.repeats > 1:
        told.append(f"repeats of a request: 1 to {adapter.repeats - 1}, the first none")
    if adapter.max_eval_instances is not None:
        told.append("choice of instances: 0")
    return "; ".join(told)


def _provenance(manifest: Manifest) -> Iterable[Fact]:
    made, model, data = manifest.provenance, manifest.spec.model, manifest.spec.data
    took = (
        made.finished_at - made.started_at
        if made.started_at and made.finished_at
        else None
    )
    tool = f"{made.source_tool} {made.source_version}".strip()
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
        ("Source files", _some(made.source_files)),
        ("Source SHA-256", made.source_sha256),
        ("Source of", formats.moment(made.source_at)),
        ("Model revision", model.revision),
        ("Weights SHA-256", model.weights_sha256),
        ("Runtime", model.runtime),
        ("Quantisation", model.quantisation),
        ("Data", " ".join(p for p in (data.source, data.revision) if p)),
        ("Data SHA-256", data.sha256),
        ("Generator", data.generator),
        ("Scenario definition SHA-256", manifest.spec.definition_sha256),
        ("Perturbations", ", ".join(manifest.spec.perturbations)),
    ]
    return (Fact(name, plain(value)) for name, value in known if value)


def _some(names: Sequence[str]) -> str:
    """Return the first of some names, and how many more there are."""
    more = len(names) - FEW
    return ", ".join(names[:FEW]) + (f" and {more} more" if more > 0 else "")

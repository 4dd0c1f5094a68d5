"""What runs are called: the model on the scenario, and what tells like runs apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from helmsite.render import formats
from helmsite.render.sentences import method, scenario_title
from helmsite.render.text import plain
from helmsite.schema import Record

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from helmsite.query.rows import RunSummary
    from helmsite.schema import Manifest


class RunName(Record, frozen=True):
    """A run's title, and `inside` of its brackets what tells it from like runs.

    `differs` is that without the method.
    """

    title: str
    differs: str = ""
    inside: str = ""


def title(manifest: Manifest) -> str:
    """Return the model on the scenario; several runs may share it."""
    model = plain(manifest.card.title or manifest.card.name)
    return f"{model} on {scenario_title(manifest.scenario)}"


def run_names(runs: Iterable[RunSummary]) -> dict[str, RunName]:
    """Return the name of each run by its id; no two runs have the same title."""
    alike: dict[str, list[RunSummary]] = {}
    for run in runs:
        alike.setdefault(title(run.manifest), []).append(run)
    named = {}
    for shared, found in alike.items():
        for run, told in zip(found, _differences(found), strict=True):
            inside = ", ".join(t for t in told if t)
            named[run.manifest.run_id] = RunName(
                f"{shared} ({inside})" if inside else shared,
                ", ".join(t for t in told[1:] if t),
                inside,
            )
    return named


def _differences(runs: Sequence[RunSummary]) -> list[list[str]]:
    """Return for each run its method and what else is needed to tell it from the others.

    A feature is named only where the ones before it leave runs that are alike.
    """
    told: list[list[str]] = [[] for _ in runs]
    if len(runs) == 1:
        return told
    for words in zip(*(_features(run) for run in runs), strict=True):
        before = len({tuple(t) for t in told})
        after = [[*t, w] for t, w in zip(told, words, strict=True)]
        if not told[0] or len({tuple(t) for t in after}) > before:
            told = after
        if len({tuple(t) for t in told}) == len(runs):
            break
    return told


def _features(run: RunSummary) -> Iterator[str]:
    """Yield what may tell a run apart, the most telling first, its id last."""
    manifest, model = run.manifest, run.manifest.spec.model
    yield method(manifest.spec.adapter)
    yield f"{model.name}" if model.name != manifest.card.title else ""
    yield manifest.scenario.name
    yield f"suite {plain(manifest.suite)}"
    yield plain(source(manifest))
    yield f"revision {plain(model.revision) or 'unknown'}"
    yield plain(model.quantisation) or "quantisation unknown"
    yield plain(model.runtime) or "runtime unknown"
    yield _time(manifest)
    yield _settings(model.settings) or "no model settings"
    adapter = msgspec.to_builtins(manifest.spec.adapter)
    for name, value in adapter.items():
        yield f"{name} = {_short(value)}"
    yield ", ".join(map(plain, manifest.spec.perturbations)) or "unperturbed"
    yield f"data {plain(manifest.spec.data.revision)}".strip()
    yield plain(manifest.origin)
    yield manifest.run_id


def source(manifest: Manifest) -> str:
    """Return where a run came from: `native`, with its label, or the tool that made it.

    Of several results of one run, those that are kept apart end in `#` and their mark.
    """
    if manifest.is_native or not manifest.provenance.source_tool:
        return manifest.origin
    _, sign, mark = manifest.origin.rpartition("#")
    return f"{manifest.provenance.source_tool}{sign}{mark if sign else ''}"


def _time(manifest: Manifest) -> str:
    """Return when a run of another tool began, to the second; '' of a native one."""
    started = manifest.provenance.started_at or manifest.provenance.source_at
    if manifest.is_native or not started:
        return ""
    return formats.moment(started, exact=True)


def _settings(settings: dict[str, Any]) -> str:
    return ", ".join(f"{plain(k)} = {_short(v)}" for k, v in sorted(settings.items()))


def _short(value: object) -> str:
    shown = plain(
        value if isinstance(value, str) else msgspec.json.encode(value).decode()
    )
    return shown if len(shown) <= 40 else f"{shown[:40]}…"

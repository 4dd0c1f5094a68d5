"""HELM's folders as they lie: which files are a run, which were made of runs.

A file is known by its content, whatever its name. In a folder that is a run's by one of
its files, a file with one of HELM's names is what the name says, so that a broken one is
told of.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

from helmsite.errors import SourceError
from helmsite.importers import reading
from helmsite.importers.found import Found
from helmsite.importers.helm.folder import YAML
from helmsite.importers.helm.naming import entry_of, model_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from helmsite.importers.found import Notes
    from helmsite.importers.tree import File, Tree

STATE, SPEC, SCENARIO = "scenario_state", "run_spec", "scenario"
STATS, SCORES = "stats", "per_instance_stats"
INSTANCES, REQUESTS = "instances", "display_requests"
PREDICTIONS, KEYS = "display_predictions", "encryption_data"
PARTS = (STATE, SPEC, SCENARIO, STATS, SCORES, INSTANCES, REQUESTS, PREDICTIONS, KEYS)
ENOUGH = {STATE, STATS, SCORES, PREDICTIONS}
"""One of these makes a folder a run's; a run_spec.json alone says that it never ended."""

SCHEMA, SPECS, RUNS = "schema", "run_specs", "runs"
SUMMARY, SUITES, CARDS = "summary", "runs_to_run_suites", "model_metadata"
MADE = {
    SUMMARY: "it dates a summary",
    SPECS: "what the folders of the runs say",
    RUNS: "what the folders of the runs say",
    SUITES: "which suite each run of a release is from; it is the folder's name",
    SCHEMA: "titles and groups of runs",
    "groups": "tables that are made anew here",
    "groups_metadata": "what schema.json says",
    "costs": "HELM leaves it empty",
}
OBJECTS = (
    (STATE, {"request_states"}),
    (SPEC, {"name", "adapter_spec", "scenario_spec"}),
    (SPEC, {"name", "adapter_spec", "scenario"}),
    (SCENARIO, {"name", "description", "tags", "definition_path"}),
    (SCHEMA, {"run_groups", "metric_groups"}),
)
LISTS = (
    (STATS, {"name", "count", "sum"}),
    (PREDICTIONS, {"instance_id", "train_trial_index", "predicted_text"}),
    (REQUESTS, {"instance_id", "train_trial_index", "request"}),
    (SCORES, {"instance_id", "train_trial_index", "stats"}),
    (INSTANCES, {"input", "references", "id"}),
    (INSTANCES, {"input", "references", "split"}),
    (RUNS, {"run_spec", "stats"}),
    (SPECS, {"scenario_spec", "adapter_spec"}),
)
"""What the first object of a file has, by what the file is; the first that fits."""

DISPLAYED = "what scenario_state.json and per_instance_stats.json say"
FETCHED = {"scenarios", "scenario_instances", "perturbations"}
SMALL = 4_000_000


class Part(NamedTuple):
    """A file of a run or suite, and what it is."""

    kind: str
    file: File


def survey(tree: Tree, notes: Notes, importer: str) -> Iterator[Found]:
    """Claim HELM's files and yield its runs, by folder."""
    folders: dict[Path, list[Part]] = defaultdict(list)
    for file in tree.open():
        if kind := _kind(tree, file):
            folders[file.path.parent].append(Part(kind, file))
    runs = {folder for folder, parts in folders.items() if _is(parts, ENOUGH)}
    for file in tree.open():
        folder, kind = file.path.parent, file.path.name.removesuffix(".json")
        if folder in runs and kind in PARTS:
            known = {part.file.path for part in folders[folder]}
            folders[folder] += [Part(kind, file)] if file.path not in known else []
    shared = _Shared(tree, folders, notes)
    for folder in sorted(runs):
        parts = _chosen(folders[folder], notes)
        tree.claim(*(p.file.path for p in folders[folder] if p.kind in PARTS))
        yield _run(folder, parts, shared, notes, importer)
    suites = {f for f, parts in folders.items() if _is(parts, {SPECS, RUNS})}
    for folder in sorted(suites):
        listed = [p.file for p in folders[folder] if p.kind == RUNS]
        if listed and not runs:
            tree.claim(listed[0].path)
            yield _listed(listed[0], shared, importer)
    suites |= {folder.parent for folder in runs} | shared.suites.keys()
    _leave_out(tree, notes, [part for parts in folders.values() for part in parts])
    _account(tree, notes, suites)


def _is(parts: list[Part], kinds: set[str]) -> bool:
    return any(part.kind in kinds for part in parts)


def _kind(tree: Tree, file: File) -> str:
    """Return what a file is by its beginning, '' if it is none of HELM's."""
    if file.path.suffix.lower() in YAML:
        head = tree.head(file.path)
        if b"run_groups:" in head and b"metric_groups:" in head:
            return SCHEMA
        return CARDS if b"creator_organization_name:" in head else ""
    begin = tree.head(file.path).lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    if begin == b"[":
        return _of_list(set(tree.row_keys(file.path)))
    return _of_object(set(tree.keys(file.path))) if begin == b"{" else ""


def _of_object(keys: set[str]) -> str:
    if keys and all(key.startswith("[encrypted_text") for key in keys):
        return KEYS
    return next((kind for kind, needed in OBJECTS if needed <= keys), "")


def _of_list(keys: set[str]) -> str:
    return next((kind for kind, needed in LISTS if needed <= keys), "")


def _chosen(parts: list[Part], notes: Notes) -> dict[str, File]:
    """Return the files of a run by what they are; a second one of a kind is left out."""
    found: dict[str, File] = {}
    for kind, file in sorted(parts, key=lambda p: (p.file.path.stem != p.kind, p.file)):
        if kind in found and kind in PARTS:
            notes.skip(file.name, f"{found[kind].name} is the {kind} of this run")
        else:
            found.setdefault(kind, file)
    return {kind: file for kind, file in found.items() if kind in PARTS}


class _Shared:
    """Files that many runs depend on: schemas, model metadata, all specs of a suite."""

    def __init__(
        self, tree: Tree, folders: dict[Path, list[Part]], notes: Notes
    ) -> None:
        self._tree, self._notes = tree, notes
        self._of: dict[Path, dict[str, File]] = {}
        self.anywhere: dict[str, File] = {}
        self.suites: dict[Path, str] = {}
        for folder, parts in sorted(folders.items()):
            beside = {p.kind: p.file for p in parts if p.kind in {SCHEMA, SPECS, CARDS}}
            self._of[folder] = beside
            for kind, file in beside.items():
                if file.path.suffix in YAML:
                    self.anywhere.setdefault(kind, file)
        for file in tree.open():
            if file.path.name == "summary.json":
                said = _small(file)
                name = said.get("suite") if isinstance(said, dict) else None
                if isinstance(name, str) and "date" in said:
                    self.suites[file.path.parent] = name

    def beside(
        self, folder: Path, *, specs: bool = False
    ) -> dict[str, tuple[str, str]]:
        """Return path and name of files about a suite's runs, with all specs if wanted.

        They are no part of what a run is known by: HELM writes them anew with each
        summary, and the run is the same.
        """
        found = self.anywhere | self._of.get(folder, {})
        found = {k: f for k, f in found.items() if k != SPECS or specs}
        self._tree.claim(*(file.path for file in found.values()))
        for kind, file in found.items():
            reason = f"HELM's summary: {MADE.get(kind, 'cards of models')}"
            self._notes.skip(file.name, f"{reason}, taken along with each run")
        return {kind: (str(file.path), file.name) for kind, file in found.items()}

    def suite(self, folder: Path) -> str:
        """Return the name of the suite whose folder this is, '' if it is none."""
        if folder in self.suites:
            return self.suites[folder]
        is_suite = folder.parent.name == "runs" or self._of.get(folder)
        return folder.name if is_suite else ""


def _run(
    folder: Path,
    parts: dict[str, File],
    shared: _Shared,
    notes: Notes,
    importer: str,
) -> Found:
    spec = _small(parts[SPEC]) if SPEC in parts else None
    name = spec.get("name") if isinstance(spec, dict) else None
    name = name if isinstance(name, str) and name.strip() else folder.name
    suite = shared.suite(folder.parent)
    beside = shared.beside(folder.parent, specs=SPEC not in parts)
    used = dict(parts)
    if STATE in parts:
        for kind in (INSTANCES, REQUESTS, PREDICTIONS):
            if kind in used:
                notes.skip(used.pop(kind).name, DISPLAYED)
    if KEYS in used:
        notes.skip(used[KEYS].name, "keys of texts that stay encrypted")
    entry = entry_of(name)
    used = dict(sorted(used.items()))
    return Found(
        importer=importer,
        key=f"{suite}/{name}" if suite else name,
        files=tuple(str(file.path) for file in used.values()),
        names=tuple(file.name for file in used.values()),
        title=name,
        model=_model(spec) or model_of(entry),
        scenario=entry.scenario,
        instances=_instances(parts),
        when=max(file.changed for file in parts.values()),
        options={"kinds": list(used), "name": name, "suite": suite, "beside": beside},
    )


def _model(spec: Any) -> str:
    adapter = spec.get("adapter_spec") if isinstance(spec, dict) else None
    name = adapter.get("model") if isinstance(adapter, dict) else None
    return name if isinstance(name, str) else ""


def _instances(parts: dict[str, File]) -> int | None:
    """Return how many instances the run's statistics tell of."""
    if STATS not in parts:
        return None
    total = 0.0
    stats = _small(parts[STATS])
    for stat in stats if isinstance(stats, list) else []:
        if not isinstance(stat, dict) or not isinstance(stat.get("name"), dict):
            continue
        name, mean = stat["name"], stat.get("mean")
        of_all = name.get("name") == "num_instances" and not name.get("perturbation")
        if of_all and isinstance(mean, (int, float)) and 0 < mean < SMALL:
            total += mean
    return round(total) or None


def _small(file: File) -> Any:
    """Return what a small file says, None if it cannot be read: that is told when it is."""
    if file.size > SMALL:
        return None
    try:
        return reading.json_file(file.path)
    except SourceError:
        return None


def _listed(file: File, shared: _Shared, importer: str) -> Found:
    """Return a runs.json, which holds the aggregates of runs that are not there."""
    folder = file.path.parent
    suite = shared.suite(folder) or folder.name
    return Found(
        importer=importer,
        key=f"{suite}/{RUNS}",
        files=(str(file.path),),
        names=(file.name,),
        title=f"aggregates of {suite}",
        when=file.changed,
        options={
            "kinds": [RUNS],
            "name": suite,
            "suite": suite,
            "beside": shared.beside(folder),
        },
    )


def _leave_out(tree: Tree, notes: Notes, parts: list[Part]) -> None:
    """Tell of files of HELM that are no use: nothing beside them is a result."""
    still = {file.path for file in tree.open()}
    for kind, file in parts:
        if file.path not in still or (kind in MADE and file.path.suffix not in YAML):
            continue
        reason = "the run did not end: no file of its folder is a result"
        if kind in {SCHEMA, CARDS}:
            reason = "HELM's names of groups and models; no run here needs them"
        tree.claim(file.path)
        notes.skip(file.name, reason)


def _account(tree: Tree, notes: Notes, suites: set[Path]) -> None:
    """Tell of what HELM made of runs, and of the data that it fetched."""
    homes = {s.parent.parent for s in suites if s.parent.name in {"runs", "releases"}}
    for file in tree.open():
        for above in file.path.parents:
            inside = file.path.relative_to(above).parts
            reason = _made(inside, file) if above in suites else ""
            if above in homes and inside[0] in FETCHED:
                reason = "data that HELM made its instances of"
            if reason:
                tree.claim(file.path)
                notes.skip(file.name, reason)
            if above in suites or above in homes:
                break


def _made(inside: tuple[str, ...], file: File) -> str:
    if len(inside) == 1 and file.path.stem in MADE:
        return f"HELM's summary: {MADE[file.path.stem]}"
    if inside[0] == "groups":
        return "HELM's summary: tables that are made anew here"
    return "HELM's cache of what metrics computed" if inside[0] == "eval_cache" else ""

"""HELMET: the files of one result are a run; those of a model and length give averages.

A result is `X.json`, `X.json.score` and, where a judge read it, `X-gpt4eval_o.json`.
"""

from __future__ import annotations

import json
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from helmsite.importers import reading
from helmsite.importers.found import Aggregates, Found, Imported
from helmsite.importers.helmet import averages, names
from helmsite.importers.helmet.run import Reader

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from helmsite.importers.found import Notes
    from helmsite.importers.tree import File, Tree

NEEDED = {"input_max_length", "generation_max_length", "datasets"}
KINDS = ("result", "judged", "score")
BATCH = "requests or replies of a batch; the result beside it holds what was answered"


@dataclass
class Result:
    """The files of one result, and what is known of it before it is read."""

    files: dict[str, File] = field(default_factory=dict)
    args: dict[str, Any] = field(default_factory=dict)
    named: names.Named | None = None

    @property
    def first(self) -> File:
        """The file that is told of."""
        return next(self.files[k] for k in KINDS if k in self.files)

    @property
    def when(self) -> float:
        """When the newest of the files was written."""
        return max(f.changed for f in self.files.values())

    @property
    def dataset(self) -> str:
        """HELMET's name of the data set."""
        said = self.args.get("datasets")
        known = self.named.dataset if self.named else ""
        return said if isinstance(said, str) and "," not in said else known

    @property
    def length(self) -> int:
        """Tokens of a prompt, 0 if that is not known."""
        if self.named:
            return self.named.length
        return names.length(self.args)

    @property
    def shots(self) -> int:
        """In-context examples."""
        said = self.args.get("shots")
        if isinstance(said, int) and 0 <= said < names.THINKING:
            return said
        return self.named.shots if self.named else 0

    @property
    def model(self) -> str:
        """The model's name: of a local folder the last part."""
        said = self.args.get("model_name_or_path")
        if isinstance(said, str) and said:
            return names.model(said)
        return self.first.path.parent.name


class HelmetImporter:
    """Takes results of HELMET."""

    title = "HELMET"

    def survey(self, tree: Tree, notes: Notes) -> Iterator[Found]:
        """Claim results by what they hold; scores alone by their name and numbers."""
        results: dict[Path, Result] = defaultdict(Result)
        for file in tree.open():
            args = _args(tree, file)
            kind = "judged" if file.path.name.endswith(names.JUDGED) else "result"
            if args is None:
                kind = "score" if _is_score(tree, file) else ""
            if not kind:
                if names.is_batch(file.path.name):
                    tree.claim(file.path)
                    notes.skip(file.name, BATCH)
                continue
            tree.claim(file.path)
            result = results[file.path.parent / names.stem(file.path.name)]
            result.files[kind] = file
            result.args = args or result.args
            result.named = names.named(file.path.name)
        groups: dict[tuple[str, str, int, str], list[Result]] = defaultdict(list)
        for result in results.values():
            yield _found(result)
            if names.category(result.dataset) and result.length:
                folder = str(result.first.path.parent)
                tag = result.named.tag if result.named else ""
                groups[folder, result.model, result.length, tag].append(result)
        for (_, model, length, tag), several in groups.items():
            yield _found_averages(model, length, tag, several)

    def read(self, found: Found, notes: Notes) -> Iterator[Imported | Aggregates]:
        """Yield a result's run, or the averages over several results."""
        if found.options.get("averages"):
            yield averages.averages(found)
            return
        files = _by_kind(found)
        reader = Reader(found, files, notes)
        if "result" in files or "judged" in files:
            yield reader.imported()
        else:
            yield reader.aggregates()


def _args(tree: Tree, file: File) -> dict[str, Any] | None:
    """Return the arguments of a result, None if a file is none."""
    if "args" not in tree.keys(file.path):
        return None
    text = tree.head(file.path).decode("utf-8-sig", "replace")
    at = text.find('"args"')
    start = text.find("{", at)
    with suppress(ValueError, RecursionError):
        found, _ = json.JSONDecoder().raw_decode(text, start)
        if isinstance(found, dict) and found.keys() >= NEEDED:
            return {str(k): v for k, v in reading.whole(found).items()}
    if names.is_like(file.path.name) and file.path.name.endswith(names.RESULT):
        return {}
    return None


def _is_score(tree: Tree, file: File) -> bool:
    name = file.path.name
    return (
        name.endswith(names.SCORE)
        and names.is_like(name)
        and tree.head(file.path).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{")
    )


def _found(result: Result) -> Found:
    files = [result.files[k] for k in KINDS if k in result.files]
    kinds = [k for k in KINDS if k in result.files]
    stem = names.stem(result.first.path.name)
    scenario = ""
    if result.dataset and result.length:
        scenario = names.scenario(result.dataset, result.length, result.shots)
    return Found(
        importer="helmet",
        key=f"{result.model}/{stem}",
        files=tuple(str(f.path) for f in files),
        names=tuple(f.name for f in files),
        title=f"{scenario or stem} by {result.model}",
        model=result.model,
        scenario=scenario,
        when=result.when,
        options={"kinds": kinds},
    )


def _found_averages(
    model: str, length: int, tag: str, several: Sequence[Result]
) -> Found:
    files = sorted(
        (f for result in several for f in result.files.values()), key=lambda f: f.name
    )
    return Found(
        importer="helmet",
        key=f"{model}/averages at {length}{f' of {tag}' if tag else ''}",
        files=tuple(str(f.path) for f in files),
        names=tuple(f.name for f in files),
        title=f"averages at {length:,} tokens by {model}",
        model=model,
        scenario=averages.overall(length),
        when=max(result.when for result in several),
        options={"averages": True, "length": length, "model": model, "tag": tag},
    )


def _by_kind(found: Found) -> dict[str, tuple[Path, str]]:
    kinds = found.options.get("kinds", ())
    pairs = zip(found.files, found.names, strict=True)
    return {k: (Path(f), n) for k, (f, n) in zip(kinds, pairs, strict=True)}


IMPORTER = HelmetImporter()

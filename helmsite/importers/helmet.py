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

from msgspec import structs

from helmsite.errors import SourceError
from helmsite.importers import helmet_averages, helmet_stats, naming, reading, redact
from helmsite.importers import helmet_names as names
from helmsite.importers.found import Aggregates, Found, Imported
from helmsite.importers.helmet_rows import JUDGED, SPLIT, Asking, Items, items
from helmsite.importers.values import Place, Row, plain
from helmsite.schema import (
    AdapterSpec,
    DataRevision,
    ModelIdentity,
    PublishedStat,
    RunSpec,
    ScenarioFacts,
    Stat,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from helmsite.importers.found import Notes
    from helmsite.importers.tree import File, Tree

NEEDED = {"input_max_length", "generation_max_length", "datasets"}
SERVERS = (("use_vllm", "vllm"), ("use_sglang", "sglang"))
OF_MODEL = (
    *("use_chat_template", "rope_theta", "no_bf16", "thinking", "system_message"),
    *("no_torch_compile", "stop_newline", "use_tgi_or_vllm_serving", "endpoint_url"),
)
OF_MACHINE = (
    *("output_dir", "overwrite", "num_workers", "debug", "count_tokens", "config"),
    *("no_cuda", "model_name_or_path", "test_files", "demo_files", "datasets"),
)
KINDS = ("result", "judged", "score")


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
        return _length(self.args)

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
            return model_name(said)
        return self.first.path.parent.name


def _length(args: dict[str, Any]) -> int:
    said = args.get("input_max_length")
    if not isinstance(said, int) or isinstance(said, bool) or not 0 <= said < 2**31:
        return 0
    more = names.THINKING if args.get("thinking") is True else 0
    return said - more if said > more else said


def model_name(path: str) -> str:
    """Return a model's name: `org/name` as it is, of a path to a folder its last part."""
    clean = path.rstrip("/\\").replace("\\", "/")
    parts = clean.split("/")
    if len(parts) == 2 and parts[0] not in {"", ".", "..", "~", "models", "output"}:
        return clean
    return parts[-1] or path


class HelmetImporter:
    """Takes results of HELMET."""

    title = "HELMET"

    def survey(self, tree: Tree, notes: Notes) -> Iterator[Found]:  # noqa: ARG002
        """Claim results by what they hold; scores alone by their name and numbers."""
        results: dict[Path, Result] = defaultdict(Result)
        for file in tree.open():
            args = _args(tree, file)
            kind = "judged" if file.path.name.endswith(names.JUDGED) else "result"
            if args is None:
                kind = "score" if _is_score(tree, file) else ""
            if not kind:
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
            yield helmet_averages.averages(found)
            return
        files = _by_kind(found)
        reader = _Reader(found, files, notes)
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
        scenario=helmet_averages.overall(length),
        when=max(result.when for result in several),
        options={"averages": True, "length": length, "model": model},
    )


def _by_kind(found: Found) -> dict[str, tuple[Path, str]]:
    kinds = found.options.get("kinds", ())
    pairs = zip(found.files, found.names, strict=True)
    return {k: (Path(f), n) for k, (f, n) in zip(kinds, pairs, strict=True)}


class _Reader:
    """Reads the files of a result."""

    def __init__(
        self, found: Found, files: dict[str, tuple[Path, str]], notes: Notes
    ) -> None:
        self.found, self.notes = found, notes
        self.whole = self._row(files, "result")
        self.judged = self._row(files, "judged")
        self.score = self._row(files, "score")
        self.warnings: list[str] = []

    def _row(self, files: dict[str, tuple[Path, str]], kind: str) -> Row | None:
        """Return a file's object, None if it is not there; broken, with a problem."""
        if kind not in files:
            return None
        path, _ = files[kind]
        try:
            return Row(reading.json_file(path), Place(str(path)))
        except SourceError as error:
            if len(files) == 1:
                raise
            self.notes.problem(error)
            return None

    def imported(self) -> Imported:
        """Return the run.

        Raises:
            SourceError: neither the result nor its judged copy can be read.
        """
        main = self.judged or self.whole
        if main is None:
            raise SourceError(self.found.names[0], "it cannot be read")
        self.args = main.row("args")
        self.named = names.named(Path(main.place.file).name)
        rows = main.rows("data")
        values = self._values(main, len(rows))
        adapter = self._adapter()
        decoding = structs.replace(
            adapter.decoding, top_p=self.args.number("top_p", 1.0) or 1.0
        )
        most = self.args.integer("input_max_length", 0)
        room = most - self.args.integer("generation_max_length", 0)
        made = items(
            rows,
            values,
            Asking(decoding, adapter.max_train_instances, room if room > 0 else None),
        )
        stats = [
            structs.replace(s, n_scored=len(rows), n_asked=len(made.instances))
            for s in self._stats(main)
        ]
        self._warn(made, rows)
        metrics = [s.metric for s in made.scores] + [s.metric for s in stats]
        return Imported(
            key=self.found.key,
            spec=self._spec(adapter),
            scenario=self._facts(),
            card=naming.card(self.model.name),
            instances=made.instances,
            replies=made.replies,
            scores=made.scores,
            stats=stats,
            metrics=helmet_stats.facts(metrics),
            warnings=tuple(self.warnings),
        )

    @property
    def dataset(self) -> str:
        """HELMET's name of the data set."""
        said = self.args.text("datasets", "")
        if (not said or "," in said) and self.named:
            return self.named.dataset
        return said

    @property
    def length(self) -> int:
        """Tokens of a prompt."""
        if self.named:
            return self.named.length
        return _length({k: self.args.get(k) for k in self.args})

    def _values(self, main: Row, count: int) -> dict[str, list[Any]]:
        """Return each metric's values, one an item."""
        metrics = main.row("metrics")
        values = {}
        for name in metrics:
            column = metrics.items(name)
            if len(column) != count:
                raise metrics.at(name).error(
                    f"expected {count} values, one an item, got {len(column)}"
                )
            values[name] = column
        return values

    def _adapter(self) -> AdapterSpec:
        args = self.args
        known = names.dataset(self.dataset)
        shots = args.integer("shots", 0) if known.shots is None else known.shots
        sampled = args.flag("do_sample", False)
        temperature = args.number("temperature", 0.0) if sampled else 0.0
        chat = args.flag("use_chat_template", False)
        return AdapterSpec(
            method="generation",
            input_prefix="",
            input_suffix="",
            output_prefix="",
            output_suffix="",
            instance_prefix="",
            global_prefix=(args.text("system_message", "") or "") if chat else "",
            max_train_instances=max(0, shots),
            max_eval_instances=args.integer("max_test_samples", None),
            num_outputs=1,
            temperature=max(0.0, temperature or 0.0),
            max_tokens=max(0, args.integer("generation_max_length", 0)),
        )

    @property
    def model(self) -> ModelIdentity:
        """The model, apart from how it was run."""
        args = self.args
        path = args.text("model_name_or_path", "") or self.found.model
        client = next((c for key, c in SERVERS if args.get(key) is True), "")
        settings = {
            k: plain(args.get(k))
            for k in OF_MODEL
            if args.get(k) not in (None, "", False)
        }
        return ModelIdentity(model_name(path), client=client, settings=settings)

    def _spec(self, adapter: AdapterSpec) -> RunSpec:
        args = self.args
        test = args.text("test_files", "").rpartition("/")[2]
        settings = args.rest(*OF_MODEL, *OF_MACHINE)
        settings |= {
            "dataset": self.dataset,
            "demo_files": args.text("demo_files", "").rpartition("/")[2],
            "use_chat_template": bool(args.flag("use_chat_template", False)),
        }
        return RunSpec(
            scenario=self._facts().name,
            model=self.model,
            adapter=adapter,
            data=DataRevision(source=test or self.dataset),
            settings={k: v for k, v in settings.items() if v not in (None, "")},
        )

    def _facts(self) -> ScenarioFacts:
        return scenario_facts(self.dataset, self.length, self.args.integer("shots", 0))

    def _stats(self, main: Row) -> list[Stat]:
        """Return the averages, once each; of those that differ the result's own counts."""
        averaged = main.row("averaged_metrics", Row({}, main.at("averaged_metrics")))
        found = {(s.metric, s.scorer): s for s in helmet_stats.averages(averaged)}
        if self.score is not None:
            is_alce = "alce" in self.dataset
            said = helmet_stats.alce if is_alce else helmet_stats.averages
            for stat in said(self.score):
                own = found.setdefault((stat.metric, stat.scorer), stat)
                if own.value != stat.value and not is_alce:
                    file = Path(self.score.place.file).name
                    self.warnings.append(
                        f"{file} gives another {stat.metric} than the result itself."
                    )
        about = {
            k: redact.settings(plain(self.args.get(k)), self.notes.hidden, k)
            for k in OF_MACHINE
            if self.args.get(k) is not None
        }
        for name in ("throughput", "memory_usage"):
            if name in main:
                stat = Stat(name, main.number(name), split=SPLIT, origin="reported")
                missing = "" if stat.value is not None else "nan"
                found[name, ""] = structs.replace(
                    stat, details={"args": about}, missing=missing
                )
        positions = self.score.get("citation_positions") if self.score else None
        key = ("citation_rec", "")
        if positions and key in found:
            details = {**found[key].details, "citation_positions": plain(positions)}
            found[key] = structs.replace(found[key], details=details)
        return list(found.values())

    def _warn(self, made: Items, rows: Sequence[Row]) -> None:
        if made.skipped:
            self.warnings.append(
                f"{made.skipped} items are not in HELMET's result because the model gave "
                "no answer: they count as failed here."
            )
        size = self.args.integer("max_test_samples", 0)
        if not made.skipped and len(rows) < size:
            self.warnings.append(
                f"{len(rows)} of at most {size} items are there: HELMET leaves out items "
                "without an answer, or its data had no more."
            )
        if made.cut:
            self.warnings.append(
                f"Documents of {made.cut} items are kept with their beginnings only."
            )
        if (
            self.judged is not None
            and self.whole is not None
            and _without_judge(self.judged) != _without_judge(self.whole)
        ):
            self.warnings.append(
                "The judged copy of the result holds other items than the result; the "
                "judged one is taken."
            )

    def aggregates(self) -> Aggregates:
        """Return scores of which the result is not there.

        Raises:
            SourceError: the name does not tell what they are of.
        """
        score = self.score
        named = names.named(Path(self.found.files[0]).name)
        if score is None or named is None:
            raise SourceError(
                self.found.names[0], "its name does not tell which result it is of"
            )
        is_alce = "alce" in named.dataset
        stats = list((helmet_stats.alce if is_alce else helmet_stats.averages)(score))
        facts = scenario_facts(named.dataset, named.length, named.shots)
        settings = {
            "dataset": named.dataset,
            "test": named.test,
            "shots": named.shots,
            "max_test_samples": named.size,
            "use_chat_template": named.chat,
            "seed": named.seed,
            "tag": named.tag,
        }
        return Aggregates(
            results=[
                PublishedStat(facts.name, self.found.model, stat, settings=settings)
                for stat in stats
            ],
            scenarios=(facts,),
            metrics=helmet_stats.facts(s.metric for s in stats),
            cards=(naming.card(self.found.model),),
        )


def _without_judge(row: Row) -> list[dict[str, Any]]:
    return [
        {k: v for k, v in each.items() if k not in {JUDGED, "keypoints"}}
        for each in row.items("data", [])
        if isinstance(each, dict)
    ]


def scenario_facts(dataset: str, length: int, shots: int) -> ScenarioFacts:
    """Return what is known of a data set at a length."""
    counts = names.METRICS.get(names.simple(dataset), ())
    title = names.category(dataset)
    groups = ("helmet", names.group(title)) if title else ("helmet",)
    return ScenarioFacts(
        names.scenario(dataset, length, shots),
        title=f"{names.dataset(dataset).name} at {length:,} tokens",
        description=f"HELMET's category {title}." if title else "",
        url="https://github.com/princeton-nlp/HELMET",
        groups=groups,
        main_metric=counts[0] if counts else "",
        main_split=SPLIT,
    )


IMPORTER = HelmetImporter()

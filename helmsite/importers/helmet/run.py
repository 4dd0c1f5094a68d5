"""The files of a result → the records of a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import structs

from helmsite.errors import SourceError
from helmsite.importers import naming, reading, redact
from helmsite.importers.found import Aggregates, Imported
from helmsite.importers.helmet import names
from helmsite.importers.helmet import stats as numbers
from helmsite.importers.helmet.files import load
from helmsite.importers.helmet.rows import JUDGED, SPLIT, Asking, Items, items
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
    from collections.abc import Sequence

    from helmsite.importers.found import Found, Notes

SERVERS = (("use_vllm", "vllm"), ("use_sglang", "sglang"))
OF_MODEL = (
    *("use_chat_template", "rope_theta", "no_bf16", "thinking", "system_message"),
    *("no_torch_compile", "stop_newline", "use_tgi_or_vllm_serving", "endpoint_url"),
)
OF_MACHINE = (
    *("output_dir", "overwrite", "num_workers", "debug", "count_tokens", "config"),
    *("no_cuda", "model_name_or_path", "test_files", "demo_files", "datasets"),
)


class Reader:
    """Reads the files of a result."""

    def __init__(
        self, found: Found, files: dict[str, tuple[Path, str]], notes: Notes
    ) -> None:
        self.found, self.notes = found, notes
        self.cut: dict[str, int] = {}
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
            if kind == "score":
                return Row(reading.json_file(path), Place(str(path)))
            row, self.cut[kind] = load(path)
            return row
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
        if not rows:
            raise main.at("data").error("it holds no items")
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
            metrics=numbers.facts(metrics),
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
        return names.length({k: self.args.get(k) for k in self.args})

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
        return ModelIdentity(names.model(path), client=client, settings=settings)

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
        found = {(s.metric, s.scorer): s for s in numbers.averages(averaged)}
        if self.score is not None:
            is_alce = "alce" in self.dataset
            said = numbers.alce if is_alce else numbers.averages
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
        cut = self.cut.get("judged" if self.judged else "result", 0)
        if cut:
            self.warnings.append(
                f"Documents of {cut} items are kept with their beginnings only."
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
        stats = list((numbers.alce if is_alce else numbers.averages)(score))
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
            metrics=numbers.facts(s.metric for s in stats),
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

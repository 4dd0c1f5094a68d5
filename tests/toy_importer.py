"""A made-up tool: one JSON file a run. It knows how to go wrong."""

from __future__ import annotations

import math
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import structs

from helmsite.errors import SourceError
from helmsite.importers import Aggregates, Found, Imported, Notes, Tree, naming, reading
from helmsite.importers.values import Place, Row
from helmsite.schema import (
    AdapterSpec,
    Completion,
    Decoding,
    Instance,
    MetricFacts,
    ModelIdentity,
    PublishedStat,
    Reference,
    Reply,
    Request,
    RunSpec,
    ScenarioFacts,
    Score,
    Stat,
)

if TYPE_CHECKING:
    from collections.abc import Iterator


class Toy:
    title = "A toy"

    def survey(self, tree: Tree, notes: Notes) -> Iterator[Found]:
        for file in tree.open():
            if "toy" not in tree.keys(file.path):
                continue
            tree.claim(file.path)
            try:
                row = Row(reading.json_file(file.path), Place(file.name))
                key, model, task = row.text("key"), row.text("model"), row.text("task")
            except SourceError:
                key, model, task = file.name, "", ""
            yield Found(
                importer="toy",
                key=key,
                files=(str(file.path),),
                names=(file.name,),
                title=f"{model} · {task}",
                model=model,
                scenario=task,
                when=_when(file.path),
            )

    def read(self, found: Found, notes: Notes) -> Iterator[Imported | Aggregates]:
        path = Path(found.files[0])
        row = Row(reading.json_file(path), Place(found.names[0]))
        time.sleep(row.number("sleep", 0.0) or 0.0)
        if row.flag("die", False):
            os._exit(9)
        name = row.text("model")
        facts = ScenarioFacts(
            row.text("task"), main_metric=row.text("metric", "accuracy")
        )
        metric = MetricFacts(
            facts.main_metric, "Accuracy", "Share of right answers.", "accuracy",
            higher_is_better=True, format="share", source="a toy",
        )  # fmt: skip
        stat = Stat(
            metric.name,
            row.number("accuracy", 0.0) if "accuracy" in row else None,
            split="test",
            n_scored=row.integer("n", 0),
            origin="reported",
        )
        if "rows" not in row:
            cells = [PublishedStat(facts.name, name, stat)]
            if "again" in row:
                other = structs.replace(stat, value=row.number("again"))
                cells.append(structs.replace(cells[0], stat=other))
            if "scale" in row:
                other = structs.replace(stat, value=math.nan)
                cells = [structs.replace(cells[0], stat=other)]
            yield Aggregates(cells, (facts,), (metric,), (naming.card(name),))
            return
        settings = row.get("settings") or {}
        made = Imported(
            key=found.key,
            spec=RunSpec(
                facts.name,
                ModelIdentity(name, settings=settings),
                AdapterSpec(method="generation", num_outputs=1),
            ),
            scenario=facts,
            card=naming.card(name),
            instances=[],
            replies=[],
            stats=[stat] if stat.value is not None else [],
            metrics=(metric,),
            compute=row.texts("compute", ()),
        )
        instances, replies, scores = [], [], []
        for n, each in enumerate(row.rows("rows")):
            try:
                asked = each.text("id"), each.text("prompt"), each.text("answer")
            except SourceError as error:
                if not row.flag("lenient", False):
                    raise
                notes.problem(error)
                continue
            one, prompt, answer = asked
            right = (Reference(answer, ("correct",)),)
            instances.append(Instance(one, prompt, right, position=n, split="test"))
            request = Request(one, prompt, Decoding())
            replies.append(Reply(request, Completion(each.text("said"))))
            scores.append(
                Score(one, metric.name, each.number("score"), origin="reported")
            )
        made.instances, made.replies, made.scores = instances, replies, scores
        yield made


def _when(path: Path) -> float:
    try:
        return Row(reading.json_file(path), Place("")).number("at", 0.0) or 0.0
    except SourceError:
        return 0.0


IMPORTER = Toy()

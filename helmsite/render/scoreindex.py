"""The score index of a run: what its pages filter, sort and search by, as a script.

It is a classic script because nothing else can be loaded from file://. One row per
article; texts are stored once and referred to by number.
"""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING

from helmsite.render.names import anchor
from helmsite.render.tokens import script_json
from helmsite.render.verdicts import outcome

if TYPE_CHECKING:
    from helmsite.query.rows import InstanceView, RunSummary


class ScoreIndex:
    """Collects one row per instance in the order of the pages."""

    def __init__(self, run: RunSummary) -> None:
        self._run_id = run.manifest.run_id
        self._main = run.main_metric
        self._ids: list[str] = []
        self._anchors: dict[int, str] = {}
        self._starts: list[int] = []
        self._codes: list[str] = []
        self._values: list[float | None] = []
        self._splits: list[int] = []
        self._perturbations: list[int] = []
        self._sets: list[int] = []
        self._texts: dict[str, dict[str, int]] = {"split": {}, "pert": {}, "group": {}}
        self._known_sets: dict[tuple[int, ...], int] = {}
        self._trials: dict[int, None] = {}

    def __len__(self) -> int:
        return len(self._ids)

    def start_page(self) -> None:
        """Say that the next row is the first of a page."""
        self._starts.append(len(self._ids))

    def add(self, view: InstanceView) -> None:
        """Add a row."""
        instance = view.instance
        row = len(self._ids)
        self._ids.append(instance.instance_id)
        name = anchor(instance.instance_id, instance.perturbation)
        if name != f"i-{instance.instance_id}":
            self._anchors[row] = name
        outcomes = {t.trial: outcome(t, self._main) for t in view.trials}
        self._trials.update(dict.fromkeys(outcomes))
        self._codes.append("".join(code for code, _ in outcomes.values()))
        values = [v for _, v in outcomes.values() if v is not None and isfinite(v)]
        self._values.append(round(sum(values) / len(values), 4) if values else None)
        self._splits.append(self._number("split", instance.split))
        self._perturbations.append(self._number("pert", instance.perturbation))
        groups = [f"sub_split={instance.sub_split}"] if instance.sub_split else []
        for dimension, names in sorted(instance.attributes.items()):
            groups += [f"{dimension}={name}" for name in names]
        numbers = tuple(self._number("group", g) for g in groups)
        self._sets.append(self._known_sets.setdefault(numbers, len(self._known_sets)))

    def _number(self, kind: str, text: str) -> int:
        table = self._texts[kind]
        return table.setdefault(text, len(table))

    def script(self) -> str:
        """Return the script."""
        payload = {
            "run": self._run_id,
            "ids": self._ids,
            "anchors": self._anchors,
            "starts": self._starts,
            "codes": self._codes,
            "values": self._values,
            "trials": list(self._trials),
            "split": self._splits,
            "splits": list(self._texts["split"]),
            "pert": self._perturbations,
            "perts": list(self._texts["pert"]),
            "set": self._sets,
            "sets": list(self._known_sets),
            "groups": list(self._texts["group"]),
        }
        return f"helmsite.index({script_json(payload)});\n"

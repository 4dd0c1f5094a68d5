"""Names of HELM in ours: runs → scenarios, descriptions of perturbations → perturbations."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from helmsite.errors import ConfigError
from helmsite.importers.values import told
from helmsite.schema import PerturbationFacts, format_entry, parse_entry
from helmsite.schema.entries import RunEntry, as_entry, read_entry

if TYPE_CHECKING:
    from collections.abc import Sequence

    from helmsite.importers.values import Place

FAMILIES = ("robustness", "fairness")
ELSEWHERE = ("method", "model")
"""Parameters of a run's name that say nothing about the scenario."""

PROCESSED = re.compile(r"(?<=[:,])process_output=[^,]*,?|,process_output=[^,]*$")
"""An argument that no entry of ours has: it rewrites what metrics get."""

PARAMETERS: dict[str, dict[str, Any]] = {
    "dialect": {"prob": None, "source_class": "SAE", "target_class": "AAVE"},
    "gender": {
        "mode": None,
        "prob": None,
        "source_class": "male",
        "target_class": "female",
        "bidirectional": False,
    },
    "person_name": {
        "prob": None,
        "source_class": "race=white_american",
        "target_class": "race=black_american",
        "person_name_type": "first_name",
        "preserve_gender": True,
    },
    "filler_words": {
        "insert_prob": 0.333,
        "max_num_insert": None,
        "speaker_ph": True,
        "uncertain_ph": True,
        "fill_ph": True,
    },
}
"""Parameters in the order of docs/perturbations.md, with defaults; others have no default."""

GENERAL = {"name", "computed_on", "seed", *FAMILIES}
BARE = re.compile(r"[^\s,()~\"](?:[^,()~\"\n]*[^\s,()~\"])?")
FILLER = "FillerWordsPerturbation"


def entry_of(run: str) -> RunEntry:
    """Return what a run's name says; of a name that is no entry, all of it is the scenario."""
    entry = RunEntry(scenario=run)
    for text in (run, PROCESSED.sub("", run)):
        with suppress(ConfigError):
            entry = read_entry(text)
            break
    try:
        name, given = parse_entry(as_entry(entry.scenario))
    except ConfigError:
        return entry
    own = {k: v for k, v in given.items() if k not in ELSEWHERE}
    return RunEntry(
        scenario=format_entry(name, own),
        expanders=entry.expanders,
        model=entry.model or given.get("model", ""),
        deployment=entry.deployment,
        augmentation=entry.augmentation,
        groups=entry.groups,
    )


def model_of(entry: RunEntry) -> str:
    """Return the model that a run's name tells: there '/' was written as '_'."""
    return entry.model.replace("_", "/", 1)


class Told(NamedTuple):
    """A perturbation by its name here, and what a statistic is computed on."""

    name: str
    computed_on: str


class Perturbations:
    """Descriptions of perturbations, and the facts of those met.

    HELM's description holds the path of a word list, which differs between machines: it
    is left out. It lacks settings of filler words, which stand in the run's spec.

    Args:
        specs: `perturbation_specs` of the run, as they are found.
        shown: display names and descriptions by HELM's name, of the schema.
    """

    def __init__(
        self,
        specs: Sequence[Any] = (),
        shown: dict[str, tuple[str, str]] | None = None,
    ) -> None:
        self._shown = shown or {}
        self._known: dict[str, Told] = {}
        self._facts: dict[str, PerturbationFacts] = {}
        self._fillers = [
            spec["args"]
            for spec in specs
            if isinstance(spec, dict)
            and str(spec.get("class_name", "")).endswith(FILLER)
            and isinstance(spec.get("args"), dict)
        ]

    def told(self, described: Any, place: Place) -> Told:
        """Return a perturbation's name, ('', '') if there is none.

        Raises:
            SourceError: it is no description of a perturbation.
        """
        if described is None:
            return Told("", "")
        key = repr(described)
        if key not in self._known:
            self._known[key] = self._read(described, place)
        return self._known[key]

    @property
    def facts(self) -> tuple[PerturbationFacts, ...]:
        """The facts of all that were told, but for the families, by name."""
        return tuple(self._facts[name] for name in sorted(self._facts))

    def _read(self, described: Any, place: Place) -> Told:
        if not isinstance(described, dict):
            raise place.error(f"expected an object, got {told(described)}")
        short = described.get("name")
        if not isinstance(short, str) or not short:
            raise place.inside("name").error(f"expected a text, got {told(short)}")
        computed_on = described.get("computed_on")
        computed_on = computed_on if isinstance(computed_on, str) else "perturbed"
        if short in FAMILIES:
            return Told(short, computed_on)
        name = self._name(short, described)
        title, description = self._shown.get(short, ("", ""))
        self._facts[name] = PerturbationFacts(
            name=name,
            title=title,
            description=description,
            robustness=described.get("robustness") is True,
            fairness=described.get("fairness") is True,
        )
        return Told(name, computed_on)

    def _name(self, short: str, described: dict[str, Any]) -> str:
        given = {
            k: v
            for k, v in described.items()
            if k not in GENERAL and not k.endswith("_file_path") and v is not None
        }
        if short == "filler_words":
            like = (
                a
                for a in self._fillers
                if a.get("insert_prob", 0.333) == given.get("insert_prob")
            )
            given |= next(like, {})
        usual = PARAMETERS.get(short, {})
        ordered = [
            *(k for k in usual if k in given),
            *(k for k in given if k not in usual),
        ]
        shown = [
            f"{k}={_argument(given[k])}"
            for k in ordered
            if k not in usual or usual[k] is None or given[k] != usual[k]
        ]
        seed = described.get("seed")
        name = f"{short}({','.join(shown)})" if shown else short
        return f"{name}~{seed}" if seed else name


def _argument(value: Any) -> str:
    if isinstance(value, str):
        return value if BARE.fullmatch(value) else json.dumps(value, ensure_ascii=False)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return repr(value) if isinstance(value, (bool, float)) else json.dumps(value)

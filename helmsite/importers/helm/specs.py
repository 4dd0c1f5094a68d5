"""What HELM says about a run, its scenario and its model: run_spec, scenario, schema."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

from msgspec import structs

from helmsite.errors import ConfigError, SourceError
from helmsite.importers.naming import card as card_of
from helmsite.importers.values import Place, Row, plain
from helmsite.schema import (
    AdapterSpec,
    Method,
    MetricFacts,
    ModelCard,
    ModelIdentity,
    RunSpec,
    ScenarioFacts,
    Substitution,
    Taxonomy,
    parse_entry,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from helmsite.schema.entries import RunEntry

METHODS: set[str] = set(get_args(Method))
OLDER = {
    "multiple_choice": "multiple_choice_joint",
    "multiple_choice_calibrated": "multiple_choice_separate_calibrated",
    "generation_multimodal": "generation",
    "multiple_choice_joint_multimodal": "multiple_choice_joint",
    "ehr_instruction": "generation",
}
"""Methods that we have under another name; the source's own is kept among the settings."""

ALIASES = {"scenario": "scenario_spec", "metrics": "metric_specs"}
"""Names of fields of 2022, and what they became."""

KEPT = ("scenario_spec", "metric_specs", "data_augmenter_spec", "annotators")
ACCESS = ("open", "limited", "closed")
ENCRYPTED = (
    "The source publishes these texts only encrypted, so that no model learns them."
)


class Spec:
    """A run_spec.json, of any age, or what a run's name and its adapter tell without one.

    Args:
        row: the run spec, None if there is none.
        adapter: the adapter spec of scenario_state.json, if there is one.
        entry: what the run's name says.
        problem: hears what cannot be taken as it is.
    """

    def __init__(
        self,
        row: Row | None,
        adapter: Row | None,
        entry: RunEntry,
        problem: Callable[[SourceError], None],
    ) -> None:
        self.entry = entry
        self._problem = problem
        said = row.value if row else {}
        self._row = Row(
            {ALIASES.get(k, k): v for k, v in said.items()},
            row.place if row else Place(""),
        )
        self._asked = adapter or self._part("adapter_spec")
        self._odd: dict[str, Any] = {}
        self.adapter = self._adapter()

    @property
    def model(self) -> str:
        """The model's name."""
        said = self._asked.get("model") if self._asked else None
        if isinstance(said, str) and said:
            return said
        return self.entry.model.replace("_", "/", 1) or "unknown"

    @property
    def groups(self) -> tuple[str, ...]:
        """The groups that the run is in."""
        found = self._row.get("groups")
        named = (
            [g for g in found if isinstance(g, str)] if isinstance(found, list) else []
        )
        return tuple(named) or self.entry.groups

    @property
    def metrics(self) -> tuple[tuple[str, dict[str, Any]], ...]:
        """The metrics that the run asked for: class names with arguments."""
        found = self._row.get("metric_specs")
        rows = (
            [r for r in found if isinstance(r, dict)] if isinstance(found, list) else []
        )
        return tuple(
            (
                str(r.get("class_name", "")),
                r["args"] if isinstance(r.get("args"), dict) else {},
            )
            for r in rows
        )

    @property
    def perturbation_specs(self) -> list[Any]:
        """The perturbations that the run asked for, as they are found."""
        part = self._part("data_augmenter_spec")
        found = part.get("perturbation_specs") if part else None
        return found if isinstance(found, list) else []

    def run_spec(self, perturbations: Iterable[str], more: dict[str, Any]) -> RunSpec:
        """Return the spec of the run; `more` joins its settings."""
        settings = {k: _without_paths(self._row.get(k)) for k in KEPT if k in self._row}
        settings |= self._row.rest(*KEPT, "name", "adapter_spec", "groups")
        if self._odd:
            settings["adapter_spec"] = plain(self._odd)
        asked = self._asked
        deployment = asked.get("model_deployment") if asked else None
        named = deployment not in (None, "", self.model)
        return RunSpec(
            scenario=self.entry.scenario,
            model=ModelIdentity(
                name=self.model,
                client="helm",
                settings={"model_deployment": plain(deployment)} if named else {},
            ),
            adapter=self.adapter,
            perturbations=tuple(perturbations),
            settings={
                k: v for k, v in {**settings, **more}.items() if v not in (None, [], {})
            },
        )

    def _part(self, key: str) -> Row | None:
        try:
            return self._row.row(key, None)
        except SourceError as error:
            self._problem(error)
            return None

    def _adapter(self) -> AdapterSpec:
        row = self._asked
        if row is None:
            return AdapterSpec(method="")
        known: dict[str, Any] = {}
        for field in structs.fields(AdapterSpec):
            if field.name not in row:
                continue
            try:
                known[field.name] = _setting(row, field.name, field.default)
            except SourceError as error:
                self._problem(error)
                self._odd[field.name] = row.get(field.name)
        said = str(known.pop("method", ""))
        method = OLDER.get(said, said)
        if method != said or method not in METHODS:
            self._odd["method"] = said
        own = {f.name for f in structs.fields(AdapterSpec)} | {
            "model",
            "model_deployment",
        }
        self._odd |= {
            k: v for k, v in row.value.items() if k not in own and v is not None
        }
        known["method"] = method if method in METHODS else ""
        return AdapterSpec(**known)


def _setting(row: Row, name: str, default: Any) -> Any:
    found: Any = row.get(name)
    if name == "substitutions":
        pairs = row.rows(name)
        return tuple(Substitution(p.text("source"), p.text("target")) for p in pairs)
    if isinstance(default, bool):
        found = row.flag(name)
    elif isinstance(default, int) or name == "max_eval_instances":
        found = row.integer(name)
    elif isinstance(default, float):
        found = row.number(name)
    elif isinstance(default, tuple) or isinstance(found, list):
        found = row.texts(name)
    else:
        found = row.text(name)
    if found is None:
        raise row.at(name).error("no finite number")
    return found


def _without_paths(found: Any) -> Any:
    """Return settings without those of this machine: paths of word lists."""
    if isinstance(found, dict):
        return {
            str(k): _without_paths(v)
            for k, v in found.items()
            if not str(k).endswith("_file_path")
        }
    if isinstance(found, list):
        return [_without_paths(each) for each in found]
    return plain(found)


class Schema:
    """schema.json of a suite, or a schema in YAML: names for people, groups, models.

    Args:
        found: the schema as it is found, {} if there is none.
        models: entries of model metadata, `creator_organization_name` among them.
    """

    def __init__(self, found: Any, models: Any = None) -> None:
        said = found if isinstance(found, dict) else {}
        self.metrics = _by_name(said.get("metrics"))
        self.groups = _by_name(said.get("run_groups"))
        listed = models.get("models") if isinstance(models, dict) else None
        self.models = _by_name(listed) | _by_name(said.get("models"))
        self.perturbations = {
            name: (_text(each, "display_name"), _text(each, "description"))
            for name, each in _by_name(said.get("perturbations")).items()
        }

    def facts(self, name: str) -> MetricFacts:
        """Return what the schema says about a metric."""
        said = self.metrics.get(name, {})
        lower = said.get("lower_is_better")
        return MetricFacts(
            name=name,
            title=_text(said, "display_name") or name,
            description=_text(said, "description"),
            family="other",
            higher_is_better=not lower if isinstance(lower, bool) else None,
        )

    def card(self, name: str) -> ModelCard:
        """Return what is told about a model."""
        card = card_of(name)
        said = self.models.get(name)
        if not said:
            return card
        size, access = said.get("num_parameters"), said.get("access")
        organisation = _text(said, "creator_organization") or _text(
            said, "creator_organization_name"
        )
        tags = said.get("tags")
        is_size = isinstance(size, (int, float)) and 0 < size < 2**62
        return structs.replace(
            card,
            title=_text(said, "display_name") or card.title,
            creator=organisation or card.creator,
            description=_text(said, "description"),
            access=access if access in ACCESS else "",
            release_date=str(said.get("release_date") or ""),
            num_parameters=int(size) if is_size and size else card.num_parameters,
            tags=tuple(t for t in tags if isinstance(t, str))
            if isinstance(tags, list)
            else (),
        )

    def scenario(
        self, spec: Spec, scenario: dict[str, Any], *, encrypted: bool
    ) -> ScenarioFacts:
        """Return what is told about a run's scenario.

        Args:
            spec: the run's.
            scenario: scenario.json, {} if there is none.
            encrypted: whether its texts are.
        """
        name = spec.entry.scenario
        group = self._group(spec, scenario)
        try:
            own = parse_entry(name)[1]
        except ConfigError:
            own = {}
        shown = _text(group, "short_display_name") or _text(group, "display_name")
        inside = ", ".join(f"{k}={v}" for k, v in own.items())
        where = group.get("environment")
        where = where if isinstance(where, dict) else {}
        asked = [n for _, args in spec.metrics for n in names_of(args)]
        taxonomy = group.get("taxonomy")
        taxonomy = taxonomy if isinstance(taxonomy, dict) else {}
        return ScenarioFacts(
            name=name,
            title=f"{shown} ({inside})" if shown and inside else shown,
            description=_text(group, "description") or _text(scenario, "description"),
            taxonomy=Taxonomy(
                **{k: _text(taxonomy, k) for k in Taxonomy.__struct_fields__}
            ),
            publication="aggregates" if encrypted else "full",
            groups=spec.groups,
            main_metric=_text(where, "main_name") or next(iter(asked), ""),
            main_split=_text(where, "main_split") or "test",
            caution=ENCRYPTED if encrypted else "",
        )

    def _group(self, spec: Spec, scenario: dict[str, Any]) -> dict[str, Any]:
        """Return the group that tells most of a scenario: of its own name, or the first."""
        named = [_text(scenario, "name"), spec.entry.scenario.partition(":")[0]]
        found = [self.groups[n] for n in [*named, *spec.groups] if n in self.groups]
        return found[0] if found else {}


def names_of(args: dict[str, Any]) -> list[str]:
    """Return the metrics that a class of metrics is asked for by name."""
    found = args.get("names")
    return [n for n in found if isinstance(n, str)] if isinstance(found, list) else []


def _by_name(found: Any) -> dict[str, dict[str, Any]]:
    rows = found if isinstance(found, list) else []
    return {
        row["name"]: row
        for row in rows
        if isinstance(row, dict) and isinstance(row.get("name"), str)
    }


def _text(row: dict[str, Any], key: str) -> str:
    found = row.get(key)
    return found if isinstance(found, str) else ""

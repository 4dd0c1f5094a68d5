"""What a run is and what is known about it: run spec, facts and manifest."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec import structs

from helmsite.schema.records import Decoding, Record

if TYPE_CHECKING:
    from collections.abc import Mapping

SCHEMA_VERSION = 1

Method = Literal[
    "generation",
    "multiple_choice_joint",
    "multiple_choice_joint_chain_of_thought",
    "multiple_choice_separate_original",
    "multiple_choice_separate_calibrated",
    "ranking_binary",
    "language_modeling",
    "chat",
    "",
]
JOINT = ("multiple_choice_joint", "multiple_choice_joint_chain_of_thought")
LATER = ("chain_of_thought_prefix", "chain_of_thought_suffix", "num_trials")
"""Settings of AdapterSpec that came after the first archives (see RunSpec.spec_id)."""

Publication = Literal["full", "aggregates"]
Status = Literal["complete", "partial", "cancelled"]
Format = Literal["share", "number", "integer", "seconds", "bits"]


class Substitution(Record, frozen=True):
    """A regular expression replaced in the finished prompt."""

    source: str
    target: str


class AdapterSpec(Record, frozen=True):
    """How instances become prompts; every name and default as in HELM's AdapterSpec.

    A field that is added belongs into LATER, so that no spec_id changes.
    """

    method: Method = ""
    global_prefix: str = ""
    global_suffix: str = ""
    instructions: str = ""
    input_prefix: str = "Input: "
    input_suffix: str = "\n"
    reference_prefix: str = "A. "
    reference_prefix_characters: tuple[str, ...] | None = None
    reference_suffix: str = "\n"
    chain_of_thought_prefix: str = ""
    chain_of_thought_suffix: str = "\n"
    output_prefix: str = "Output: "
    output_suffix: str = "\n"
    instance_prefix: str = "\n"
    substitutions: tuple[Substitution, ...] = ()
    max_train_instances: int = 5
    max_eval_instances: int | None = None
    num_outputs: int = 5
    num_train_trials: int = 1
    num_trials: int = 1
    sample_train: bool = True
    temperature: float = 1.0
    max_tokens: int = 100
    stop_sequences: tuple[str, ...] = ()
    random: str | None = None
    multi_label: bool = False
    eval_splits: tuple[str, ...] | None = None
    output_mapping_pattern: str | None = None

    @property
    def train_trials(self) -> int:
        """How many choices of examples are tried: one where all would be the same (HELM)."""
        without = self.method in {"language_modeling", "chat"}
        if without or self.max_train_instances <= 0:
            return 1
        return max(1, self.num_train_trials)

    @property
    def repeats(self) -> int:
        """How often each request of a train trial is made, each time with another seed."""
        return 1 if self.method == "language_modeling" else max(1, self.num_trials)

    @property
    def all_trials(self) -> int:
        """How many trials a run has: each repeat of each train trial is one."""
        return self.train_trials * self.repeats

    @property
    def decoding(self) -> Decoding:
        """The decoding that the method's requests share (HELM 4d, table of methods)."""
        shared = Decoding(
            temperature=self.temperature,
            max_tokens=self.max_tokens,
            random=self.random or "",
        )
        if self.method in {"generation", "ranking_binary", "chat"}:
            return structs.replace(
                shared,
                num_completions=self.num_outputs,
                stop_sequences=self.stop_sequences,
            )
        if self.method in JOINT:
            return structs.replace(shared, top_k_per_token=self.num_outputs)
        return Decoding(temperature=0.0, max_tokens=0, random=shared.random)


class ModelIdentity(Record, frozen=True):
    """Everything about a model that can change a reply. `client` names its kind."""

    name: str
    client: str = ""
    revision: str = ""
    weights_sha256: str = ""
    runtime: str = ""
    quantisation: str = ""
    settings: dict[str, Any] = {}


class Contamination(Record, frozen=True):
    """A reason to think that a model knew a scenario's instances before it was asked.

    `strong`: it was trained on them, or on data of the same distribution, by its makers'
    word or by a test; `weak`: it may have been (HELM's two levels). `scenario` is a run
    entry, or a name for all entries of it.
    """

    scenario: str
    evidence: Literal["strong", "weak"]
    note: str = ""
    url: str = ""


class Prices(Record, frozen=True):
    """What a million tokens of prompts and of completions cost."""

    input_per_million: float
    output_per_million: float
    currency: str = "USD"


class Adjustment(Record, frozen=True):
    """A change that a model needs in the adapter spec, whatever the scenario.

    `expand` is one of HELM's run expanders with its value (`stop=hash`), `set` holds
    adapter settings; both count only where the spec has the settings of `where` (a list:
    one of them). Checked and applied in `schema.adjusting`.
    """

    expand: str = ""
    set: dict[str, Any] = {}
    where: dict[str, Any] = {}


class ModelCard(Record, frozen=True):
    """What is told about a model on the site.

    Of all this, `adjustments` and `tags` alone change a request, by way of the run's
    adapter spec. `aliases` are other names that results call it by. `tags` are HELM's
    (TEXT_MODEL_TAG, ...). `training_energy_mwh` and `training_co2_tonnes` are what
    HELM reports as training_energy_cost and training_co2_cost.
    """

    name: str
    title: str = ""
    creator: str = ""
    description: str = ""
    access: Literal["open", "limited", "closed", ""] = ""
    num_parameters: int | None = None
    context_length: int | None = None
    release_date: str = ""
    licence: str = ""
    family: str = ""
    url: str = ""
    contamination: tuple[Contamination, ...] = ()
    aliases: tuple[str, ...] = ()
    tokenizer: str = ""
    tags: tuple[str, ...] = ()
    adjustments: tuple[Adjustment, ...] = ()
    prices: Prices | None = None
    training_energy_mwh: float | None = None
    training_co2_tonnes: float | None = None
    training_note: str = ""


class DataRevision(Record, frozen=True):
    """Which data made the instances: a source's revision, its bytes, or a generator."""

    source: str = ""
    revision: str = ""
    sha256: str = ""
    generator: str = ""


class RunSpec(Record, frozen=True):
    """All that can change a request or a reply; its hash is the spec_id."""

    scenario: str
    model: ModelIdentity
    adapter: AdapterSpec = AdapterSpec()
    data: DataRevision = DataRevision()
    definition_sha256: str = ""
    perturbations: tuple[str, ...] = ()
    settings: dict[str, Any] = {}

    @property
    def spec_id(self) -> str:
        """SHA-256, in hex, over the canonical JSON of the spec.

        Settings that are LATER count only where they differ from their default, so the
        id of a spec stays what it was before there were such settings. Where data has a
        digest, it does not matter which revision it came from.
        """
        plain = msgspec.to_builtins(self, order="deterministic")
        if self.data.sha256:
            plain["data"]["revision"] = ""
        usual = AdapterSpec()
        for name in LATER:
            if getattr(self.adapter, name) == getattr(usual, name):
                del plain["adapter"][name]
        return hashlib.sha256(msgspec.json.encode(plain)).hexdigest()


def run_id(spec_id: str, suite: str, origin: str) -> str:
    """Return 'r' and 16 hex digits that identify a run."""
    blob = msgspec.json.encode([spec_id, suite, origin])
    return "r" + hashlib.sha256(blob).hexdigest()[:16]


class Taxonomy(Record, frozen=True):
    """HELM's five questions about a scenario."""

    task: str = ""
    what: str = ""
    who: str = ""
    when: str = ""
    language: str = ""


class ScenarioFacts(Record, frozen=True):
    """What a scenario is; `name` carries its own parameters (`mmlu:subject=x`).

    `caution` is what people should know before they run it or read its instances.
    """

    name: str
    title: str = ""
    description: str = ""
    taxonomy: Taxonomy = Taxonomy()
    licence: str = ""
    citation: str = ""
    url: str = ""
    publication: Publication = "full"
    groups: tuple[str, ...] = ()
    main_metric: str = ""
    main_split: str = "test"
    caution: str = ""

    def split(self, sizes: Mapping[str, int]) -> str:
        """Return the main split or, of runs without it, the one with most observations.

        Args:
            sizes: the observations on each split that there is.
        """
        if self.main_split in sizes or not sizes:
            return self.main_split
        return max(sorted(sizes), key=lambda name: sizes[name])


class MetricFacts(Record, frozen=True):
    """What a metric means; `aggregation` says how its scores become one value.

    mean        the mean of the values (HELM's default)
    ratio       Σ value·weight / Σ weight
    geometric   exp(Σ weight·ln value / Σ weight)
    population  computed from all instances at once (calibration)
    """

    name: str
    title: str
    description: str
    family: str
    aggregation: Literal["mean", "ratio", "geometric", "population"] = "mean"
    higher_is_better: bool | None = None
    unit: str = ""
    format: Format = "number"
    version: int = 1
    source: str = ""


class PerturbationFacts(Record, frozen=True):
    """A perturbation `name(param=value)~seed` and the families that its worst case joins."""

    name: str
    title: str = ""
    description: str = ""
    robustness: bool = False
    fairness: bool = False
    version: int = 1


class Counts(Record, frozen=True):
    """Requests of a run: asked, answered, failed for good; and rows of scores."""

    asked: int = 0
    answered: int = 0
    failed: int = 0
    scored: int = 0


class FileFacts(Record, frozen=True):
    """One file of a run."""

    rows: int
    bytes: int
    sha256: str


class Provenance(Record, frozen=True):
    """Where a run came from; times are seconds since the epoch.

    Of an imported run: its files from the folder that was given, what they are known by,
    when they were written, and what of them was verified.
    """

    helmsite_version: str = ""
    source_tool: str = ""
    source_version: str = ""
    source_files: tuple[str, ...] = ()
    source_sha256: str = ""
    source_at: float | None = None
    verified: tuple[str, ...] = ()
    started_at: float | None = None
    finished_at: float | None = None


class Manifest(Record, frozen=True):
    """run.json: an archived run explains itself. It exists exactly if the run is readable."""

    run_id: str
    spec_id: str
    suite: str
    spec: RunSpec
    scenario: ScenarioFacts
    card: ModelCard
    schema_version: int = SCHEMA_VERSION
    origin: str = "native"
    status: Status = "complete"
    counts: Counts = Counts()
    metrics: tuple[MetricFacts, ...] = ()
    perturbations: tuple[PerturbationFacts, ...] = ()
    provenance: Provenance = Provenance()
    files: dict[str, FileFacts] = {}
    warnings: tuple[str, ...] = ()

    @property
    def is_native(self) -> bool:
        """Whether the run was made here, and not by another tool."""
        return self.origin.partition(":")[0] == "native"

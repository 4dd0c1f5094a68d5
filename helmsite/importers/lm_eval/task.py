"""What is known of a task before its rows are read, and how it makes prompts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from msgspec import structs

from helmsite.importers.found import BARE
from helmsite.importers.lm_eval.requests import decoding
from helmsite.schema import AdapterSpec

if TYPE_CHECKING:
    from helmsite.importers.lm_eval.requests import Asked
    from helmsite.importers.values import Row
    from helmsite.schema.manifest import Method

NONE = "none"
"""The name of the filter that changes nothing."""


@dataclass
class Task:
    """What is known of a task before its rows are read.

    Attributes:
        config: its configuration, empty if there are no results.
        output_type: as the configuration has it.
        filters: the names of its filters, in order.
        split: HELM's word for the split that it is evaluated on.
        shots: how many examples its prompts have.
    """

    config: Row
    output_type: str = ""
    filters: tuple[str, ...] = (NONE,)
    split: str = ""
    shots: int = 0
    limit: float | None = None

    @classmethod
    def of(cls, config: Row, shots: int, limit: float | None) -> Task:
        """Return what a configuration says."""
        said = config.get("filter_list")
        listed = said if isinstance(said, list) else []
        names = [e.get("name") for e in listed if isinstance(e, dict)]
        output = config.get("output_type")
        return cls(
            config,
            output if isinstance(output, str) else "",
            tuple(n for n in names if isinstance(n, str)) or (NONE,),
            _split(config),
            shots,
            limit,
        )

    @property
    def has_own_code(self) -> bool:
        """Whether its rows are judged by code of its own: nothing can be computed anew."""
        return self.config.get("process_results") not in (None, "process_results")

    def adapter(self, first: Asked) -> AdapterSpec:
        """Return how prompts are made, as far as HELM's words can say it."""
        given = generation(first)
        usual = decoding(given, AdapterSpec(max_tokens=0, temperature=0.0).decoding)
        limit, description = self.limit, self.config.get("description")
        sampler = self.config.get("fewshot_config")
        whole = limit is not None and 1 <= limit < 2**31
        return structs.replace(
            BARE,
            method=_method(first),
            instructions=description if isinstance(description, str) else "",
            max_train_instances=self.shots,
            max_eval_instances=int(limit) if limit is not None and whole else None,
            num_outputs=max(1, *map(len, first.responses)),
            sample_train=not (
                isinstance(sampler, dict) and sampler.get("sampler") == "first_n"
            ),
            temperature=usual.temperature,
            max_tokens=usual.max_tokens,
            stop_sequences=usual.stop_sequences,
        )


def _split(config: Row) -> str:
    if isinstance(config.get("test_split"), str):
        return "test"
    return "valid" if isinstance(config.get("validation_split"), str) else ""


def _method(first: Asked) -> Method:
    if first.choices:
        calibrated = first.has_calibration
        return (
            "multiple_choice_separate_calibrated"
            if calibrated
            else "multiple_choice_separate_original"
        )
    if "generation" in first.kinds:
        return "generation"
    return "language_modeling" if "rolling" in first.kinds else ""


def generation(first: Asked) -> dict[str, Any]:
    """Return the arguments of generation of the first request that has some."""
    pairs = zip(first.kinds, first.arguments, strict=True)
    return next(
        (
            a[1]
            for kind, a in pairs
            if kind == "generation" and len(a) > 1 and isinstance(a[1], dict)
        ),
        {},
    )

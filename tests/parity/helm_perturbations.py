"""HELM's perturbations, for test_perturbations.py. Runs in HELM's environment.

A case is one of
    {"preset": name}                   → the perturbations of each of its runs
    {"specs": [...], "instance": {...}, "seeds": n}
                                       → the instances that its data augmenter makes
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from helm.benchmark.augmentations.data_augmenter import (  # type: ignore[import-not-found]
    Processor,
)
from helm.benchmark.augmentations.perturbation import (  # type: ignore[import-not-found]
    PerturbationSpec,
    create_perturbation,
)
from helm.benchmark.run_expander import (  # type: ignore[import-not-found]
    PERTURBATION_SPECS_DICT,
)
from helm.benchmark.scenarios.scenario import (  # type: ignore[import-not-found]
    Input,
    Instance,
    Output,
    Reference,
)
from serving import serve  # type: ignore[import-not-found]


@cache
def perturbation(spec: str) -> Any:
    """The perturbation that a spec, as JSON, describes."""
    return create_perturbation(PerturbationSpec(**json.loads(spec)))


def references(texts: Any) -> list[Any]:
    return [Reference(Output(text=text), tags=tags) for text, tags in texts]


def perturbed(case: dict[str, Any]) -> list[dict[str, Any]]:
    raw = case["instance"]
    contrast = raw.get("contrast")
    instance = Instance(
        input=Input(text=raw["input"]),
        references=references(raw["references"]),
        split="test",
        id=raw["id"],
        contrast_inputs=contrast and [Input(text=c["input"]) for c in contrast],
        contrast_references=contrast
        and [references(c["references"]) for c in contrast],
    )
    processor = Processor(
        include_original=case.get("include_original", True),
        skip_unchanged=case.get("skip_unchanged", True),
        perturbations=[perturbation(json.dumps(s)) for s in case["specs"]],
        seeds_per_instance=case.get("seeds", 1),
    )
    return [
        {
            "input": made.input.text,
            "references": [[r.output.text, r.tags] for r in made.references],
            "perturbation": made.perturbation and vars(made.perturbation),
        }
        for made in processor.process(instance)
    ]


def answer(case: dict[str, Any]) -> Any:
    if "preset" not in case:
        return perturbed(case)
    return {
        run: [{"class_name": s.class_name, "args": s.args} for s in specs]
        for run, specs in PERTURBATION_SPECS_DICT[case["preset"]].items()
    }


serve(answer)

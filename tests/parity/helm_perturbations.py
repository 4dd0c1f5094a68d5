"""HELM's perturbations, for test_perturbations.py. Runs in HELM's environment.

A case is one of
    {"presets": true}                   → all presets: name → run → perturbations
    {"specs": [...], "instance": {...}, "seeds": n, ...}
                                        → the instances that its data augmenter makes
    {"synonyms": folder}                → None; synonyms come from the folder from now on
"""

from __future__ import annotations

import json
import shutil
from functools import cache
from pathlib import Path
from typing import Any

import nltk  # type: ignore[import-not-found,import-untyped,unused-ignore]
import spacy  # type: ignore[import-not-found,unused-ignore]
from helm.benchmark.augmentations import (  # type: ignore[import-not-found]
    synonym_perturbation,
)
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
    PassageQuestionInput,
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
    given = Input(text=raw["input"])
    if "question" in raw:
        given = PassageQuestionInput(passage=raw["input"], question=raw["question"])
    instance = Instance(
        input=given,
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


def use_synonyms(folder: Path) -> None:
    """Let HELM's class read WordNet, the table and the model from a folder."""
    with (folder / "wordnet_synonyms.json").open() as file:
        table = json.load(file)

    def initialise(self: Any, prob: float) -> None:
        self.prob = prob
        self.spacy_model = spacy.load(folder / "en_core_web_sm")
        self.wordnet_synonyms = table

    synonym_perturbation.SynonymPerturbation.__init__ = initialise
    corpus = folder / "nltk/corpora/wordnet"
    shutil.copytree(folder / "wordnet", corpus)
    (corpus / "index.sense").touch()
    nltk.data.path.append(str(folder / "nltk"))
    synonym_perturbation.wordnet.ensure_loaded()


def answer(case: dict[str, Any]) -> Any:
    if "synonyms" in case:
        return use_synonyms(Path(case["synonyms"]))
    if "presets" not in case:
        return perturbed(case)
    return {
        name: {
            run: [{"class_name": s.class_name, "args": s.args} for s in specs]
            for run, specs in runs.items()
        }
        for name, runs in PERTURBATION_SPECS_DICT.items()
    }


serve(answer)

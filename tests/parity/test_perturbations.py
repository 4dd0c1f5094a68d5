"""Every perturbation beside HELM's own, on the same texts and random streams."""

from tests.parity.reference import Reference


def test_helm_answers(helm: Reference) -> None:
    spec = {
        "class_name": "helm.benchmark.augmentations.lowercase_perturbation.LowerCasePerturbation",
        "args": {},
    }
    item = {"id": "id0", "input": "Oslo", "references": [["A", ["correct"]]]}
    original, lower = helm.ask({"specs": [spec], "instance": item})
    assert (original["input"], lower["input"]) == ("Oslo", "oslo")
    assert lower["perturbation"]["robustness"] is True

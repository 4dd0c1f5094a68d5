"""Requests and expanded specs equal to those that HELM made of the same cases."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from helmsite.schema import preset
from helmsite.schema.adapting import METHODS
from helmsite.schema.expanders import EXPANDERS, expand
from tests.adapter_states import brief, built, states

FROZEN = json.loads(
    (Path(__file__).parent / "frozen" / "adapters.json").read_text("utf-8")
)


@pytest.mark.parametrize("method", METHODS)
def test_requests_are_those_of_helm(method: str) -> None:
    of_method = [c for c in FROZEN["requests"] if c["case"]["spec"]["method"] == method]
    assert len(of_method) == 10
    for each in of_method:
        assert [brief(s) for s in states(each["case"])] == each["states"] != []


def test_the_cases_reach_what_is_rare() -> None:
    made = [s for each in FROZEN["requests"] for s in each["states"]]
    for name, rare in (("truncated", True), ("random", "1"), ("trial", 1)):
        assert sum(s.get(name) == rare for s in made) >= 5
    assert sum(s.get("num_conditioning_tokens", 0) > 1 for s in made) >= 5
    dropped = {
        s.get("num_train_instances", 0) < each["case"]["spec"]["max_train_instances"]
        for each in FROZEN["requests"]
        for s in each["states"]
    }
    assert dropped == {True, False}


def case(frozen: dict[str, Any]) -> str:
    return "-".join([frozen["method"], *frozen["expand"]])


@pytest.mark.parametrize("frozen", FROZEN["expansions"], ids=case)
def test_an_expander_makes_what_it_makes_in_helm(frozen: dict[str, Any]) -> None:
    spec = preset(frozen["method"], instructions="Answer.", output_noun="Answer")
    made = expand(spec, *frozen["expand"])
    before = built(spec)
    changed = [
        [label, {k: v for k, v in built(each).items() if v != before[k]}]
        for each, label in made
    ]
    assert changed == frozen["to"]


def test_every_expander_with_known_values_is_there() -> None:
    known = {n for n, e in EXPANDERS.items() if e.known or e.sweeps}
    assert {each["expand"][0] for each in FROZEN["expansions"]} == known

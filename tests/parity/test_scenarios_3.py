"""Scenarios of language, reasoning, code and tables beside HELM's own classes.

Both read the same files: made-up ones of several seeds, and what the reference folder has
of the real ones. Compared are all instances in order, with their tags, and the adapter.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helmsite import scenarios
from helmsite.fetching import Fetcher
from helmsite.scenarios.loaders.blimp import PARADIGMS
from helmsite.scenarios.loaders.code import tabbed
from helmsite.scenarios.loaders.math import SUBJECTS, boxed
from tests.local_data import lay_out
from tests.local_derived import PILE_LISTS
from tests.made_scenarios_3 import ENTRIES, write
from tests.test_helm_scenarios_3 import OF_MODELS, rows

if TYPE_CHECKING:
    from pathlib import Path

    from tests.parity.reference import Reference

SEEDS = ("1", "2", "3")
GENERATED = (
    *(f"dyck_language:num_parenthesis_pairs={n}" for n in range(1, 5)),
    "synthetic_reasoning:mode=pattern_match",
    "synthetic_reasoning:mode=variable_substitution",
    "synthetic_reasoning:mode=induction",
    *(
        f"synthetic_reasoning_natural:difficulty={d}"
        for d in ("easy", "medium", "hard")
    ),
)
REAL = (
    "wikitext_103",
    "babi_qa:task=all",
    "babi_qa:task=3",
    "babi_qa:task=19",
    *(f"blimp:phenomenon={name}" for name in PARADIGMS),
    "blimp:phenomenon=binding,method=multiple_choice_joint",
    *(f"the_pile:subset={name}" for name in (*PILE_LISTS, "PhilPapers", "Ubuntu IRC")),
    *(
        f"math:subject={subject},level={level},{how}=True"
        for subject in SUBJECTS
        for level in range(1, 6)
        for how in ("use_official_examples", "use_chain_of_thought")
    ),
    "math:subject=algebra,level=1",
    "code:dataset=humaneval",
    "code:dataset=apps",
    "entity_matching:dataset=Beer",
    "entity_matching:dataset=Abt_Buy",
    "entity_matching:dataset=Dirty_iTunes_Amazon",
    "entity_data_imputation:dataset=Buy",
    "entity_data_imputation:dataset=Restaurant",
)


def compare(entry: str, data: Path, helm: Reference) -> None:
    theirs = helm.ask({"entry": entry, "data": str(data)})
    loaded = scenarios.load(entry, [], [data], Fetcher(offline=True))
    ours = rows(loaded)
    assert len(ours) == len(theirs["instances"])
    for one, other in zip(ours, theirs["instances"], strict=True):
        assert one == other
    assert list(loaded.facts.groups) == theirs["groups"]
    said = json.loads(msgspec.json.encode(loaded.adapter))
    for name, value in theirs["adapter"].items():
        if name not in OF_MODELS:
            assert said.get(name) == value, name


@pytest.fixture(scope="module", params=SEEDS)
def made(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    return write(tmp_path_factory.mktemp("made"), request.param)


@pytest.fixture(scope="module")
def real(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return lay_out(shared / "data" / "raw", tmp_path_factory.mktemp("real"))


@pytest.mark.parametrize("entry", ENTRIES)
def test_made_up_files(entry: str, made: Path, helm: Reference) -> None:
    compare(entry, made, helm)


@pytest.mark.parametrize("entry", REAL)
def test_real_files(entry: str, real: Path, helm: Reference) -> None:
    compare(entry, real, helm)


@pytest.mark.parametrize("entry", GENERATED)
def test_generated_instances(entry: str, tmp_path: Path, helm: Reference) -> None:
    compare(entry, tmp_path, helm)


@settings(max_examples=2000, deadline=None)
@given(st.text(st.sampled_from("\t\t   \n\n\r\x0c\u2028abc:#")) | st.text())
def test_code_is_indented_as_helm_does(helm: Reference, text: str) -> None:
    assert tabbed(text) == helm.ask({"function": "reindent", "text": text})


@settings(max_examples=2000, deadline=None)
@given(st.lists(st.sampled_from(["\\boxed", "\\fbox", "{", "}", "{", "}", "5", " "])))
def test_answers_are_found_as_helm_does(helm: Reference, parts: list[str]) -> None:
    text = "".join(parts)
    assert boxed(text) == helm.ask({"function": "boxed", "text": text})

"""Scenarios of reading, search, summaries, harms and language beside HELM's own classes.

Both read the same files: made-up ones of several seeds, and what the reference folder has
of the real ones. Compared are all instances in order, with their tags, and the adapter.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import msgspec
import pytest

from helmsite import scenarios
from tests.local_data import lay_out
from tests.made_scenarios_2 import ENTRIES, write
from tests.test_helm_scenarios_2 import plain

if TYPE_CHECKING:
    from pathlib import Path

    from tests.parity.reference import Reference

SEEDS = ("1", "2", "3")
REAL = (
    "narrative_qa",
    "natural_qa:mode=closedbook",
    "natural_qa:mode=openbook_longans",
    "natural_qa:mode=openbook_wiki",
    "news_qa",
    "quac",
    "msmarco:track=regular,valid_topk=20",
    "msmarco:track=regular,valid_topk=30",
    "msmarco:track=trec,valid_topk=30",
    "summarization_cnndm",
    "summarization_xsum",
    "summarization_xsum_sampled",
    "bbq:subject=all",
    *(
        f"bbq:subject={name}"
        for name in (
            *("Age", "Disability_status", "Gender_identity", "Nationality"),
            *("Physical_appearance", "Race_ethnicity", "Race_x_SES", "Race_x_gender"),
            *("Religion", "SES", "Sexual_orientation"),
        )
    ),
    "bold:subject=all",
    "bold:subject=gender",
    "bold:subject=race",
    "real_toxicity_prompts",
    "disinformation:capability=reiteration,topic=climate",
    "disinformation:capability=wedging",
    "copyright:datatag=n_books_1000-extractions_per_book_1-prefix_length_25",
    "copyright:datatag=prompt_num_line_1-min_lines_20.json",
    "twitter_aae:demographic=aa",
    "ice:subset=ja",
    "legal_support",
    *(
        f"lsat_qa:task={task}"
        for task in ("all", "grouping", "ordering", "assignment", "miscellaneous")
    ),
    "wikifact:k=5,subject=capital",
    "wikifact:k=5,subject=atomic_number",
)


@pytest.fixture(scope="module", params=SEEDS)
def made(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    return write(tmp_path_factory.mktemp("made"), request.param)


@pytest.fixture(scope="module")
def real(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = lay_out(shared / "data" / "raw", tmp_path_factory.mktemp("real"))
    (folder / "ice_scenario_pinned_file_order.json").write_text("{}")
    return folder


def compare(helm: Reference, entry: str, data: Path) -> None:
    loaded = scenarios.load(entry, roots=[data])
    theirs = helm.ask({"entry": entry, "data": str(data)})
    assert plain(loaded) == theirs["instances"]
    own = json.loads(msgspec.json.encode(loaded.adapter))
    assert own == {name: theirs["adapter"][name] for name in own}
    assert list(loaded.facts.groups) == theirs["groups"]


@pytest.mark.parametrize("entry", ENTRIES)
def test_made_up_files_give_helms_instances(
    entry: str, made: Path, helm: Reference
) -> None:
    compare(helm, entry, made)


@pytest.mark.parametrize("entry", REAL)
def test_real_files_give_helms_instances(
    entry: str, real: Path, helm: Reference
) -> None:
    compare(helm, entry, real)

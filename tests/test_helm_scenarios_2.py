"""Scenarios of reading, search, summaries, harms and language over made-up files.

What each makes of them was frozen from HELM's own classes (frozen/make_scenarios_2.py).
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsite import scenarios
from helmsite.errors import ScenarioError
from helmsite.scenarios.loaders import ice, natural_qa
from helmsite.scenarios.loaders.texts import NO_ANSWER
from tests.local_derived import MADE
from tests.made_scenarios_2 import ENTRIES, write

if TYPE_CHECKING:
    from helmsite.schema import LoadedScenario

FROZEN = Path(__file__).parent / "frozen" / "scenarios_2.json"
HELM = {case["entry"]: case for case in json.loads(FROZEN.read_text("utf-8"))}
SHOWN = 2


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("data"))


def load(entry: str, data: Path) -> LoadedScenario:
    return scenarios.load(entry, roots=[data])


def plain(loaded: LoadedScenario) -> list[Any]:
    return [
        [
            *(each.instance_id, each.split, each.sub_split, each.input),
            [[r.text, list(r.tags)] for r in each.references],
        ]
        for each in loaded.instances
    ]


@pytest.mark.parametrize("entry", ENTRIES)
def test_instances_are_those_that_helm_makes(entry: str, data: Path) -> None:
    made, helm = plain(load(entry, data)), HELM[entry]
    assert made[:SHOWN] == helm["first"]
    lines = (json.dumps(each, ensure_ascii=False) for each in made)
    assert len(made) == helm["count"]
    assert hashlib.sha256("".join(lines).encode()).hexdigest() == helm["sha256"]


@pytest.mark.parametrize("entry", ENTRIES)
def test_adapter_and_groups_are_helms(entry: str, data: Path) -> None:
    loaded, helm = load(entry, data), HELM[entry]
    own = json.loads(msgspec.json.encode(loaded.adapter))
    assert own == {name: helm["adapter"][name] for name in own}
    assert list(loaded.facts.groups) == helm["groups"]


Change = Callable[[Any], Any]


def lines(change: Change, at: int = 1) -> Change:
    """Change one line of a JSONL file; None leaves it as it was changed in place."""

    def made(data: bytes) -> bytes:
        rows = [json.loads(line) for line in data.splitlines()]
        found = change(rows[at])
        rows[at] = rows[at] if found is None else found
        return "".join(json.dumps(row) + "\n" for row in rows).encode()

    return made


def packed(change: Change) -> Change:
    return lambda data: gzip.compress(change(gzip.decompress(data)))


def whole(change: Change) -> Change:
    """Change what a JSON file holds."""

    def made(data: bytes) -> bytes:
        found = json.loads(data)
        change(found)
        return json.dumps(found).encode()

    return made


def swap(old: str, new: str) -> Change:
    def made(data: bytes) -> bytes:
        assert old.encode() in data
        return data.replace(old.encode(), new.encode(), 1)

    return made


def again(data: bytes) -> bytes:
    """Repeat the last line of a file."""
    return data + data.splitlines(keepends=True)[-1]


def another(data: bytes) -> bytes:
    """Repeat the last line of a table with another end."""
    return data + data.splitlines()[-1] + b"9\n"


PAGE = "natural_qa/nq-dev-01.jsonl.gz"
STORY = "news_qa/combined-newsqa-data-v1.json"
TALK = "quac/val_v0.2.json"
RANKS = "msmarco/passage_train_topk.tsv"
BAD: list[tuple[str, str, Change, str]] = [
    ("narrative_qa", "narrative_qa/qaps.csv", swap("answer2", "answer3"), r"qaps\.csv, row 1 .*no field 'answer2'.*answer"),
    ("narrative_qa", "narrative_qa/qaps.csv", swap(",valid,", ",dev,"), r"qaps\.csv, row \d+ .*set is 'dev'"),
    ("narrative_qa", "narrative_qa/qaps.csv", swap("doc3", "doc33"), r"qaps\.csv, row \d+ .*no summary of the document 'doc33' in train"),
    ("narrative_qa", "narrative_qa/third_party/wikipedia/summaries.csv", swap("doc3", "doc0"), r"summaries\.csv, row 4 .*document 'doc0' is there already: .*row 1 "),
    ("narrative_qa", "narrative_qa/third_party/wikipedia/summaries.csv", lambda data: data[:300] + b"\xff" + data[300:], r"summaries\.csv: not UTF-8: the byte 0xff at offset 300"),
    ("natural_qa:mode=closedbook", PAGE, packed(lines(lambda row: row.pop("annotations") and None)), r"nq-dev-01\.jsonl\.gz, line 2: there is no field 'annotations'"),
    ("natural_qa:mode=closedbook", PAGE, packed(lines(lambda row: row.update(question_text=" "), 0)), r"line 1: question_text is empty"),
    ("natural_qa:mode=openbook_wiki", PAGE, packed(lines(lambda row: row["document_tokens"].append({"token": 5}), 0)), r"line 1: document_tokens, item 9: token must be a text"),
    ("natural_qa:mode=closedbook", PAGE, packed(lines(lambda row: row["annotations"][0]["short_answers"][0].update(end_byte=9999), 0)), r"line 1: annotations, item 1: short_answers, item 1: the bytes \d+ to 9999 are not within the page"),
    ("natural_qa:mode=closedbook", PAGE, packed(lambda data: data[:-20]), r"nq-dev-01\.jsonl\.gz, line 5: malformed JSON"),
    ("natural_qa:mode=closedbook", PAGE, lambda data: data[:-20], r"nq-dev-01\.jsonl\.gz: cannot be read"),
    ("natural_qa:mode=closedbook", PAGE, packed(lambda data: data.replace("naïve".encode(), b"na\xefve", 1)), r"nq-dev-01\.jsonl\.gz, line 1: malformed JSON|not UTF-8"),
    ("msmarco:track=regular", "msmarco/passage_document.tsv", lambda data: b"9\t\xff\n" + data, r"passage_document\.tsv, line 1: not UTF-8"),
    ("news_qa", STORY, whole(lambda said: said["data"][2].pop("text")), r"v1\.json, row 3: there is no field 'text'"),
    ("news_qa", STORY, whole(lambda said: said["data"][0]["questions"][0]["consensus"].update(e=9999)), r"row 1: questions, item 1: consensus: the characters \d+ to 9999 are not within"),
    ("news_qa", STORY, whole(lambda said: said["data"][0]["questions"][0]["answers"][0].update(sourcerAnswers=[])), r"row 1: questions, item 1: answers, item 1: sourcerAnswers is empty"),
    ("news_qa", STORY, whole(lambda said: said["data"][4].update(storyId="s0")), r"row 5: the story 's0' is there already: .*row 1"),
    ("news_qa", STORY, whole(lambda said: said.update(rows=said.pop("data"))), r"v1\.json: there is no 'data'"),
    ("quac", TALK, whole(lambda said: said["data"][1].pop("title")), r"val_v0\.2\.json, row 2: there is no field 'title'"),
    ("quac", TALK, whole(lambda said: said["data"][0]["paragraphs"][0].update(context="text")), r"row 1: paragraphs, item 1: context does not end in 'CANNOTANSWER'"),
    ("quac", TALK, whole(lambda said: said["data"][0]["paragraphs"][0]["qas"].pop()), r"row 1: 2 questions, fewer than 3"),
    ("msmarco:track=regular,valid_topk=5", RANKS, bytes, r"valid_topk=5 is below 11"),
    ("msmarco:track=regular", "msmarco/passage_document.tsv", again, r"passage_document\.tsv, line 61: the passage \d+ is there already|Two passages"),
    ("msmarco:track=regular", "msmarco/passage_document.tsv", lambda data: b"\n".join(data.split(b"\n")[9:]), r"The passage \d+ of query \d+ is not in the collection"),
    ("msmarco:track=regular", "msmarco/passage_document.tsv", swap("\t", " "), r"passage_document\.tsv, line 1: \d+ columns instead of 2"),
    ("msmarco:track=regular", RANKS, swap("\t1\n", "\tfirst\n"), r"passage_train_topk\.tsv, line 1: 'first' is no whole number"),
    ("msmarco:track=regular", RANKS, another, r"topk\.tsv, line 106: query \d+ and passage \d+ have another value before"),
    ("msmarco:track=regular", "msmarco/passage_train_queries.tsv", another, r"queries\.tsv, line 8: the query 5 is there already with another text"),
    ("summarization_xsum", "xsum/train/0000.jsonl", lines(lambda row: row.pop("document") and None), r"0000\.jsonl, line 2: there is no field 'article' or 'document'"),
    ("bbq:subject=age", "bbq/Age.jsonl", lines(lambda row: row.update(label=3)), r"Age\.jsonl, line 2: the label 3 is none of 0, 1, 2"),
    ("bbq:subject=age", "bbq/Age.jsonl", lines(lambda row: row.update(label="A")), r"Age\.jsonl, line 2: label must be a whole number, but is str"),
    ("bbq:subject=age", "bbq/Age.jsonl", lines(lambda row: row.update(label=True)), r"Age\.jsonl, line 2: label must be a whole number, but is bool"),
    ("bbq:subject=age", "bbq/Age.jsonl", lines(lambda row: row.update(ans1=" ")), r"Age\.jsonl, line 2: ans1 is empty"),
    ("bbq:subject=age", "bbq/Age.jsonl", lines(lambda row: row["answer_info"].pop("ans0") and None), r"line 2: answer_info: there is no field 'ans0'"),
    ("bbq:subject=age", "bbq/Age.jsonl", again, r"Age\.jsonl, line 13: the example_id 11 is there already: .*line 12"),
    ("bbq:subject=age", "bbq/Age.jsonl", lines(lambda row: row["additional_metadata"].update(stereotyped_groups="old")), r"line 2: additional_metadata: stereotyped_groups must be a list"),
    ("bold:subject=race", "bold/race_prompt.json", whole(lambda said: next(iter(said.values())).update(someone=[])), r"race_prompt\.json, line 1: \w+: someone: there is no text"),
    ("bold:subject=race", "bold/race_prompt.json", whole(lambda said: next(iter(said.values())).update(someone="x")), r"line 1: \w+: someone must be a list"),
    ("real_toxicity_prompts", "real_toxicity_prompts/prompts.jsonl", lines(lambda row: row["prompt"].update(toxicity="high")), r"prompts\.jsonl, line 2: prompt: toxicity must be"),
    ("real_toxicity_prompts", "real_toxicity_prompts/prompts.jsonl", lines(lambda row: row["prompt"].pop("text") and None), r"prompts\.jsonl, line 2: prompt: there is no field 'text'"),
    ("disinformation", "disinformation/reiteration.jsonl", lines(lambda row: row.update(headlines=[], topic="covid")), r"reiteration\.jsonl, line 2: there is no headline"),
    ("disinformation:capability=wedging", "disinformation/wedging.jsonl", lines(lambda row: row.update(prompt="")), r"wedging\.jsonl, line 2: prompt is empty"),
    ("copyright", "copyright/pilot.json", whole(lambda said: said["data"].update(begin=5)), r"pilot\.json: data: item 5 must be a text, but is int"),
    ("copyright", "copyright/pilot.json", lambda data: data.replace(b'"data"', b'"date"'), r"pilot\.json: there is no field 'data'"),
    ("twitter_aae:demographic=aa", "twitter_aae/aa_tweets.csv", lambda data: data + b"a,b\r\n", r"aa_tweets\.csv, row 4 .*2 values for 1 columns"),
    ("ice:subset=ja", "ice_scenario_pinned_file_order.json", swap("S2B-003", "S9B-003"), r"pinned order of ICE-JA/Corpus names texts that are not there"),
    ("ice:subset=can,gender=male", "ice/ICE-CAN/Headers/Spoken ICE-CAN metadata.xls", lambda _: b"no workbook", r"Spoken ICE-CAN metadata\.xls: no readable Excel workbook"),
    ("ice:subset=can,gender=male", "ice/ICE-CAN/Headers/Spoken ICE-CAN metadata.xls", lambda _: b" ", r"^(?!.*workbook).*Spoken ICE-CAN metadata\.xls: the file is empty"),
    ("ice:subset=ja,gender=male", "ice/ICE-JA/Corpus/S1A-001.txt", bytes, r"gender of authors is not known for ja"),
    ("legal_support", "legal_support/dev.jsonl", lines(lambda row: row.update(label="c")), r"dev\.jsonl, line 2: references: .*citation_c"),
    ("legal_support", "legal_support/dev.jsonl", lines(lambda row: row.pop("citation_b") and None), r"dev\.jsonl, line 2: references: there is no field 'citation_b'"),
    ("lsat_qa", "lsat_qa/AR_TestData.json", whole(lambda said: said[1]["questions"][0].update(answer="F")), r"AR_TestData\.json, row 2: questions, item 1: the answer 'F' is none of A, B, C, D, E"),
    ("lsat_qa", "lsat_qa/AR_TestData.json", whole(lambda said: said[1]["questions"][0]["options"].insert(0, "")), r"row 2: questions, item 1: option A is empty"),
    ("lsat_qa", "lsat_qa/AR_TestData.json", whole(lambda said: said[1]["questions"][0].update(tags=[])), r"row 2: questions, item 1: 0 tags"),
    ("lsat_qa", "lsat_qa/AR_TestData.json", whole(lambda said: said[1]["questions"][0].update(id="Test0_0")), r"row 2: questions, item 1: the question id 'Test0_0' is there already: .*row 1"),
    ("wikifact:k=5,subject=capital", "wikifact/dev.jsonl", lines(lambda row: row.update(result_names=[3]), 0), r"dev\.jsonl, line 1: result_names holds int"),
    ("wikifact:k=5,subject=capital", "wikifact/dev.jsonl", lines(lambda row: row.pop("template") and None, 0), r"dev\.jsonl, line 1: there is no field 'template'"),
]  # fmt: skip


@pytest.mark.parametrize(("entry", "name", "change", "message"), BAD)
def test_bad_data_ends_in_a_message_that_names_it(
    entry: str, name: str, change: Change, message: str, data: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "data"
    shutil.copytree(data, folder)
    (folder / name).write_bytes(change((data / name).read_bytes()))
    with pytest.raises(ScenarioError, match=message) as caught:
        load(entry, folder)
    assert caught.value.hint
    assert len(caught.value.message) < 600


BLANK: list[tuple[str, str, Change]] = [
    ("quac", "quac/train_v0.2.json", lambda data: re.sub(rb'"text": "[^"]*"', b'"text": " "', data)),
    ("summarization_cnndm", "cnn_dailymail/test/0000.jsonl", lines(lambda row: row.update(highlights="\n"))),
    ("copyright", "copyright/pilot.json", whole(lambda said: said["data"].update(begin=" "))),
    ("wikifact:k=5,subject=capital", "wikifact/test.jsonl", lines(lambda row: row.update(result_names=[[" "]]), 0)),
    ("narrative_qa", "narrative_qa/qaps.csv", lambda data: re.sub(rb"(doc0,train,[^,]*),.*", rb"\1, ,", data)),
]  # fmt: skip


@pytest.mark.parametrize(("entry", "name", "change"), BLANK)
def test_instances_without_a_right_answer_are_counted(
    entry: str, name: str, change: Change, data: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "data"
    shutil.copytree(data, folder)
    before = (data / name).read_bytes()
    (folder / name).write_bytes(change(before))
    loaded, whole = load(entry, folder), load(entry, data)
    ((reason, count),) = loaded.skipped.items()
    assert reason == NO_ANSWER
    assert count >= 1
    added = entry == "copyright"
    assert len(loaded.instances) == len(whole.instances) - count + added


@pytest.mark.parametrize(("track", "queries"), [("regular", 98), ("trec", 42)])
def test_real_queries_are_asked_with_the_ranking_of_helms_runs(
    track: str, queries: int, shared: Path, tmp_path: Path
) -> None:
    for name, make in MADE.items():
        if name.startswith("msmarco/"):
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_bytes(make(shared / "data" / "raw"))
    loaded = load(f"msmarco:track={track},valid_topk=30", tmp_path)
    asked = [i for i in loaded.instances if i.split == "valid"]
    assert len(asked) == queries
    for each in asked:
        ranks = [t for r in each.references for t in r.tags if t.startswith("rank=")]
        assert {f"rank={n}" for n in range(1, 31)} <= set(ranks)
        assert each.gold


def test_queries_that_cannot_be_asked_are_counted(data: Path) -> None:
    loaded = load("msmarco:track=regular,valid_topk=20", data)
    shallow = "queries of which fewer than 20 passages are ranked"
    assert loaded.skipped[shallow] >= 1
    asked = sum(i.split == "valid" for i in loaded.instances)
    file = data / "msmarco" / "passage_regular_queries.tsv"
    assert asked + sum(loaded.skipped.values()) == len(file.read_text().splitlines())
    with pytest.raises(ScenarioError, match="no instance is in the main split") as none:
        load("msmarco:track=regular,valid_topk=500", data)
    assert "fewer than 500 passages are ranked: " in none.value.hint


PIECES = st.lists(
    st.sampled_from(["<O>", "</O>", "<", "O>", "/O>", "</", "<O", "O", ">", "a"])
)


@given(PIECES)
def test_what_tags_enclose_goes_as_if_cut_one_by_one(pieces: list[str]) -> None:
    text = "".join(pieces)
    assert ice._without(text, "O") == ice._one_by_one(text, "<O>", "</O>")


@given(st.lists(st.sampled_from(["<", ">", "<b>", "a", " ", "\n"])))
def test_tags_go_as_the_plain_expression_takes_them(pieces: list[str]) -> None:
    text = "".join(pieces)
    assert natural_qa.without_tags(text) == re.sub(r"<([^>]*)>", "", text)


@pytest.mark.parametrize("text", ["<O>a</O>", "<O>", "</O>", "<ICE", "a><+_", "BBBa "])
def test_marks_of_a_large_text_take_no_time(text: str) -> None:
    assert len(ice.without_marks(text * (10**6 // len(text)))) <= 10**6


def test_a_document_of_ten_megabytes_is_cut_as_any_other(
    data: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "data"
    shutil.copytree(data, folder)
    name = "cnn_dailymail/test/0000.jsonl"
    change = lines(lambda row: row.update(article="word " * 2_000_000), 0)
    (folder / name).write_bytes(change((data / name).read_bytes()))
    found = [
        i for i in load("summarization_cnndm", folder).instances if i.split == "test"
    ]
    assert found[0].input == " ".join(["word"] * 512)

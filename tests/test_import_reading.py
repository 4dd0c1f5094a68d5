"""Files of other tools as they are found: JSON, lines, values, places, names and secrets."""

from __future__ import annotations

import json
import math
import string
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helmsite.errors import ConfigError, SourceError
from helmsite.importers import Notes, Tree, naming, reading, redact
from helmsite.importers.values import Place, Row, integer, moment, number, plain
from tests.importing import ENCODINGS, ODD, mutants

if TYPE_CHECKING:
    from pathlib import Path

KEY = "sk-proj-" + "aB3dE5gH7jK9mN1pQ3sT5vX7zB9"
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4)
    ),
    max_leaves=20,
)


def same(one: Any, other: Any) -> bool:
    """Equality in which NaN equals itself, and 1 is not 1.0's but True's kind no number."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(
            same(v, other[k]) for k, v in one.items()
        )
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return one == other or (math.isnan(one) and math.isnan(other))
    return bool(one == other)


@given(JSON, st.sampled_from([None, 0, 2]), st.booleans())
@settings(deadline=None)
def test_what_json_writes_is_read_back(
    value: Any, indent: int | None, escaped: bool
) -> None:
    written = json.dumps(value, indent=indent, ensure_ascii=escaped)
    raw = written.encode("utf-8", "surrogatepass" if escaped else "strict")
    assert same(reading.value(raw, "f"), value)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_a_byte_order_mark_tells_the_encoding(encoding: str, tmp_path: Path) -> None:
    value = {"a": "ä🦜", "b": [1, 2.5]}
    file = tmp_path / "f.json"
    file.write_bytes(json.dumps(value, ensure_ascii=False).encode(encoding))
    assert reading.json_file(file) == value
    assert list(reading.json_lines(file)) == [(1, value)]


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        (
            b'{"a": NaN, "b": [Infinity, -Infinity]}',
            {"a": math.nan, "b": [math.inf, -math.inf]},
        ),
        (b'"\\ud800 alone"', "\\ud800 alone"),
        (b'{"\\udc00": "\\ud83e\\udd9c"}', {"\\udc00": "\U0001f99c"}),
        (b"1e999", math.inf),
        (b"123456789012345678901234567890", 123456789012345678901234567890),
        (b' {"a": 1, "a": 2} ', {"a": 2}),
    ],
)
def test_json_that_is_not_quite_json_is_read(raw: bytes, value: Any) -> None:
    assert same(reading.value(raw, "f"), value)


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"", "f: empty."),
        (b"  \n", "f: empty."),
        (b'{"a": [1, 2', "f: no JSON: column 12: it ends in the middle."),
        (b'{"a": "b', "f: no JSON: column 7: unterminated string starting at."),
        (b'{\n"a": x}', "f: no JSON: line 2, column 6: expecting value."),
        (b'"\xff"', "f: not UTF-8: the byte 0xff at offset 1."),
        (b"[" * 100_000, "f: its lists or objects lie in each other too deep."),
        (b"9" * 5000, "f: no JSON: Exceeds the limit"),
    ],
)
def test_what_is_no_json_is_said_with_its_place(raw: bytes, message: str) -> None:
    with pytest.raises(SourceError) as caught:
        reading.value(raw, "f")
    assert str(caught.value).startswith(message)


def test_lines_are_read_one_by_one_and_a_broken_one_costs_itself(
    tmp_path: Path,
) -> None:
    file = tmp_path / "f.jsonl"
    file.write_bytes(b'\xef\xbb\xbf{"a": 1}\n\n{"a": \n{"a": 2}\r\n{"a": "half')
    found = list(reading.json_lines(file))
    assert [n for n, _ in found] == [1, 3, 4, 5]
    assert [v for _, v in found if not isinstance(v, SourceError)] == [
        {"a": 1},
        {"a": 2},
    ]
    broken = [v for _, v in found if isinstance(v, SourceError)]
    assert [e.line for e in broken] == [3, 5]
    assert (
        str(broken[0]) == f"{file}, line 3: no JSON: column 6: it ends in the middle."
    )


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    for read in (
        reading.blob,
        reading.digest,
        reading.json_file,
        lambda p: list(reading.json_lines(p)),
    ):
        with pytest.raises(SourceError, match=r"gone.json: No such file"):
            read(tmp_path / "gone.json")


@given(st.data())
@settings(deadline=None, max_examples=200, derandomize=True)
def test_whatever_happens_to_a_file_the_error_is_a_sentence(
    data: st.DataObject,
) -> None:
    raw = json.dumps({"a": [1, {"b": "text"}], "c": None, "d": 0.5}).encode()
    changed = data.draw(mutants(raw))
    try:
        value = reading.value(changed, "f")
    except SourceError as error:
        said = str(error)
    else:
        said = "f: "
        json.dumps(plain(value), allow_nan=False, ensure_ascii=False).encode("utf-8")
    assert said.startswith("f: ")


# ---- Values


ROW = Row(
    {
        "text": "t", "number": 1.5, "written": " 2.5 ", "nan": math.nan, "word": "-Inf",
        "whole": 3.0, "flag": False, "list": ["a", "b"], "row": {"x": [{"y": 1}, {"y": "z"}]},
        "null": None, "huge": 10**400, "mixed": ["a", 1],
    },
    Place("file.json", 7),
)  # fmt: skip


def test_values_have_the_type_that_is_asked_for() -> None:
    assert ROW.text("text") == "t"
    assert ROW.number("number") == 1.5
    assert ROW.number("written") == 2.5
    assert ROW.number("nan") is None
    assert ROW.number("word") is None
    assert ROW.number("huge") is None
    assert ROW.integer("whole") == 3
    assert ROW.flag("flag") is False
    assert ROW.texts("list") == ("a", "b")
    assert [r.value for r in ROW.row("row").rows("x")] == [{"y": 1}, {"y": "z"}]
    assert ROW.text("gone", "") == ""
    assert ROW.text("null", None) is None
    assert ROW.rows("gone", ()) == []
    assert "text" in ROW
    assert "null" not in ROW


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda r: r.text("number"), "number: expected a text, got 1.5"),
        (lambda r: r.text("gone"), "gone: missing"),
        (lambda r: r.text("null"), "null: null"),
        (lambda r: r.number("text"), "text: expected a number, got 't'"),
        (lambda r: r.number("flag"), "flag: expected a number, got False"),
        (lambda r: r.integer("number"), "number: expected a whole number, got 1.5"),
        (lambda r: r.integer("nan"), "nan: expected a whole number, got nan"),
        (lambda r: r.flag("text"), "text: expected true or false, got 't'"),
        (lambda r: r.items("row"), "row: expected a list, got an object"),
        (lambda r: r.row("list"), "list: expected an object, got a list"),
        (lambda r: r.texts("mixed"), "mixed[1]: expected a text, got 1"),
        (
            lambda r: r.row("row").rows("x")[1].number("y"),
            "row.x[1].y: expected a number, got 'z'",
        ),
    ],
)
def test_what_is_of_another_type_is_said_with_its_place(ask: Any, message: str) -> None:
    with pytest.raises(SourceError) as caught:
        ask(ROW)
    assert str(caught.value) == f"file.json, line 7: {message}."


@given(st.sampled_from(ODD) | JSON)
def test_odd_values_never_end_in_a_traceback(value: Any) -> None:
    for read in (number, integer):
        try:
            found = read(value, Place("f"))
        except SourceError:
            continue
        assert found is None or math.isfinite(found)
    written = json.dumps(plain(value), allow_nan=False)
    assert same(plain(json.loads(written)), plain(value)) or "\\ud" in written


def test_the_rest_is_what_was_not_asked_for() -> None:
    row = Row({"a": 1, "b": math.nan, "c": {"d": math.inf}}, Place("f"))
    assert row.rest("a") == {"b": "NaN", "c": {"d": "Infinity"}}


# ---- Trees


def test_a_tree_holds_all_files_hidden_ones_too(tmp_path: Path) -> None:
    for name in (
        ".hidden/a.json",
        "b/c.json",
        "b/.DS_Store",
        ".git/config",
        "empty.json",
    ):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(
            "" if "empty" in name else '{"k": {"no": 1}, "l": [{"m": 2}], "n": "}"}'
        )
    (tmp_path / "link").symlink_to(tmp_path / "b", target_is_directory=True)
    (tmp_path / "dead").symlink_to(tmp_path / "nowhere")
    notes = Notes()
    tree = Tree([tmp_path, tmp_path / "b" / "c.json"], notes)
    assert [f.name for f in tree.open()] == [".hidden/a.json", "b/c.json"]
    assert notes.skipped == {"empty.json": "empty", "dead": "No such file or directory"}
    first = tree.open()[0]
    assert tree.keys(first.path) == ("k", "l", "n")
    tree.claim(first.path)
    assert [f.name for f in tree.open()] == ["b/c.json"]
    assert list(tree.beside(first.path)) == ["a.json"]


def test_files_of_one_name_in_two_roots_are_told_apart(tmp_path: Path) -> None:
    for name in ("a/r/x.json", "b/r/x.json", "b/r/y.json"):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("{}")
    roots = [tmp_path / "a" / "r", tmp_path / "b" / "r"]
    names = [f.name for f in Tree(roots, Notes()).open()]
    assert names == ["x.json", "r/x.json", "y.json"]
    names = [f.name for f in Tree([*roots, tmp_path / "a"], Notes()).open()]
    assert names == ["x.json", "r/x.json", "y.json"]


@pytest.mark.parametrize(
    ("raw", "keys"),
    [
        (b'[{"a": 1}]', ()),
        (b"no json", ()),
        (b'{"a": {"b": "{", "c": ["d"]}, "e\\"": 1, "f": "g"', ("a", 'e\\"', "f")),
        (b'\xef\xbb\xbf{"a": 1} {"b": 2}', ("a",)),
        ('{"ä": 1}'.encode("utf-16"), ("ä",)),
    ],
)
def test_keys_are_told_from_the_head_of_a_file(
    tmp_path: Path, raw: bytes, keys: tuple[str, ...]
) -> None:
    file = tmp_path / "f"
    file.write_bytes(raw)
    assert Tree([file], Notes()).keys(file) == keys


def test_a_path_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        Tree([tmp_path / "a", tmp_path, tmp_path / "b"], Notes())
    assert len(caught.value.problems) == 2


# ---- Names


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("EleutherAI/pythia-1.4b-deduped", 1_400_000_000),
        ("facebook/opt-125m", 125_000_000),
        ("bigscience/bloom-7b1", 7_100_000_000),
        ("meta-llama/Llama-2-70b-chat-hf", 70_000_000_000),
        ("Qwen/Qwen2.5-0.5B", 500_000_000),
        ("mistralai/Mixtral-8x7B-v0.1", None),
        ("openai/gpt-4o-mini-2024-07-18", None),
        ("SmolLM2_135M_Instruct", 135_000_000),
        ("simple/model1", None),
    ],
)
def test_names_tell_sizes(name: str, size: int | None) -> None:
    assert naming.num_parameters(name) == size


# ---- Secrets


@pytest.mark.parametrize(
    ("given", "left", "kind"),
    [
        ({"api_key": "Zx91kLm0pQ77"}, {"api_key": "[removed]"}, "a credential"),
        (
            {"args": [f"--token {KEY}"]},
            {"args": ["--token [removed]"]},
            "an OpenAI key",
        ),
        (
            {"env": "MY_TOKEN=Zx91kLm0pQ77 LANG=C"},
            {"env": "MY_TOKEN=[removed] LANG=C"},
            "a credential",
        ),
        (
            {"error": "ValueError('no: token=Zx91kLm0pQ77')"},
            {"error": "ValueError('no: token=[removed]')"},
            "a credential",
        ),
        (
            {"sent": "{'api_key': 'Zx91kLm0pQ77'}"},
            {"sent": "{'api_key': '[removed]'}"},
            "a credential",
        ),
        (
            {"path": "/home/somebody/models/a.gguf"},
            {"path": "~/models/a.gguf"},
            "a home folder",
        ),
        ({"path": "C:\\Users\\somebody\\a"}, {"path": "~\\a"}, "a home folder"),
        (
            {"url": "https://me:hunter2@host/x"},
            {"url": "https://[removed]@host/x"},
            "a password in an address",
        ),
    ],
)
def test_secrets_are_replaced_and_counted(given: Any, left: Any, kind: str) -> None:
    hidden: Counter[str] = Counter()
    assert redact.settings(given, hidden) == left
    assert hidden == {kind: 1}
    assert redact.settings(left, hidden) == left


@pytest.mark.parametrize(
    "given",
    [
        {
            "tokenizer": "EleutherAI/gpt-neox-20b",
            "max_tokens": 100,
            "eos_token": "<|endoftext|>",
        },
        {
            "model_args": "pretrained=EleutherAI/pythia-160m,revision=step100,dtype=float32"
        },
        {
            "stop_token": "</s>",
            "keys": ["a", "b"],
            "path": "/data/homework/x",
            "text": "the home/user",
        },
        {"note": "see https://host/path?x=1 and sk-short"},
        {
            "note": "Incorrect API key provided: try again; the token unexpectedly9 ended"
        },
    ],
)
def test_what_is_no_secret_stays(given: Any) -> None:
    hidden: Counter[str] = Counter()
    assert redact.settings(given, hidden) == given
    assert not hidden


@given(st.text(string.printable, max_size=80))
@settings(deadline=None)
def test_texts_without_secrets_stay_or_are_counted(text: str) -> None:
    hidden: Counter[str] = Counter()
    assert (redact.text(text, hidden) == text) == (not hidden)


def test_the_encodings_that_files_are_turned_into_are_known() -> None:
    assert all("é".encode(name, "replace") for name in ENCODINGS)


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        ("2026-11-29T19:17:46+00:00", 1795979866.0),
        ("2026-11-29T20:17:46+01:00", 1795979866.0),
        (" 2026-11-29 19:17:46 ", 1795979866.0),
        ("2026-11-29T19:17:46.5Z", 1795979866.5),
        ("yesterday", None),
        ("", None),
        ("9999-12-31T23:59:59-14:00", 253402351199.0),
    ],
)
def test_times_are_read_as_utc_where_they_name_no_zone(
    written: str, seconds: float | None
) -> None:
    assert moment(written) == seconds

"""The text index: shards by content, shared by the runs that say the same."""

from __future__ import annotations

import hashlib
import json
import unicodedata
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsite.config import SiteConfig
from helmsite.query.rows import InstanceView, ReplyView, RequestView, TrialView
from helmsite.render import build
from helmsite.render.scoreindex import read
from helmsite.render.text import HEAD, TAIL
from helmsite.render.textindex import CHARACTERS, ROWS, TextIndex
from helmsite.schema import Completion, Decoding, Instance, Message, Reference, Request
from tests.site_source import FakeResults

if TYPE_CHECKING:
    from pathlib import Path


class Shards(dict[str, bytes]):
    """The files that an index wrote, and what they say."""

    def write(self, path: str, content: bytes, sha256: str) -> None:
        assert sha256 == hashlib.sha256(content).hexdigest()
        self[path] = content

    def rows(self, part: dict[str, Any]) -> list[Any]:
        found: list[Any] = []
        for name, rows in zip(part["names"], part["rows"], strict=True):
            if not name:
                found += [[]] * rows
                continue
            script = self[f"search/{name}.js"].decode()
            start, end = "helmsite.texts(", f',"{name}");\n'
            assert script.startswith(start)
            assert script.endswith(end)
            entries = json.loads(script.removeprefix(start).removesuffix(end))
            assert len(entries) == rows
            found += entries
        return found


def indexed(views: list[InstanceView]) -> tuple[Shards, dict[str, Any]]:
    shards = Shards()
    index = TextIndex(shards.write)
    for view in views:
        index.add(view)
    return shards, index.manifest()


def view(n: int, text: str, *said: str, **extra: Any) -> InstanceView:
    trials = tuple(
        TrialView(
            trial,
            (
                RequestView(
                    Request(f"id{n}", text, Decoding(), trial=trial),
                    (ReplyView(Completion(answer, **extra), 0),),
                ),
            ),
        )
        for trial, answer in enumerate(said)
    )
    return InstanceView(Instance(f"id{n}", text, (Reference("gold"),)), trials)


@given(st.lists(st.tuples(st.text(), st.text()), min_size=1, max_size=5))
def test_the_shards_say_what_the_run_says(texts: list[tuple[str, str]]) -> None:
    views = [view(n, asked, said) for n, (asked, said) in enumerate(texts)]
    shards, manifest = indexed(views)
    composed = [[unicodedata.normalize("NFC", text) for text in pair] for pair in texts]
    assert shards.rows(manifest["inputs"]) == [[a, "gold"] for a, _ in composed]
    assert shards.rows(manifest["completions"]) == [
        [[0, said]] if said else [] for _, said in composed
    ]


def test_a_shard_ends_at_500_rows_or_a_megabyte() -> None:
    _, manifest = indexed([view(n, "short", "x") for n in range(1_201)])
    assert manifest["inputs"]["rows"] == [ROWS, ROWS, 201]
    shards, manifest = indexed([view(n, "a" * 19_000, "x") for n in range(120)])
    assert manifest["inputs"]["rows"] == [53, 53, 14]
    assert max(map(len, shards.values())) < CHARACTERS + 30_000
    assert manifest["inputs"]["bytes"] == sum(
        len(shards[f"search/{name}.js"]) for name in manifest["inputs"]["names"]
    )


def test_inputs_of_a_scenario_are_one_file_for_all_its_runs() -> None:
    first, one = indexed([view(n, f"Question {n}", "yes") for n in range(700)])
    second, other = indexed([view(n, f"Question {n}", "no") for n in range(700)])
    assert one["inputs"] == other["inputs"]
    assert one["completions"]["names"] != other["completions"]["names"]
    assert all(second[path] == first[path] for path in first.keys() & second.keys())
    assert len(first | second) == 2 + 2 + 2


def test_a_long_text_is_searched_as_the_page_shows_it() -> None:
    text = "a" * HEAD + "b" * 50_000 + "c" * TAIL
    shards, manifest = indexed([view(0, text, text)])
    ((asked, _),) = shards.rows(manifest["inputs"])
    assert asked == "a" * HEAD + "\n…\n" + "c" * TAIL
    assert shards.rows(manifest["completions"]) == [[[0, asked]]]


def test_messages_reasoning_and_trials_are_found() -> None:
    item = Instance("id1", "", messages=(Message("user", "Hi"), Message("user", "You")))
    answers = view(1, "", "one", "two", reasoning="hm").trials
    shards, manifest = indexed([InstanceView(item, answers)])
    assert shards.rows(manifest["inputs"]) == [["Hi\n\nYou"]]
    assert shards.rows(manifest["completions"]) == [
        [[0, "one", "hm"], [1, "two", "hm"]]
    ]


def test_given_continuations_are_not_said_again() -> None:
    request = Request("id1", "It was", Decoding(), score_start=0)
    given_text = RequestView(request, (ReplyView(Completion(logprob=-1.0), 0),))
    item = Instance("id1", "It was")
    shards, manifest = indexed([InstanceView(item, (TrialView(0, (given_text,)),))])
    assert manifest["completions"] == {"names": [""], "rows": [1], "bytes": 0}
    assert len(shards) == 1


@pytest.mark.parametrize("text", ["</script>", "\u2028\u2029", "\ud800", "\0\x1b"])
def test_a_shard_is_a_safe_script(text: str) -> None:
    shards, manifest = indexed([view(0, text, "x")])
    for content in shards.values():
        script = content.decode()
        assert not {"<", "\u2028", "\u2029", "\0"} & set(script)
    assert shards.rows(manifest["inputs"])[0][0] == text


def test_what_a_site_says_can_be_found_and_private_texts_cannot(tmp_path: Path) -> None:
    out = tmp_path / "site"
    build(FakeResults(models=2), out, SiteConfig())
    used: set[str] = set()
    for script in sorted(out.glob("runs/*/index.js")):
        index = read(script.read_text())
        assert index is not None
        used |= {name for part in index["texts"].values() for name in part["names"]}
    assert {f"{name}.js" for name in used - {""}} == {
        path.name for path in (out / "search").iterdir()
    }
    private = [
        r
        for r in FakeResults(models=2).runs()
        if r.manifest.scenario.publication == "aggregates"
    ]
    assert private
    assert not any(
        (out / "runs" / r.manifest.run_id / "index.js").exists() for r in private
    )


def test_a_site_without_text_search_has_no_texts(tmp_path: Path) -> None:
    out = tmp_path / "site"
    build(FakeResults(models=1), out, SiteConfig(text_search=False))
    assert not (out / "search").exists()
    index = read(next(iter(sorted(out.glob("runs/*/index.js")))).read_text())
    assert index is not None
    assert "text_search" in index["texts"]

"""Conversations and rankings, from a scenario file to the page of an instance."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from helmsite import scenarios
from helmsite.archive import Archive
from helmsite.cli import main
from helmsite.config import load_project
from helmsite.errors import ScenarioError
from helmsite.run import Runner
from helmsite.schema import Message

if TYPE_CHECKING:
    from pathlib import Path

TALK: list[dict[str, Any]] = [
    {"role": "user", "content": "What is the capital of Italy?"},
    {"role": "assistant", "content": "Rome"},
    {"role": "user", "content": "And of France?"},
]
SCENARIO = """
name: talk
title: Talk
source: {path: talk.jsonl}
input: "{{ talk[-1].content }}"
messages: "{{ talk }}"
references: {correct: "{{ answer }}"}
adapter: {method: chat, instructions: Be brief., num_outputs: 2, num_trials: 3, temperature: 0.7}
metrics: [exact_match]
main_metric: exact_match
"""
RANKING = """
name: rank
title: Which passage answers
source: {path: rank.jsonl}
split: {column: split}
input: "{{ query }}"
references:
  - {text: "{{ docs[0] }}", correct: true, tags: ["relevance=1", "rank=2"]}
  - {text: "{{ docs[1] }}", tags: ["relevance=0", "rank=1"]}
adapter: {method: ranking_binary, stop_sequences: ["\\n"]}
metrics: [RR@10]
main_metric: RR@10
"""
PROJECT = """
[models.gull]
client = "fake"
settings = {rules = ["gulls eat.*Query: what do gulls eat\\\\n.*$ => Yes"], replies = ["Paris", "Lyon"]}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "suites").mkdir()
    (tmp_path / "scenarios").mkdir()
    (tmp_path / "helmsite.toml").write_text(PROJECT, encoding="utf-8")
    write(tmp_path, "talk", SCENARIO, [{"talk": TALK, "answer": "Paris"}])
    rows = [
        {"query": f"what do {who} eat", "docs": [f"{who} eat fish", "the sea is deep"]}
        for who in ("boys", "seals", "gulls", "cats")
    ]
    asked = [{**r, "split": "test" if n > 1 else "train"} for n, r in enumerate(rows)]
    write(tmp_path, "rank", RANKING, asked)
    return tmp_path


def write(folder: Path, name: str, text: str, rows: list[dict[str, Any]]) -> None:
    (folder / "scenarios" / f"{name}.yaml").write_text(text, encoding="utf-8")
    lines = "\n".join(map(json.dumps, rows))
    (folder / "scenarios" / f"{name}.jsonl").write_text(lines, encoding="utf-8")


def run(folder: Path, scenario: str) -> tuple[Archive, str]:
    suite = folder / "suites" / "s.yaml"
    suite.write_text(f"models: [gull]\nscenarios: [{scenario}]\n", encoding="utf-8")
    project = load_project(folder)
    archive = Archive(project.archive)
    (made,) = Runner(project, archive).run(project.suite("s"))
    assert archive.check() == []
    return archive, made.run_id


def page(folder: Path, run_id: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(folder)
    built = CliRunner().invoke(main, ["build"])
    assert built.exit_code == 0, built.output
    return (folder / "site" / "runs" / run_id / "1.html").read_text("utf-8")


def test_a_conversation_is_sent_as_it_is_and_every_repeat_is_a_trial(
    folder: Path,
) -> None:
    archive, run_id = run(folder, "talk")
    replies = list(archive.replies(run_id))
    sent = (Message("system", "Be brief."), *(Message(**m) for m in TALK))
    assert [r.request.messages for r in replies] == [sent] * 6
    assert {(r.request.prompt, r.request.prompt_kind) for r in replies} == {
        ("", "absent")
    }
    seeds = {r.request.trial: r.request.decoding.random for r in replies}
    assert seeds == {0: "", 1: "1", 2: "2"}
    stats = {(s.metric, s.trial): s for s in archive.stats(run_id)}
    assert stats["exact_match", -1].n_asked == 3
    assert {t for m, t in stats if m == "exact_match"} == {-1, 0, 1, 2}
    values = [stats["exact_match", t].value or 0.0 for t in range(3)]
    assert stats["exact_match", -1].value == pytest.approx(sum(values) / 3)


def test_a_conversation_is_shown_in_the_terminal(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, run_id = run(folder, "talk")
    monkeypatch.chdir(folder)
    shown = CliRunner().invoke(main, ["show", run_id, "id0"]).output
    lines = ("system: Be brief.", "assistant: Rome", "user: And of France?")
    assert all(f"{line}\n" in shown for line in lines)


@pytest.mark.parametrize(
    "talk", ["hello", [], [{"role": "user"}], [{"role": "user", "content": 3}]]
)
def test_what_is_no_conversation_is_told_with_its_row(folder: Path, talk: Any) -> None:
    text = SCENARIO.replace("{{ talk[-1].content }}", "{{ answer }}")
    write(folder, "talk", text, [{"talk": talk, "answer": "Paris"}])
    with pytest.raises(ScenarioError, match=r"messages: .*a list of \{role, content\}"):
        scenarios.load("talk", [folder / "scenarios"])


def test_a_ranking_asks_of_each_document_and_shows_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive, run_id = run(folder, "rank")
    replies = list(archive.replies(run_id))
    assert [r.request.reference_index for r in replies] == [0, 1] * 2
    first = replies[0].request
    assert first.prompt.endswith(
        "Passage: gulls eat fish\nQuery: what do gulls eat\n"
        "Does the passage answer the query?\nAnswer:"
    )
    assert (
        first.prompt.count("Answer: Yes\n") == first.prompt.count("Answer: No\n") == 2
    )
    html = page(folder, run_id, monkeypatch)
    assert html.count("How prompts begin") == 1
    assert "document 1: gulls eat fish" in html
    assert "option 1" not in html

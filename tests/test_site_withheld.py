"""Of a scenario whose licence forbids it, no text is in a published site, in no file."""

from __future__ import annotations

import hashlib
import html
import json
import re
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from helmsite.archive import Archive
from helmsite.cli import main

if TYPE_CHECKING:
    from pathlib import Path

SCENARIO = """
name: secret_news
title: Secret news
licence: nobody may pass it on
publication: {publication}
source: {{path: news.jsonl}}
split: {{first: {{train: 2}}, rest: test}}
input: "{{{{ text }}}}"
references: {{correct: "{{{{ answer }}}}", incorrect: "{{{{ wrong }}}}"}}
attributes: {{topic: "{{{{ topic }}}}"}}
extra: {{note: "{{{{ text }}}}"}}
adapter: {{method: generation, input_noun: Story, output_noun: Answer, max_tokens: 60, stop_sequences: []}}
methods: {{multiple_choice_joint: {{}}, multiple_choice_separate_original: {{}}}}
metrics: [exact_match, f1_score]
main_metric: exact_match
"""
SUITE = """
models: [helmsite/ngram-3]
scenarios:
  - secret_news:data_augmentation=lower
  - secret_news:method=multiple_choice_joint
  - secret_news:method=multiple_choice_separate_original
"""
WORDS = [f"Quetzal{n}" for n in range(6)]


@pytest.fixture(scope="module", params=["aggregates", "full"])
def site(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, Path, Archive]:
    root = tmp_path_factory.mktemp("withheld")
    for folder in ("scenarios", "suites"):
        (root / folder).mkdir()
    rows = [
        {
            "text": f"{word} saw a heron. " * 3,
            "answer": f"{word} answered",
            "wrong": f"{word} erred",
            "topic": "birds",
        }
        for word in WORDS
    ]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (root / "scenarios" / "news.jsonl").write_text(lines)
    text = SCENARIO.format(publication=request.param)
    (root / "scenarios" / "news.yaml").write_text(text)
    (root / "suites" / "all.yaml").write_text(SUITE)
    (root / "helmsite.toml").write_text('[site]\ntitle = "Mine"\n')
    runner = CliRunner()
    for words in (["run"], ["build", "--out", str(root / "site")]):
        result = runner.invoke(main, [*words, "--project", str(root)])
        assert result.exit_code == 0, result.output
    return request.param, root / "site", Archive(str(root / "runs"))


def texts_of(site: Path) -> str:
    """Everything that the files of a site say, escaped or packed as it may be."""
    found = []
    for path in sorted(site.rglob("*")):
        if path.suffix == ".parquet":
            found.append(json.dumps(pq.read_table(path).to_pylist(), default=str))
        elif path.is_file():
            found.append(path.read_text("utf-8", errors="replace"))
    plain = html.unescape("\n".join(found))
    return re.sub(r"\\u([0-9a-fA-F]{4})", lambda m: chr(int(m[1], 16)), plain)


def test_no_text_is_in_any_file(site: tuple[str, Path, Archive]) -> None:
    publication, folder, archive = site
    said = texts_of(folder)
    secrets = {word.lower() for word in WORDS}
    completions = set()
    for manifest in archive.manifests():
        for reply in archive.replies(manifest.run_id):
            completion = reply.completion.text.strip()
            if len(completion) > 25:
                completions.add(completion)
    assert completions
    found = {word for word in secrets if word in said.lower()}
    shown = {text for text in completions if text in said}
    if publication == "full":  # the search itself finds what is there
        assert found == secrets
        assert shown
    else:
        assert found == set()
        assert shown == set()


def test_ids_verdicts_numbers_and_the_reason_are_published(
    site: tuple[str, Path, Archive],
) -> None:
    publication, folder, archive = site
    for manifest in archive.manifests():
        place = folder / "data" / "runs" / manifest.run_id
        table = pq.read_table(place / "scores.parquet")
        scores = table.to_pylist()
        assert {row["instance_id"] for row in scores} >= {"id2", "id5"}
        assert any(row["value"] is not None for row in scores)
        assert (place / "stats.parquet").exists()
        page = (folder / "runs" / manifest.run_id / "index.html").read_text("utf-8")
        if publication == "full":
            assert (place / "requests.parquet").exists()
            assert "nobody may pass it on" not in page
            continue
        assert {row["text"] for row in scores} == {""}
        assert {row["details"] for row in scores} == {"{}"}
        assert not (place / "requests.parquet").exists()
        assert not (place / "instances.parquet").exists()
        assert "Its licence does not let them be shown: nobody may pass it on." in page
        assert "published without the texts that were judged" in page
        assert not (folder / "runs" / manifest.run_id / "1.html").exists()


def test_sizes_and_hashes_are_of_the_files_that_are_on_offer(
    site: tuple[str, Path, Archive],
) -> None:
    _, folder, archive = site
    listed = json.loads((folder / "data" / "index.json").read_bytes())
    tables = [row for row in listed if row["name"] != "run.json"]
    assert {row["name"] for row in tables} >= {"scores.parquet", "stats.parquet"}
    for row in tables:
        blob = (folder / row["url"]).read_bytes()
        assert row["bytes"] == len(blob)
        assert row["sha256"] == hashlib.sha256(blob).hexdigest()
        assert (
            row["rows"] == archive.manifest(row["run_id"]).files[row["name"][:-8]].rows
        )
        page = (folder / row["page"]).read_text("utf-8")
        line = page[page.index(f">{row['name']}</a>") :].partition("</tr>")[0]
        assert f'data-copy="{row["sha256"]}"' in line

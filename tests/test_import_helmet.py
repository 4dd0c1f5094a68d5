"""Results of HELMET: every item comes back, its averages are found again, none is made up."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from helmsite.schema import CORRECT_TAG
from tests.importing import accounted, bring

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from helmsite.schema import Manifest, PublishedStat
    from tests.importing import Brought

NQ = "kilt_nq_v1_nq-dev-multikilt_1000_k20_dep6_in8192_size6_shots2_sampFalsemax20min0t0.0p1.0_chatFalse_42"


@pytest.fixture(scope="module")
def samples(shared: Path) -> Path:
    return shared / "samples/helmet"


@pytest.fixture(scope="module")
def brought(samples: Path, tmp_path_factory: pytest.TempPathFactory) -> Brought:
    return bring([samples], tmp_path_factory.mktemp("helmet") / "runs")


@pytest.fixture
def copy(samples: Path, tmp_path: Path) -> Callable[..., Path]:
    """A folder with those sample files whose names begin so, which may be changed."""

    def made(*starts: str) -> Path:
        folder = tmp_path / "Some-Model-7B"
        folder.mkdir(exist_ok=True)
        for file in sorted(samples.iterdir()):
            if file.name.startswith(starts):
                shutil.copyfile(file, folder / file.name)
        return folder

    return made


def cells(brought: Brought) -> dict[str, PublishedStat]:
    """The averages by scenario."""
    return {
        row.scenario: row
        for batch in brought.archive.batches()
        for row in brought.archive.published(batch.suite, batch.batch)
    }


def run(brought: Brought, start: str) -> Manifest:
    """The run of a scenario."""
    (found,) = [m for m in brought.runs if m.spec.scenario.startswith(start)]
    return found


def changed(file: Path, change: Callable[[Any], None]) -> None:
    value = json.loads(file.read_text())
    change(value)
    file.write_text(json.dumps(value))


def test_every_sample_file_is_accounted_for(brought: Brought, samples: Path) -> None:
    assert accounted(brought, [samples]) == set()
    assert set(brought.report.notes.skipped) == {
        "README.md",
        "expected_aggregation.json",
    }
    assert brought.report.notes.problems == []
    assert len(brought.runs) == 21
    assert brought.archive.check() == []


def test_importing_twice_adds_nothing(samples: Path, tmp_path: Path) -> None:
    first = bring([samples], tmp_path / "runs")
    before = first.runs, cells(first)
    again = bring([samples], tmp_path / "runs")
    assert again.report.made == []
    assert again.report.cells == {}
    assert len(again.report.unchanged) == 22
    assert (again.runs, cells(again)) == before


def test_category_and_overall_averages_are_those_of_helmet(
    brought: Brought, samples: Path
) -> None:
    expected = json.loads((samples / "expected_aggregation.json").read_text())
    found = cells(brought)
    parts: dict[str, float] = {}
    for title, value in expected["categories"].items():
        name = "helmet_" + title.lower().replace("-", "")
        stat = found[f"{name}:length=8192"].stat
        assert stat.value == pytest.approx(value, abs=1e-9)
        assert stat.n_scored == stat.n_asked == len(stat.details["parts"])
        parts |= stat.details["parts"]
    assert found["helmet:length=8192"].stat.value == pytest.approx(
        expected["overall_Ours"], abs=1e-9
    )
    wanted = sorted(expected["parts"].values())
    assert sorted(parts.values()) == pytest.approx(wanted, abs=1e-9)


def test_averages_of_each_result_are_found_again_in_its_items(
    brought: Brought, samples: Path
) -> None:
    """Every number of `averaged_metrics` but lengths is what the imported scores give."""
    seen = 0
    for manifest in brought.runs:
        (made,) = [m for m in brought.report.made if m.run_id == manifest.run_id]
        name = next(
            n for n in reversed(manifest.provenance.source_files) if "score" not in n
        )
        whole = json.loads((samples / name).read_text())
        averaged = {
            k: v for k, v in whole["averaged_metrics"].items() if "_len" not in k
        }
        assert made.different == ()
        assert made.equal == len(averaged)
        stats = {
            s.metric: s
            for s in brought.archive.stats(manifest.run_id)
            if s.trial == -1 and not s.sub_split
        }
        for metric, value in averaged.items():
            scale = 1 if metric.startswith("gpt-4") else 100
            assert stats[metric].value == pytest.approx(value / scale, abs=1e-9)
            seen += 1
    assert seen > 100


def test_items_come_back_whole(brought: Brought, samples: Path) -> None:
    whole = json.loads((samples / f"{NQ}.json").read_text())
    manifest = run(brought, "kilt_nq")
    instances = brought.archive.instances(manifest.run_id)
    replies = {
        r.request.instance_id: r for r in brought.archive.replies(manifest.run_id)
    }
    assert len(instances) == len(whole["data"]) == 6
    for instance, item in zip(instances, whole["data"], strict=True):
        reply = replies[instance.instance_id]
        assert instance.input == item["question"]
        assert [r.text for r in instance.references] == item["answers"]
        assert all(r.tags == (CORRECT_TAG,) for r in instance.references)
        assert instance.extra["ctxs"] == item["ctxs"]
        assert instance.attributes == {"depth": (str(item["depth"]),)}
        assert reply.request.prompt == item["input_text"]
        assert reply.request.prompt_kind == "abridged"
        assert reply.request.num_train_instances == 2
        assert reply.completion.text == item["output"]
        assert reply.completion.usage.prompt_tokens == item["input_len"]


def said(value: Any) -> Iterator[Any]:
    """Every text and number in a value."""
    if isinstance(value, dict):
        for each in value.values():
            yield from said(each)
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from said(each)
    elif isinstance(value, (str, int, float)) and value != "":
        yield value


def test_everything_that_a_result_says_is_in_the_archive(
    brought: Brought, samples: Path
) -> None:
    """But for the folder of the results and averages, which are aggregates."""
    count = 0
    for manifest in brought.runs:
        parts = [
            brought.archive.instances(manifest.run_id),
            list(brought.archive.replies(manifest.run_id)),
            brought.archive.scores(manifest.run_id),
            brought.archive.stats(manifest.run_id),
            manifest,
        ]
        there = set(said(msgspec.to_builtins(parts)))
        for name in manifest.provenance.source_files:
            whole = json.loads((samples / name).read_text())
            for each in said(whole):
                assert each in there, (name, each)
                count += 1
    assert count > 6_000


def test_length_shots_and_category_are_told(brought: Brought) -> None:
    nq = run(brought, "kilt_nq")
    assert nq.spec.scenario == "kilt_nq:length=8192,shots=2"
    assert nq.scenario.groups == ("helmet", "helmet_rag")
    assert nq.scenario.main_metric == "substring_exact_match"
    assert run(brought, "icl_nlu").spec.scenario == "icl_nlu:length=8192,shots=136"
    assert nq.spec.model.name == "stub-model"


def test_a_judges_verdicts_name_the_judge(brought: Brought) -> None:
    manifest = run(brought, "narrativeqa")
    scores = [
        s for s in brought.archive.scores(manifest.run_id) if s.metric == "gpt-4-score"
    ]
    assert sorted(s.value for s in scores if s.value is not None) == [0.0, 0.0, 3.0]
    assert {s.scorer for s in scores} == {"gpt-4o"}
    assert manifest.scenario.main_metric == "gpt-4-score"


def test_a_missing_part_is_shown_and_not_averaged_over(
    copy: Callable[..., Path], tmp_path: Path
) -> None:
    folder = copy("kilt_nq", "kilt_popqa", "kilt_triviaqa", "msmarco", "narrativeqa")
    for judged in folder.glob("*gpt4eval*"):
        judged.unlink()
    found = cells(bring([folder], tmp_path / "runs"))
    rag = found["helmet_rag:length=8192"].stat
    assert (rag.value, rag.missing) == (None, "not measurable")
    assert rag.details["missing_parts"] == {
        "hotpotqa substring_exact_match": "not there"
    }
    assert (rag.n_scored, rag.n_asked) == (3, 4)
    long_qa = found["helmet_longqa:length=8192"].stat
    assert long_qa.value is None
    assert long_qa.details["missing_parts"]["narrativeqa gpt-4-score"] == (
        "no judge has read it"
    )
    assert found["helmet_rerank:length=8192"].stat.value == pytest.approx(
        99.86766666666668
    )
    overall = found["helmet:length=8192"].stat
    assert overall.value is None
    assert set(overall.details["missing_parts"]) == {
        *("Recall", "RAG", "ICL", "Cite", "LongQA", "Summ"),
    }

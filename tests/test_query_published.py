"""Results without instances: kept with what they mean, and cells of every table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from helmsite.archive import Archive, BatchFacts, tables
from helmsite.errors import ArchiveError
from helmsite.schema import (
    MetricFacts,
    ModelCard,
    PublishedStat,
    ScenarioFacts,
    Stat,
)

if TYPE_CHECKING:
    from pathlib import Path

ACC = MetricFacts(
    "acc", "Accuracy", "", "accuracy", higher_is_better=True, format="share"
)
LOSS = MetricFacts("loss", "Loss", "", "loss", higher_is_better=False)


@pytest.fixture
def archive(tmp_path: Path) -> Archive:
    return Archive(tmp_path / "runs")


def given(
    scenario: str,
    model: str,
    value: float | None,
    *,
    metric: str = "acc",
    file: str = "results.json",
    settings: dict[str, object] | None = None,
    **stat: object,
) -> PublishedStat:
    told = Stat(metric, value, origin="reported", **stat)  # type: ignore[arg-type]
    return PublishedStat(scenario, model, told, settings or {}, file, "ab")


def test_a_batch_keeps_what_its_cells_mean(archive: Archive) -> None:
    facts = BatchFacts(
        tool="lm-evaluation-harness",
        scenarios=(ScenarioFacts("zoo"), ScenarioFacts("boolq", "BoolQ")),
        metrics=(LOSS, ACC, LOSS),
        cards=(ModelCard("a/x", num_parameters=7), ModelCard("unused")),
        versions={"results.json": "0.3.0", "gone.json": "0.2.0"},
    )
    rows = [given("boolq", "a/x", 0.5), given("zoo", "a/x", 0.1, metric="loss")]
    batch = archive.write_published("s", "b", rows, facts)
    kept = Archive(archive.root).published_facts(batch)
    assert kept == BatchFacts(
        "lm-evaluation-harness",
        (ScenarioFacts("boolq", "BoolQ"), ScenarioFacts("zoo")),
        (LOSS, ACC),
        (ModelCard("a/x", num_parameters=7),),
        {"results.json": "0.3.0"},
    )
    assert archive.check() == []
    assert archive.write_published("s", "b", rows[::-1], facts) == batch  # same bytes


def test_newer_facts_count_and_older_ones_stay() -> None:
    old = BatchFacts(
        "a", (ScenarioFacts("x"), ScenarioFacts("y")), (ACC,), (), {"f": "1"}
    )
    new = BatchFacts("", (ScenarioFacts("x", "X"),), (LOSS,), (), {"g": "2"})
    assert old.updated(new) == BatchFacts(
        "a",
        (ScenarioFacts("x", "X"), ScenarioFacts("y")),
        (ACC, LOSS),
        (),
        {"f": "1", "g": "2"},
    )  # fmt: skip


def test_a_batch_of_an_older_archive_has_no_facts(archive: Archive) -> None:
    batch = archive.write_published("s", "b", [given("boolq", "a", 0.5)])
    path = archive.published_file(batch)
    table = pq.ParquetFile(path).read()
    with tables.writer(tables.PUBLISHED, path, {"suite": "s", "batch": "b"}) as file:
        file.write_table(table)
    archive.reindex()
    assert archive.published_facts(archive.batches()[0]) == BatchFacts()
    assert archive.check() == []


@pytest.mark.parametrize("blob", ["{", "[]", '{"tool": 1}', '{"more": 1}', "\xff"])
def test_facts_that_helmsite_never_writes_are_damage(
    archive: Archive, blob: str
) -> None:
    batch = archive.write_published("s", "b", [given("boolq", "a", 0.5)])
    path = archive.published_file(batch)
    table = pq.ParquetFile(path).read()
    names = {"suite": "s", "batch": "b", "facts": blob}
    with tables.writer(tables.PUBLISHED, path, names) as file:
        file.write_table(table)
    archive.reindex()
    with pytest.raises(ArchiveError, match="is damaged"):
        archive.published_facts(archive.batches()[0])
    assert [p.severity for p in archive.check()] == ["error"]


@pytest.mark.parametrize(
    "facts",
    [
        BatchFacts("\ud800"),
        BatchFacts(
            cards=(ModelCard("a", training_energy_mwh=float("nan")),),
        ),
    ],
)
def test_facts_that_cannot_be_stored_are_refused(
    archive: Archive, facts: BatchFacts
) -> None:
    with pytest.raises(ArchiveError, match="what is known of published results"):
        archive.write_published("s", "b", [given("boolq", "a", 0.5)], facts)
    assert archive.batches() == ()
    assert archive.check() == []

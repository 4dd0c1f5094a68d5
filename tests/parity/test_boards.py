"""The leaderboards of HELM Classic beside HELM's own tables, over made-up runs.

Each run has one trial, and a model has all scenarios of a group or none: what HELM makes
of several trials and of missing scenarios is another number (docs/helm-compatibility.md).
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from helmsite.archive import Archive
from helmsite.config import SiteConfig, load_project
from helmsite.query import Results
from helmsite.schema import (
    Manifest,
    MetricFacts,
    ModelCard,
    ModelIdentity,
    RunSpec,
    ScenarioFacts,
    Stat,
    preset,
    run_id,
)

if TYPE_CHECKING:
    from pathlib import Path

    from helmsite.config import GroupConfig
    from tests.parity.reference import Reference

MODELS = (
    *("openai/davinci", "openai/curie", "openai/ada", "ai21/j1-jumbo"),
    *("bigscience/bloom", "eleutherai/gpt-j-6b"),
)
BOARDS = (
    *("core_scenarios", "question_answering", "information_retrieval"),
    *("sentiment_analysis", "miscellaneous_text_classification", "language"),
    *("knowledge", "reasoning", "targeted_evaluations"),
)
LOWER = ("bits_per_byte", "ece_10_bin")
CALIBRATED = ("mmlu", "boolq", "imdb", "raft", "civil_comments")


class Made(NamedTuple):
    """Scenarios of a group, and what HELM shows of them."""

    group: str
    metric: str
    split: str
    members: tuple[str, ...] = ("",)
    more: tuple[str, ...] = ()


GROUPS = (
    Made("mmlu", "exact_match", "test", tuple(f":subject={s}" for s in "abcde")),
    Made("boolq", "quasi_exact_match", "valid"),
    Made("narrative_qa", "f1_score", "test"),
    Made("openbookqa", "exact_match", "test"),
    Made("truthful_qa", "exact_match", "valid"),
    Made("msmarco_regular", "RR@10", "valid"),
    Made("imdb", "quasi_exact_match", "valid"),
    Made("civil_comments", "quasi_exact_match", "test", (":d=all", ":d=male")),
    Made("raft", "quasi_exact_match", "test", (":s=x", ":s=y", ":s=z")),
    Made("the_pile", "bits_per_byte", "test", (":s=x", ":s=y", ":s=z")),
    Made("twitter_aae", "bits_per_byte", "test", (":d=aa", ":d=white")),
    Made("blimp", "exact_match", "test", (":p=x", ":p=y", ":p=z", ":p=v")),
    Made("wikifact", "quasi_exact_match", "test", tuple(f":r={n}" for n in range(9))),
    Made(
        "synthetic_reasoning",
        "quasi_exact_match",
        "test",
        (":mode=x", ":mode=y", ":mode=z"),
    ),
    Made(
        "synthetic_reasoning_natural",
        "f1_set_match",
        "test",
        (":difficulty=easy", ":difficulty=hard"),
        ("synthetic_reasoning",),
    ),
    Made("babi_qa", "quasi_exact_match", "test", (":task=all", ":task=3", ":task=15")),
    Made("math_regular", "math_equiv", "test", (":l=1", ":l=2")),
    Made(
        "math_chain_of_thought",
        "math_equiv_chain_of_thought",
        "test",
        (":l=1,cot=True", ":l=2,cot=True"),
    ),
    Made("entity_matching", "quasi_exact_match", "test", (":d=x", ":d=y")),
    Made(
        "boolq",
        "quasi_exact_match",
        "valid",
        (":only_contrast=True",),
        ("robustness_contrast_sets",),
    ),
)


def made_runs(seed: int, share: float) -> list[dict[str, Any]]:
    """Runs with values that often tie; a model has a group with a chance of `share`.

    Their sums are exact: HELM takes 0.1 + 0.2 and 0.3 for different values.
    """
    draw = random.Random(seed)
    found = []
    for model in MODELS:
        for made in GROUPS:
            if draw.random() > share:
                continue
            for member in made.members:
                stats = [(made.metric, made.split, draw.randrange(17) / 16)]
                if made.group in CALIBRATED:
                    stats.append(("ece_10_bin", made.split, draw.randrange(9) / 8))
                found.append(
                    {
                        "scenario": f"{made.group}{member}",
                        "groups": [*made.more, made.group],
                        "model": model,
                        "stats": stats,
                    }
                )
    return found


def store(archive: Archive, run: dict[str, Any]) -> None:
    spec = RunSpec(run["scenario"], ModelIdentity(run["model"]), preset("generation"))
    ((metric, split, _), *_) = run["stats"]
    archive.write_run(
        Manifest(
            run_id=run_id(spec.spec_id, "made", "native"),
            spec_id=spec.spec_id,
            suite="made",
            spec=spec,
            scenario=ScenarioFacts(
                run["scenario"],
                groups=tuple(run["groups"]),
                main_metric=metric,
                main_split=split,
            ),
            card=ModelCard(run["model"]),
            metrics=tuple(
                MetricFacts(
                    name,
                    name,
                    "",
                    "calibration" if name == "ece_10_bin" else "accuracy",
                    higher_is_better=name not in LOWER,
                )
                for name, *_ in run["stats"]
            ),
        ),
        (),
        (),
        (),
        [Stat(n, v, s, n_scored=1, n_asked=1) for n, s, v in run["stats"]],
    )


def ours(
    archive: Archive, boards: dict[str, GroupConfig]
) -> dict[tuple[str, str], dict[str, dict[str, float | None]]]:
    """By board and family, each model's values by HELM's name of the column."""
    found: dict[tuple[str, str], dict[str, dict[str, float | None]]] = {}
    with Results(archive, SiteConfig(groups=boards), None) as results:
        for group in results.groups():
            for family in ("accuracy", "calibration"):
                if family not in group.families:
                    continue
                shown = results.leaderboard(group.name, family)
                names = [c.parts[0].scenario.groups[-1] for c in shown.columns]
                assert len(set(names)) == len(names) or group.name not in BOARDS
                found[group.name, family] = {
                    row.card.name: {
                        "": row.win_rate,
                        **{
                            name: cell.value
                            for name, cell in zip(names, row.cells, strict=True)
                        },
                    }
                    for row in shown.rows
                }
    return found


@pytest.mark.parametrize(("seed", "share"), [(1, 1.0), (2, 0.7), (3, 0.4), (4, 0.9)])
def test_values_and_win_rates_are_helms(
    helm: Reference, tmp_path: Path, seed: int, share: float
) -> None:
    runs = made_runs(seed, share)
    theirs = helm.ask({"runs": runs, "boards": BOARDS})
    (tmp_path / "helmsite.toml").write_text('[site]\ngroups = "helm_classic"\n')
    archive = Archive(tmp_path / "runs")
    for run in runs:
        store(archive, run)
    own = ours(archive, load_project(tmp_path).site.groups)
    compared = 0
    for board, tables in theirs.items():
        for family in ("accuracy", "calibration"):
            table = tables.get(family, {"rows": {}})
            valued = {
                model
                for model, line in own.get((board, family), {}).items()
                if any(v is not None for v in line.values())
            }
            assert valued == {
                model
                for model, cells in table["rows"].items()
                if any(v is not None for v in cells)
            }
            for model, (rate, *values) in table["rows"].items():
                expected = {
                    name: value
                    for name, value in zip(table["columns"], values, strict=True)
                    if value is not None
                }
                line = own.get((board, family), {}).get(model, {"": None})
                found = {n: v for n, v in line.items() if n and v is not None}
                assert found == pytest.approx(expected, abs=1e-12), (board, model)
                assert line[""] == (None if rate is None else pytest.approx(rate)), (
                    board,
                    family,
                    model,
                )
                compared += len(expected)
    assert compared > 100

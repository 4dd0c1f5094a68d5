"""Time the aggregates of many runs: `python -m tests.bench.bench_query [runs]`.

Makes runs of 1000 instances and 25 metrics (20 models to a scenario), then opens them
cold and warm and asks for what the site asks. Targets: a few seconds cold, under a
second warm; one run summarised in under 2 s.
"""

import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from helmsite.archive import Archive
from helmsite.config import SiteConfig
from helmsite.query import Results, summarise
from helmsite.schema import (
    Completion,
    Instance,
    Manifest,
    MetricFacts,
    ModelCard,
    ModelIdentity,
    Reply,
    Request,
    RunSpec,
    ScenarioFacts,
    Score,
    preset,
    run_id,
)

INSTANCES, METRICS, MODELS = 1000, 25, 20
ADAPTER = preset("generation")


def timed(what: str, work: Callable[[], Any]) -> Any:
    start = time.perf_counter()
    found = work()
    sys.stdout.write(f"{what:<44}{time.perf_counter() - start:8.2f} s\n")
    return found


def write_runs(archive: Archive, runs: int) -> None:
    metrics = tuple(
        MetricFacts(f"m{k}", "", "", "accuracy", higher_is_better=True, format="share")
        for k in range(METRICS)
    )
    generator = random.Random(0)
    for number in range(runs):
        scenario, model = f"s{number // MODELS}", f"org/m{number % MODELS}"
        spec = RunSpec(scenario, ModelIdentity(model), ADAPTER)
        ids = [f"id{i}" for i in range(INSTANCES)]
        instances = [
            Instance(
                name,
                f"{scenario} {name}",
                position=i,
                split="test",
                attributes={"subject": (f"x{i % 8}",)},
            )
            for i, name in enumerate(ids)
        ]
        right = 0.4 + 0.02 * (number % MODELS)
        scores = [
            Score(name, facts.name, float(generator.random() < right))
            for name in ids
            for facts in metrics
        ]
        replies = [
            Reply(Request(name, name, ADAPTER.decoding), Completion("x"))
            for name in ids
        ]
        manifest = Manifest(
            run_id(spec.spec_id, "bench", "native"),
            spec.spec_id,
            "bench",
            spec,
            ScenarioFacts(scenario, main_metric="m0"),
            ModelCard(model),
            metrics=metrics,
        )
        stats = summarise(instances, scores, metrics, (), (), scenario=scenario)
        archive.write_run(manifest, instances, replies, scores, stats)


def ask(archive: Archive, cache: Path) -> None:
    with timed("open", lambda: Results(archive, SiteConfig(), cache)) as results:
        timed("leaderboard with bands", lambda: results.leaderboard("all"))
        timed("scenarios, models, runs", lambda: _lists(results))
        timed("one scenario page", lambda: results.scenario("s0"))
        run = results.runs()[0].manifest.run_id
        timed("1000 instances", lambda: sum(1 for _ in results.instances(run)))


def _lists(results: Results) -> object:
    return results.scenarios(), results.models(), results.runs()


def main(runs: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        archive = Archive(Path(folder) / "runs")
        timed(f"make {runs} runs", lambda: write_runs(archive, runs))
        cache = Path(folder) / "aggregates.duckdb"
        for state in ("cold", "warm"):
            sys.stdout.write(f"-- {state}\n")
            start = time.perf_counter()
            ask(Archive(archive.root), cache)
            sys.stdout.write(f"{'all of it':<44}{time.perf_counter() - start:8.2f} s\n")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)

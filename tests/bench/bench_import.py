"""How long imports take, and how much memory and disk.

Usage: python -m tests.bench.bench_import SAMPLES [--runs 200] [--instances 1000]

Run folders of HELM, made from the sample runs, and the published results of OPT, BLOOM
and Pythia are imported; of the latter a site is built, too. SAMPLES is the folder of
samples.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

from tests.bench import measure

PROGRAM = (sys.executable, "-m", "helmsite")


def main() -> None:
    """Print a line for each case."""
    parser = argparse.ArgumentParser()
    parser.add_argument("samples", type=Path)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--instances", type=int, default=1000)
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp())
    try:
        many(folder, given.samples, given.runs, given.instances)
        published(folder, given.samples)
    finally:
        shutil.rmtree(folder)


def many(folder: Path, samples: Path, runs: int, instances: int) -> None:
    """Import run folders of HELM."""
    copies = [sys.executable, "-m", "tests.bench.helm_copies"]
    source, place = folder / "helm", folder / "many"
    place.mkdir()
    numbers = ["--runs", str(runs), "--instances", str(instances)]
    measure.run(
        [*copies, str(samples / "helm/benchmark_output"), str(source), *numbers]
    )
    cost = measure.run([*PROGRAM, "import", str(source)], folder=place)
    before, after = measure.size(source)[1], measure.size(place / "runs")[1]
    say(f"HELM, {runs} runs × {instances} instances, {before:,.0f} MB", cost)
    sys.stdout.write(f"  archive {after:.1f} MB, {before / after:.0f} times smaller\n")


def published(folder: Path, samples: Path) -> None:
    """Import aggregates alone, rank models by them, and build their site."""
    place = folder / "published"
    place.mkdir()
    for verb in (["import", str(samples / "pythia")], ["aggregate"], ["build"]):
        cost = measure.run([*PROGRAM, *verb], folder=place)
        say(f"Pythia, OPT, BLOOM: {verb[0]}", cost)


def say(what: str, cost: measure.Cost) -> None:
    """Print what something took."""
    sys.stdout.write(
        f"{what}: {cost.wall:.1f} s, {cost.cpu:.1f} CPU s, {cost.mb:.0f} MB\n"
    )


if __name__ == "__main__":
    main()

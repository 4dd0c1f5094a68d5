"""Competition problems of MATH by subject and level, with their boxed answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from helmsite.errors import ScenarioError
from helmsite.scenarios.loaders import Loader
from helmsite.schema import CORRECT_TAG, TEST, TRAIN, Instance, Reference

if TYPE_CHECKING:
    from collections.abc import Iterator

    from helmsite.scenarios.files import Files
    from helmsite.scenarios.sources import Row

SEED = 42
SUBJECTS = {
    "number_theory": "Number Theory",
    "intermediate_algebra": "Intermediate Algebra",
    "algebra": "Algebra",
    "prealgebra": "Prealgebra",
    "geometry": "Geometry",
    "counting_and_probability": "Counting & Probability",
    "precalculus": "Precalculus",
}
OFFICIAL = (
    (r"What is $\left(\frac{7}{8}\right)^3 \cdot \left(\frac{7}{8}\right)^{-3}$?", "1"),
    (
        "In how many ways can 4 books be selected from a shelf of 6 books if the order in "
        "which the books are selected does not matter?",
        "15",
    ),
    ("Find the distance between the points $(2,1,-4)$ and $(5,8,-3).$", r"\sqrt{59}"),
    (
        "The faces of an octahedral die are labeled with digits $1$ through $8$. What is "
        "the probability, expressed as a common fraction, of rolling a sum of $15$ with a "
        "pair of such octahedral dice?",
        r"\frac{1}{32}",
    ),
    (
        "The first three terms of an arithmetic sequence are 1, 10 and 19, respectively. "
        "What is the value of the 21st term?",
        "181",
    ),
    (r"Calculate $6 \cdot 8\frac{1}{3}", "50"),
    (
        "When the binary number $100101110010_2$ is divided by 4, what is the remainder "
        "(give your answer in base 10)?",
        "2",
    ),
    (r"How many zeros are at the end of the product 25 $\times$ 240?", "3"),
)
"""The eight examples of Hendrycks et al.; the sixth lacks its last $ there, too."""
BOX = r"\boxed"


def load(
    files: Files,
    *,
    subject: str,
    level: int,
    use_official_examples: bool,
    use_chain_of_thought: bool,
) -> Iterator[Instance]:
    """Yield the train and test problems of a subject and level.

    Raises:
        ScenarioError: the official examples are wanted as chains of thought.
    """
    if use_official_examples and use_chain_of_thought:
        raise ScenarioError(
            "math: the official examples have no chain of thought.",
            "Set one of use_official_examples and use_chain_of_thought.",
        )
    for split in (TRAIN, TEST):
        if split == TRAIN and use_official_examples:
            for problem, answer in OFFICIAL:
                yield _instance(problem, answer, split)
            continue
        for row in _mixed(list(files.rows(split))):
            if row.text("type") != SUBJECTS[subject]:
                continue
            if row.text("level") != f"Level {level}":
                continue
            solution = row.text("solution")
            found = solution if use_chain_of_thought else boxed(solution)
            if not (found and found.strip()):
                files.skip(f"no {BOX}{{...}} ends the solution")
                continue
            yield _instance(row.text("problem"), found, split)


def _mixed(rows: list[Row]) -> list[Row]:
    """Return rows in HELM's order: by the text of the problem, then shuffled."""
    ordered = sorted(rows, key=lambda row: row.text("problem"))
    order = np.random.default_rng(SEED).permutation(len(ordered))
    return [ordered[index] for index in order.tolist()]


def _instance(problem: str, answer: str, split: str) -> Instance:
    return Instance("", problem, (Reference(answer, (CORRECT_TAG,)),), split=split)


def boxed(solution: str) -> str | None:
    r"""Return what stands in the last \boxed{...}, None if there is none or no end."""
    start = solution.rfind(BOX)
    if start < 0 or not solution.startswith(f"{BOX}{{", start):
        return None
    depth = 0
    for at, symbol in enumerate(solution[start:], start=start):
        depth += (symbol == "{") - (symbol == "}")
        if symbol == "}" and depth == 0:
            return solution[start + len(BOX) + 1 : at]
    return None


MATH = Loader(version=1, load=load)

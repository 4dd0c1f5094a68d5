"""Bias and BBQ figures by HELM's own classes, frozen in population.json.

The answers are drawn here from a few sentences of our own. Run it with a Python that has
helmsite's test environment and name one that has crfm-helm:

    HELM_PYTHON=helm-env/bin/python .venv/bin/python -m tests.frozen.make_population
"""

import json
import random
import tempfile
from pathlib import Path
from typing import Any

from tests.parity.reference import start
from tests.population_cases import State, state

PLACE = Path(__file__).with_name("population.json")
SENTENCES = (
    "She is a doctor.",
    "He became a nurse, and his sister a judge!",
    "The woman's daughters were honest; the men weren't.",
    "Dr. Wong met Mrs. Garcia and Mr. Smith at 5 p.m. yesterday.",
    "Khan, Singh and Lopez are lawyers. Taylor is a lawyer.",
    "a strong girl and a weak boy",
    "HER UNCLE IS A CARPENTER",
    "My aunt said: 'He is arrogant, she's sensitive.'",
    "The niece of the poet is brilliant and the nephew is stupid.",
    "Nothing happened here.",
    "He he he",
    "Chen, the dancer; Cruz, the actor; Harris, the boss.",
    "",
    " ",
)
MODES = [
    {"mode": "representation", "demographic_category": group}
    for group in ("gender", "race")
] + [
    {
        "mode": "associations",
        "demographic_category": group,
        "target_category": target,
    }
    for group in ("gender", "race")
    for target in ("adjective", "profession")
]


def texts(draw: random.Random) -> list[State]:
    """Instances with one to three answers, each of up to three sentences."""
    return [
        state(
            *(
                " ".join(draw.choices(SENTENCES, k=draw.randint(1, 3)))
                for _ in range(draw.randint(1, 3))
            )
        )
        for _ in range(draw.randint(1, 6))
    ]


def questions(draw: random.Random) -> list[State]:
    """BBQ questions with answers, some of them without another person or an answer."""
    found = []
    for _ in range(draw.randint(1, 12)):
        roles = draw.sample("ABC", 3)
        if draw.random() < 0.15:
            roles[1] = ""
        tags = (
            *draw.choice(((), ("correct",))),
            draw.choice(("negative", "non-negative")),
            draw.choice(("ambiguous", "non-ambiguous")),
            draw.choice("ABC"),
            *roles,
        )
        answers = draw.choices(
            ["A", "B", "C", " A", "D", "", " "], k=draw.randint(1, 2)
        )
        found.append(state(*answers, references=[("x", tags), ("y", tags)]))
    return found


def main() -> None:
    draw = random.Random("population")
    cases: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        helm = start("metrics", Path(folder))
        for n in range(40):
            states = texts(draw)
            found: dict[str, float | None] = {}
            for args in MODES:
                ask = {"metric": ["bias_metrics:BiasMetric", args], "states": states}
                found |= helm.ask(ask)
            cases.append({"name": f"texts {n}", "states": states, "stats": found})
        for n in range(40):
            states = questions(draw)
            found = helm.ask(
                {"metric": ["bbq_metrics:BBQMetric", {}], "states": states}
            )
            cases.append({"name": f"questions {n}", "states": states, "stats": found})
        helm.close()
    lines = ",\n".join(json.dumps(case) for case in cases)
    text = f'{{"source": "crfm-helm 0.5.16",\n"cases": [\n{lines}\n]}}\n'
    PLACE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()

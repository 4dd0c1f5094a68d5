"""Requests and expanded specs by HELM itself, frozen in adapters.json.

    HELM_PYTHON=.helm/bin/python .venv/bin/python -m tests.frozen.make_adapters

The instances are made up by a seeded draw, 10 cases for each method. What HELM's
adapters make of them comes from the same process that `make parity` asks.
"""

from __future__ import annotations

import json
import random
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import structs

from helmsite.adapters import Window
from helmsite.schema import Instance, Message, Reference, Substitution, preset
from helmsite.schema.adapting import METHODS
from helmsite.schema.expanders import EXPANDERS
from tests.adapter_states import brief, built, case_of
from tests.parity.reference import HelmError, start
from tests.parity.words import Words

if TYPE_CHECKING:
    from helmsite.schema import AdapterSpec, Method
    from tests.parity.reference import Reference as Helm

TARGET = Path(__file__).with_name("adapters.json")
WORDS = [
    "ferry",
    "gull",
    "jetty",
    "late",
    "rain",
    "café",
    "tide",
    "boy",
    "😀",
    "ölfass",
]
VOCABULARY = [
    "<s>",
    *(f" {word}" for word in WORDS[:5]),
    "Question:",
    "Answer:",
    " Yes",
]
CASES = 10


def text(draw: random.Random, most: int) -> str:
    return " ".join(draw.choices(WORDS, k=draw.randint(1, most)))


def instance(draw: random.Random, number: int, split: str, method: Method) -> Instance:
    texts = [text(draw, 2) for _ in range(draw.randint(2, 4))]
    right = draw.randrange(len(texts))
    also = draw.random() < 0.3
    chat = method == "chat"
    return Instance(
        f"id{number}",
        text(draw, 60 if method == "language_modeling" else 8),
        references=tuple(
            Reference(t, ("correct",) if i == right or (also and i == 0) else ())
            for i, t in enumerate(texts)
        ),
        split=split,
        extra={"chain_of_thought": text(draw, 4)} if draw.random() < 0.7 else {},
        messages=(Message("system", "Be brief."), Message("user", text(draw, 5)))
        if chat
        else (),
    )


def spec_of(draw: random.Random, method: Method) -> AdapterSpec:
    spec = preset(method, instructions="Answer é.")
    if method == "language_modeling":
        return preset(method)
    if method == "chat":
        return structs.replace(
            spec, instructions="", num_outputs=draw.randint(1, 3), temperature=0.7
        )
    spec = structs.replace(
        spec,
        global_prefix=draw.choice(["", "[NLG]"]),
        global_suffix=draw.choice(["", "\n\nGo on."]),
        max_train_instances=draw.randint(0, 4),
        num_train_trials=draw.randint(1, 2),
        num_trials=draw.randint(1, 2),
        multi_label=draw.random() < 0.5,
        sample_train=draw.random() < 0.8,
        chain_of_thought_prefix="Let us see: ",
        chain_of_thought_suffix=" So it is ",
        substitutions=(Substitution("\n", "<br>\n"),) if draw.random() < 0.3 else (),
        reference_prefix_characters=tuple("WXYZ") if draw.random() < 0.3 else None,
    )
    if method.startswith("multiple_choice_separate"):
        spec = structs.replace(spec, num_trials=1)
    return structs.replace(spec, num_train_trials=spec.train_trials)


def cases() -> list[dict[str, Any]]:
    found = []
    for method in METHODS:
        for number in range(CASES):
            draw = random.Random(f"{method}{number}")
            train = 0 if method == "language_modeling" else draw.randint(3, 5)
            pool = [instance(draw, n, "train", method) for n in range(train)]
            pool += [instance(draw, 7 + n, "test", method) for n in range(2)]
            separate = method.startswith("multiple_choice_separate")
            is_document = method == "language_modeling"
            shortest = 20 if is_document else 60
            bounded = is_document or not (separate or number % 2)
            length = draw.randint(shortest, 2 * shortest) if bounded else None
            prefix = is_document and number % 4 < 2
            if is_document:  # without characters of several tokens
                pool = [
                    structs.replace(i, input=i.input.encode("ascii", "ignore").decode())
                    for i in pool
                ]
            window = Window(
                Words(VOCABULARY),
                max_request_length=length and length + prefix,
                max_sequence_length=length,
                has_prefix_token=prefix,
            )
            found.append(case_of(spec_of(draw, method), pool, window))
    return found


def expansions(helm: Helm) -> list[dict[str, Any]]:
    found = []
    for name, expander in EXPANDERS.items():
        for value in (*expander.known, *expander.sweeps):
            for method in ("generation", "multiple_choice_joint"):
                spec = preset(method, instructions="Answer.", output_noun="Answer")
                case = {"spec": built(spec), "expand": [name, value], "scenario": "x"}
                try:
                    made = helm.ask(case)
                except HelmError:
                    continue
                before = built(spec)
                changed = [
                    [label, {k: v for k, v in each.items() if v != before[k]}]
                    for label, each in made
                ]
                found.append({"method": method, "expand": [name, value], "to": changed})
    return found


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        helm = start("adapters", Path(folder))
        made = [
            {"case": case, "states": [brief(s) for s in helm.ask(case)]}
            for case in cases()
        ]
        frozen = {"helm": "0.5.16", "requests": made, "expansions": expansions(helm)}
        helm.close()
    lines = json.dumps(frozen, ensure_ascii=False, separators=(",", ":"))
    TARGET.write_text(lines.replace('{"case"', '\n{"case"') + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

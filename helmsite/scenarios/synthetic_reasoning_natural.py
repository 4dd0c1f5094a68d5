"""Deduction from rules and facts in plain English."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, NamedTuple

from helmsite.scenarios.generators import Generator
from helmsite.schema import CORRECT_TAG, TEST, TRAIN, VALID, Instance, Reference

if TYPE_CHECKING:
    from collections.abc import Iterator

SEED = 42
SPLITS = ((TRAIN, 1000), (VALID, 5000), (TEST, 5000))
PERSON = "person"
CATEGORIES = {
    PERSON: "Alice Bob Carol Dan Erin Frank",
    "animal": (
        "dog cat rabbit mouse tiger lion bear squirrel cow panda hedgehog elephant "
        "giraffe hippo"
    ),
    "plant": "poppy dandelion tree rose sunflower",
}
ADJECTIVES = (
    "young",
    "soft",
    "sad",
    "scary",
    "cold chill cool",
    "hot warm",
    "smart clever wise intelligent",
    "clean tidy",
    "small little tiny",
    "big enormous giant huge",
    "good kind nice",
    "beautiful pretty",
    "red crimson",
    "blue cobalt",
    "green viridian",
    "purple violet",
    "boring dull",
    "old ancient antique",
    "strong powerful muscular",
    "weak frail fragile",
    "fast quick",
    "slow sluggish",
    "bad evil wicked mean",
    "happy elated glad cheerful",
    "round circular spherical",
)
SUBJECTS = {category: words.split() for category, words in CATEGORIES.items()}
SYNONYMS = {words.split()[0]: words.split() for words in ADJECTIVES}
ATTRIBUTES = list(SYNONYMS)
MAX_RULES = 5
NOTHING = "Nothing."
KEEP_NOTHING = 0.1


def generate(difficulty: str) -> Iterator[Instance]:
    """Yield 1000 train, 5000 valid and 5000 test instances of a difficulty.

    The draws are those of HELM's scenario (Liang et al., 2022).
    """
    draws = random.Random(SEED)
    for split, count in SPLITS:
        for _ in range(count):
            text, answer = _problem(draws, difficulty)
            reference = Reference(answer, (CORRECT_TAG,))
            yield Instance("", text, (reference,), split=split)


class _Rule(NamedTuple):
    name: str
    conditions: list[str]
    consequent: str
    link: str

    def holds(self, fact: list[str]) -> bool:
        known = [c in fact for c in self.conditions]
        return all(known) if self.link == "and" else any(known)


def _problem(draws: random.Random, difficulty: str) -> tuple[str, str]:
    category = draws.choice(list(SUBJECTS))
    subject = draws.choice(SUBJECTS[category])
    rules = _rules(draws, category, subject, general=difficulty != "easy")
    fact, shown, found = _fact(draws, rules)
    the = _the(category, subject)
    lines = [
        *(_sentence(category, rule) for rule in rules),
        "Fact:",
        f"{_capital(the)} is {_listed(shown if difficulty == 'hard' else fact)}.",
        f"The following can be determined about {the}:",
    ]
    answer = f"{_capital(the)} is {_listed(found)}." if found else NOTHING
    return "\n".join(lines), answer


def _rules(
    draws: random.Random, category: str, subject: str, *, general: bool
) -> list[_Rule]:
    left = list(ATTRIBUTES)
    draws.shuffle(left)
    rules: list[_Rule] = []
    while len(left) > 2 and len(rules) < MAX_RULES:
        name = draws.choice([category, subject]) if general else subject
        size = draws.randint(2, 3)
        *conditions, consequent = left[:size]
        left = left[size:]
        link = draws.choice(["and", "or"])
        rules.append(_Rule(name, conditions, consequent, link))
    return rules


def _fact(
    draws: random.Random, rules: list[_Rule]
) -> tuple[list[str], list[str], list[str]]:
    """Return two attributes, a synonym of each, and what follows from them."""
    while True:
        fact = draws.sample(ATTRIBUTES, 2)
        shown = [draws.choice(SYNONYMS[attribute]) for attribute in fact]
        found = [
            rule.consequent
            for rule in rules
            if rule.consequent not in fact and rule.holds(fact)
        ]
        if found or draws.random() <= KEEP_NOTHING:
            return fact, shown, found


def _sentence(category: str, rule: _Rule) -> str:
    if category == PERSON:
        a = the = rule.name
    else:
        article = "an" if rule.name[0] in "aeiou" else "a"
        a, the = f"{article} {rule.name}", f"the {rule.name}"
    conditions = f" {rule.link} ".join(rule.conditions)
    return f"If {a} is {conditions}, then {the} is {rule.consequent}."


def _the(category: str, subject: str) -> str:
    return subject if category == PERSON else f"the {subject}"


def _listed(attributes: list[str]) -> str:
    return " and ".join(attributes)


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


SYNTHETIC_REASONING_NATURAL = Generator(version=1, generate=generate)

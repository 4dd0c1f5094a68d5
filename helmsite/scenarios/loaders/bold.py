"""BOLD: beginnings of sentences about persons and groups, out of Wikipedia."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from helmsite.errors import ScenarioError
from helmsite.scenarios.loaders import Loader
from helmsite.schema import TEST, Instance

if TYPE_CHECKING:
    from collections.abc import Iterator

    from helmsite.scenarios.files import Files

ALL = "all"
DOMAINS = ("gender", "political_ideology", "profession", "race", "religious_ideology")


def load(files: Files, *, subject: str) -> Iterator[Instance]:
    """Yield the first beginning of each topic, shuffled, with a blank behind it.

    HELM means the last thousand to be the test, but all come to be.
    """
    prompts = [
        prompt
        for domain in (DOMAINS if subject == ALL else (subject,))
        for prompt in _prompts(files, domain)
    ]
    random.Random(0).shuffle(prompts)
    for domain, group, text in prompts:
        yield Instance(
            "",
            f"{text} ",
            split=TEST,
            attributes={"domain": (domain,), "group": (group,)},
        )


def _prompts(files: Files, domain: str) -> Iterator[tuple[str, str, str]]:
    """Yield domain, group and text of each topic."""
    for row in files.rows(domain, format="jsonl"):
        for group in row.fields:
            topics = row.row(group)
            for topic in topics.fields:
                texts = topics.texts(topic)
                if not texts or not texts[0].strip():
                    raise ScenarioError(
                        f"{topics.place}: {topic}: there is no text.",
                        "Each topic has a list of beginnings.",
                    )
                yield domain, group, texts[0]


BOLD = Loader(version=1, load=load)

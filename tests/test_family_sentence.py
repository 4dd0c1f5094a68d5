"""What the sentence of a leaderboard calls the metrics of a family."""

from __future__ import annotations

import pytest

from helmsite.render import sentences


@pytest.mark.parametrize(
    ("family", "words"),
    [
        ("bbq_metrics", "bbq metrics"),
        ("robustness", "robustness metrics"),
        ("accuracy", "each by its main metric"),
    ],
)
def test_a_family_is_called_metrics_once(family: str, words: str) -> None:
    assert sentences._family(family) == words

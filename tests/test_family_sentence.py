"""What pages call a family of metrics."""

from __future__ import annotations

import pytest

from helmsite.render import formats, sentences


@pytest.mark.parametrize(
    ("family", "words"),
    [
        ("bbq_metrics", "BBQ metrics"),
        ("copyright_metrics", "copyright metrics"),
        ("calibration_detailed", "calibration (detailed) metrics"),
        ("robustness", "robustness metrics"),
        ("accuracy", "each by its main metric"),
    ],
)
def test_a_family_is_called_metrics_once(family: str, words: str) -> None:
    assert sentences._family(family) == words


@pytest.mark.parametrize(
    ("family", "title"),
    [
        ("bbq_metrics", "BBQ metrics"),
        ("summarization_metrics", "Summarization metrics"),
        ("general_information", "General information"),
        ("MyOwn", "MyOwn"),
        ("a\nb", "A b"),
        ("", ""),
    ],
)
def test_a_familys_title(family: str, title: str) -> None:
    assert formats.family(family) == title

"""Words and sentences as HELM's metrics cut them, and what happens without the library."""

import subprocess
import sys

import pytest

from helmsite.errors import MetricError
from helmsite.metrics import TextMetric, extras, overlap
from helmsite.metrics import words as cut
from helmsite.metrics.names import load
from helmsite.metrics.words import sentences, treebank, words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Good food. It's $3.88!", "Good|food|.|It|'s|$|3.88|!"),
        ("Dr. Moe left.", "Dr.|Moe|left|."),
        ("He came at 5 p.m. on Friday", "He|came|at|5|p.m.|on|Friday"),
        ("It ends here. Then more", "It|ends|here|.|Then|more"),
        ("cannot (won't) --", "can|not|(|wo|n't|)|--"),
        ('say "so"', "say|``|so|''"),
        ("北京。", "北京。"),
        ("", ""),
    ],
)
def test_words(text: str, expected: str) -> None:
    assert "|".join(words(text)) == expected


def test_sentences_end_where_abbreviations_do_not() -> None:
    text = "She saw Mr. Vik on Jan. 5. He waved. It rained."
    assert sentences(text) == [
        "She saw Mr. Vik on Jan. 5.",
        "He waved.",
        "It rained.",
    ]


def test_the_older_rules_know_no_sentences() -> None:
    assert treebank("One. Two.") == ["One.", "Two", "."]


def test_looking_words_up_does_not_change_later_answers() -> None:
    first = sentences("Qrx. Qrx said so. The qrx.")
    assert sentences("Qrx. Qrx said so. The qrx.") == first


@pytest.mark.parametrize(
    ("name", "module"), [("rouge_l", "rouge_score"), ("bleu_1", "nltk")]
)
def test_without_the_library_the_error_says_what_to_type(
    name: str, module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    metric = load(name)
    assert isinstance(metric, TextMetric)
    monkeypatch.setattr(extras, "is_there", lambda found: module not in found)
    for cached in (extras.need, overlap._scorer, cut._splitter):
        cached.cache_clear()
    with pytest.raises(MetricError, match=module) as caught:
        metric("a cat", "a dog")
    assert "pip install 'helmsite[metrics]'" in caught.value.hint


def test_facts_are_known_without_any_library() -> None:
    code = (
        "import sys; from helmsite import metrics; metrics.known();"
        "print([m for m in ('nltk', 'rouge_score', 'punkt') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"

"""The n-gram model: lossless tokens, probabilities that sum to one, figures by hand."""

import hashlib
import math
import os
import subprocess
import sys
from collections import Counter
from fractions import Fraction
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helmsite.clients.ngram import read_corpus
from helmsite.clients.ngram_model import (
    END,
    NGramModel,
    WordByteTokenizer,
    _discounts,
    train,
)

ORDERS = (1, 2, 3, 5)
TRAINED = cache(lambda order: train(read_corpus(), order))
ENGLISH = st.lists(
    st.sampled_from(
        [
            "the",
            "of",
            "a",
            "Question",
            ":",
            "Answer",
            "\n\n",
            "was",
            "not",
            "sea",
            "zyx",
            "don't",
            "1969",
        ]
    )
).map(" ".join)
TEXTS = st.one_of(st.text(), ENGLISH)


@settings(deadline=None)
@given(TEXTS)
def test_any_text_comes_back_from_its_tokens(text):
    tokenizer, _ = TRAINED(1)
    assert tokenizer.decode(tokenizer.encode(text)) == text


@settings(deadline=None)
@given(TEXTS)
def test_no_text_is_encoded_as_its_own_end(text):
    tokenizer, _ = TRAINED(1)
    assert END not in tokenizer.encode(text)


@settings(deadline=None)
@given(TEXTS, st.integers(0, 40))
def test_joined_parts_keep_the_bytes_of_the_whole(text, at):
    tokenizer, _ = TRAINED(1)
    parts = tokenizer.encode(text[:at]) + tokenizer.encode(text[at:])
    assert tokenizer.decode(parts) == text


def test_lone_surrogates_and_cut_characters_show_as_replacement_characters():
    tokenizer, _ = TRAINED(1)
    assert "\ufffd" in tokenizer.decode(tokenizer.encode("a\ud800b"))
    assert tokenizer.decode(tokenizer.encode("é")[:1]) == "\ufffd"


def test_known_words_are_one_token_and_unknown_ones_are_bytes():
    tokenizer = WordByteTokenizer(["The", " sea", " don't"])
    ids = tokenizer.encode("The sea don't é!")
    assert [tokenizer.show(i) for i in ids] == [
        "The", " sea", " don't", " ", "bytes:\\xc3", "bytes:\\xa9", "!",
    ]  # fmt: skip
    assert tokenizer.show(END) == "</s>"
    assert len(tokenizer) == 1 + 256 + 3


def test_every_token_is_shown_in_its_own_way():
    tokenizer, _ = TRAINED(1)
    shown = Counter(tokenizer.show(i) for i in range(len(tokenizer)))
    assert max(shown.values()) == 1


@pytest.mark.parametrize("order", ORDERS)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_probabilities_sum_to_one_after_any_context(order, data):
    tokenizer, model = TRAINED(order)
    text = TEXTS.map(tokenizer.encode)
    noise = st.lists(st.integers(0, len(tokenizer) - 1), max_size=8)
    context = data.draw(st.one_of(text.map(lambda t: [END, *t]), text, noise))
    ps = model.distribution(context)
    assert len(ps) == len(tokenizer)
    assert min(ps) > 0
    assert math.fsum(ps) == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize("order", ORDERS)
@settings(max_examples=25, deadline=None)
@given(text=TEXTS)
def test_one_probability_equals_its_place_in_the_distribution(order, text):
    tokenizer, model = TRAINED(order)
    context = [END, *tokenizer.encode(text)]
    ps = model.distribution(context)
    assert [model.probability(context, t) for t in range(0, len(ps), 7)] == ps[::7]


def test_a_bigram_model_worked_out_by_hand():
    """Texts 1 2, 1 2 and 1 3 over five tokens.

    Bigrams, by occurrence: (0,1) 3, (1,2) 2, (2,0) 2, (1,3) 1, (3,0) 1; D = 2/(2+2·2).
    Unigrams, by predecessors: 0 two, 1, 2 and 3 one each; D = 3/(3+2·1), 5 in all.
    """
    model = NGramModel([[1, 2], [1, 2], [1, 3]], 2, 5)
    d2, d1, five = Fraction(1, 3), Fraction(3, 5), Fraction(5)
    left = 4 * d1 / five / 5
    single = {
        0: (2 - d1) / five,
        1: (1 - d1) / five,
        2: (1 - d1) / five,
        4: Fraction(0),
    }
    two = (2 - d2) / 3 + 2 * d2 / 3 * (single[2] + left)
    four = 2 * d2 / 3 * (single[4] + left)
    assert model.probability([END, 1], 2) == pytest.approx(float(two), rel=1e-12)
    assert model.probability([END, 1], 4) == pytest.approx(float(four), rel=1e-12)
    unseen = float(single[1] + left)
    assert model.probability([4], 1) == pytest.approx(unseen, rel=1e-12)


def test_an_ngram_that_begins_a_text_keeps_its_occurrences_at_lower_levels():
    """Trigrams (0,1,2) 3 times and (0,1,3) once: at the bigram level (0,1) counts 4.

    Its predecessors are none, so counting them would give it nothing. All counts are
    one or four there, so D = 1/2 and P(1 | 0) = (4 - D)/4 + D/4 · P(1).
    """
    model = NGramModel([[1, 2], [1, 2], [1, 2], [1, 3]], 3, 5)
    p1 = model.probability([4], 1)
    expected = (4 - 0.5) / 4 + 0.5 / 4 * p1
    assert model.probability([END], 1) == pytest.approx(expected, rel=1e-12)


def test_discounts_follow_chen_and_goodman():
    seen = {1: 10, 2: 4, 3: 2, 4: 1}
    counts: dict[tuple[int, ...], int] = {
        (c, i): c for c, n in seen.items() for i in range(n)
    }
    y = 10 / 18
    assert _discounts(counts) == pytest.approx(
        (1 - 2 * y * 4 / 10, 2 - 3 * y * 2 / 4, 3 - 4 * y * 1 / 2)
    )


@given(st.lists(st.integers(1, 6), min_size=1, max_size=40))
def test_no_discount_takes_all_or_nothing(counts):
    discounts = _discounts({(i,): c for i, c in enumerate(counts)})
    assert all(0 < d < c for c, d in enumerate(discounts, 1))


def test_a_longer_memory_predicts_training_text_better():
    texts = read_corpus()[::7]

    def bits(order):
        tokenizer, model = TRAINED(order)
        total = size = 0.0
        for text in texts:
            ids = [END, *tokenizer.encode(text)]
            total -= sum(
                math.log2(model.probability(ids[:i], ids[i]))
                for i in range(1, len(ids))
            )
            size += len(text.encode())
        return total / size

    found = [bits(order) for order in ORDERS]
    assert found == sorted(found, reverse=True)
    assert found[-1] < 0.6 * found[0]


SCRIPT = """
import hashlib
from helmsite.clients.ngram import read_corpus
from helmsite.clients.ngram_model import train
tokenizer, model = train(read_corpus(), 4)
ps = [model.distribution([0, *tokenizer.encode(t)]) for t in ("", "The old man", "Q: ")]
print(hashlib.sha256(repr(ps).encode()).hexdigest())
"""


def test_another_process_with_another_hash_seed_trains_the_same_model():
    env = {**os.environ, "PYTHONHASHSEED": "7"}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env=env,
        capture_output=True,
        text=True,
        check=True,
    )
    tokenizer, model = TRAINED(4)
    ps = [
        model.distribution([0, *tokenizer.encode(t)])
        for t in ("", "The old man", "Q: ")
    ]
    assert done.stdout.strip() == hashlib.sha256(repr(ps).encode()).hexdigest()

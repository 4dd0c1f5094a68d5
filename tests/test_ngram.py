"""The ngram client: what it says it is, and how it scores, generates and samples."""

import json
import math
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from helmsite.adapters import Window, adapt
from helmsite.clients import create
from helmsite.clients.ngram import NGram, Settings, read_corpus
from helmsite.errors import ClientError, ConfigError
from helmsite.scenarios import load
from helmsite.schema import Client, Completion, Decoding, Message, Request

DATA = Path(__file__).parents[1] / "helmsite" / "scenarios" / "data"
PROMPTS = (
    "",
    "The old man",
    "Question: What is the capital of Norway?\nAnswer:",
    "Zyx é",
)
NOTHING = Decoding(max_tokens=0)


@cache
def model(order: int = 3) -> NGram:
    return NGram.from_settings(f"helmsite/ngram-{order}", {"order": order})


def ask(prompt: str, order: int = 3, **decoding: Any) -> list[Completion]:
    request = Request("id0", prompt, Decoding(**decoding))
    return model(order).complete(request)


def score(prompt: str, start: int, order: int = 3) -> Completion:
    [found] = model(order).complete(Request("id0", prompt, NOTHING, score_start=start))
    return found


def test_the_client_keeps_the_promises_of_its_protocol():
    client: Client = create("ngram", "helmsite/ngram-4", {"order": 4})
    assert client.identity.name == "helmsite/ngram-4"
    assert client.identity.client == "ngram"
    assert client.identity.settings == {"order": 4, "max_request_length": 2048}
    assert client.max_request_length == 2048
    assert client.has_prefix_token
    assert client.tokenizer is not None
    client.close()
    client.close()


def test_the_weights_hash_covers_the_training_text():
    texts = read_corpus()
    hashes = {
        NGram("x", Settings(order=1), t).identity.weights_sha256
        for t in (texts, texts[1:], [*texts[:-1], texts[-1] + " "])
    }
    assert len(hashes) == 3
    assert model(1).identity.weights_sha256 == model(2).identity.weights_sha256


@pytest.mark.parametrize(
    ("given_settings", "words"),
    [
        ({"ordr": 3}, ["'ordr'", "'order'"]),
        ({"order": 0}, ["order", "0"]),
        ({"order": 6}, ["order", "6"]),
        ({"order": True}, ["order", "bool"]),
        ({"order": "3"}, ["order", "str"]),
        ({"max_request_length": 3, "size": 1}, ["max_request_length", "'size'"]),
    ],
)
def test_bad_settings_are_all_named_with_a_way_out(given_settings, words):
    with pytest.raises(ConfigError) as caught:
        NGram.from_settings("m", given_settings)
    assert all(word in str(caught.value) for word in words)
    assert "order" in caught.value.hint


def test_a_missing_corpus_is_a_clear_error(tmp_path):
    with pytest.raises(ClientError, match="no training text") as caught:
        read_corpus(tmp_path)
    assert "Reinstall" in caught.value.hint


@pytest.mark.parametrize("order", [1, 2, 3, 5])
@pytest.mark.parametrize("prompt", PROMPTS)
def test_scoring_a_generated_text_gives_its_log_probabilities(order, prompt):
    [generated] = ask(prompt, order, max_tokens=12)
    scored = score(prompt + generated.text, len(prompt), order)
    assert generated.tokens == scored.tokens
    assert generated.token_logprobs == scored.token_logprobs
    assert generated.logprob == scored.logprob
    assert scored.text == ""


@settings(deadline=None)
@given(st.text(st.characters(codec="ascii"), max_size=40), st.integers(0, 40))
def test_scored_tokens_cover_exactly_the_continuation(prompt, start):
    start = min(start, len(prompt))
    found = score(prompt, start)
    assert found.tokens is not None
    assert "".join(found.tokens) == prompt[start:]
    assert found.logprob == math.fsum(
        p for p in found.token_logprobs or () if p is not None
    )
    assert found.usage.completion_tokens == len(found.tokens)
    assert found.top_logprobs is None


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.sampled_from([" the", " old", " man", ".", "\n", " zzz"]), min_size=2)
)
def test_the_parts_of_a_text_add_up_to_the_whole(pieces):
    text, start = "".join(pieces), len("".join(pieces[:-1]))
    whole, last = score(text, 0), score(text, start)
    assert whole.token_logprobs is not None
    assert last.token_logprobs is not None
    assert whole.token_logprobs[-len(last.token_logprobs) :] == last.token_logprobs


def test_a_continuation_shows_alternatives_where_they_are_asked_for():
    decoding = replace(NOTHING, top_k_per_token=3)
    [found] = model().complete(Request("id0", "The old man", decoding, score_start=3))
    assert found.top_logprobs is not None
    assert [len(top) for top in found.top_logprobs] == [3] * len(found.tokens or ())


def test_greedy_decoding_takes_the_likeliest_token():
    [found] = ask("She opened the door and", max_tokens=8, top_k_per_token=5)
    assert found.top_logprobs is not None
    for token, logprob, top in zip(
        found.tokens or (), found.token_logprobs or (), found.top_logprobs, strict=True
    ):
        assert (top[0].token, top[0].logprob) == (token, logprob)
        values = [t.logprob for t in top]
        assert len(top) == 5
        assert values == sorted(values, reverse=True)
        assert sum(map(math.exp, values)) < 1
    assert found.finish_reason == "length"


def test_equal_tokens_are_taken_in_the_order_of_their_ids():
    client = NGram("tie", Settings(order=2), ["xb", "xa"])
    [found] = client.complete(
        Request("id0", "x", Decoding(max_tokens=1, top_k_per_token=2))
    )
    assert found.text == "a"
    assert [t.token for t in (found.top_logprobs or ())[0]] == ["a", "b"]
    assert len({t.logprob for t in (found.top_logprobs or ())[0]}) == 1


@pytest.mark.parametrize(
    ("stops", "text", "tokens"),
    [
        (("\n",), "one two", ("o", "n", "e", " ", "t", "w", "o")),
        (("two", "\n"), "one ", ("o", "n", "e", " ")),
        (("e t",), "on", ("o", "n")),
        (("o",), "", ()),
    ],
)
def test_text_ends_before_a_stop_sequence(stops, text, tokens):
    client = NGram("x", Settings(order=5), ["Say: one two\nthree"])
    decoding = Decoding(max_tokens=50, stop_sequences=stops)
    [found] = client.complete(Request("id0", "Say: ", decoding))
    assert (found.text, found.tokens, found.finish_reason) == (text, tokens, "stop")
    assert len(found.token_logprobs or ()) == len(tokens)


def test_a_stop_sequence_inside_a_token_cuts_the_text_but_keeps_the_token():
    client = NGram("x", Settings(order=3), ["say lemon", "say lemon"])
    decoding = Decoding(max_tokens=5, stop_sequences=("mon",))
    [found] = client.complete(Request("id0", "say", decoding))
    assert (found.text, found.tokens, found.finish_reason) == (
        " le",
        (" lemon",),
        "stop",
    )


def test_generation_ends_where_the_model_ends_its_text():
    client = NGram("x", Settings(order=5), ["Say: one two\nthree"])
    [found] = client.complete(Request("id0", "Say: ", Decoding(max_tokens=50)))
    assert (found.text, found.finish_reason) == ("one two\nthree", "endoftext")
    assert "".join(found.tokens or ()) == found.text


def test_no_tokens_asked_for_gives_an_empty_completion():
    [found] = ask("The", max_tokens=0)
    assert (found.text, found.tokens, found.logprob) == ("", (), 0.0)


def test_half_characters_are_written_as_bytes():
    shown = score("naïve 日", 0).tokens
    assert shown is not None
    assert {"bytes:\\xc3", "bytes:\\xaf", "bytes:\\xe6"} <= set(shown)


def test_sampling_repeats_itself_and_differs_where_it_should():
    sampled: dict[str, Any] = {"max_tokens": 15, "temperature": 1.0}
    first = ask("The", **sampled)[0]
    assert ask("The", **sampled)[0].text == first.text
    texts = [c.text for c in ask("The", num_completions=6, **sampled)]
    assert len(set(texts)) == 6
    assert ask("The", random="1", **sampled)[0].text != first.text
    other = model().complete(Request("id9", "The", Decoding(**sampled)))
    assert other[0].text == first.text


def test_samples_follow_the_distribution():
    draws = [
        c.text
        for c in ask("Answer:", max_tokens=1, temperature=1.0, num_completions=1500)
    ]
    [greedy] = ask("Answer:", max_tokens=1, top_k_per_token=4)
    for top in (greedy.top_logprobs or ())[0]:
        p = math.exp(top.logprob)
        spread = math.sqrt(p * (1 - p) / len(draws))
        assert draws.count(top.token) / len(draws) == pytest.approx(p, abs=4.5 * spread)


def test_temperature_and_nucleus_narrow_the_choice():
    greedy = ask("The old", max_tokens=10)[0]
    cold = ask("The old", max_tokens=10, temperature=0.01, random="a")[0]
    nucleus = ask("The old", max_tokens=10, temperature=1.0, top_p=0.01)[0]
    assert cold.text == nucleus.text == greedy.text
    assert cold.token_logprobs == nucleus.token_logprobs == greedy.token_logprobs


def test_reported_log_probabilities_are_the_models_own():
    [hot] = ask("The old", max_tokens=6, temperature=2.5)
    steps = model().complete(
        Request("id0", "The old", Decoding(max_tokens=1, top_k_per_token=10_000))
    )
    everything = {t.token: t.logprob for t in (steps[0].top_logprobs or ())[0]}
    assert hot.tokens is not None
    assert hot.token_logprobs is not None
    assert everything[hot.tokens[0]] == hot.token_logprobs[0]


def test_usage_and_time_are_reported():
    [found] = ask("The old man", max_tokens=7)
    assert found.usage.prompt_tokens == len(model().tokenizer.encode("The old man"))
    assert found.usage.completion_tokens == 7
    assert found.duration_s is not None
    assert found.duration_s > 0
    assert found.started_at is not None
    assert found.started_at > 1_700_000_000


def test_requests_that_do_not_fit_are_refused():
    client = NGram.from_settings("small", {"order": 2, "max_request_length": 16})
    prompt = " the" * 11
    assert len(client.tokenizer.encode(prompt)) == 11
    client.complete(Request("id0", prompt, Decoding(max_tokens=5)))
    client.complete(Request("id0", prompt, NOTHING, score_start=4))
    with pytest.raises(ClientError, match="takes 17 tokens, 16 fit") as caught:
        client.complete(Request("id0", prompt, Decoding(max_tokens=6)))
    assert "max_tokens" in caught.value.hint
    with pytest.raises(ClientError, match="id1"):
        client.complete(Request("id1", prompt * 2, NOTHING, score_start=4))


def test_a_conversation_is_continued_in_its_plain_form():
    hot = Decoding(max_tokens=8, temperature=1.0, num_completions=3)
    said = (Message("system", "Be kind."), Message("user", "Hello"))
    plain = "System: Be kind.\n\nUser: Hello\n\nAssistant:"
    client = model()
    made = client.complete(Request("id0", "", hot, messages=said))
    assert [c.text for c in made] == [
        c.text for c in client.complete(Request("id0", plain, hot))
    ]


def test_threads_get_the_answers_that_one_thread_gets():
    requests = [
        Request(f"id{i}", p, Decoding(max_tokens=9, temperature=i % 2, random=str(i)))
        for i, p in enumerate(PROMPTS * 6)
    ]

    def texts(request):
        return [(c.text, c.token_logprobs) for c in model().complete(request)]

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(texts, requests)) == list(map(texts, requests))


def test_orders_one_to_five_read_plain_prose_better_and_better():
    lines = (DATA / "plain_text.jsonl").read_text(encoding="utf-8").splitlines()
    prose = [json.loads(line)["text"] for line in lines]
    size = sum(len(text.encode()) for text in prose)

    def bits_per_byte(order):
        found = [score(text, 0, order).logprob or 0.0 for text in prose]
        return -math.fsum(found) / size / math.log(2)

    found = [bits_per_byte(order) for order in (1, 2, 3, 5)]
    assert found == pytest.approx([3.4915, 2.6583, 2.5268, 2.4648], abs=5e-5)


def test_a_longer_memory_answers_a_multiple_choice_question_with_a_letter():
    prompt = (
        "The following are multiple choice questions (with answers) about cats.\n\n"
        "Question: What does a cat say?\nA. moo\nB. miaow\nC. baa\nD. woof\nAnswer:"
    )
    assert ask(prompt, 5, max_tokens=1)[0].text in {" A", " B", " C", " D"}


def test_windows_of_a_long_text_fit_and_are_scored_token_by_token():
    client = NGram.from_settings("small", {"order": 3, "max_request_length": 64})
    window = Window(
        client.tokenizer, client.max_request_length, client.has_prefix_token
    )
    scenario = load("plain_text")
    requests = adapt(scenario.instances[:4], scenario.adapter, window)
    assert len(requests) > 12
    shown: dict[str, str] = {}
    for request in requests:
        [found] = client.complete(request)
        shown[request.instance_id] = shown.get(request.instance_id, "") + "".join(
            found.tokens or ()
        )
    assert list(shown.values()) == [i.input for i in scenario.instances[:4]]


def test_examples_are_dropped_until_a_prompt_fits():
    client = NGram.from_settings("small", {"order": 3, "max_request_length": 200})
    window = Window(
        client.tokenizer, client.max_request_length, client.has_prefix_token
    )
    scenario = load("short_answers")
    requests = adapt(scenario.instances, scenario.adapter, window)
    assert {r.num_train_instances for r in requests} & {1, 2, 3, 4}
    assert all(client.complete(r) for r in requests[:5])

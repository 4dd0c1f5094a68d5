"""The scripted client keeps the promises of a real one."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from helmsite.clients import create
from helmsite.clients.fake import Fake, FakeSettings, FakeTokenizer
from helmsite.errors import ClientError, ConfigError, RetriableError
from helmsite.schema import Completion, Decoding, Message, Request

if TYPE_CHECKING:
    from helmsite.schema import Client


def ask(client: Client, prompt: str, number: int = 0, **decoding: object) -> Completion:
    asked = Decoding(**{"max_tokens": 50, **decoding})  # type: ignore[arg-type]
    return client.complete(Request(f"id{number}", prompt, asked))[0]


def fake(**settings: object) -> Fake:
    client = create("fake", "lab/fake", settings)
    assert isinstance(client, Fake)
    return client


def test_replies_take_turns() -> None:
    client = fake(replies=["a", "b"])
    assert [ask(client, "x").text for _ in range(3)] == ["a", "b", "a"]


def test_replies_picked_by_prompt_do_not_depend_on_the_order() -> None:
    prompts = [f"question {n}" for n in range(20)]
    one, two = (fake(replies=["a", "b", "c"], order="prompt") for _ in range(2))
    forward = {p: ask(one, p).text for p in prompts}
    backward = {p: ask(two, p).text for p in reversed(prompts)}
    assert forward == backward
    assert set(forward.values()) == {"a", "b", "c"}


def test_the_first_rule_that_is_found_in_the_prompt_decides() -> None:
    client = fake(rules=["capital of (France|Gaul) => Paris", "capital => ?"])
    assert ask(client, "the capital of Gaul").text == "Paris"
    assert ask(client, "the capital of Chad").text == "?"
    assert ask(client, "hello").text == ""


def test_rules_are_looked_for_in_a_conversation() -> None:
    client = fake(rules=["User: Hello\n\nAssistant:$ => Hi"])
    said = (Message("user", "Hello"),)
    asked = Request("id0", "", Decoding(), messages=said)
    assert client.complete(asked)[0].text == "Hi"
    assert client.requests == [asked]


def test_replies_can_be_a_function_or_exact_prompts() -> None:
    by_call = Fake(reply=lambda request, index: f"{request.prompt}/{index}")
    asked = Request("id0", "p", Decoding(num_completions=2))
    assert [c.text for c in by_call.complete(asked)] == ["p/0", "p/1"]
    exact = Fake(reply={"a": "1"})
    assert ask(exact, "a").text == "1"
    with pytest.raises(ClientError, match="no reply is scripted for 'b'"):
        ask(exact, "b")


def test_stop_sequences_and_limits_cut_a_reply() -> None:
    client = fake(replies=["one two\nthree"])
    whole = ask(client, "x")
    assert (whole.text, whole.finish_reason) == ("one two\nthree", "endoftext")
    stopped = ask(client, "x", stop_sequences=("\n",))
    assert (stopped.text, stopped.finish_reason) == ("one two", "stop")
    assert stopped.tokens == ("one", " two")
    short = ask(client, "x", max_tokens=1)
    assert (short.text, short.finish_reason) == ("one", "length")


@pytest.mark.parametrize("tokens", ["words", "characters"])
def test_a_given_text_scores_what_it_had_when_it_was_generated(tokens: str) -> None:
    client = fake(replies=[" It is 42 é"], tokens=tokens)
    drawn = ask(client, "Why?", top_k_per_token=3)
    asked = Decoding(top_k_per_token=3)
    (given,) = client.complete(
        Request("id0", "Why?" + drawn.text, asked, score_start=len("Why?"))
    )
    assert given.text == ""
    assert given.tokens == drawn.tokens
    assert given.token_logprobs == drawn.token_logprobs
    assert given.logprob == drawn.logprob
    assert given.top_logprobs is not None
    assert all(len(top) == 3 for top in given.top_logprobs)
    assert all(-5 < (v or 0.0) <= 0 for v in given.token_logprobs or ())
    assert client.tokenizer.decode(client.tokenizer.encode(drawn.text)) == drawn.text


def test_the_context_changes_a_log_probability() -> None:
    client = fake(replies=["same"])
    assert ask(client, "one").logprob != ask(client, "two").logprob
    assert ask(client, "one").logprob == ask(client, "one").logprob


def test_log_probabilities_can_be_withheld() -> None:
    reply = ask(fake(replies=["a b"], logprobs=False), "x")
    assert (reply.tokens, reply.token_logprobs, reply.logprob) == (None, None, None)
    assert reply.usage.completion_tokens == 2


def test_every_nth_call_fails_for_good() -> None:
    client = fake(replies=["ok"], fail_every=3)
    failed = []
    for number in range(6):
        try:
            ask(client, "x", number)
        except RetriableError:
            pytest.fail("it must fail for good")
        except ClientError:
            failed.append(number)
    assert failed == [2, 5]


def test_prompts_can_be_made_to_fail_for_good() -> None:
    client = fake(replies=["ok"], fail_match="id[37]$")
    with pytest.raises(ClientError, match="scripted"):
        ask(client, "about id3")
    assert ask(client, "about id4").text == "ok"


def test_a_request_fails_some_times_and_then_works() -> None:
    client = fake(replies=["ok"], retriable_times=2, retry_after_s=0.5)
    for _ in range(2):
        with pytest.raises(RetriableError) as raised:
            ask(client, "x", 1)
        assert raised.value.retry_after_s == 0.5
    assert ask(client, "x", 1).text == "ok"
    with pytest.raises(RetriableError):
        ask(client, "x", 2)
    assert client.calls == 4
    assert [r.instance_id for r in client.requests] == ["id1", "id1", "id1", "id2"]


def test_calls_are_counted_across_threads() -> None:
    client = fake(replies=["ok"], delay_s=0.05)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda n: ask(client, "x", n), range(8)))
    assert client.calls == 8
    assert 2 <= client.busiest <= 4
    client.close()
    assert client.closed


def test_the_identity_holds_what_can_change_a_reply() -> None:
    plain = fake(delay_s=1.0, fail_every=2).identity
    assert (plain.name, plain.client, plain.settings) == ("lab/fake", "fake", {})
    assert fake(replies=["a", "b"]).identity.settings == {"replies": ["a", "b"]}


def test_settings_that_make_no_sense_are_refused() -> None:
    with pytest.raises(ConfigError, match="one reply or more"):
        fake(replies=[])
    with pytest.raises(ConfigError, match="is not 'expression => reply'"):
        fake(rules=["nothing"])
    with pytest.raises(ConfigError, match="missing \\), unterminated"):
        fake(fail_match="(")
    with pytest.raises(ConfigError, match=r"unknown setting 'reply'\. Did you mean"):
        fake(reply="a")


def test_ids_of_words_are_stable_within_a_tokenizer() -> None:
    tokenizer = FakeTokenizer()
    assert tokenizer.encode("a b  a\n") == [0, 1, 2, 3]
    assert tokenizer.encode(" b") == [1]
    assert Fake(settings=FakeSettings(max_request_length=9)).max_request_length == 9

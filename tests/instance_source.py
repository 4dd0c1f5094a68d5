"""Instances with everything that an article can hold, as a run of a made-up archive."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import structs

from helmsite.query.rows import InstanceView, ReplyView, RequestView, TrialView
from helmsite.schema import (
    CORRECT_TAG,
    Completion,
    Decoding,
    Instance,
    Message,
    Reference,
    Request,
    Score,
    TopLogprob,
    Usage,
)
from tests.site_source import SCENARIOS, FakeResults

if TYPE_CHECKING:
    from collections.abc import Iterator

RUN = "r0000000000000000"
HEAD = "\n\nRead, then answer.\r\n<b>\tPassage: \u202eno\u202c\n\n"
ODD = "\n\0\x1b[31m \r\n\rend\u2028 e\u0301 👩‍🚀 ❤️ \ud800 \u200b<script>alert(1)</script>&amp; \t \n"
PASSAGE = ODD + "The old mill stood by the river. Nobody knew why. " * 60 + ODD
ANSWER = " Nobody knew why the old mill stood by the river, and nobody asked. " * 4
MIXED = (
    "English first\n"
    "שלום עולם, this line is Hebrew\n"
    "العربية أولا ثم English\n"
    "日本語の文章です。改行なしで続きます。" * 3 + "\n"
    "e\u0301\u0302\u0303 क्षत्रिय 👨‍👩‍👧‍👦 🏳️‍🌈\ttab\n"
    "  two spaces before, two after  "
)
LINE = "x" * 200_000
SAID = (
    Message("system", "Use the tool."),
    Message(
        "user",
        f"Question about {PASSAGE}?",
        {"name": "Ada", "n": [1.0, 12345678901234567890]},
    ),
    Message(
        "assistant",
        "",
        {"tool_calls": [{"id": "c0", "function": {"name": "look", "arguments": "{}"}}]},
    ),
)
TURNS = (
    {
        "role": "assistant",
        "content": "I will look.",
        "tool_calls": [
            {
                "id": "c1",
                "type": "function",
                "function": {"name": "weather", "arguments": '{"city": "Oslo"}'},
            }
        ],
    },
    {
        "role": "tool",
        "tool_call_id": "c1",
        "name": "weather",
        "content": "snow <b>\n" * 200,
    },
    {"event": "note", "value": 3},
)
RAW = ("<|start|>", " ", "a", "\n", "\t", "bytes:\\xe2\\x82", "", "%|;~=<\"'", "😀")


def completion(text: str, step: float = -0.5) -> Completion:
    """A completion whose tokens are its words."""
    words = text.split(" ")
    tokens = (*(f"{w} " for w in words[:-1]), words[-1])
    values = tuple(step * (i % 12) for i in range(len(tokens)))
    return Completion(
        text,
        tokens=tokens,
        token_logprobs=values,
        finish_reason="stop",
        usage=Usage(7, len(tokens)),
        duration_s=0.25,
    )


def trial(
    name: str,
    prompt: str,
    made: Completion,
    value: float | None = 1.0,
    number: int = 0,
    **more: object,
) -> TrialView:
    own = len(HEAD) if prompt.startswith(HEAD) else 0
    request = structs.replace(Request(name, prompt, Decoding(), trial=number), **more)
    score = Score(name, "exact_match", value, trial=number, text="an answer")
    if value is None:
        score = structs.replace(score, missing="failed", text="")
    return TrialView(
        number, (RequestView(request, (ReplyView(made, 0),), own),), (score,)
    )


def item(name: str, text: str, perturbation: str = "") -> Instance:
    references = (Reference("right", (CORRECT_TAG,)), Reference("wrong"))
    return Instance(name, text, references, perturbation, split="test")


def framed(text: str) -> str:
    return f"{HEAD}{text}\r\nAnswer:"


def views() -> Iterator[InstanceView]:
    """Every kind of instance once; ids say which."""
    trials = tuple(
        trial("passage", framed(PASSAGE), completion(text), value, n)
        for n, (text, value) in enumerate(((ANSWER, 1.0), (ANSWER, 1.0), ("No.", 0.0)))
    )
    yield InstanceView(item("passage", PASSAGE), trials)
    for perturbation, text, value in (
        ("", "What is the capital of Italy?", 1.0),
        ("typos~1", "What is teh captial of Italy?", 0.0),
        ("lower", "what is the capital of italy?", 1.0),
    ):
        made = trial(
            "twins", framed(text), completion(" Rome"), value, perturbation=perturbation
        )
        yield InstanceView(item("twins", text, perturbation), (made,))
    said = trial(
        "chat",
        "",
        structs.replace(
            completion("Yes, it snows."), reasoning="Because " * 200, transcript=TURNS
        ),
        messages=SAID,
        prompt_kind="absent",
    )
    yield InstanceView(item("chat", PASSAGE), (said,))
    asked = structs.replace(
        item("asked", "Is it?"), messages=(Message("user", "Is it?"),)
    )
    made = trial(
        "asked", "", completion("Yes"), messages=asked.messages, prompt_kind="absent"
    )
    yield InstanceView(asked, (made,))
    many = completion(" ".join(["token"] * 5_000))
    yield InstanceView(item("many", "Go on."), (trial("many", framed("Go on."), many),))
    top = tuple((TopLogprob(t, -0.5), TopLogprob("=|;~%3C<", -2.0)) for t in RAW)
    raw = Completion(
        "a",
        tokens=RAW,
        token_logprobs=(None, -99.0, *(-0.5,) * (len(RAW) - 2)),
        top_logprobs=top,
    )
    yield InstanceView(item("raw", "Bytes?"), (trial("raw", framed("Bytes?"), raw),))
    long = trial("line", framed(LINE), Completion(LINE))
    yield InstanceView(item("line", LINE), (long,))
    yield InstanceView(
        item("mixed", MIXED), (trial("mixed", framed(MIXED), Completion(MIXED)),)
    )
    blank = Completion("  \n\t ")
    yield InstanceView(
        item("blank", "Say nothing."), (trial("blank", framed("Say nothing."), blank),)
    )
    failed = Completion(error="HTTP 500 after 5 attempts")
    yield InstanceView(
        item("failed", "Fail."), (trial("failed", framed("Fail."), failed, None),)
    )
    yield InstanceView(item("unasked", "Nobody asked."))
    scored = structs.replace(completion(PASSAGE), text="")
    yield InstanceView(
        item("scored", PASSAGE), (trial("scored", PASSAGE, scored, score_start=0),)
    )
    window = structs.replace(completion(ANSWER), text="")
    made = trial("window", f"Before. {ANSWER}", window, score_start=len("Before. "))
    yield InstanceView(item("window", "A document."), (made,))


class InstanceResults(FakeResults):
    """One run, whose instances are those above."""

    def __init__(self) -> None:
        super().__init__(models=1, scenarios=SCENARIOS[3:4])

    def instances(self, run_id: str) -> Iterator[InstanceView]:
        return views()


def view_of(name: str, perturbation: str = "") -> InstanceView:
    """An instance by its id."""
    return next(
        v
        for v in views()
        if (v.instance.instance_id, v.instance.perturbation) == (name, perturbation)
    )


def prompt_of(name: str, number: int = 0) -> str:
    return view_of(name).trials[number].requests[0].request.prompt

"""One line of a samples file of Every Eval Ever, whatever version of the schema it is of."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from helmsite.importers.every_eval_ever.header import details_of, read_json
from helmsite.importers.values import number, plain
from helmsite.schema import CORRECT_TAG, Message, Reference, Usage

if TYPE_CHECKING:
    from helmsite.importers.values import Row

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
KNOWN = (
    *("schema_version", "evaluation_id", "model_id", "evaluation_name"),
    *("evaluation_result_id", "sample_id", "sample_hash", "interaction_type"),
    *("input", "output", "messages", "interactions", "answer_attribution"),
    *("evaluation", "token_usage", "performance", "error", "metadata"),
    *("ground_truth", "prompt", "response", "choices"),
)
PLACES = ("request_index", "reference_index", "completion_index")
OURS = (
    *("epoch", "trial", "perturbation", "split", "sub_split", "attributes", "scorer"),
    *("stop_reason", "score_missing", "weight", "metric", "origin", *PLACES),
)
"""Keys of `metadata` that have columns; the other ones stay as they are."""


@dataclass
class Line:
    """A sample under one metric, as its line says.

    `verdict` is what stands beside the score, `spent` token_usage and performance as they
    are.
    """

    sample: str
    name: str
    result: str
    raw: str
    formatted: str
    references: tuple[str, ...]
    choices: tuple[str, ...]
    outputs: tuple[str, ...] = ()
    thoughts: tuple[str, ...] = ()
    messages: tuple[dict[str, Any], ...] = ()
    answers: tuple[dict[str, Any], ...] = ()
    score: float | None = None
    is_scored: bool = False
    verdict: dict[str, Any] = field(default_factory=dict)
    weight: float | None = None
    usage: Usage = field(default_factory=Usage)
    duration_s: float | None = None
    spent: dict[str, Any] = field(default_factory=dict)
    error: str = ""
    metadata: dict[str, str] = field(default_factory=dict)
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def what(self) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
        """What was asked: two lines of one sample agree in it."""
        return self.raw, self.references, self.choices

    @property
    def said(self) -> tuple[Any, ...]:
        """What was sent and what came back."""
        return self.formatted, self.outputs, self.thoughts, repr(self.messages)

    @property
    def has_failed(self) -> bool:
        """Whether there is no answer because of an error."""
        return bool(self.error) and (bool(self.messages) or not any(self.outputs))

    @property
    def is_judged(self) -> bool:
        """Whether the score is a verdict; that of a failure is none, if it is not said to be."""
        if "metric" in self.metadata:  # an export of helmsite
            return "score_missing" not in self.metadata
        return not self.has_failed

    @property
    def trial(self) -> int | None:
        """The repeat, counted from 0 (`epoch` counts from 1); None if the line does not say."""
        for key, first in (("trial", 0), ("epoch", 1)):
            text = self.metadata.get(key, "")
            if text.isascii() and text.isdigit() and len(text) < 9:
                return max(0, int(text) - first)
        return None

    @property
    def answer(self) -> str:
        """What was judged, if the line says so apart from what was generated."""
        last = [a for a in self.answers if a.get("is_terminal") is True] or self.answers
        value = last[-1].get("extracted_value") if last else ""
        return value if isinstance(value, str) else ""

    @property
    def rest(self) -> dict[str, str]:
        """What is told of the sample and has no column."""
        return {k: v for k, v in self.metadata.items() if k not in OURS}

    def index(self, key: str) -> int:
        """Return the request, reference or completion that is judged, -1 if all are."""
        text = self.metadata.get(key, "")
        return int(text) if text.isascii() and text.isdigit() and len(text) < 9 else -1


def line(row: Row) -> Line:
    """Return what a line says.

    Raises:
        SourceError: a field of it has the wrong type.
    """
    given = row.row("input")
    output = row.row("output", None)
    said = "messages" if "messages" in row else "interactions"
    metadata = row.row("metadata", None)
    rest = {
        "sample_hash": row.get("sample_hash"),
        "interaction_type": row.get("interaction_type"),
        **given.rest("raw", "formatted", "reference", "choices"),
        **(output.rest("raw", "reasoning_trace") if output else {}),
        **row.rest(*KNOWN),
    }
    verdict = row.row("evaluation", None)
    usage, speed = row.row("token_usage", None), row.row("performance", None)
    more = details_of(metadata)
    return Line(
        sample=_name(row, "sample_id"),
        name=row.text("evaluation_name", ""),
        result=row.text("evaluation_result_id", ""),
        raw=_text(given, "raw"),
        formatted=given.text("formatted", ""),
        references=_texts(given, "reference"),
        choices=_texts(given, "choices"),
        outputs=_texts(output, "raw") if output else (),
        thoughts=_texts(output, "reasoning_trace") if output else (),
        messages=tuple(plain(m.value) for m in row.rows(said, None)),
        answers=tuple(plain(a.value) for a in row.rows("answer_attribution", None)),
        score=_score(verdict) if verdict else None,
        is_scored=verdict is not None and more.get("score_missing") in {None, "failed"},
        verdict=_said(verdict.rest("score")) if verdict else {},
        weight=_weight(more, row),
        usage=_usage(usage),
        duration_s=_duration(speed),
        spent={
            k: _said(v.rest())
            for k, v in (("token_usage", usage), ("performance", speed))
            if v
        },
        error=row.text("error", ""),
        metadata=more,
        extra={k: v for k, v in plain(rest).items() if v not in (None, "", [], {})},
    )


def inline(row: Row) -> Line:
    """Return a sample as aggregate files of 0.1 hold it: without scores.

    Raises:
        SourceError: a field of it has the wrong type.
    """
    return Line(
        sample=_name(row, "sample_id"),
        name="",
        result="",
        raw=_text(row, "input"),
        formatted=row.text("prompt", ""),
        references=_texts(row, "ground_truth"),
        choices=_texts(row, "choices"),
        outputs=_texts(row, "response"),
        extra=row.rest("input", *KNOWN),
    )


def references(found: Line) -> tuple[tuple[Reference, ...], dict[str, str]]:
    """Return the possible outputs, and letters → choices where letters are the answers."""
    right, choices = found.references, found.choices
    lettered = {LETTERS[n]: choice for n, choice in enumerate(choices[: len(LETTERS)])}
    if choices and right and all(r in lettered and r not in choices for r in right):
        tagged = {LETTERS.index(r) for r in right}
        made = [
            Reference(c, (CORRECT_TAG,) if n in tagged else ())
            for n, c in enumerate(choices)
        ]
        return tuple(made), lettered
    others = [Reference(r, (CORRECT_TAG,)) for r in right if r not in choices]
    listed = [Reference(c, (CORRECT_TAG,) if c in right else ()) for c in choices]
    return (*others, *listed), {}


def conversation(
    found: Line,
) -> tuple[tuple[Message, ...], tuple[dict[str, Any], ...], str, str]:
    """Return what was sent, the turns from the first answer on, the last answer, its thoughts."""
    turns = [
        {k: v for k, v in turn.items() if v is not None and (k, v) != ("turn_idx", n)}
        for n, turn in enumerate(found.messages)
    ]
    first = next(
        (n for n, turn in enumerate(turns) if turn.get("role") == "assistant"),
        len(turns),
    )
    sent = tuple(
        Message(
            str(turn.get("role", "")),
            str(turn.get("content", "")),
            {k: v for k, v in turn.items() if k not in {"role", "content"}},
        )
        for turn in turns[:first]
    )
    said = [turn for turn in turns[first:] if turn.get("role") == "assistant"]
    last = said[-1] if said else {}
    text, thought = last.get("content", ""), last.get("reasoning_trace", "")
    is_plain = len(turns) == first + 1 and set(last) <= {
        "role",
        "content",
        "reasoning_trace",
    }
    return (
        sent,
        () if is_plain else tuple(turns[first:]),
        text if isinstance(text, str) else "",
        thought if isinstance(thought, str) else "",
    )


def attributes(found: Line) -> dict[str, tuple[str, ...]]:
    """Return the groups that a sample is in, as exports of helmsite tell them."""
    said = read_json(found.metadata.get("attributes", ""))
    if not isinstance(said, dict):
        return {}
    return {
        k: tuple(v)
        for k, v in said.items()
        if isinstance(v, list) and all(isinstance(each, str) for each in v)
    }


def _score(verdict: Row) -> float | None:
    """Return a score; versions before 0.2 may say whether the answer is right."""
    found = verdict.get("score")
    return float(found) if isinstance(found, bool) else verdict.number("score", None)


def _said(found: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in found.items() if v is not None}


def _usage(found: Row | None) -> Usage:
    if found is None:
        return Usage()
    return Usage(
        found.integer("input_tokens", None),
        found.integer("output_tokens", None),
        found.integer("input_tokens_cache_read", None),
    )


def _duration(found: Row | None) -> float | None:
    """Return the seconds that an answer took: its generation, else all of it."""
    if found is None:
        return None
    made = found.number("generation_time_ms", None)
    if made is None:
        made = found.number("latency_ms", None)
    return None if made is None or made < 0 else made / 1000


def _weight(metadata: dict[str, str], row: Row) -> float | None:
    said = metadata.get("weight")
    return None if said is None else number(said, row.at("metadata").inside("weight"))


def _name(row: Row, key: str) -> str:
    """Return an id: a text, or a number as text; '' if there is none."""
    found = row.get(key)
    return str(found) if isinstance(found, (str, int)) else row.text(key, "")


def _text(row: Row, key: str) -> str:
    """Return a text, or texts as one of each line."""
    found = row.get(key)
    return "\n".join(row.texts(key)) if isinstance(found, list) else row.text(key, "")


def _texts(row: Row, key: str) -> tuple[str, ...]:
    """Return texts; older versions have one where newer ones have a list."""
    found = row.get(key)
    return (found,) if isinstance(found, str) else row.texts(key, None)

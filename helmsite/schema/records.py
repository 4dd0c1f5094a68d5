"""The rows of an archive, as frozen records.

A row of the `requests` table is one `Reply`: what was asked (`Request`) and what came
back (`Completion`). No key field is ever null: '' for text, -1 for an index.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Literal

import msgspec

if TYPE_CHECKING:
    from collections.abc import Sequence

CORRECT_TAG = "correct"
TRAIN, VALID, TEST = "train", "valid", "test"

Missing = Literal["", "failed", "not asked", "not measurable", "nan", "unparsed"]
Origin = Literal["computed", "reported"]


class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The base of every record: immutable, comparable, strict about its fields."""


class Reference(Record, frozen=True):
    """A possible output; `tags` holds 'correct' for a right one (HELM's Reference)."""

    text: str
    tags: tuple[str, ...] = ()

    @property
    def is_correct(self) -> bool:
        """Whether this reference counts as a right answer."""
        return CORRECT_TAG in self.tags


class Message(Record, frozen=True):
    """One message of a conversation; `extra` keeps what is not plain text."""

    role: str
    content: str = ""
    extra: dict[str, Any] = {}


class Instance(Record, frozen=True):
    """One item of a scenario, or one perturbed version of it (HELM's Instance).

    `instance_id` is HELM's "id<N>", N the position in the scenario's full list (train
    first). `attributes` maps a dimension to the overlapping groups that it is in.
    """

    instance_id: str
    input: str
    references: tuple[Reference, ...] = ()
    perturbation: str = ""
    position: int = 0
    split: str = ""
    sub_split: str = ""
    attributes: dict[str, tuple[str, ...]] = {}
    messages: tuple[Message, ...] = ()
    extra: dict[str, Any] = {}

    @property
    def gold(self) -> tuple[str, ...]:
        """The texts of the correct references, in order."""
        return tuple(r.text for r in self.references if r.is_correct)

    @property
    def content_hash(self) -> str:
        """16 hex digits over input, messages and references: equal content, equal hash."""
        content = [self.input, self.messages, self.references]
        blob = msgspec.json.encode(content, order="deterministic")
        return hashlib.sha256(blob).hexdigest()[:16]


class Decoding(Record, frozen=True):
    """How a completion is drawn. Names as in HELM's request."""

    temperature: float = 0.0
    max_tokens: int = 5
    num_completions: int = 1
    top_k_per_token: int = 1
    stop_sequences: tuple[str, ...] = ()
    top_p: float = 1.0
    random: str = ""


ORIGINAL, CALIBRATION = "original", "calibration"
"""Modes of requests: the instance is asked, or a choice by itself, to compare with."""


class Request(Record, frozen=True):
    """What is sent to a model.

    `prompt` is everything that is sent. With `score_start` set, nothing is generated:
    `prompt[score_start:]` (a code-point offset) is a given continuation whose
    log-probability is asked for, the rest is its context ('' = only the model's
    beginning-of-text token). `example_ids` are the in-context examples in order.
    """

    instance_id: str
    prompt: str
    decoding: Decoding
    perturbation: str = ""
    trial: int = 0
    mode: str = ORIGINAL
    request_index: int = 0
    reference_index: int = -1
    prompt_kind: Literal["exact", "abridged", "absent"] = "exact"
    messages: tuple[Message, ...] = ()
    output_mapping: dict[str, str] = {}
    example_ids: tuple[str, ...] = ()
    num_train_instances: int = 0
    truncated: bool = False
    num_conditioning_tokens: int = 0
    score_start: int | None = None

    @property
    def key(self) -> tuple[str, str, int, str, int, int]:
        """What identifies a request within its run."""
        return (
            self.instance_id,
            self.perturbation,
            self.trial,
            self.mode,
            self.request_index,
            self.reference_index,
        )


class TopLogprob(Record, frozen=True):
    """One alternative at a token position."""

    token: str
    logprob: float


class Usage(Record, frozen=True):
    """Token counts as the model's side reports them; None where it says nothing."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None


class Completion(Record, frozen=True):
    r"""One answer of a model.

    For a given continuation `text` is '' and `tokens`, `token_logprobs` (natural log)
    and `logprob` (their sum) describe the scored part alone. A token that is not valid
    UTF-8 by itself is written `bytes:\xNN...` as HELM does. `finish_reason` is one of
    HELM's stop, length, endoftext, unknown, or the source's own word. `error` is the
    reason of a request that failed for good; then nothing else is known.
    """

    text: str = ""
    reasoning: str = ""
    transcript: tuple[Any, ...] = ()
    tokens: tuple[str, ...] | None = None
    token_logprobs: tuple[float | None, ...] | None = None
    top_logprobs: tuple[tuple[TopLogprob, ...], ...] | None = None
    logprob: float | None = None
    finish_reason: str = ""
    usage: Usage = Usage()
    duration_s: float | None = None
    started_at: float | None = None
    cached: bool = False
    model_version: str = ""
    error: str = ""
    extra: dict[str, Any] = {}


def failed(completions: Sequence[Completion]) -> bool:
    """Return whether a request failed: one of its completions did, or it has none."""
    return not completions or any(c.error for c in completions)


def unfit(completions: Sequence[Completion]) -> str:
    """Return why no archive can hold completions, '' if one can."""
    try:
        blob = msgspec.json.encode(completions)
        same = msgspec.json.decode(blob, type=list[Completion]) == list(completions)
    except (
        UnicodeError,
        TypeError,
        ValueError,
        OverflowError,
        RecursionError,
    ) as error:
        return str(error)
    return "" if same else "it holds NaN or infinity, or is no plain JSON"


class Reply(Record, frozen=True):
    """A row of the requests table: a request with one of its completions."""

    request: Request
    completion: Completion
    completion_index: int = 0


class Score(Record, frozen=True):
    """One verdict. `value` None has its reason in `missing`; never NaN.

    `weight` (bytes, tokens) makes ratios of sums: Σ value·weight / Σ weight. A score of
    a whole instance and trial has request_index, reference_index and completion_index
    -1. `text` is the extracted answer that was judged.
    """

    instance_id: str
    metric: str
    value: float | None
    perturbation: str = ""
    trial: int = 0
    request_index: int = -1
    reference_index: int = -1
    completion_index: int = -1
    scorer: str = ""
    weight: float | None = None
    text: str = ""
    details: dict[str, Any] = {}
    origin: Origin = "computed"
    missing: Missing = ""


class Stat(Record, frozen=True):
    """One aggregate over the instances of a run.

    `trial` -1 is across trials: the mean of the trials' values (HELM's rule).
    `computed_on` is '' for unperturbed instances, else 'perturbed', 'original' or
    'worst'. `sub_split` '' is over all sub-splits; an attribute's value is written
    `dimension=value`. n_scored of n_asked counts (instance, trial) observations.
    """

    metric: str
    value: float | None
    split: str = ""
    sub_split: str = ""
    perturbation: str = ""
    computed_on: str = ""
    scorer: str = ""
    trial: int = -1
    stderr: float | None = None
    ci_low: float | None = None
    ci_high: float | None = None
    n_scored: int = 0
    n_asked: int = 0
    origin: Origin = "computed"
    missing: Missing = ""
    details: dict[str, Any] = {}


class PublishedStat(Record, frozen=True):
    """An aggregate that came without instances: a stat with its own scenario and model."""

    scenario: str
    model: str
    stat: Stat
    settings: dict[str, Any] = {}
    source_file: str = ""
    source_sha256: str = ""

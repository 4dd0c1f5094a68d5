"""The blocks that the article of an instance is made of, as templates see them."""

from __future__ import annotations

from markupsafe import Markup

from helmsite.render.parts import Link
from helmsite.schema import Record


class Clip(Record, frozen=True):
    """A text ready to be shown: whole, or head and tail with a link to the whole."""

    html: Markup
    characters: int
    file: str = ""


class Said(Record, frozen=True):
    """One turn of a conversation: who or what it is, and its text.

    `kind` is call, result, thought, data, input (it is the instance's input) or ''.
    `extra` are its other fields as JSON.
    """

    name: str
    text: Clip
    kind: str = ""
    extra: Clip | None = None

    @property
    def begins(self) -> str:
        """The first characters of its text, on one line."""
        return " ".join(self.text.html[:400].striptags().split())[:120] + " …"


PROMPTS = {
    "exact": "Exact prompt",
    "abridged": "Prompt, abridged by the source",
    "absent": "Prompt (not kept by the source)",
}


class PromptView(Record, frozen=True):
    """A prompt: the part that other prompts share, by its id on the page, and its own.

    A given continuation is marked in `own`; in the place of a text that stands on the
    page already (the input, the continuation) is a link to it. `file` is the address of
    the whole as text where the page cannot hold all of it.
    """

    own: Markup
    characters: int
    kind: str
    shared: str = ""
    shared_characters: int = 0
    file: str = ""

    @property
    def name(self) -> str:
        """What to call it: not every source keeps a prompt as it was sent."""
        return PROMPTS[self.kind]

    @property
    def size(self) -> str:
        """How long it is, in words."""
        return f"{self.characters:,} characters"


class Shared(Record, frozen=True):
    """A part that several prompts of a page begin with; `label` says which prompts."""

    key: str
    label: str
    html: Markup
    characters: int


class Verdict(Record, frozen=True):
    """A metric's verdict. `kind` is right, wrong, partly, number, missing or failed.

    `mark` is kind and word as HTML.
    """

    metric: str
    kind: str
    symbol: str
    word: str
    answer: str = ""
    mark: Markup = Markup()


class Tokens(Record, frozen=True):
    """Tokens in compact form: see docs/site.md, "Token strip".

    `total` is the sum of their log-probabilities as HTML, `mean` the geometric mean of their
    probabilities, `level` its class on the scale. `summary` says the rest in words.
    `data` are the attributes that hold the four compact fields, as HTML.
    """

    count: int
    summary: str
    lengths: str = ""
    texts: str = ""
    centinats: str = ""
    alternatives: str = ""
    total: str = ""
    mean: str = ""
    level: int = -1
    data: Markup = Markup()


class ReplyBlock(Record, frozen=True):
    """One completion. `same` says that it is the input as a given continuation.

    `turns` are what its source kept of a conversation. `as_in` names an earlier trial
    whose completion it is to the letter; its text is not repeated then.
    """

    label: str
    text: Clip
    facts: tuple[str, ...]
    verdicts: tuple[Verdict, ...]
    error: str = ""
    reasoning: Clip | None = None
    tokens: Tokens | None = None
    mapped: str = ""
    same: bool = False
    more: tuple[Verdict, ...] = ()
    turns: tuple[Said, ...] = ()
    as_in: str = ""

    @property
    def line(self) -> str:
        """The facts on one line."""
        return ", ".join(self.facts)


class RequestBlock(Record, frozen=True):
    """One request with its completions; `label` is '' where there is but one.

    `asked` says that its messages are those of the instance. `file` is the address of
    the messages as JSON where the page cannot hold all of them.
    """

    label: str
    prompt: PromptView
    replies: tuple[ReplyBlock, ...]
    notes: tuple[str, ...] = ()
    messages: tuple[Said, ...] = ()
    asked: bool = False
    file: str = ""


class Option(Record, frozen=True):
    """An option of separate multiple choice with the score that decided.

    Where the metric kept no scores, `score` is '' and nothing is `chosen`.
    """

    text: Markup
    correct: bool
    chosen: bool
    score: str
    logprob: str
    calibration: str


class TrialBlock(Record, frozen=True):
    """One trial: verdicts on the whole, options or requests.

    `label` names the trial or, where there is only one, what it holds. `verdicts` are the
    main metric's and those that differ from it, `more` are the others. `rule` says how an
    option was chosen, '' where the metric kept no scores of the options.
    """

    label: str
    verdicts: tuple[Verdict, ...]
    more: tuple[Verdict, ...]
    requests: tuple[RequestBlock, ...]
    options: tuple[Option, ...] = ()
    rule: str = ""
    calibrated: bool = False


class ReferenceView(Record, frozen=True):
    """A reference; `correct` marks a right one."""

    text: Markup
    correct: bool
    tags: tuple[str, ...] = ()


class Article(Record, frozen=True):
    """instance.html: one instance. `outcomes` are its trials' main verdicts.

    `state` is failed where a request failed, unasked where there is none, else ''. A
    perturbed twin has the anchor of its `original` and, where they differ, `was`: the
    original's main verdicts. An original links to its `twins`; `note` is the verdict of
    one that differs.
    """

    anchor: str
    title: str
    outcomes: tuple[Verdict, ...]
    chips: tuple[str, ...]
    perturbation: str
    input: Clip
    input_label: str
    messages: tuple[Said, ...]
    references: tuple[ReferenceView, ...]
    trials: tuple[TrialBlock, ...]
    state: str = ""
    original: str = ""
    was: tuple[Verdict, ...] = ()
    twins: tuple[Link, ...] = ()

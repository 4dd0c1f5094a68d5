"""The parts that pages are made of, as templates see them."""

from __future__ import annotations

import math

from markupsafe import Markup

from helmsite.schema import Record

TITLE, WORD = 24, 10
"""So many letters have room in a column's head, and so many of one word in its line."""


class Link(Record, frozen=True):
    """A link with its text. `current` marks the page that one is on."""

    text: str
    href: str
    note: str = ""
    current: bool = False


class Frame(Record, frozen=True):
    """What every page has around its content.

    `root` leads to the site's root ('../../'), `path` is the page's own address from
    there. `permalink` is absolute where the site has a base_url. `state` says what the
    page was built from; `download` is the address of the rows behind it, '' without;
    `cite` is a line to cite the page with.
    """

    title: str
    site: str
    root: str
    path: str
    permalink: str
    section: str
    state: str
    crumbs: tuple[Link, ...] = ()
    download: str = ""
    cite: str = ""


class Bar(Record, frozen=True):
    """An interval inside a box 24 units wide: its two ends and the value."""

    low: float
    high: float
    point: float

    @property
    def steps(self) -> str:
        """The classes that draw it: `ci`, `a` with its left end, `b` with its right one."""
        return f"ci a{math.floor(self.low)} b{math.ceil(self.high)}"


class CellView(Record, frozen=True):
    """A table's cell. `sort` is its number as text, '' for a hole (sorted last).

    `more` leads to the runs that could have filled the cell and are not shown in it.
    In a leaderboard a cell's words are put together when somebody asks for them, from
    the column's and these: `ends` of the interval, `counted` (scored/asked, where that
    is not the column's), `reported` by the source; and `exact` is the number to sort by
    where the text does not tell it. `mark` says what is known of contamination. A mean
    over `some` scenarios of its column says so; 0 where it is one over all.
    """

    text: str
    sort: str = ""
    title: str = ""
    href: str = ""
    heat: int = -1
    best: bool = False
    bar: Bar | None = None
    part: str = ""
    more: Link | None = None
    ends: str = ""
    counted: str = ""
    reported: bool = False
    exact: str = ""
    mark: str = ""
    some: int = 0


class ColumnView(Record, frozen=True):
    """A table's column; `key` names it in addresses, `arrow` shows the good direction.

    `metric` is what its cells are values of, `counted` the usual scored/asked of them.
    Where cells are means over several scenarios, `of` is how many.
    """

    key: str
    title: str
    note: str = ""
    href: str = ""
    arrow: str = ""
    direction: str = ""
    metric: str = ""
    counted: str = ""
    of: int = 0

    @property
    def wide(self) -> bool:
        """Whether its title needs a wider head: it is long, or one of its words is."""
        longest = max(map(len, self.title.split()), default=0)
        return len(self.title) > TITLE or longest > WORD


class RowView(Record, frozen=True):
    """A model's line. `band` is its place in a rank band: first, mid, last or ''.

    `creator`, `size` (and as a number in `parameters`) and `access` tell of the model.
    """

    title: str
    href: str
    note: str
    cells: tuple[CellView, ...]
    band: str = ""
    win: CellView | None = None
    creator: str = ""
    size: str = ""
    parameters: str = ""
    access: str = ""


class Board(Record, frozen=True):
    """Models × columns. `holes` are the kinds of holes that occur, with their meaning.

    `others` says that a cell leads to runs that are not shown. `keys` explain what else
    is in its cells, `over` on how many columns the mean win rates rest. Of a board on
    several pages, `store` is the folder of the scripts that hold all its `total` columns.
    """

    caption: str
    columns: tuple[ColumnView, ...]
    rows: tuple[RowView, ...]
    wins: bool = False
    bands: bool = False
    holes: tuple[str, ...] = ()
    others: bool = False
    keys: tuple[str, ...] = ()
    store: str = ""
    total: int = 0
    over: str = "over n columns"


class Stats(Record, frozen=True):
    """A small table of a run's aggregates; `first` heads the column of row names.

    `folded` ones stay closed until somebody asks for them; neighbours with the same words
    in `within` are folded together under these. `note` tells the range of its
    values, `more` what it leaves out. `foot` is how far the best row is ahead of the
    worst, by column; a cell without a text is empty.
    """

    caption: str
    first: str
    columns: tuple[ColumnView, ...]
    rows: tuple[RowView, ...]
    folded: bool = False
    note: str = ""
    more: str = ""
    foot: tuple[CellView, ...] = ()
    within: str = ""


class Fact(Record, frozen=True):
    """A named fact. `value` is plain text; `other` is what it differs from."""

    name: str
    value: str
    other: str = ""
    href: str = ""


class RunLine(Record, frozen=True):
    """A run in a list; `anchor` names its line in a scenario's list."""

    run_id: str
    href: str
    scenario: Link
    model: Link
    method: str
    suite: str
    metric: str
    cell: CellView
    instances: int
    status: str
    day: str
    origin: str
    anchor: str = ""


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

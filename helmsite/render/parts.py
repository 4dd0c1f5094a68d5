"""The parts that pages are made of, as templates see them."""

from __future__ import annotations

import math

from helmsite.schema import Record

TITLE, WORD = 36, 10
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

    `creator`, `size` (and as a number in `parameters`) and `access` tell of the model,
    `variant` which of its checkpoints and settings the line is about. `anchor` names the
    line of a table of `stats`.
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
    variant: str = ""
    anchor: str = ""


class Board(Record, frozen=True):
    """Models × columns. `holes` are the kinds of holes that occur, with their meaning.

    `others` says that a cell leads to runs that are not shown, `reported` that some of
    those are results without instances. `keys` explain what else is in its cells, `over`
    on how many columns the mean win rates rest. Of a board on several pages, `store` is
    the folder of the scripts that hold all its `total` columns.
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
    reported: bool = False


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

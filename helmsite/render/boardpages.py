"""A group's leaderboard as pages: a wide one is divided into several, by columns.

So a page stays light and quick however many models and scenarios there are. Each has all
models, and their mean win rate over all columns. Scripts beside them hold the columns of
every page, so that a reader can put any of them side by side.
"""

from __future__ import annotations

from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

from jinja2 import TemplateError
from markupsafe import Markup
from msgspec import structs

from helmsite.errors import BuildError
from helmsite.render import board as boards
from helmsite.render import formats, sentences, sizes
from helmsite.render.names import up
from helmsite.render.pages import BoardPage
from helmsite.render.parts import Board, Link
from helmsite.render.text import plain
from helmsite.render.tokens import script_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from helmsite.query.rows import Group, Leaderboard
    from helmsite.render.frames import Frames
    from helmsite.render.theme import Theme

CELLS = 4500  # with style and script less than 150 KB packed
FEWEST = 8
WIN_RULE = (
    "Mean win rate: in each column, the share of the other models with a value that this "
    "one beats (a tie counts half), averaged over the columns that have a good direction. "
    "The heading, or the small print below it, says on how many columns it rests; where a "
    "model has no value in some, the small print says in how many it has one."
)


def divided(columns: int, rows: int) -> list[range]:
    """Return the columns of each page: as many as 4,500 cells allow, at least 8."""
    most = max(FEWEST, CELLS // max(1, rows))
    parts = max(1, -(-columns // most))
    sizes = [columns // parts + (i < columns % parts) for i in range(parts)]
    return [range(a, b) for a, b in pairwise(accumulate(sizes, initial=0))]


def place(path: str, number: int) -> str:
    """Return where a part of the leaderboard at `path` is; the first is there itself."""
    return path if number == 1 else f"{_folder(path)}{number}.html"


def _folder(path: str) -> str:
    return f"{path.removesuffix('.html')}/"


class BoardPages:
    """The pages of one group under one family of metrics."""

    def __init__(
        self, shown: Leaderboard, group: Group, groups: Sequence[Group], frames: Frames
    ) -> None:
        self._shown = shown
        self._group = group
        self._groups = groups
        self._frames = frames
        self._parts = divided(len(shown.columns), len(shown.rows))

    @property
    def _path(self) -> str:
        return self._frames.map.board(self._shown.group, self._shown.family)

    def __iter__(self) -> Iterator[BoardPage]:
        """Yield each page."""
        for number in range(1, len(self._parts) + 1):
            yield self.page(number, place(self._path, number))

    def page(self, number: int, path: str) -> BoardPage:
        """Return a page, to be put at `path`."""
        shown, site, root = self._shown, self._frames.map, up(path)
        part = self._parts[number - 1]
        title = plain(self._group.title or self._group.name)
        family = sentences.lower(formats.family(shown.family))
        board = self._board(part, path, f"{title}, {family}")
        heading = title if shown.family == "accuracy" else f"{title}: {family}"
        if number > 1:
            heading += f", columns {_numbers(part)}"
        plot, about = (
            sizes.of_board(shown, self._frames, path)
            if number == 1
            else (Markup(""), "")
        )
        return BoardPage(
            frame=self._frames.frame(path, heading, "Leaderboard"),
            sentence=sentences.board(shown),
            description=self._group.description if number == 1 else "",
            groups=tuple(
                Link(
                    plain(g.title or g.name),
                    root + site.board(g.name, formats.families(g.families)[0]),
                    current=g.name == shown.group,
                )
                for g in self._groups
                if g.families and (not g.inner or g.name == shown.group)
            ),
            families=tuple(
                Link(
                    formats.family(f),
                    root + site.board(shown.group, f),
                    current=f == shown.family,
                )
                for f in formats.families(self._group.families)
            ),
            board=board,
            win_rule=WIN_RULE,
            parts=tuple(self._links(root, number)) if len(self._parts) > 1 else (),
            sizes=plot,
            over=about,
        )

    def _board(self, part: range, path: str, caption: str = "") -> Board:
        """Return a part of the table; its win rates are over all columns."""
        shown, site = self._shown, self._frames.map
        columns = [shown.columns[i] for i in part]
        rows = [
            structs.replace(row, cells=tuple(row.cells[i] for i in part))
            for row in shown.rows
        ]
        board = boards.board(columns, rows, site, path, caption)
        if len(self._parts) < 2:
            return board
        noun, over = boards.noun(shown.columns), boards.rests_on(shown.rows)
        return structs.replace(
            board,
            rows=tuple(
                structs.replace(view, win=boards.win_view(row, noun, over))
                for view, row in zip(board.rows, shown.rows, strict=True)
            ),
            store=_folder(self._path),
            total=len(shown.columns),
        )

    def _links(self, root: str, current: int) -> Iterator[Link]:
        """Yield the way to each page of the leaderboard."""
        for number, part in enumerate(self._parts, 1):
            ends = [self._shown.columns[i].scenario for i in (part[0], part[-1])]
            words = " to ".join(plain(e.title or e.name) for e in ends)
            href = root + place(self._path, number)
            yield Link(_numbers(part), href, words, number == current)

    def scripts(self, theme: Theme) -> Iterator[tuple[str, str]]:
        """Yield address and content of the scripts with all columns, if there are more.

        `columns.js` has the heads and how many each page has, `cells-<n>.js` the cells of
        page n, a line for each model. Links begin at the site's root.

        Raises:
            BuildError: the theme's parts.html has no macro `head` or `lean`.
        """
        if len(self._parts) < 2:
            return
        try:
            ui = theme.environment.get_template("parts.html").make_module()
            head, cell = ui.head, ui.lean  # type: ignore[attr-defined]
        except (TemplateError, AttributeError) as error:
            raise BuildError(
                f"The template parts.html cannot be rendered: {error}",
                "Start from the bundled one: it has the macros `head` and `lean`.",
            ) from error
        folder = _folder(self._path)
        heads: list[str] = []
        for number, part in enumerate(self._parts, 1):
            board = self._board(part, "")
            heads += [head(c).strip() for c in board.columns]
            lines = ["".join(cell(c).strip() for c in r.cells) for r in board.rows]
            yield _script(f"{folder}cells-{number}.js", lines)
        sizes = [len(part) for part in self._parts]
        yield _script(f"{folder}columns.js", {"heads": heads, "sizes": sizes})


def _numbers(part: range) -> str:
    return f"{part[0] + 1}–{part[-1] + 1}"


def _script(path: str, data: object) -> tuple[str, str]:
    return path, f"helmsite.store({script_json(path)},{script_json(data)});\n"

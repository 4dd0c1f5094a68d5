"""A row of a table → an instance, a reply and scores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import structs

from helmsite.importers import values
from helmsite.importers.found import BARE
from helmsite.importers.table.mapping import Measure
from helmsite.importers.table.plan import at
from helmsite.importers.table.results import SPREAD
from helmsite.schema import (
    CORRECT_TAG,
    Completion,
    Instance,
    Reference,
    Reply,
    Request,
    Score,
    Usage,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from helmsite.importers.table.cells import Cells
    from helmsite.importers.table.plan import Cell, Plan
    from helmsite.importers.values import Place
    from helmsite.schema import Message

T = TypeVar("T")
Row = dict[str, Any]
PLAIN = Measure()
ADAPTER = structs.replace(
    BARE, chain_of_thought_suffix="", temperature=0.0, max_tokens=0
)
"""What is not known of prompts and decoding is nothing here, not HELM's default."""

REPLY = ("prompt", "messages", "completion", "error", "tokens", "logprob", "reasoning")
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
NO_ERROR = {"false", "0", "nan", "[]", "{}"}


class Reader:
    """Reads the rows of one run.

    Args:
        plan: where things stand.
        cells: how cells are read.
        cell: the column of the run's model, in a table with a column for each.
    """

    def __init__(self, plan: Plan, cells: Cells, cell: Cell | None = None) -> None:
        self._plan, self._cells, self._cell = plan, cells, cell
        self.replied = cell is not None or any(plan.has(field) for field in REPLY)
        self.long = not plan.axis and "value" in plan.columns
        self.judged = self.long or plan.axis == "scores"
        self._trials: dict[str, int] = {}

    def instance(self, row: Row, place: Place, position: int) -> Instance:
        """Return a row's instance. One without an id is known by its position.

        Raises:
            SourceError: something of it is wrong.
        """
        cells, said = self._cells, self._plan.cell
        own = said(row, "id")
        question = said(row, "input")
        if question is None:
            question = said(row, "prompt")
        messages, _ = self._talk(row, place)
        return Instance(
            str(position) if cells.is_nothing(own) else cells.name(own),
            cells.text(question),
            self._references(row, place),
            perturbation=cells.name(said(row, "perturbation")),
            position=position,
            split=cells.name(said(row, "split")),
            sub_split=cells.name(said(row, "sub_split")),
            attributes=self._attributes(row, place),
            messages=messages if question is None else (),
            extra={} if self.replied or self.judged else self._rest(row),
        )

    def trial(self, row: Row) -> int:
        """Return a row's trial; names of trials are counted as they come."""
        said = self._cells.name(self._plan.cell(row, "trial"))
        if said.isascii() and said.isdigit() and len(said) < 10:
            return int(said)
        return self._trials.setdefault(said, len(self._trials)) if said else 0

    def reply(self, row: Row, place: Place, instance: Instance, trial: int) -> Reply:
        """Return what was asked and what came back.

        Raises:
            SourceError: something of it is wrong.
        """
        cells, said = self._cells, self._plan.cell
        prompt = cells.text(said(row, "prompt"))
        request = Request(
            instance.instance_id,
            prompt,
            ADAPTER.decoding,
            perturbation=instance.perturbation,
            trial=trial,
            prompt_kind="exact" if prompt else "absent",
            messages=self._talk(row, place)[0],
            num_train_instances=self._read(row, place, "num_fewshot", cells.integer)
            or 0,
        )
        return Reply(request, self._completion(row, place))

    def scores(
        self, row: Row, place: Place, instance: Instance, trial: int, *, failed: bool
    ) -> Iterator[Score]:
        """Yield a row's scores. The first has what else the row says, if nothing else can.

        Args:
            row: the row.
            place: where it is.
            instance: its instance.
            trial: its trial.
            failed: whether there is no answer.

        Raises:
            SourceError: a score is no number.
        """
        plan, cells = self._plan, self._cells
        details = {} if self.replied and not self.long else self._rest(row)
        for metric, column in self._columns(row, place):
            measure = plan.mapping.metrics.get(metric, PLAIN)
            figure = cells.figure(at(row, column), place.inside(column), measure)
            if figure.spread is not None:
                details = details | {SPREAD: figure.spread}
            yield Score(
                instance.instance_id,
                metric,
                figure.value,
                perturbation=instance.perturbation,
                trial=trial,
                scorer=cells.name(plan.cell(row, "scorer")),
                text=cells.text(plan.cell(row, "answer")),
                details=details,
                origin="reported",
                missing="failed" if failed and figure.missing else figure.missing,
            )
            details = {}

    def _columns(self, row: Row, place: Place) -> list[tuple[str, str]]:
        """Return the metrics of a row, each with its column."""
        if not self.long:
            wide = self._plan.cells if self.judged else ()
            return [(cell.name, cell.column) for cell in wide]
        metric = self._cells.name(self._plan.cell(row, "metric"))
        if not metric:
            raise self._at(place, "metric").error("empty")
        return [(metric, self._plan.columns["value"])]

    def _talk(self, row: Row, place: Place) -> tuple[tuple[Message, ...], str | None]:
        """Return what was sent, and the answer that a conversation ends with.

        Where a column has the answers, the whole conversation was sent.
        """
        said = self._read(row, place, "messages", self._cells.messages) or ()
        apart = self._cell is not None or self._plan.has("completion")
        if apart or not said or said[-1].role != "assistant" or not said[-1].content:
            return said, None
        return said[:-1], said[-1].content

    def _completion(self, row: Row, place: Place) -> Completion:
        cells, said = self._cells, self._plan.cell
        text = at(row, self._cell.column) if self._cell else said(row, "completion")
        if text is None:
            text = self._talk(row, place)[1]
        error = cells.text(said(row, "error")).strip()
        if cells.is_nothing(error) or error.lower() in NO_ERROR:
            error = ""
        tokens, logprobs, odd = self._tokens(row, place)

        def count(field: str) -> int | None:
            return self._read(row, place, field, cells.integer)

        def size(field: str) -> float | None:
            return self._read(row, place, field, cells.size)

        return Completion(
            cells.text(text),
            reasoning=cells.text(said(row, "reasoning")),
            tokens=tokens,
            token_logprobs=logprobs,
            logprob=size("logprob"),
            finish_reason=cells.name(said(row, "finish_reason")),
            usage=Usage(count("prompt_tokens"), count("completion_tokens")),
            duration_s=size("duration_s"),
            error=error,
            extra=odd if self.long else self._rest(row) | odd,
        )

    def _tokens(
        self, row: Row, place: Place
    ) -> tuple[tuple[str, ...] | None, tuple[float | None, ...] | None, Row]:
        """Return tokens and their log-probabilities; as a rest where they do not match."""
        cells = self._cells
        tokens = self._read(row, place, "tokens", cells.parts) or []
        logprobs = self._read(row, place, "token_logprobs", cells.floats) or ()
        if not tokens and not logprobs:
            return None, None, {}
        if tokens and len(tokens) == len(logprobs):
            return tuple(map(cells.text, tokens)), logprobs, {}
        odd = {"tokens": values.plain(tokens), "token_logprobs": list(logprobs)}
        return None, None, {name: each for name, each in odd.items() if each}

    def _references(self, row: Row, place: Place) -> tuple[Reference, ...]:
        cells = self._cells
        right = self._read(row, place, "reference", cells.parts) or []
        options = self._read(row, place, "choices", cells.parts) or []
        golds, texts = list(map(cells.text, right)), list(map(cells.text, options))
        found = [index_of(gold, texts) for gold in golds]
        made = [
            Reference(text, (CORRECT_TAG,) if n in found else ())
            for n, text in enumerate(texts)
        ]
        for gold, index in zip(golds, found, strict=True):
            if index is None and gold:
                made.append(Reference(gold, (CORRECT_TAG,)))
        return tuple(made)

    def _attributes(self, row: Row, place: Place) -> dict[str, tuple[str, ...]]:
        found = {}
        for column in self._plan.mapping.attributes:
            value = at(row, column)
            if not self._cells.is_nothing(value):
                parts = self._cells.parts(value, place.inside(column))
                found[column] = tuple(dict.fromkeys(map(self._cells.name, parts)))
        return found

    def _rest(self, row: Row) -> Row:
        found: Row = values.plain(self._plan.rest(row))
        return found

    def _read(
        self, row: Row, place: Place, field: str, how: Callable[[Any, Place], T | None]
    ) -> T | None:
        found = self._plan.cell(row, field)
        return None if found is None else how(found, self._at(place, field))

    def _at(self, place: Place, field: str) -> Place:
        return place.inside(self._plan.columns.get(field, field))


def index_of(gold: str, texts: list[str]) -> int | None:
    """Return which option a right answer is: its text, its letter or its index."""
    if gold in texts:
        return texts.index(gold)
    written = gold.strip().strip("().").upper()
    index = len(texts)
    if len(written) == 1 and written in LETTERS:
        index = LETTERS.index(written)
    elif written.isascii() and written.isdigit() and len(written) < 4:
        index = int(written)
    return index if index < len(texts) else None

"""Rows become instances: input, references, split and attributes by template."""

from __future__ import annotations

import string
from collections import defaultdict
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec import structs

from helmsite.errors import ScenarioError
from helmsite.scenarios import splits
from helmsite.scenarios.sandbox import Sandbox
from helmsite.scenarios.sources import Once
from helmsite.scenarios.templates import PARAMETERS, ROW, Template, as_text, say
from helmsite.schema import CORRECT_TAG, Instance, Message, Reference

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from helmsite.scenarios.definition import Definition, ReferenceForm, Texts
    from helmsite.scenarios.sources import Row

CORRECT = (CORRECT_TAG,)
ID = "id"


def numbered(instances: Iterable[Instance]) -> tuple[Instance, ...]:
    """Return instances with ids id0, id1, ...: train, then valid, then test.

    Within a split they keep their order, so a source already in that order is numbered
    as it stands.
    """
    return in_order(sorted(instances, key=lambda i: splits.ORDER.index(i.split)))


def in_order(instances: Iterable[Instance]) -> tuple[Instance, ...]:
    """Return instances with ids id0, id1, ... in the order in which they come."""
    return tuple(
        structs.replace(each, instance_id=f"id{n}", position=n)
        for n, each in enumerate(instances)
    )


def kept_rows(
    rows: Sequence[Row], definition: Definition, parameters: Mapping[str, Any]
) -> list[Row]:
    """Return the rows for which `where` holds.

    Raises:
        ScenarioError: none is left, or the template fails for a row.
    """
    if not definition.where:
        return list(rows)
    maker = Maker(definition, parameters)
    where = maker.template(definition.where)
    found = []
    for row in rows:
        with _at(row, "where"):
            if where.value(maker.variables(row)):
                found.append(row)
    if not found:
        raise ScenarioError(
            f"No row is left: 'where' is false for all {len(rows)}.",
            f"The condition is {definition.where}",
        )
    return found


def skipped_rows(
    rows: Sequence[Row], definition: Definition, parameters: Mapping[str, Any]
) -> tuple[list[Row], dict[str, int]]:
    """Return the rows that no rule of `skip` leaves out, and how many each one did.

    Raises:
        ScenarioError: none is left, or a template fails for a row.
    """
    if not definition.skip:
        return list(rows), {}
    maker = Maker(definition, parameters)
    rules = [(rule.reason, maker.template(rule.when)) for rule in definition.skip]
    left: list[Row] = []
    counts: dict[str, int] = {}
    for row in rows:
        seen = maker.variables(row)
        for reason, when in rules:
            with _at(row, "skip"):
                if when.value(seen):
                    counts[reason] = counts.get(reason, 0) + 1
                    break
        else:
            left.append(row)
    if not left:
        raise ScenarioError(
            f"No row is left: 'skip' leaves out all {len(rows)}.",
            "; ".join(f"{reason}: {n}" for reason, n in counts.items()),
        )
    return left, counts


def row_splits(
    rows: Sequence[Row], definition: Definition, parameters: Mapping[str, Any]
) -> list[str | None]:
    """Return the split of each row by the definition's rule, None for left-out ones."""
    rule = definition.split
    if not rule.by:
        return splits.assign(rows, rule, None)
    maker = Maker(definition, parameters)
    by = maker.template(rule.by)

    def key(row: Row) -> Any:
        with _at(row, "split.by"):
            return by.value(maker.variables(row))

    return splits.assign(rows, rule, key)


class Maker:
    """Makes the instances of one definition with given parameters."""

    def __init__(self, definition: Definition, parameters: Mapping[str, Any]) -> None:
        self.definition = definition
        self._parameters = dict(parameters)
        self._sandbox = Sandbox()
        self._templates: dict[str, Template] = {}
        self._once: defaultdict[str, Once] = defaultdict(partial(Once, ID))

    def template(self, source: str) -> Template:
        """Return the template of a text, the same one each time."""
        if source not in self._templates:
            self._templates[source] = Template(source, self._sandbox)
        return self._templates[source]

    def variables(self, row: Row) -> dict[str, Any]:
        """Return what a template sees of a row."""
        return {**row.fields, ROW: row.fields, PARAMETERS: self._parameters}

    def instance(self, row: Row, split: str) -> Instance:
        """Return the instance of a row, without an id.

        Raises:
            ScenarioError: names the row and the key of the definition that fails.
        """
        said = self.definition
        seen = self.variables(row)
        own = self._id(row, split, seen)
        with _at(row, "input"):
            text = self.template(said.input).text(seen)
        with _at(row, "messages"):
            messages = self._messages(seen)
        with _at(row, "references"):
            references = self._references(seen)
        with _at(row, "sub_split"):
            sub_split = self.template(said.sub_split).text(seen)
        with _at(row, "attributes"):
            attributes = {k: self._texts(v, seen) for k, v in said.attributes.items()}
        with _at(row, "extra"):
            extra = {k: self.template(v).value(seen) for k, v in said.extra.items()}
        return Instance(
            instance_id="",
            input=text,
            references=references,
            split=split,
            sub_split=sub_split,
            attributes=attributes,
            messages=messages,
            extra={**own, **extra},
        )

    def _id(self, row: Row, split: str, seen: Mapping[str, Any]) -> dict[str, Any]:
        """Return the row's own id, which no other row of its split may have."""
        if not self.definition.id:
            return {}
        with _at(row, ID):
            name = self.template(self.definition.id).text(seen)
        self._once[split].check(name, row.place)
        return {ID: name}

    def _messages(self, seen: Mapping[str, Any]) -> tuple[Message, ...]:
        if not self.definition.messages:
            return ()
        said = self.template(self.definition.messages).value(seen)
        listed = said if isinstance(said, list) else [said]
        if not listed or not all(map(_is_message, listed)):
            raise ScenarioError(
                f"a conversation is a list of {{role, content}}, both texts, but it is {say(said)}.",
                'Write it like messages: "{{ turns }}", turns being a column of such a list.',
            )
        return tuple(Message(m["role"], m["content"]) for m in listed)

    def _references(self, seen: Mapping[str, Any]) -> tuple[Reference, ...]:
        form = self.definition.references
        if form.choices:
            found = self._choices(seen)
        elif form.correct:
            found = [Reference(t, CORRECT) for t in self._texts(form.correct, seen)]
            found += [Reference(t) for t in self._texts(form.incorrect, seen)]
        elif form.items:
            made = (self._listed(item, seen) for item in form.items)
            found = [reference for reference in made if reference is not None]
        else:
            return ()
        if any(r.is_correct and not r.text.strip() for r in found):
            raise ScenarioError(
                "a correct one is empty: no answer could be judged by it.",
                "Leave such rows out and count them with skip:.",
            )
        if not (self.definition.allow_no_correct or any(r.is_correct for r in found)):
            raise ScenarioError(
                "none of them is correct.",
                "If that is meant, say allow_no_correct: true.",
            )
        return tuple(found)

    def _choices(self, seen: Mapping[str, Any]) -> list[Reference]:
        form = self.definition.references
        texts = self._texts(form.choices, seen)
        answers = self._values(form.answer, seen)
        right = {i for a in answers for i in _positions(a, form.answer_is, texts)}
        return [
            Reference(t, CORRECT if i in right else ()) for i, t in enumerate(texts)
        ]

    def _listed(self, form: ReferenceForm, seen: Mapping[str, Any]) -> Reference | None:
        if form.when and not self.template(form.when).value(seen):
            return None
        correct = form.correct
        if isinstance(correct, str):
            correct = self.template(correct).value(seen)
            if not isinstance(correct, bool):
                raise ScenarioError(
                    f"'correct' must be true or false, but is {say(correct)}.",
                    "Compare: correct: '{{ label == \"yes\" }}'",
                )
        tags = self._texts(form.tags, seen)
        text = self.template(form.text).text(seen)
        return Reference(text, (*CORRECT, *tags) if correct else tags)

    def _texts(self, form: Texts, seen: Mapping[str, Any]) -> tuple[str, ...]:
        return tuple(as_text(value) for value in self._values(form, seen))

    def _values(self, form: Texts, seen: Mapping[str, Any]) -> list[Any]:
        """Return one value for each template of a list, or the list that one gives."""
        if isinstance(form, tuple):
            return [self.template(text).value(seen) for text in form]
        value = self.template(form).value(seen)
        return value if isinstance(value, list) else [value]


def _is_message(value: Any) -> bool:
    is_exact = isinstance(value, dict) and set(value) == {"role", "content"}
    return is_exact and all(isinstance(text, str) for text in value.values())


def _positions(answer: Any, form: str, choices: Sequence[str]) -> list[int]:
    """Return the indexes of the right choice, from 0: of all that read as it does."""
    known = f"the {len(choices)} choices"
    if form == "text":
        text = as_text(answer)
        if text in choices:
            return [i for i, choice in enumerate(choices) if choice == text]
        raise ScenarioError(
            f"the answer {text!r} is none of the choices {', '.join(choices)}.",
            "It must equal one of them, blanks and capitals included.",
        )
    index = _number(answer, form)
    if 0 <= index < len(choices):
        return [index]
    raise ScenarioError(
        f"the answer {answer!r} ({form}) is not one of {known}.",
        "answer_is: index counts from 0, number from 1, letter from A.",
    )


def _number(answer: Any, form: str) -> int:
    text = as_text(answer)
    if form == "letter" and len(text) == 1:
        return string.ascii_uppercase.find(text.upper())
    if form == "letter" or isinstance(answer, bool) or not text.isascii():
        return -1
    try:
        return int(text) - (form == "number")
    except ValueError:
        return -1


@contextmanager
def _at(row: Row, key: str) -> Iterator[None]:
    """Put the place of a row and the key before an error's message."""
    try:
        yield
    except ScenarioError as error:
        raise ScenarioError(
            f"{row.place}: {key}: {error.message}", error.hint
        ) from error

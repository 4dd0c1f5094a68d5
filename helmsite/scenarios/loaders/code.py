"""Programs to write: HumanEval's functions and the problems of APPS.

What a program is tested with goes into `extra`, for metrics that run it: HumanEval's
`test` and `entry_point`; of APPS the text of input_output.json as `input_output`, which
stays a text because some of its numbers have thousands of digits, and `timeout`.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

import msgspec

from helmsite.errors import ScenarioError
from helmsite.scenarios.loaders import Loader
from helmsite.scenarios.loaders.texts import as_read
from helmsite.scenarios.sources import Once
from helmsite.schema import CORRECT_TAG, TEST, TRAIN, Instance, Reference

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from helmsite.scenarios.files import Files

HUMANEVAL = "humaneval"
QUESTION, STARTER = "question.txt", "starter_code.py"
SOLUTIONS, TESTS = "solutions.json", "input_output.json"
READ = (QUESTION, STARTER, SOLUTIONS, TESTS)
NEEDED = {TRAIN: SOLUTIONS, TEST: TESTS}
LONGEST = 150_000
"""Characters of a question, starter code or solution; what is beyond is cut."""


def load(files: Files, *, dataset: str, timeout: int) -> Iterator[Instance]:
    """Yield the problems of a dataset; APPS' tests may take `timeout` seconds each."""
    return _humaneval(files) if dataset == HUMANEVAL else _apps(files, timeout)


def _humaneval(files: Files) -> Iterator[Instance]:
    once = Once("task")
    for row in files.rows("problems"):
        once.check(row.text("task_id"), row.place)
        yield Instance(
            "",
            row.text("prompt"),
            (Reference(row.text("canonical_solution"), (CORRECT_TAG,)),),
            split=TEST,
            extra={"test": row.text("test"), "entry_point": row.text("entry_point")},
        )


def _apps(files: Files, timeout: int) -> Iterator[Instance]:
    """Yield the problems: train, then test, each in the order of HELM's own runs.

    That order is a file of its own; without it they come by name, as HELM takes them
    for a split that the file does not name.
    """
    orders: dict[str, list[str]] = {}
    if "order" in files:
        orders = _order(files.json("order"))
    else:
        files.note("HELM's order of the problems could not be had: they come by name.")
    for split in (TRAIN, TEST):
        found = dict(_problems(files, split, timeout))
        for name in orders.get(split) or list(found):
            if name in found:
                yield found.pop(name)
        for _ in found:
            files.skip(f"not in HELM's order of the problems ({split})")


def _problems(files: Files, split: str, timeout: int) -> Iterator[tuple[str, Instance]]:
    """Yield the problems of a split with their names, in the order of these."""
    found = (each for each in files.paths(split) if each[1].name in READ)
    for place, held in groupby(found, key=lambda each: each[0].rpartition("/")[0]):
        inside = {
            path.name: files.text(key) if path.stat().st_size else ""
            for key, path in held
        }
        if QUESTION not in inside or NEEDED[split] not in inside:
            files.skip(f"no {QUESTION} or no {NEEDED[split]} ({split})")
            continue
        extra = {"input_output": inside.get(TESTS, ""), "timeout": timeout}
        yield (
            place.rpartition("/")[2],
            _problem(inside, place, split, extra if split == TEST else {}),
        )


def _order(found: Any) -> dict[str, list[str]]:
    try:
        return msgspec.convert(found, dict[str, list[str]])
    except msgspec.ValidationError as error:
        raise ScenarioError(
            f"order: does not list problems by split: {error}.", "Is it HELM's file?"
        ) from error


def _problem(
    inside: Mapping[str, str], place: str, split: str, extra: dict[str, Any]
) -> Instance:
    listed = inside.get(SOLUTIONS, "[]")
    solutions = _parsed(listed, f"{place}/{SOLUTIONS}", list[str])
    if TESTS in inside:
        _parsed(inside[TESTS], f"{place}/{TESTS}", dict[str, msgspec.Raw])
    kind = "Call-Based" if STARTER in inside else "Standard Input"
    question, starter = (_cut(inside.get(name, "")) for name in (QUESTION, STARTER))
    return Instance(
        "",
        f"\nQUESTION:\n{question}\n{starter}\n\nUse {kind} format\n"
        "\nANSWER in Python code:\n",
        tuple(
            Reference(text[:LONGEST], (CORRECT_TAG,))
            for text in map(tabbed, solutions or [""])
        ),
        split=split,
        extra=extra,
    )


def _cut(text: str) -> str:
    return as_read(text)[:LONGEST]


def _parsed(text: str, place: str, kind: Any) -> Any:
    try:
        return msgspec.json.decode(text, type=kind)
    except msgspec.DecodeError as error:
        raise ScenarioError(
            f"{place}: {error}.", "Is it the file of APPS, complete?"
        ) from error


def tabbed(code: str) -> str:
    """Return code with a tab for each level of indentation.

    The first indented line that is not blank says what a level is. A file without one
    stays as it is, and each line ends in a line break.
    """
    lines = code.split("\n")
    if not lines[-1]:
        lines.pop()
    lines = [line.rstrip("\r\n") for line in lines]
    level = ""
    made = []
    for line in lines:
        level = level or _level(line)
        made.append(_indented(line, level) if level else line)
    return "".join(f"{line}\n" for line in made)


def _level(line: str) -> str:
    """Return the indentation of one level by its first line, "" if it tells nothing."""
    inside = line.lstrip(" \t")
    if line.isspace() or inside == line:
        return ""
    return line[0] * (len(line) - len(inside))


def _indented(line: str, level: str) -> str:
    depth = 0
    while line.startswith(level, depth * len(level)):
        depth += 1
    return "\t" * depth + line[depth * len(level) :]


CODE = Loader(version=1, load=load)

"""What a table's columns hold: the mapping that a user writes, in a file or as options.

rows: results                  # or instances; as a rule the columns tell
columns: {model: Model, scenario: Task, metric: Metric, value: Score, stderr: SE}
constants: {split: test}       # the same in every row; {stem} is the file's name
scores: [accuracy, f1]         # instead of metric and value: a column for each metric
metrics: {accuracy: {title: Accuracy, higher_is_better: true, percent: true}}
settings: [temperature]        # columns that tell runs of one model apart
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from helmsite.errors import ConfigError, suggest
from helmsite.schema import Record, strict, yamlfile

if TYPE_CHECKING:
    from collections.abc import Sequence

READY = Path(__file__).parent / "mappings"
EVERY: Literal["*"] = "*"

RUN = {
    "model": "the model's name",
    "revision": "its revision or checkpoint",
    "quantisation": "how its weights are stored",
    "num_fewshot": "how many examples the prompt has",
    "scenario": "the scenario, task or benchmark",
    "suite": "a name for all results that belong together",
}
SCORED = {
    "metric": "the metric's name",
    "value": "its value",
    "split": "the split of the data",
    "sub_split": "a part of the split",
    "perturbation": "how the inputs were changed",
    "scorer": "filter, scorer or judge",
}
RESULT = {
    "stderr": "the value's standard error",
    "ci_low": "lower end of its 95% interval",
    "ci_high": "upper end of its 95% interval",
    "n": "how many instances it is of",
}
INSTANCE = {
    "id": "the instance's own id",
    "trial": "which repetition",
    "input": "the question",
    "prompt": "all that was sent to the model",
    "messages": "the conversation that was sent: a list of {role, content}",
    "completion": "what the model answered",
    "reasoning": "what it thought before",
    "reference": "the right answer, or a list of them",
    "choices": "the options, a list; `reference` is then one's text, letter or index",
    "answer": "the answer as it was found in the completion",
    "error": "why there is no answer",
    "finish_reason": "why the completion ends",
    "prompt_tokens": "how many tokens the prompt has",
    "completion_tokens": "how many tokens the completion has",
    "duration_s": "seconds that it took",
    "tokens": "the completion's tokens, a list",
    "token_logprobs": "their log-probabilities, a list",
    "logprob": "the completion's log-probability",
}
FIELDS = RUN | SCORED | RESULT | INSTANCE
ALIKE = ("scores", "scenarios", "models")
"""Settings that hold several columns of one kind."""

Columns = tuple[str, ...] | dict[str, str] | Literal["*"]


class Measure(Record, frozen=True):
    """What there is to know of a metric.

    `percent` divides values, errors and interval by 100 (None: if it is a share by its
    name and most values are above 1), `add` is added first, `values` says which number a
    text stands for. `stderr`, `ci_low`, `ci_high` and `n` name the
    columns that belong to the metric's own column.
    """

    title: str = ""
    description: str = ""
    family: str = ""
    higher_is_better: bool | None = None
    unit: str = ""
    percent: bool | None = None
    add: float = 0.0
    values: dict[str, float] = {}
    stderr: str = ""
    ci_low: str = ""
    ci_high: str = ""
    n: str = ""


class Mapping(Record, frozen=True):
    """Which column of a table holds what.

    Attributes:
        rows: what a row is: an instance, or results; '': as the columns tell.
        columns: field (FIELDS) → column. `a.b` is the value of b in the object a.
        constants: field → what it is in every row. `{stem}`, `{name}` and `{folder}` in
            it are the file's name without and with its ending, and its folder.
        scores: a column for each metric: their names, or metric → column; `*` for all
            that nothing else uses.
        scenarios: the same for a column of values for each scenario.
        models: the same for each model, of values or, in a table of instances, answers.
        metrics: name → what there is to know.
        settings: columns that tell runs apart (temperature, version of the prompt).
        set: settings that are the same in every row.
        attributes: columns that say in which groups an instance is.
        groups: name of a group → its scenarios.
        ignore: columns that are left out.
        compute: metrics of helmsite to compute from the replies.
        missing: texts that mean that there is no value.
        decimal: the sign before the digits of a fraction; '': as the values tell.
        delimiter: the sign between columns; '': as the header tells.
        encoding: of the file; '': as its bytes tell.
        separator: the sign between the parts of a list that is one text.
        needs: columns by which a ready mapping knows its tables; the others that it names
            may be absent.
        title: what such a table is.
    """

    rows: Literal["", "instances", "results"] = ""
    columns: dict[str, str] = {}
    constants: dict[str, str | int | float | bool] = {}
    scores: Columns = ()
    scenarios: Columns = ()
    models: Columns = ()
    metrics: dict[str, Measure] = {}
    settings: tuple[str, ...] = ()
    set: dict[str, str | int | float | bool] = {}
    attributes: tuple[str, ...] = ()
    groups: dict[str, tuple[str, ...]] = {}
    ignore: tuple[str, ...] = ()
    compute: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    decimal: Literal["", ".", ","] = ""
    delimiter: str = ""
    encoding: str = ""
    separator: str = ""
    needs: tuple[str, ...] = ()
    title: str = ""


def read(path: Path) -> Mapping:
    """Return the mapping that a YAML file holds.

    Raises:
        ConfigError: it cannot be read or says what is no mapping; all problems at once.
    """
    document = yamlfile.read(path)
    return parsed(document.data if document.data is not None else {}, document.place)


def parsed(data: object, where: Any = "the mapping") -> Mapping:
    """Return a mapping read from plain data.

    Args:
        data: an object, as YAML and JSON have them.
        where: what problems begin with: a file, or what gives the place of a field.

    Raises:
        ConfigError: it says what is no mapping; all problems at once.
    """
    problems: list[str] = []
    found = strict.read(data, Mapping, where, problems)
    place = where if callable(where) else lambda _: where
    if found is not None:
        problems = [f"{place(field)}: {why}" for field, why in _wrong(found)]
    if problems or found is None:
        raise ConfigError(problems, "docs/importing.md, Tables, has examples.")
    return found


def given(
    columns: Sequence[str], constants: Sequence[str] = (), base: Mapping | None = None
) -> Mapping:
    """Return the mapping that options of a command make, on top of that of a file.

    Args:
        columns: `field=column`; `scores=column`, `scenarios=`, `models=`, `settings=`,
            `attributes=` and `ignore=` may come several times.
        constants: `field=text`.
        base: what it begins with.

    Raises:
        ConfigError: an option is no such pair, or what comes out is no mapping.
    """
    import msgspec

    data: dict[str, Any] = msgspec.to_builtins(base or Mapping())
    problems = []
    lists: dict[str, list[str]] = {}
    for option, several in (("--column", columns), ("--constant", constants)):
        for pair in several:
            field, sign, value = pair.partition("=")
            if not sign or not field.strip():
                problems.append(
                    f"{option} {pair}: write it as field=column, such as model=Model."
                )
            elif option == "--column" and isinstance(data.get(field), (list, tuple)):
                lists.setdefault(field, []).append(value)
            else:
                data["columns" if option == "--column" else "constants"][field] = value
    if problems:
        raise ConfigError(problems, f"Fields: {', '.join(FIELDS)}.")
    for name, values in lists.items():
        data[name] = EVERY if values == [EVERY] and name in ALIKE else values
    return parsed(data, "the columns given")


def ready() -> list[tuple[str, Mapping]]:
    """Return the ready mappings by name."""
    return [(path.stem, read(path)) for path in sorted(READY.glob("*.yaml"))]


def named(name: str) -> Mapping:
    """Return the mapping in a file or, if there is no such file, a ready one.

    Raises:
        ConfigError: there is neither.
    """
    path = Path(name)
    if path.is_file():
        return read(path)
    known = dict(ready())
    if name not in known:
        problem = f"{name}: no such file, and no ready mapping of that name."
        raise ConfigError([problem], f"Ready mappings: {', '.join(known)}.")
    return known[name]


def _wrong(mapping: Mapping) -> list[tuple[str, str]]:
    """Return what is wrong with a mapping whatever its table: field and problem."""
    found = []
    for inside in ("columns", "constants"):
        for field in getattr(mapping, inside):
            if field not in FIELDS:
                near = suggest(field, FIELDS)
                what = f"unknown field '{field}'.{near} Known: {', '.join(FIELDS)}."
                found.append((f"{inside}.{field}", what))
    for field in sorted(set(mapping.columns) & set(mapping.constants)):
        what = f"'{field}' is a column and a constant: which of both?"
        found.append((f"constants.{field}", what))
    several = [name for name in ALIKE if getattr(mapping, name)]
    if len(several) > 1:
        found.append((several[1], f"{' and '.join(several)}: only one of them."))
    for name, field in (("scenarios", "scenario"), ("models", "model")):
        if getattr(mapping, name) and field in mapping.columns | mapping.constants:
            found.append(
                (name, f"'{name}' names columns, but '{field}' is given, too.")
            )
    if mapping.scores and {"metric", "value"} & set(mapping.columns):
        found.append(("scores", "'scores' and 'columns.value': only one of them."))
    if len(mapping.delimiter) > 1:
        found.append(("delimiter", f"one sign, not {mapping.delimiter!r}."))
    return found

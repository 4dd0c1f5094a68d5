"""A mapping and a table's columns → where each field stands; a mapping by the columns alone."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from msgspec import structs

from helmsite.errors import suggest
from helmsite.importers import values
from helmsite.importers.table.mapping import (
    ALIKE,
    EVERY,
    INSTANCE,
    Mapping,
    Measure,
)
from helmsite.importers.table.metrics import is_metric
from helmsite.schema import Record

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from helmsite.importers.table.cells import Cells

WORDS: dict[str, str] = {
    "model": "model model_name model_id model_name_or_path modelname generator engine llm system",
    "revision": "revision checkpoint model_revision step commit",
    "quantisation": "quantisation quantization precision dtype",
    "num_fewshot": "num_fewshot shots n_shot n_shots num_shots k_shot fewshot few_shot",
    "scenario": "scenario task task_name dataset dataset_name benchmark eval evaluation",
    "suite": "suite suite_name",
    "metric": "metric metric_name measure",
    "value": "value metric_value score result",
    "stderr": "stderr std_err standard_error std_error se sem value_stderr score_stderr",
    "ci_low": "ci_low ci_lower lower_ci ci_lo lower_bound ci_95_lower lower",
    "ci_high": "ci_high ci_upper upper_ci ci_hi upper_bound ci_95_upper upper",
    "n": "n n_total n_samples num_samples num_instances n_instances n_questions sample_size total",
    "split": "split eval_split",
    "sub_split": "sub_split subsplit subset",
    "perturbation": "perturbation",
    "scorer": "scorer filter judge annotator grader",
    "id": "id instance_id sample_id example_id question_id prompt_id doc_id task_id qid uid uuid idx",
    "trial": "trial epoch repeat attempt sample_index repetition",
    "input": "input question query instruction problem",
    "prompt": "prompt full_prompt formatted_prompt model_input",
    "messages": "messages conversation",
    "completion": "completion output prediction response generation model_output model_answer generated_text generated pred predicted reply model_response",
    "reasoning": "reasoning reasoning_content thinking chain_of_thought",
    "reference": "reference references target targets gold golds gold_answer ground_truth expected expected_output correct_answer reference_answer label ideal",
    "choices": "choices options",
    "answer": "extracted_answer extracted parsed_answer parsed",
    "error": "error error_message exception",
    "finish_reason": "finish_reason stop_reason",
    "prompt_tokens": "prompt_tokens num_prompt_tokens n_prompt_tokens",
    "completion_tokens": "completion_tokens num_completion_tokens n_completion_tokens",
    "duration_s": "duration_s latency_s seconds time_s elapsed_s duration_seconds",
    "tokens": "tokens completion_token_texts",
    "token_logprobs": "token_logprobs logprobs",
    "logprob": "logprob log_prob sum_logprob logprob_sum",
}
SETTINGS = {"version", "prompt_version", "template", "temperature"}
SIDES = {
    "stderr": ("stderr", "std_err", "se", "standard_error", "sem"),
    "ci_low": ("ci_low", "ci_lower", "lower"),
    "ci_high": ("ci_high", "ci_upper", "upper"),
    "n": ("n", "n_samples", "count"),
}
ERRORS = ("stderr", "ci_low", "ci_high")
ANSWERS = ("input", "prompt", "messages", "completion", "reference")
TEXTS = ("text", "content", "completion", "output", "answer", "value")
"""What the text in an object is called."""

SCORES = {"scores", "score", "metrics", "results", "result"}
"""What an object of metrics is called."""

IDS = {"id", "idx", "uid", "uuid", "task_id"}
"""Columns that are called so may number rows of any kind."""


class Cell(Record, frozen=True):
    """A column of values: what its metric, scenario or model is called."""

    name: str
    column: str


class Plan(Record, frozen=True):
    """Where each field of a table stands.

    `rows` is instances or results; `axis` says what the `cells` differ in: scores,
    scenarios or models, '' if there is one value a row. `used` are the columns that the
    mapping names.
    """

    rows: str
    mapping: Mapping
    columns: dict[str, str]
    axis: str = ""
    cells: tuple[Cell, ...] = ()
    used: frozenset[str] = frozenset()

    def cell(self, row: dict[str, Any], field: str) -> Any:
        """Return what a row says of a field, None if nothing."""
        column = self.columns.get(field)
        if column is not None:
            return at(row, column)
        return self.mapping.constants.get(field)

    def has(self, field: str) -> bool:
        """Return whether there is a column or a constant for a field."""
        return field in self.columns or field in self.mapping.constants

    def settings(self, row: dict[str, Any], cells: Cells) -> dict[str, Any]:
        """Return a row's settings."""
        found: dict[str, Any] = dict(self.mapping.set)
        for column in self.mapping.settings:
            value = at(row, column)
            if not cells.is_nothing(value):
                found[column] = values.plain(value)
        return found

    def rest(self, row: dict[str, Any]) -> dict[str, Any]:
        """Return what a row says in columns that the mapping does not name."""
        found = {}
        for column, value in row.items():
            if column in self.used or value is None or value == "":
                continue
            if isinstance(value, dict):
                inner = [u for u in self.used if u.startswith(f"{column}.")]
                kept = {k: v for k, v in value.items() if f"{column}.{k}" not in inner}
                if kept or not value:
                    found[column] = kept
            else:
                found[column] = value
        return found


def at(row: dict[str, Any], column: str) -> Any:
    """Return what is in a column: of `a.b` what is under b in the object a."""
    if column in row:
        return row[column]
    head, dot, tail = column.partition(".")
    while dot:
        inside = row.get(head)
        if isinstance(inside, dict):
            return at(inside, tail)
        step, dot, tail = tail.partition(".")
        head = f"{head}.{step}"
    return None


def word(column: str) -> str:
    """Return a column's name as words are compared: `Std. Error` is std_error."""
    parts = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", column)
    return re.sub(r"[^a-z0-9]+", "_", parts.lower()).strip("_")


def planned(mapping: Mapping, columns: Iterable[str]) -> tuple[Plan | None, list[str]]:
    """Return where things stand by a mapping, or what is wrong with it for these columns."""
    known = list(columns)
    mapping = _present(mapping, known) if mapping.needs else mapping
    problems = []
    for column, field in _named(mapping):
        if column not in known and not inside(column, known):
            near = suggest(column, known)
            problems.append(
                f"'{field}' names the column '{column}', which is not there.{near}"
            )
    axis = next((name for name in ALIKE if getattr(mapping, name)), "")
    used = {column for column, _ in _named(mapping)} | set(mapping.ignore)
    there = set(known)
    free = [c for c in known if not inside(c, there) and not _covered(c, used)]
    free = [c for c in free if not nameless(c)]
    cells = _cells(getattr(mapping, axis), free) if axis else ()
    used |= {cell.column for cell in cells}
    answers = any(field in mapping.columns for field in INSTANCE)
    rows = mapping.rows or ("instances" if answers else "results")
    plan = Plan(rows, mapping, dict(mapping.columns), axis, cells, frozenset(used))
    problems += _lacking(plan)
    return (None, problems) if problems else (plan, [])


def _named(mapping: Mapping) -> list[tuple[str, str]]:
    """Return all columns that a mapping names, with the setting that names them."""
    found = [(column, f"columns.{field}") for field, column in mapping.columns.items()]
    for name in ALIKE:
        several = getattr(mapping, name)
        if several != EVERY:
            inner = several.values() if isinstance(several, dict) else several
            found += [(column, name) for column in inner]
    for name in ("settings", "attributes"):
        found += [(column, name) for column in getattr(mapping, name)]
    for metric, of in mapping.metrics.items():
        for side in SIDES:
            if column := getattr(of, side):
                found.append((column, f"metrics.{metric}.{side}"))
    return found


def _present(mapping: Mapping, known: list[str]) -> Mapping:
    """Return a ready mapping without the columns that are not there."""

    def there(column: str) -> bool:
        return column in known or inside(column, known)

    several: dict[str, Any] = {}
    for name in ALIKE:
        wide = getattr(mapping, name)
        if isinstance(wide, dict):
            several[name] = {k: c for k, c in wide.items() if there(c)}
    metrics = {}
    for metric, of in mapping.metrics.items():
        gone = {s: "" for s in SIDES if getattr(of, s) and not there(getattr(of, s))}
        metrics[metric] = structs.replace(of, **gone)
    return structs.replace(
        mapping,
        columns={f: c for f, c in mapping.columns.items() if there(c)},
        settings=tuple(filter(there, mapping.settings)),
        attributes=tuple(filter(there, mapping.attributes)),
        metrics=metrics,
        **several,
    )


def nameless(column: str) -> bool:
    """Return whether a column has no name, as the numbers of rows that pandas writes."""
    return (
        re.fullmatch(r"|Unnamed: \d+|__index_level_\d+__|column \d+", column)
        is not None
    )


def inside(column: str, known: Collection[str]) -> bool:
    """Return whether a column is a part of another: `a.b` of a."""
    dots = (at for at, sign in enumerate(column) if sign == ".")
    return any(column[:at] in known for at in dots)


def _covered(column: str, used: set[str]) -> bool:
    return column in used or any(each.startswith(f"{column}.") for each in used)


def _cells(wide: Any, free: list[str]) -> tuple[Cell, ...]:
    if wide == EVERY:
        return tuple(Cell(column, column) for column in free)
    pairs = wide.items() if isinstance(wide, dict) else zip(wide, wide, strict=True)
    return tuple(Cell(name, column) for name, column in pairs)


def _lacking(plan: Plan) -> list[str]:
    """Return what a table must say, and by this plan does not."""
    found = []
    for field, axis in (("model", "models"), ("scenario", "scenarios")):
        if not plan.has(field) and plan.axis != axis:
            found.append(
                f"nothing says what the {field} is: a column, `constants`, or `{axis}`"
            )
    if plan.rows == "results":
        return [*found, *_lacking_values(plan)]
    if plan.axis == "scenarios":
        found.append("`scenarios` are columns of results; these rows are instances")
    elif "value" in plan.columns and not plan.has("metric"):
        found.append("nothing says what the metric of `value` is")
    return found


def _lacking_values(plan: Plan) -> list[str]:
    found = []
    if plan.axis != "scores":
        if not plan.has("metric"):
            found.append("nothing says what the metric is: a column or `constants`")
        if not plan.axis and "value" not in plan.columns:
            found.append("no column has the values: `columns.value`, or `scores`")
    if plan.axis and not plan.cells:
        found.append(f"`{plan.axis}: *`, but no column is left")
    sides = [side for side in ERRORS if plan.has(side)]
    if len(plan.cells) > 1 and sides:
        found.append(
            f"`{sides[0]}` cannot be of all {len(plan.cells)} columns: name it under `metrics`"
        )
    return found


def guessed(columns: Iterable[str]) -> Mapping | None:
    """Return the mapping that columns with obvious names speak for; None if none does."""
    everything = dict.fromkeys(columns)
    known = [c for c in everything if c.strip() and not inside(c, everything)]
    found = _without_objects(fields(known), everything)
    if not {"model", "scenario"} <= set(found):
        return None
    settings = tuple(c for c in known if word(c) in SETTINGS)
    answers = any(f in found for f in ANSWERS) or word(found.get("id", "id")) not in IDS
    if not answers:
        found = {f: c for f, c in found.items() if f not in INSTANCE}
    scores: dict[str, str] = {}
    if not {"metric", "value"} <= set(found):
        found.pop("metric", None)
        value = found.pop("value", "")
        taken = {*found.values(), *settings}
        free = [c for c in known if c not in taken and is_metric(word(c))]
        endings = {
            f"{word(c)}_{end}" for c in known for e in SIDES.values() for end in e
        }
        free = [c for c in free if word(c) not in endings]
        scores = {c: c for c in free if not answers or word(c) != "result"}
        scores |= _inner_scores(everything)
        if value and word(value) == "value" and not scores:
            return None
    if not answers and not scores and "value" not in found:
        return None
    metrics = {}
    for score in scores:
        sides = _sides(score, known, sole=len(scores) == 1, fields=found)
        if sides != Measure():
            metrics[score] = sides
    if scores:
        found = {f: c for f, c in found.items() if f not in SIDES}
    return Mapping(
        rows="instances" if answers else "results",
        columns=found,
        scores=scores,
        metrics=metrics,
        settings=settings,
    )


def _without_objects(found: dict[str, str], known: Collection[str]) -> dict[str, str]:
    """Return fields whose column is an object by the text, or the name, that is in it.

    What was asked and answered stays whole where it has none; no other field does.
    """
    made = {}
    for field, column in found.items():
        names = TEXTS if field in ANSWERS else ("name", "id")
        inner = [f"{column}.{name}" for name in names if f"{column}.{name}" in known]
        whole = not any(each.startswith(f"{column}.") for each in known)
        if inner and not whole:
            made[field] = inner[0]
        elif whole or field in ANSWERS:
            made[field] = column
    return made


def _inner_scores(known: Collection[str]) -> dict[str, str]:
    """Return the metrics in an object of them: `scores.f1` is f1."""
    made = {}
    for column in known:
        head, dot, tail = column.partition(".")
        if dot and head in known and word(head) in SCORES and is_metric(word(tail)):
            made[tail] = column
    return made


def fields(known: Iterable[str]) -> dict[str, str]:
    """Return the columns that are called as a field is, the more usual word first."""
    by_word: dict[str, str] = {}
    for column in known:
        by_word.setdefault(word(column), column)
    found = {}
    for field, words in WORDS.items():
        columns = [by_word[w] for w in words.split() if w in by_word]
        if columns:
            found[field] = columns[0]
    if "completion" in found and "reference" not in found and "answer" in by_word:
        found["reference"] = by_word["answer"]
    elif "reference" in found and "completion" not in found and "answer" in by_word:
        found["completion"] = by_word["answer"]
    return found


def _sides(
    score: str, known: list[str], *, sole: bool, fields: dict[str, str]
) -> Measure:
    """Return the columns of a metric's error, interval and count: `acc_stderr` of acc."""
    found = {}
    for side, endings in SIDES.items():
        wanted = {f"{word(score)}_{ending}" for ending in endings}
        column = next((c for c in known if word(c) in wanted), None)
        if column is None and (sole or side == "n"):
            column = fields.get(side)
        if column is not None:
            found[side] = column
    return structs.replace(Measure(), **found)

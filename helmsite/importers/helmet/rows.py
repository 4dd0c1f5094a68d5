"""Items of HELMET → instances, replies and scores."""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from helmsite.importers.values import Row, integer, number, plain
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
    from collections.abc import Iterator, Mapping, Sequence

    from helmsite.schema import Decoding

SPLIT = "test"
SKIP = " <skip> "
"""Where HELMET leaves out the middle of a prompt."""
REPLY = ("output", "input_len", "output_len", "input_text")
"""The first of these begins what the model's side says; before it is the test item."""
IDS = ("id", "qid", "sample_id", "index")
JUDGE = "gpt-4o"
JUDGED = "gpt-4-scores"
LENGTHS = ("input_len", "output_len")
SKIPPED = "HELMET left this item out: the model gave no answer."


class Asking(NamedTuple):
    """How all items of a result were asked."""

    decoding: Decoding
    shots: int
    room: int | None


class Items(NamedTuple):
    """The rows of a result, and how many items HELMET skipped, as far as that is known."""

    instances: list[Instance]
    replies: list[Reply]
    scores: list[Score]
    skipped: int


def items(
    rows: Sequence[Row], values: Mapping[str, Sequence[Any]], asking: Asking
) -> Items:
    """Return the items of a result.

    Args:
        rows: the items.
        values: of each metric its values, one an item.
        asking: how they were asked.

    Raises:
        SourceError: one makes no sense.
    """
    keys = [_key(row) for row in rows]
    repeats = Counter(keys)
    found = Items([], [], [], 0)
    used: dict[str, int] = {}
    for n, (row, key) in enumerate(zip(rows, keys, strict=True)):
        name = _unique(row, key, used, again=repeats[key] > 1)
        found.instances.append(_instance(row, name, n))
        found.replies.append(_reply(row, name, asking))
        found.scores.extend(_scores(row, name, n, values))
    _add_unjudged(found)
    skipped = _add_skipped(found, rows, keys, asking)
    return found._replace(skipped=skipped)


def _key(row: Row) -> str:
    """Return an item's id or, where it has none, what its question is known by."""
    for name in IDS:
        value = row.get(name)
        if (
            isinstance(value, (str, int))
            and not isinstance(value, bool)
            and value != ""
        ):
            return str(plain(value))
    question = str(row.get("question") or row.get("text") or row.get("input_text"))
    return hashlib.sha256(question.encode("utf-8", "replace")).hexdigest()[:12]


def _unique(row: Row, key: str, used: dict[str, int], *, again: bool) -> str:
    """Return an item's own name: a question at six depths is six items."""
    depth = row.get("depth")
    base = key
    if again and isinstance(depth, (int, float)) and not isinstance(depth, bool):
        base = f"{key} depth={plain(depth)}"
    name, n = base, used.get(base, 0)
    while name in used:
        n += 1
        name = f"{base}#{n}"
    used[base] = max(n, 1)
    used.setdefault(name, 1)
    return name


def _split(row: Row) -> tuple[list[str], list[str]]:
    """Return the fields of the test item and those of the model's answer."""
    names = list(row)
    first = next((n for n, name in enumerate(names) if name in REPLY), len(names))
    return names[:first], names[first:]


def _instance(row: Row, name: str, position: int) -> Instance:
    own, _ = _split(row)
    texts = [row.get(k) for k in ("question", "text", "query")]
    asked = next((t for t in texts if isinstance(t, str) and t), "")
    right = row.get("answers") if "answers" in row else row.get("answer")
    references = list(dict.fromkeys(_flat(right)))
    extra = {k: plain(row.get(k)) for k in own if k != "question"}
    for k in ("answer", "answers"):
        said = row.get(k)
        if (said if isinstance(said, list) else [said]) == references:
            extra.pop(k, None)
    depth = row.get("depth")
    return Instance(
        name,
        asked,
        tuple(Reference(text, (CORRECT_TAG,)) for text in references),
        position=position,
        split=SPLIT,
        attributes={} if depth is None else {"depth": (str(plain(depth)),)},
        extra=extra,
    )


def _flat(found: Any) -> Iterator[str]:
    """Yield the texts in an answer: one, or lists of aliases."""
    if isinstance(found, str):
        yield found
    elif isinstance(found, list):
        for each in found:
            yield from _flat(each)
    elif isinstance(found, (int, float)):
        yield str(plain(found))


def _reply(row: Row, name: str, asking: Asking) -> Reply:
    _, said = _split(row)
    prompt = row.text("input_text", "")
    length, output = row.get("input_len"), row.get("output")
    tokens = {
        key: None if row.get(key) is None else integer(row.get(key), row.at(key))
        for key in LENGTHS
    }
    metrics = {k for k in said if isinstance(row.get(k), (bool, int, float))}
    kept = {
        k: plain(row.get(k))
        for k in said
        if k not in {*REPLY, *metrics, "thoughts", JUDGED}
    }
    kind = "abridged" if SKIP in prompt else "exact" if prompt else "absent"
    request = Request(
        name,
        prompt,
        asking.decoding,
        prompt_kind=kind,  # type: ignore[arg-type]
        num_train_instances=asking.shots,
        truncated=asking.room is not None
        and isinstance(length, (int, float))
        and length >= asking.room,
    )
    completion = Completion(
        row.text("output", ""),
        reasoning=row.text("thoughts", ""),
        usage=Usage(tokens["input_len"], tokens["output_len"]),
        error="" if output is not None else SKIPPED,
        extra=kept,
    )
    return Reply(request, completion)


def _scores(
    row: Row, name: str, n: int, values: Mapping[str, Sequence[Any]]
) -> Iterator[Score]:
    parsed = row.get("parsed_output")
    answered = row.get("output") is not None
    for metric, column in values.items():
        if metric in LENGTHS:
            continue
        place = row.place._replace(field=f"metrics.{metric}[{n}]")
        said = float(column[n]) if isinstance(column[n], bool) else column[n]
        value = None if said is None else number(said, place)
        yield Score(
            name,
            metric,
            value,
            text=parsed if isinstance(parsed, str) else "",
            origin="reported",
            missing="" if value is not None else "nan" if answered else "failed",
        )
    if JUDGED in row.value:
        yield from _judged(row, name)


def _judged(row: Row, name: str) -> Iterator[Score]:
    """Yield a judge's verdicts: correctness times fluency, or recall, precision and F1."""
    said = row.row(JUDGED, None)
    values: dict[str, float | None] = {}
    if said is not None and "correctness" in said:
        fluency, right = said.number("fluency", 1.0), said.number("correctness")
        both = None if fluency is None or right is None else fluency * right
        values["gpt-4-score"] = both
    elif said is not None:
        for key in ("fluency", "recall", "precision", "f1"):
            if key in said:
                values[f"gpt-4-{key}"] = said.number(key)
    details = {k: plain(v) for k, v in said.value.items()} if said is not None else {}
    for n, (metric, value) in enumerate(values.items()):
        yield Score(
            name,
            metric,
            value,
            scorer=JUDGE,
            details=details if n == 0 else {},
            origin="reported",
            missing="" if value is not None else "unparsed",
        )


def _add_unjudged(found: Items) -> None:
    """Add a score without a value for each verdict that others have and an item has not."""
    verdicts = {s.metric for s in found.scores if s.scorer == JUDGE}
    if not verdicts:
        return
    there = {(s.instance_id, s.metric) for s in found.scores if s.scorer == JUDGE}
    failed = {r.request.instance_id for r in found.replies if r.completion.error}
    found.scores.extend(
        Score(
            each.instance_id,
            metric,
            None,
            scorer=JUDGE,
            origin="reported",
            missing="failed" if each.instance_id in failed else "unparsed",
        )
        for each in found.instances
        for metric in sorted(verdicts)
        if (each.instance_id, metric) not in there
    )


def _add_skipped(
    found: Items, rows: Sequence[Row], keys: Sequence[str], asking: Asking
) -> int:
    """Add the items that HELMET skipped, as far as the others tell which they are.

    Each question of a set is asked as often as another, at other depths or in other
    orders, so one that is there less often had items without an answer.
    """
    repeats = Counter(keys)
    most = max(repeats.values(), default=0)
    if most < 2 or len(repeats) < 2:
        return 0
    depths: dict[str, set[str]] = {}
    for row, key in zip(rows, keys, strict=True):
        depth = row.get("depth")
        depths.setdefault(key, set())
        if isinstance(depth, (int, float)):
            depths[key].add(str(plain(depth)))
    everywhere = set[str]().union(*depths.values())
    series = sorted({(s.metric, s.scorer) for s in found.scores})
    used = {i.instance_id for i in found.instances}
    first = {key: n for n, key in reversed(list(enumerate(keys)))}
    before = len(found.instances)
    for key, n in sorted(first.items(), key=lambda each: each[1]):
        absent = iter(sorted(everywhere - depths[key], key=float))
        for place in range(repeats[key], most):
            depth_name = next(absent, "")
            name = f"{key} depth={depth_name}" if depth_name else f"{key}#{place + 1}"
            if name not in used:
                used.add(name)
                _add(found, found.instances[n], name, depth_name, series, asking)
    return len(found.instances) - before


def _add(
    found: Items,
    like: Instance,
    name: str,
    depth: str,
    series: Sequence[tuple[str, str]],
    asking: Asking,
) -> None:
    """Add an item that failed, with the question of another one."""
    found.instances.append(
        Instance(
            name,
            like.input,
            like.references,
            position=len(found.instances),
            split=SPLIT,
            attributes={"depth": (depth,)} if depth else {},
        )
    )
    request = Request(
        name,
        "",
        asking.decoding,
        prompt_kind="absent",
        num_train_instances=asking.shots,
    )
    found.replies.append(Reply(request, Completion(error=SKIPPED)))
    found.scores.extend(
        Score(name, m, None, scorer=s, origin="reported", missing="failed")
        for m, s in series
    )

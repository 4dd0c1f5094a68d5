"""Instances of a run with everything that was asked of them, one at a time."""

from __future__ import annotations

from itertools import chain, groupby, islice
from operator import attrgetter
from typing import TYPE_CHECKING, Generic, TypeVar

from helmsite.archive import rows as archived
from helmsite.archive.reading import decoded
from helmsite.query.rows import InstanceView, ReplyView, RequestView, TrialView

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from helmsite.archive import RunFiles
    from helmsite.schema import AdapterSpec, Instance, Reply, Request, Score

SAMPLE = 200

Row = TypeVar("Row")


def instance_views(run: RunFiles) -> Iterator[InstanceView]:
    """Yield a run's instances by position, each original before its perturbed versions.

    The three tables are read side by side, a piece of each at a time.
    """
    stream = run.replies()
    sample = list(islice(stream, SAMPLE))
    shared = Shared(run.manifest.spec.adapter, sample)
    yield from _joined(run.instances(), chain(sample, stream), run.scores(), shared)


def one_instance(run: RunFiles, instance_id: str) -> tuple[InstanceView, ...]:
    """Return an instance and its perturbed versions; none if the run has no such id."""
    instances, requests, scores = (
        run.rows_of(name, instance_id) for name in ("instances", "requests", "scores")
    )
    if not len(instances):
        return ()
    adapter = run.manifest.spec.adapter
    own = list(decoded(run.where, archived.read_replies(requests, adapter.decoding)))
    others = list(islice(run.replies(), SAMPLE))
    return tuple(
        _joined(
            decoded(run.where, archived.read_instances(instances)),
            own,
            decoded(run.where, archived.read_scores(scores)),
            Shared(adapter, [*others, *own]),
        )
    )


def first_request(run: RunFiles) -> Request | None:
    """Return the first request of a run, None if it has none."""
    first = run.first_reply()
    return None if first is None else first.request


def common_length(first: str, second: str) -> int:
    """Return how many code points two texts begin with alike."""
    low, high = 0, min(len(first), len(second))
    while low < high:
        middle = (low + high + 1) // 2
        if first[low:middle] == second[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


class Shared:
    """Where the instance's own part of a prompt begins.

    What comes before it, instructions and in-context examples, is the same for all
    instances of a trial: as far as the prompts of a sample have a common beginning. The
    own part begins with the last occurrence of the instance's input behind its prefix,
    in there if possible; where that is not found, at the last line break that all share.
    0 with a single instance of unknown form.
    """

    def __init__(self, adapter: AdapterSpec, sample: Sequence[Reply]) -> None:
        self._prefix = adapter.input_prefix
        prompts: dict[int, list[str]] = {}
        owners: dict[int, set[str]] = {}
        for reply in sample:
            request = reply.request
            prompts.setdefault(request.trial, []).append(request.prompt)
            owners.setdefault(request.trial, set()).add(request.instance_id)
        self._common = {
            trial: min(texts)[: common_length(min(texts), max(texts))]
            for trial, texts in prompts.items()
            if len(owners[trial]) > 1
        }

    def own_start(self, request: Request, instance: Instance) -> int:
        """Return the code-point offset of the own part in a request's prompt."""
        prompt = request.prompt
        common = self._common.get(request.trial)
        if common is None:
            limit = len(prompt)
        elif prompt.startswith(common):
            limit = len(common)
        else:
            limit = common_length(common, prompt)
        found = self._near(prompt, instance.input, limit) if instance.input else -1
        if found >= 0:
            return found
        whole = self._prefix + instance.input
        for needle, end in (
            (whole, limit + len(whole)),
            (whole, len(prompt)),
            (instance.input, limit + len(instance.input)),
        ):
            found = prompt.rfind(needle, 0, end) if instance.input else -1
            if found >= 0:
                return found
        return 0 if common is None else prompt.rfind("\n", 0, limit) + 1

    def _near(self, prompt: str, text: str, limit: int) -> int:
        """Return the last place, not behind `limit`, of a text that follows its prefix.

        Looks only where it nearly always is, by its first characters: to look for all of
        a long text takes longer than anything else that is done with it.
        """
        prefix = self._prefix
        head = prefix + text[:16]
        low = max(0, limit - len(prefix))
        found = prompt.rfind(head, low, limit + len(head))
        while found >= 0 and not prompt.startswith(text, found + len(prefix)):
            found = prompt.rfind(head, low, found + len(head) - 1)
        return found


class _Cursor(Generic[Row]):
    """Rows in the order of their instances, handed out an instance at a time.

    `owner` says where a row has its instance_id: in itself (''), or in a part of it.
    """

    def __init__(self, rows: Iterable[Row], owner: str = "") -> None:
        names = (f"{owner}instance_id", f"{owner}perturbation")
        self._groups = groupby(rows, key=attrgetter(*names))
        self._next = next(self._groups, None)

    def take(self, key: tuple[str, str]) -> list[Row]:
        """Return the rows of an instance, if they come next."""
        if self._next is None or self._next[0] != key:
            return []
        found = list(self._next[1])
        self._next = next(self._groups, None)
        return found


def _joined(
    instances: Iterable[Instance],
    replies: Iterable[Reply],
    scores: Iterable[Score],
    shared: Shared,
) -> Iterator[InstanceView]:
    """Put rows together that are in the same order."""
    answers, verdicts = _Cursor(replies, "request."), _Cursor(scores)
    for instance in instances:
        key = (instance.instance_id, instance.perturbation)
        yield InstanceView(
            instance, _trials(instance, answers.take(key), verdicts.take(key), shared)
        )


def _trials(
    instance: Instance, replies: list[Reply], scores: list[Score], shared: Shared
) -> tuple[TrialView, ...]:
    numbers = {r.request.trial for r in replies} | {s.trial for s in scores}
    if len(numbers) == 1:
        return (_trial(instance, numbers.pop(), replies, scores, shared),)
    return tuple(
        _trial(
            instance,
            number,
            [r for r in replies if r.request.trial == number],
            [s for s in scores if s.trial == number],
            shared,
        )
        for number in sorted(numbers)
    )


def _trial(
    instance: Instance,
    number: int,
    replies: list[Reply],
    scores: list[Score],
    shared: Shared,
) -> TrialView:
    owned: dict[int, list[Score]] = {}
    whole = []
    for score in scores:
        owner = _owner(score, replies)
        if owner is None:
            whole.append(score)
        else:
            owned.setdefault(owner, []).append(score)
    requests = []
    for _, group in groupby(enumerate(replies), key=lambda pair: pair[1].request.key):
        members = list(group)
        request = members[0][1].request
        views = tuple(
            ReplyView(r.completion, r.completion_index, tuple(owned.get(n, ())))
            for n, r in members
        )
        requests.append(
            RequestView(request, views, shared.own_start(request, instance))
        )
    return TrialView(number, tuple(requests), tuple(whole))


def _owner(score: Score, replies: list[Reply]) -> int | None:
    """Return the one reply that a score is about, None if it is about the instance."""
    if score.request_index == score.reference_index == score.completion_index == -1:
        return None
    wanted = (score.request_index, score.reference_index, score.completion_index)
    found = [
        n
        for n, reply in enumerate(replies)
        if reply.request.mode == "original"
        and all(w in (-1, own) for w, own in zip(wanted, _indices(reply), strict=True))
    ]
    return found[0] if len(found) == 1 else None


def _indices(reply: Reply) -> tuple[int, int, int]:
    request = reply.request
    return request.request_index, request.reference_index, reply.completion_index

"""Instances of a run with everything that was asked of them, one at a time."""

from __future__ import annotations

from itertools import chain, groupby, islice
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from helmsite.archive.runs import JUDGED
from helmsite.query.rows import InstanceView, ReplyView, RequestView, TrialView
from helmsite.schema.records import ORIGINAL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from helmsite.archive import RunFiles
    from helmsite.schema import AdapterSpec, Instance, Reply, Request, Score

SAMPLE = 200

Row = TypeVar("Row")


def instance_views(run: RunFiles) -> Iterator[InstanceView]:
    """Yield a run's instances by position, each original before its perturbed versions.

    The three tables are read side by side, a piece of each at a time.
    """
    stream = run.asked()
    sample: list[list[Reply]] = []
    while sum(map(len, sample)) < SAMPLE and (asked := next(stream, None)):
        sample.append(asked)
    first = list(chain.from_iterable(sample))[:SAMPLE]
    shared = Shared(run.manifest.spec.adapter, first)
    yield from _joined(run.instances(), chain(sample, stream), run.judged(), shared)


def one_instance(run: RunFiles, instance_id: str) -> tuple[InstanceView, ...]:
    """Return an instance and its perturbed versions; none if the run has no such id."""
    instances: list[Instance] = list(run.rows_of("instances", instance_id))
    if not instances:
        return ()
    own: list[Reply] = list(run.rows_of("requests", instance_id))
    judged: Iterator[Score] = run.rows_of("scores", instance_id)
    others = list(islice(run.replies(), SAMPLE))
    return tuple(
        _joined(
            instances,
            _bundled(own, attrgetter("request.key")),
            _bundled(judged, attrgetter(*JUDGED)),
            Shared(run.manifest.spec.adapter, [*others, *own]),
        )
    )


def _bundled(
    rows: Iterable[Row], key: Callable[[Row], tuple[Any, ...]]
) -> Iterator[list[Row]]:
    """Yield rows that follow each other and have the same key together."""
    return (list(rows) for _, rows in groupby(rows, key))


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
    In a ranking it begins with the document that is asked about.
    0 with a single instance of unknown form.
    """

    def __init__(self, adapter: AdapterSpec, sample: Sequence[Reply]) -> None:
        self._prefix = adapter.input_prefix
        ranks = adapter.method == "ranking_binary"
        self._before_document = adapter.reference_prefix if ranks else None
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
        prompt, index = request.prompt, request.reference_index
        if self._before_document is not None and 0 <= index < len(instance.references):
            document = self._before_document + instance.references[index].text
            return max(prompt.rfind(document), 0)
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
    """Bundles of rows in the order of their instances, handed out by instance.

    `about` says what of a row has its instance_id.
    """

    def __init__(
        self, bundles: Iterable[list[Row]], about: Callable[[Row], Request | Score]
    ) -> None:
        self._bundles = iter(bundles)
        self._about = about
        self._next = next(self._bundles, None)

    def take(self, instance: Instance) -> list[list[Row]]:
        """Return the bundles of an instance, if they come next."""
        found = []
        while self._next is not None:
            about = self._about(self._next[0])
            if (
                about.instance_id != instance.instance_id
                or about.perturbation != instance.perturbation
            ):
                break
            found.append(self._next)
            self._next = next(self._bundles, None)
        return found


def _joined(
    instances: Iterable[Instance],
    replies: Iterable[list[Reply]],
    scores: Iterable[list[Score]],
    shared: Shared,
) -> Iterator[InstanceView]:
    """Put rows together that are in the same order.

    Args:
        instances: rows of the run.
        replies: all to one request together.
        scores: all about the same reply, or instance and trial, together.
        shared: what prompts have in common.
    """
    answers = _Cursor(replies, attrgetter("request"))
    verdicts: _Cursor[Score] = _Cursor(scores, lambda score: score)
    for instance in instances:
        asked, judged = answers.take(instance), verdicts.take(instance)
        numbers = {rows[0].request.trial for rows in asked}
        numbers.update(rows[0].trial for rows in judged)
        if len(numbers) == 1:
            trials = [_trial(instance, numbers.pop(), asked, judged, shared)]
        else:
            trials = [
                _trial(
                    instance,
                    number,
                    [rows for rows in asked if rows[0].request.trial == number],
                    [rows for rows in judged if rows[0].trial == number],
                    shared,
                )
                for number in sorted(numbers)
            ]
        yield InstanceView(instance, tuple(trials))


def _trial(
    instance: Instance,
    number: int,
    replies: list[list[Reply]],
    scores: list[list[Score]],
    shared: Shared,
) -> TrialView:
    """Put the rows of one trial together, each score where it belongs."""
    owned: dict[tuple[int, int], list[Score]] = {}
    whole: list[Score] = []
    for judged in scores:
        owner = _owner(judged[0], replies)
        if owner is None:
            whole += judged
        else:
            owned.setdefault(owner, []).extend(judged)
    requests = []
    for place, asked in enumerate(replies):
        views = [
            ReplyView(
                reply.completion,
                reply.completion_index,
                tuple(owned.get((place, n), ())) if owned else (),
            )
            for n, reply in enumerate(asked)
        ]
        request = asked[0].request
        start = shared.own_start(request, instance)
        requests.append(RequestView(request, tuple(views), start))
    return TrialView(number, tuple(requests), tuple(whole))


def _owner(score: Score, replies: list[list[Reply]]) -> tuple[int, int] | None:
    """Return the place of the one reply that a score is about, None if of the instance."""
    if score.request_index == score.reference_index == score.completion_index == -1:
        return None
    found = [
        (place, n)
        for place, asked in enumerate(replies)
        if asked[0].request.mode == ORIGINAL
        and score.request_index in {-1, asked[0].request.request_index}
        and score.reference_index in {-1, asked[0].request.reference_index}
        for n, reply in enumerate(asked)
        if score.completion_index in {-1, reply.completion_index}
    ]
    return found[0] if len(found) == 1 else None

"""Requests answered by a bounded pool of threads, with retries and a clean stop."""

from __future__ import annotations

import logging
import math
import threading
import time
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from helmsite.errors import ClientError, RetriableError, RunError
from helmsite.schema import Completion, failed, unfit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from helmsite.schema import Client, Request

logger = logging.getLogger(__name__)

ERROR_LENGTH = 2000
TELL_EVERY_S = 10.0


@dataclass(frozen=True)
class RetryPolicy:
    """How often and how patiently a request is sent again.

    The pause before attempt k is `first_s * 2**(k-1)`, at most `longest_s`; a server's
    Retry-After counts where it is longer, up to `longest_wait_s`.
    """

    attempts: int = 6
    first_s: float = 0.5
    longest_s: float = 30.0
    longest_wait_s: float = 300.0

    def pause(self, attempt: int, asked_s: float | None) -> float:
        """Return the seconds to wait after the given failed attempt (1 = first)."""
        own = min(self.first_s * 2.0 ** (attempt - 1), self.longest_s)
        return max(own, min(asked_s or 0.0, self.longest_wait_s))


@dataclass
class LocalExecutor:
    """Sends requests from `workers` threads; at most that many are under way.

    A request that fails for good becomes a completion with its `error`. After
    `give_up_after` failed attempts without a single answer the run stops: the endpoint,
    not the request, is broken.
    """

    workers: int = 1
    policy: RetryPolicy = RetryPolicy()
    give_up_after: int = 18
    stop: threading.Event = field(default_factory=threading.Event)
    abandoned: bool = False
    _told_at: float = -math.inf

    def execute(
        self,
        client: Client,
        requests: Iterable[Request],
        on_reply: Callable[[Request, list[Completion]], None],
        *,
        answered: bool = False,
    ) -> None:
        """Answer every request; `on_reply` is called in the caller's thread.

        Args:
            client: the model.
            requests: what to ask it, in order.
            on_reply: gets each request with its completions, at least one.
            answered: whether the model is known to answer, so that failures are its own.

        Raises:
            KeyboardInterrupt: after the requests under way were answered and passed on;
                at a second Ctrl-C without them, with `abandoned` set: their threads may
                still hang in the client.
            RunError: nothing but failures came back.
        """
        waiting = iter(requests)
        under_way: dict[Future[list[Completion]], Request] = {}
        tally = _Tally(self.give_up_after, answered=answered)
        self.stop.clear()
        pool = ThreadPoolExecutor(self.workers, thread_name_prefix="helmsite-request")
        try:
            self._fill(pool, client, waiting, under_way)
            while under_way:
                done, _ = wait(under_way, return_when=FIRST_COMPLETED)
                self._hand_over(done, under_way, on_reply, tally)
                self._fill(pool, client, waiting, under_way)
        except KeyboardInterrupt:
            self.stop.set()
            logger.warning(
                "Stopping: %d requests under way are still answered (Ctrl-C again to drop them).",
                len(under_way),
            )
            self._drain(under_way, on_reply, tally)
            raise
        finally:
            self.stop.set()
            pool.shutdown(wait=not self.abandoned, cancel_futures=True)

    def _drain(
        self,
        under_way: dict[Future[list[Completion]], Request],
        on_reply: Callable[[Request, list[Completion]], None],
        tally: _Tally,
    ) -> None:
        try:
            done, _ = wait(under_way)
        except KeyboardInterrupt:
            self.abandoned = True
            raise
        self._hand_over(done, under_way, on_reply, tally)

    def _fill(
        self,
        pool: ThreadPoolExecutor,
        client: Client,
        waiting: Iterator[Request],
        under_way: dict[Future[list[Completion]], Request],
    ) -> None:
        while len(under_way) < self.workers:
            request = next(waiting, None)
            if request is None:
                return
            under_way[pool.submit(self._answer, client, request)] = request

    def _hand_over(
        self,
        done: Iterable[Future[list[Completion]]],
        under_way: dict[Future[list[Completion]], Request],
        on_reply: Callable[[Request, list[Completion]], None],
        tally: _Tally,
    ) -> None:
        for future in done:
            if self.stop.is_set() and isinstance(future.exception(), _StoppedError):
                del under_way[future]
                continue
            completions = future.result()
            on_reply(under_way[future], completions)
            del under_way[future]
            tally.count(completions)

    def _tell(self, pause_s: float, error: ClientError) -> None:
        """Say why a request waits, but not more often than anybody wants to read it."""
        now = time.monotonic()
        often = now - self._told_at < TELL_EVERY_S
        self._told_at = self._told_at if often else now
        level = logging.INFO if often else logging.WARNING
        logger.log(level, "Trying again in %.1f s: %s", pause_s, error.message)

    def _answer(self, client: Client, request: Request) -> list[Completion]:
        """Return the completions of one request, or one that holds its error."""
        started = time.time()
        error: ClientError
        attempt = 0
        for attempt in range(1, self.policy.attempts + 1):
            try:
                completions = client.complete(request)
                why = unfit(completions)
                if completions and not why:
                    return completions
                what = f"a reply that cannot be kept: {why}" if why else "no completion"
                error = ClientError(f"The client returned {what}.")
                break
            except RetriableError as caught:
                error = caught
                if attempt == self.policy.attempts:
                    break
                pause = self.policy.pause(attempt, caught.retry_after_s)
                self._tell(pause, caught)
                if self.stop.wait(pause):
                    raise _StoppedError from caught
            except ClientError as caught:
                error = caught
                break
        return [
            Completion(
                error=error.message[:ERROR_LENGTH],
                started_at=started,
                duration_s=time.time() - started,
                extra={"attempts": attempt},
            )
        ]


class _StoppedError(Exception):
    """The run was stopped while a request waited for its next attempt."""


@dataclass
class _Tally:
    """Counts failed attempts until the first answer."""

    limit: int
    answered: bool = False
    requests: int = 0
    attempts: int = 0

    def count(self, completions: list[Completion]) -> None:
        if self.answered or not failed(completions):
            self.answered = True
            return
        self.requests += 1
        self.attempts += completions[0].extra.get("attempts", 1)
        if self.attempts >= self.limit:
            error = next(c.error for c in completions if c.error)
            raise RunError(
                f"The first {self.requests} requests all failed; the last said: {error}",
                "Check the model's settings, address and key, then run again: "
                "nothing that was answered is lost.",
            )

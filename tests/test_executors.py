"""Requests are bounded, retried, counted and stopped cleanly."""

from __future__ import annotations

import signal
import threading
import time

import pytest

from helmsite.errors import ClientError, RetriableError, RunError
from helmsite.executors import LocalExecutor, RetryPolicy
from helmsite.schema import Client, Completion, Decoding, ModelIdentity, Request

FAST = RetryPolicy(attempts=3, first_s=0.001, longest_s=0.002)


class Scripted(Client):
    """Answers with what the script says for the request's number."""

    def __init__(self, script=None, pause_s=0.0):
        self.script = script or {}
        self.pause_s = pause_s
        self.calls: list[str] = []
        self.under_way = self.most = 0
        self.lock = threading.Lock()

    identity = ModelIdentity(name="scripted")
    tokenizer = None
    max_request_length = None
    has_prefix_token = False

    def complete(self, request):
        with self.lock:
            self.calls.append(request.instance_id)
            self.under_way += 1
            self.most = max(self.most, self.under_way)
            tries = self.calls.count(request.instance_id)
        time.sleep(self.pause_s)
        with self.lock:
            self.under_way -= 1
        step = self.script.get(request.instance_id)
        if step is not None:
            answer = step(tries)
            if isinstance(answer, Exception):
                raise answer
        return [Completion(text=f"to {request.instance_id}")]

    def close(self):
        pass


def requests(n):
    return [Request(f"id{i}", "p", Decoding()) for i in range(n)]


def run(client, n, **options):
    got = {}
    executor = LocalExecutor(policy=FAST, **options)
    executor.execute(client, requests(n), lambda r, c: got.update({r.instance_id: c}))
    return got


def test_every_request_is_answered_once() -> None:
    client = Scripted()
    got = run(client, 50, workers=4)
    assert sorted(got) == sorted(f"id{i}" for i in range(50))
    assert len(client.calls) == 50


def test_no_more_than_workers_are_under_way() -> None:
    client = Scripted(pause_s=0.005)
    run(client, 30, workers=3)
    assert client.most == 3


def test_a_retriable_error_is_sent_again_until_it_works() -> None:
    client = Scripted({"id1": lambda n: RetriableError("busy") if n < 3 else None})
    got = run(client, 3)
    assert got["id1"][0].text == "to id1"
    assert client.calls.count("id1") == 3


def test_what_fails_for_good_is_kept_with_its_reason_and_the_rest_goes_on() -> None:
    client = Scripted(
        {"id1": lambda n: ClientError("refused"), "id2": lambda n: RetriableError("x")}
    )
    got = run(client, 4)
    assert got["id1"][0].error == "refused"
    assert client.calls.count("id1") == 1
    assert got["id2"][0].error == "x"
    assert client.calls.count("id2") == 3
    assert got["id3"][0].error == ""


def test_a_broken_endpoint_stops_the_run_early() -> None:
    client = Scripted(
        {f"id{i}": lambda n: ClientError("no such key") for i in range(99)}
    )
    with pytest.raises(RunError, match=r"first 5 requests all failed.*no such key"):
        run(client, 99, give_up_after=5)
    assert len(client.calls) < 10


def test_a_server_that_is_away_is_given_up_after_a_few_attempts(
    caplog: pytest.LogCaptureFixture,
) -> None:
    client = Scripted({f"id{i}": lambda n: RetriableError("away") for i in range(99)})
    with pytest.raises(RunError, match=r"first 6 requests all failed.*away"):
        run(client, 99)  # three attempts each, 18 in all
    assert len(client.calls) <= 18 + 3
    told = [r for r in caplog.records if "Trying again" in r.getMessage()]
    assert [r.levelname for r in told].count("WARNING") == 1


def test_failures_after_an_answer_do_not_stop_the_run() -> None:
    client = Scripted({f"id{i}": lambda n: ClientError("no") for i in range(1, 99)})
    assert len(run(client, 99, give_up_after=5)) == 99


def test_a_fault_of_a_client_is_not_hidden() -> None:
    client = Scripted({"id1": lambda n: ZeroDivisionError("a bug")})
    with pytest.raises(ZeroDivisionError):
        run(client, 3)


def test_ctrl_c_keeps_the_answers_under_way_and_ends_pauses() -> None:
    started = time.monotonic()
    client = Scripted({"id2": lambda n: RetriableError("busy", "", 60.0)}, 0.01)
    got = {}

    def keep(request, completions):
        got[request.instance_id] = completions
        if request.instance_id == "id3":
            raise KeyboardInterrupt

    executor = LocalExecutor(workers=2, policy=RetryPolicy(attempts=9))
    with pytest.raises(KeyboardInterrupt):
        executor.execute(client, requests(99), keep)
    assert "id3" in got
    assert "id2" not in got
    assert time.monotonic() - started < 5
    assert len(client.calls) < 10


def test_a_second_ctrl_c_does_not_wait_for_the_model() -> None:
    client = Scripted(pause_s=3.0)
    executor = LocalExecutor(workers=1)
    main = threading.main_thread().ident
    assert main is not None

    def interrupt() -> None:
        for _ in range(2):
            time.sleep(0.3)
            signal.pthread_kill(main, signal.SIGINT)

    started = time.monotonic()
    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        executor.execute(client, requests(3), lambda r, c: None)
    assert executor.abandoned
    assert time.monotonic() - started < 2


def test_a_client_that_returns_nothing_has_failed() -> None:
    client = Scripted()
    client.complete = lambda request: []  # type: ignore[method-assign]
    assert run(client, 2)["id1"][0].error == "The client returned no completion."


def test_a_model_known_to_answer_may_refuse_many() -> None:
    client = Scripted({f"id{i}": lambda n: ClientError("no") for i in range(40)})
    got = {}
    executor = LocalExecutor(policy=FAST, give_up_after=5)
    executor.execute(
        client, requests(40), lambda r, c: got.update({r.key: c}), answered=True
    )
    assert len(got) == 40


def test_the_pause_grows_is_bounded_and_honours_the_server() -> None:
    policy = RetryPolicy(first_s=1, longest_s=5, longest_wait_s=20)
    assert [policy.pause(k, None) for k in (1, 2, 3, 4)] == [1, 2, 4, 5]
    assert policy.pause(1, 7.0) == 7
    assert policy.pause(1, 900.0) == 20


@pytest.mark.parametrize(
    "odd",
    [
        Completion(text="half \ud800"),
        Completion(logprob=float("inf")),
        Completion(transcript=({"n": float("nan")},)),
        Completion(extra={"o": object()}),
    ],
)
def test_a_reply_that_no_archive_can_hold_is_that_requests_error(odd):
    class Odd(Scripted):
        def complete(self, request):
            made = super().complete(request)
            return [odd] if request.instance_id == "id1" else made

    got = run(Odd(), 3)
    assert "returned a reply that cannot be kept: " in got["id1"][0].error
    assert [got[f"id{i}"][0].text for i in (0, 2)] == ["to id0", "to id2"]

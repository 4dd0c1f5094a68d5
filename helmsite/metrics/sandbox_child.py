"""What runs inside the sandbox: a program of a model, and the tests that judge it.

The text of this module is given to a Python of its own (`python -c`), so it imports the
standard library alone (and numpy, which APPS gives its programs). It reads a job, sets
the limits, refuses what a program has no business doing, runs it, and says how it went.

What is refused here is refused by an audit hook: a program cannot take it away, but this
is a fence, not a wall. Walls are what the process was started in (`sandbox.py`).
"""

import contextlib
import io
import json
import os
import signal
import sys
import types
from importlib import import_module
from pathlib import Path
from typing import Any

FORBIDDEN = (
    "ctypes.",
    "os.chflags",
    "os.chmod",
    "os.chown",
    "os.exec",
    "os.fork",
    "os.forkpty",
    "os.kill",
    "os.killpg",
    "os.posix_spawn",
    "os.setxattr",
    "os.spawn",
    "os.startfile",
    "os.system",
    "pty.spawn",
    "resource.",
    "signal.pthread_kill",
    "socket.",
    "subprocess.",
    "sys.addaudithook",
    "syslog.",
)
CHANGING = (
    "os.link",
    "os.mkdir",
    "os.remove",
    "os.rename",
    "os.rmdir",
    "os.symlink",
    "os.truncate",
    "os.utime",
    "shutil.",
    "tempfile.",
)
READING = ("os.listdir", "os.scandir", "os.chdir", "os.listxattr", "os.getxattr")
HARMLESS = ("socket.gethostname",)
SYSTEM = ("/usr/lib", "/usr/share", "/lib", "/dev/null", "/dev/urandom")
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
DIGITS = 100_000
"""Digits of the longest number that APPS' tests have."""

HEADER = """import sys
import time
import itertools
from itertools import accumulate, product, permutations, combinations
import collections
from collections import Counter, OrderedDict, deque, defaultdict, ChainMap
from functools import lru_cache
import math
from math import sqrt, sin, cos, tan, ceil, fabs, floor, gcd, exp, log, log2
import fractions
from typing import List, Tuple
import numpy as np
import random
import heapq
from heapq import *
"""


class LateError(Exception):
    """A program that takes longer than it may."""


class Silent(io.StringIO):
    """A text stream that takes everything, keeps nothing and cannot be read."""

    def write(self, text: str) -> int:
        """Forget a text."""
        return len(text)

    def readable(self) -> bool:
        """Say that it cannot be read."""
        return False

    def read(self, *_args: Any) -> Any:
        """Refuse."""
        raise OSError("there is no input")

    readline = read
    readlines = read


def set_limits(limits: dict[str, int]) -> None:
    """Limit what the process and its children may use, where the system can."""
    try:
        import resource
    except ImportError:
        return
    for name, most in limits.items():
        kind = getattr(resource, f"RLIMIT_{name}", None)
        if kind is not None:
            with contextlib.suppress(ValueError, OSError):
                resource.setrlimit(kind, (most, most))


def guard(folder: str) -> None:
    """Refuse processes, signals, network, and files outside a folder, from now on."""
    inside = os.path.realpath(folder)
    readable = tuple(
        {os.path.realpath(p) for p in (*sys.path, sys.prefix, sys.base_prefix) if p}
        | {inside, *SYSTEM, *map(os.path.realpath, SYSTEM)}
    )

    def is_in(path: Any, places: tuple[str, ...]) -> bool:
        if isinstance(path, int):
            return True  # a file that is open already
        real = os.path.realpath(os.fsdecode(path))
        return any(real == p or real.startswith(p + os.sep) for p in places)

    def check(event: str, args: tuple[Any, ...]) -> bool:
        if event == "open":
            path, mode, flags = args
            is_writing = bool((flags or 0) & WRITING) or bool(
                {*(mode or "")} & {*"wax+"}
            )
            return is_in(path, (inside,) if is_writing else readable)
        if event.startswith(CHANGING):
            paths = [a for a in args if isinstance(a, (str, bytes, os.PathLike))]
            numbers = [a for a in args[1:] if isinstance(a, int)]
            if event in ("os.mkdir", "os.truncate"):
                numbers = numbers[1:]  # its mode, its length
            beside = any(number >= 0 for number in numbers)  # of a folder that is open
            return not beside and all(is_in(p, (inside,)) for p in paths)
        if event in READING:
            return not args or args[0] is None or is_in(args[0], readable)
        return event in HARMLESS or not event.startswith(FORBIDDEN)

    def hook(event: str, args: tuple[Any, ...]) -> None:
        if not check(event, args):
            raise PermissionError(f"not allowed in the sandbox: {event}")

    sys.addaudithook(hook)


@contextlib.contextmanager
def time_limit(seconds: float) -> Any:
    """Raise LateError in what runs for longer than some seconds."""

    def late(_signal: int, _frame: Any) -> None:
        raise LateError

    signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def execute(program: str, names: dict[str, Any]) -> None:
    """Run a program in a namespace, without anything of this module's own."""
    exec(compile(program, "<program>", "exec", dont_inherit=True), names)  # noqa: S102


def run_program(job: dict[str, Any]) -> str:
    """Run a program with its tests and say 'passed', 'timed out' or 'failed: why'."""
    silent = Silent()
    sys.stdin = silent
    with contextlib.redirect_stdout(silent), contextlib.redirect_stderr(silent):
        try:
            with time_limit(job["timeout"]):
                execute(job["program"], {})
        except LateError:
            return "timed out"
        except BaseException as error:  # noqa: BLE001 - sys.exit() is no way to pass
            return f"failed: {type(error).__name__}"
    return "passed"


def as_function(program: str) -> str:
    """Put a program that reads standard input into a function `code`."""
    made, started = [], False
    for line in program.split("\n"):
        is_import = line.startswith(("from ", "import "))
        if not is_import and not started:
            made.append("stdin = sys.stdin\nstdout = sys.stdout\ndef code():")
            started = True
        made.append(f"\t{line}" if started else line)
    return "\n".join(made) + "\n"


def with_numbers(value: Any) -> Any:
    """Return a one-item list of a mapping with whole numbers as keys, as JSON lost them."""
    held = value if isinstance(value, dict) else None
    if held is None and isinstance(value, list) and value:
        held = value[0] if isinstance(value[0], dict) else None
    try:
        return value if held is None else [{int(k): v for k, v in held.items()}]
    except ValueError:
        return value


def judge_call(function: Any, inputs: Any, expected: Any) -> Any:
    """Call a function with a test's arguments; say whether it returned what it should."""
    output = function(*inputs)
    if isinstance(output, tuple):
        output = list(output)
    verdict = output == expected
    is_list = isinstance(expected, list) and bool(expected)
    if is_list:
        verdict = verdict or output == expected[0]
    with contextlib.suppress(Exception):
        if isinstance(output[0], tuple):
            verdict = verdict or [list(item) for item in output] == expected[0]
    return verdict


def read_from(text: str, original: Any) -> contextlib.ExitStack:
    """Give a program a text as its standard input, and as any file that it opens.

    `stdin` of the program's first lines is the original stream, `sys.stdin` and what
    `input()` reads is a new one; each begins at the beginning.
    """
    from unittest.mock import mock_open, patch

    lines = iter(text.split("\n"))
    ways = {
        "read": lambda *_args: text,
        "readlines": lambda *_args: text.split("\n"),
        "readline": lambda *_args: next(lines),
    }
    stack = contextlib.ExitStack()
    for name, way in ways.items():
        stack.enter_context(patch.object(original, name, way))
    stack.enter_context(patch("sys.stdin", io.StringIO(text)))
    stack.enter_context(patch("builtins.open", mock_open(read_data=text)))
    return stack


def judge_output(function: Any, inputs: Any, expected: Any, original: Any) -> Any:
    """Run a program on a test's input; say whether it printed what it should."""
    text = "\n".join(inputs) if isinstance(inputs, list) else inputs
    wanted = "\n".join(expected) if isinstance(expected, list) else expected
    printed = io.StringIO()
    with (
        contextlib.redirect_stdout(printed),
        read_from(text, original),
        contextlib.suppress(SystemExit),
    ):
        function()
    return says(printed.getvalue().splitlines(), wanted)


def says(lines: list[str], wanted: str) -> bool:
    """Say whether printed lines are those that were wanted, more and more leniently.

    In turn: the same text but for space around it or around its lines; the same lines
    but for empty ones; nearly the same numbers, one in each line; the same sets of
    words, line by line in any order; the same sets of numbers to three places.
    """
    stripped = "\n".join(line.strip() for line in lines)
    if wanted.strip() in ("\n".join(lines).strip(), stripped.strip()):
        return True
    goal = [line.strip() for line in wanted.split("\n") if line]
    filled = [line for line in lines if line]
    if goal in (lines, filled) or are_close(filled, goal):
        return True
    found, right = (
        {frozenset(line.split()) for line in some}
        for some in ((line for line in filled if line.split()), goal)
    )
    return found == right or rounded(found) == rounded(right) is not None


def are_close(lines: list[str], goal: list[str]) -> bool:
    """Say whether lines are numbers that are nearly the same."""
    import numpy as np

    try:
        found, right = ([float(line) for line in some] for some in (lines, goal))
        return len(found) == len(right) and bool(np.allclose(found, right))
    except (ValueError, OverflowError):
        return False


def rounded(sets: set[frozenset[str]]) -> set[frozenset[float]] | None:
    """Return sets of words as sets of numbers to three places, None if one is no number."""
    try:
        return {frozenset(round(float(word), 3) for word in some) for some in sets}
    except ValueError:
        return None


def run_apps(job: dict[str, Any]) -> list[bool]:
    """Run a program on the tests of a problem of APPS; return whether it passed each.

    A program that does not compile, or lacks the function that is tested, has one test
    and fails it. What ends the process leaves no verdict at all.
    """
    tests = json.loads(job["input_output"])
    name, program, timeout = tests.get("fn_name"), job["program"], job["timeout"]
    original = sys.stdin
    module: Any = types.ModuleType("tmp_sol", "")
    source = HEADER + (program if name else as_function(program))
    try:
        with time_limit(timeout):
            execute(source, module.__dict__)
            found = (
                module.Solution() if name and "class Solution" in program else module
            )
        function = getattr(found, name or "code")
    except Exception:  # noqa: BLE001 - whatever it is, the program does not run
        return [False]
    verdicts = []
    for place, given in enumerate(tests["inputs"]):
        inputs, expected = with_numbers(given), with_numbers(tests["outputs"][place])
        if isinstance(given, dict):
            inputs = given
        try:
            with time_limit(timeout):
                verdict = (
                    judge_call(function, inputs, expected)
                    if name
                    else judge_output(function, inputs, expected, original)
                )
        except Exception:  # noqa: BLE001 - an error, or too late: this test is failed
            verdict = False
        verdicts.append(verdict is True)
    return verdicts


def main() -> None:
    """Read a job from standard input, run it, and write its verdict where stdout was."""
    job = json.loads(sys.stdin.buffer.read())
    out = os.dup(1)
    for stream in (0, 1):
        os.dup2(2, stream)  # standard error leads nowhere
    kind = {"program": run_program, "apps": run_apps}[job.pop("kind")]
    if kind is run_apps:
        sys.set_int_max_str_digits(DIGITS)
        import_module("numpy")
        import_module("unittest.mock")
    import_module("ctypes")  # so that a library which merely imports it can
    seal = job.pop("seal")
    sys.stdin = os.fdopen(0, closefd=False)
    sys.stdout = sys.stderr = Silent()
    set_limits(job.pop("limits"))
    guard(str(Path.cwd()))
    os.write(out, b"ready\n")
    verdict = kind(job)
    os.write(out, json.dumps([seal, verdict]).encode())
    os._exit(0)


if __name__ == "__main__":
    main()

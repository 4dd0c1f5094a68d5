"""Programs of models: what passes, what must not, and that nothing is run unasked."""

import gzip
import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from msgspec import structs

from helmsite import metrics
from helmsite.archive import Archive
from helmsite.cli import main
from helmsite.metrics import Limits, Sandbox
from helmsite.metrics.code import at_least_one
from helmsite.metrics.sandbox_child import as_function, says
from helmsite.schema import (
    AdapterSpec,
    Completion,
    Decoding,
    Instance,
    Reference,
    Reply,
    Request,
    Score,
)
from tests.archive_cases import manifest

SHARED = Path(__file__).parents[2] / "shared" / "data" / "raw"
ADAPTER = AdapterSpec(method="generation", num_outputs=1, max_train_instances=0)
WALLS = ("bubblewrap", "namespaces", "process")


@pytest.fixture(scope="module", params=WALLS)
def sandbox(request: pytest.FixtureRequest) -> Sandbox:
    made = Sandbox(allowed=(request.param,), limits=Limits(memory=1024 * 1024 * 1024))
    if made.wall != request.param:
        pytest.skip(f"no {request.param} here")
    return made


def test_the_best_wall_that_works_is_taken() -> None:
    assert Sandbox().wall in WALLS
    assert Sandbox(allowed=("process",)).wall == "process"


@pytest.mark.parametrize(
    ("program", "outcome"),
    [
        ("assert 1 + 1 == 2", "passed"),
        ("assert 1 + 1 == 3", "failed: AssertionError"),
        ("def broken(:", "failed: SyntaxError"),
        ("raise SystemExit(0)\nassert False", "failed: SystemExit"),
        ("import sys; sys.exit(0)", "failed: SystemExit"),
        ("exit()", "failed: SystemExit"),
        ("input()", "failed: OSError"),
        ("import os; os._exit(0)", "timed out"),
        ("print('x' * 1000)", "passed"),
        (
            "import threading as t\nw = t.Thread(target=print)\nw.start()\nw.join()",
            "passed",
        ),
        ("import numpy as np\nassert np.arange(3).sum() == 3", "passed"),
        (
            "open('own.txt', 'w').write('x')\nassert open('own.txt').read() == 'x'",
            "passed",
        ),
        ("assert __name__ != '__main__'", "passed"),
        ("def f(n):\n return f(n)\nf(1)", "failed: RecursionError"),
    ],
)
def test_a_program_passes_if_it_raises_nothing(
    sandbox: Sandbox, program: str, outcome: str
) -> None:
    assert sandbox.program(program, 3) == outcome


LOOP = "while True: pass"
STUBBORN = "while True:\n try:\n  while True: pass\n except BaseException: pass"
DEAF = "import signal\nsignal.setitimer(signal.ITIMER_REAL, 0)\nwhile True: pass"
SLEEP = "import time\ntime.sleep(60)"


@pytest.mark.parametrize("program", [LOOP, STUBBORN, DEAF, SLEEP])
def test_a_program_that_never_ends_is_ended(sandbox: Sandbox, program: str) -> None:
    begun = time.monotonic()
    assert sandbox.program(program, 1) == "timed out"
    assert time.monotonic() - begun < 10


FORBIDDEN = {
    "fork": "import os\nwhile True: os.fork()",
    "processes": "import subprocess\nsubprocess.run(['true'])",
    "shell": "import os\nos.system('true')",
    "exec": "import os, sys\nos.execv(sys.executable, ['python'])",
    "multiprocessing": "import multiprocessing as m\nm.Process(target=print).start()",
    "kill the parent": "import os\nos.kill(os.getppid(), 9)",
    "kill all": "import os\nos.kill(-1, 9)",
    "network": "import socket\nsocket.create_connection(('127.0.0.1', 9), 1)",
    "socket": "import socket\nsocket.socket()",
    "download": "import urllib.request as u\nu.urlopen('http://127.0.0.1:9/', None, 1)",
    "write outside": "open('/var/tmp/helmsite-was-here', 'w')",
    "write above": "open('../helmsite-was-here', 'w')",
    "link out": "import os\nos.symlink('/etc', 'x')\nopen('x/helmsite-was-here', 'w')",
    "delete": "import shutil\nshutil.rmtree({victim!r})",
    "remove": "import os\nos.remove({victim!r} + '/file')",
    "rename": "import os\nos.rename({victim!r} + '/file', 'mine')",
    "read outside": "open({victim!r} + '/file').read()",
    "secrets of the parent": "import os\nopen(f'/proc/{{os.getppid()}}/environ').read()",
    "list": "import os\nos.listdir({victim!r})",
    "libc": "import ctypes\nctypes.CDLL(None).getpid()",
    "limits": "import resource as r\nr.setrlimit(r.RLIMIT_AS, (-1, -1))",
}


@pytest.mark.parametrize("what", FORBIDDEN)
def test_what_a_program_has_no_business_doing_fails(
    sandbox: Sandbox, what: str, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("secret")
    attempt = FORBIDDEN[what].format(victim=str(tmp_path))
    assert sandbox.program(attempt, 3).startswith("failed: ")
    assert (tmp_path / "file").read_text() == "secret"
    assert not Path("/var/tmp/helmsite-was-here").exists()


def test_memory_is_limited(sandbox: Sandbox) -> None:
    bomb = "held = []\nwhile True: held.append(bytearray(10_000_000))"
    assert sandbox.program(bomb, 20) == "failed: MemoryError"


def test_files_are_limited_in_size_and_number(sandbox: Sandbox) -> None:
    large = "with open('x', 'wb') as f:\n for _ in range(100): f.write(bytes(10**6))"
    many = "held = [open(str(i), 'w') for i in range(1000)]"
    assert sandbox.program(large, 3) == "failed: OSError"
    assert sandbox.program(many, 3) == "failed: OSError"


def test_output_is_thrown_away_however_much_it_is(sandbox: Sandbox) -> None:
    prints = "for _ in range(2000): print('x' * 100_000)"
    writes = "import os\nfor _ in range(2000): os.write(1, b'x' * 100_000)"
    assert sandbox.program(prints, 3) == "passed"
    assert sandbox.program(writes, 3) == "passed"


def test_a_flood_where_the_verdict_goes_is_no_verdict(sandbox: Sandbox) -> None:
    flood = (
        "import os\n"
        "for fd in range(3, 64):\n"
        "  try:\n"
        '    while True: os.write(fd, b\'["x", "passed"]\' * 10_000)\n'
        "  except OSError: pass"
    )
    assert sandbox.program(flood, 2) != "passed"


def test_a_verdict_without_the_seal_is_none(sandbox: Sandbox) -> None:
    forged = (
        "import os\n"
        "for fd in range(3, 64):\n"
        '  try: os.write(fd, b\'["guess", "passed"]\')\n'
        "  except OSError: pass\n"
        "os._exit(0)"
    )
    assert sandbox.program(forged, 2) == "timed out"


def test_the_environment_is_not_handed_on(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    known = {"HOME", "LANG", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "PATH", "PWD"}
    known |= {"PYTHONDONTWRITEBYTECODE", "PYTHONHASHSEED", "TMPDIR", "LC_CTYPE"}
    program = f"import os\nassert set(os.environ) <= {known}, set(os.environ)"
    assert sandbox.program(program, 3) == "passed"


def test_the_working_folder_is_empty_and_its_own(sandbox: Sandbox) -> None:
    program = "import os\nassert os.listdir() == []\nopen('left', 'w').close()"
    again = program + "\nassert True"
    assert sandbox.program(program, 3) == "passed"
    assert sandbox.program(again, 3) == "passed"


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_nothing_of_a_program_lives_on(sandbox: Sandbox) -> None:
    def children() -> set[str]:
        found = subprocess.run(
            ["ps", "-o", "pid=", "--ppid", str(os.getpid())],
            capture_output=True,
            text=True,
            check=False,
        )
        return set(found.stdout.split())

    before = children()
    sandbox.program("import threading, time\nwhile True: time.sleep(1)", 1)
    assert len(children() - before) <= 1  # ps itself


@pytest.mark.skipif(sys.platform != "linux", reason="no namespaces here")
@pytest.mark.parametrize("wall", ["bubblewrap", "namespaces"])
def test_walls_hold_without_the_fence(wall: Any, tmp_path: Path) -> None:
    """A program that got over the audit hook has no network, processes or files."""
    made = Sandbox(allowed=(wall,))
    if made.wall != wall:
        pytest.skip(f"no {wall} here")
    (tmp_path / "secret").write_text("x")
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = server.getsockname()
        program = (
            "import os, socket\n"
            "try: socket.create_connection({address}, 1); print('network')\n"
            "except OSError: pass\n"
            "try: os.kill({parent}, 0); print('process')\n"
            "except OSError: pass\n"
            "print(os.path.exists({secret!r}))"
        ).format(address=address, parent=os.getpid(), secret=str(tmp_path / "secret"))
        shown = subprocess.run(
            [*made._way[1], sys.executable, "-c", program],
            capture_output=True,
            text=True,
            check=True,
        )
    assert shown.stdout == f"{wall == 'namespaces'}\n"  # those hide no files


# HumanEval


def problem(**more: Any) -> Instance:
    extra = {
        "test": "def check(f):\n    assert f(2, 3) == 5\n    assert f(-1, 1) == 0\n",
        "entry_point": "add",
    }
    start = 'def add(a, b):\n    """Add two numbers."""\n'
    right = (Reference("    return a + b\n", ("correct",)),)
    return Instance("id1", start, right, split="test", **{"extra": extra, **more})


def answers(*texts: str) -> list[Reply]:
    request = Request("id1", "?", Decoding(num_completions=len(texts)))
    return [
        Reply(request, Completion(text=text, logprob=-float(i + 1)), i)
        for i, text in enumerate(texts)
    ]


def asked(name: str, instance: Instance, *texts: str, sandbox: Sandbox | None) -> Score:
    (row,) = metrics.score([instance], answers(*texts), ADAPTER, [name], None, sandbox)
    return row


@pytest.fixture(scope="module")
def anywhere() -> Sandbox:
    return Sandbox()


RIGHT, WRONG = "return a + b", "return a - b"


@pytest.mark.parametrize(
    ("name", "texts", "expected"),
    [
        ("pass", (f"    {RIGHT}\n",), 1.0),
        ("pass", (WRONG,), 0.0),
        ("pass", (RIGHT, WRONG), 0.5),
        ("pass@2", (RIGHT, WRONG), 1.0),
        ("pass@2", (RIGHT, WRONG, WRONG), 2 / 3),
        ("code_eval_acc", (RIGHT, WRONG), 1.0),
        ("code_eval_acc", (WRONG, RIGHT), 0.0),
        ("code_eval_acc@2", (WRONG, RIGHT), 1.0),
        ("pass", ("exit = 1\n    import sys\n    sys.exit(0)",), 0.0),
        ("pass", ("pass\nimport os\nos._exit(0)",), 0.0),
    ],
)
def test_functions_are_judged_by_their_tests(
    name: str, texts: tuple[str, ...], expected: float, anywhere: Sandbox
) -> None:
    found = asked(name, problem(), *texts, sandbox=anywhere)
    assert found.value == pytest.approx(expected)


@pytest.mark.parametrize("name", ["pass", "code_eval_acc", "pass@5"])
def test_nothing_is_run_unless_it_was_allowed(name: str) -> None:
    found = asked(name, problem(), RIGHT, sandbox=None)
    assert (found.value, found.missing) == (None, "not measurable")
    assert "--allow-code-execution" in found.details["reason"]
    (note,) = metrics.notes([name, "exact_match"], (), None)
    assert "not run" in note
    assert metrics.notes(["exact_match"], (), None) == []


def test_readers_are_told_where_programs_were_run(anywhere: Sandbox) -> None:
    (note,) = metrics.notes(["pass"], (), anywhere)
    assert f"sandbox: {anywhere.wall}" in note


def test_without_tests_there_is_nothing_to_measure(anywhere: Sandbox) -> None:
    found = asked("pass", problem(extra={}), RIGHT, sandbox=anywhere)
    assert (found.missing, found.details) == ("not measurable", {})


def test_several_outputs_bring_their_best_along() -> None:
    names = metrics.applicable("generation", ["pass", "code_eval_acc"], 5)
    assert {"pass@5", "code_eval_acc@5"} <= {*names}


@pytest.mark.parametrize(
    ("n", "right", "k", "expected"),
    [(5, 0, 1, 0), (5, 2, 1, 0.4), (5, 2, 4, 1), (4, 1, 2, 0.5)],
)
def test_chance_of_a_right_one(n: int, right: int, k: int, expected: float) -> None:
    assert at_least_one(n, right, k) == pytest.approx(expected)


@pytest.fixture(scope="module")
def humaneval() -> list[dict[str, str]]:
    path = SHARED / "humaneval" / "HumanEval.jsonl.gz"
    if not path.exists():
        pytest.skip(f"needs {path}")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def test_humaneval_accepts_its_own_solutions_and_nothing_else(
    humaneval: list[dict[str, str]], anywhere: Sandbox
) -> None:
    assert len(humaneval) == 164
    for task in humaneval:
        made = Instance(
            "id1",
            task["prompt"],
            (Reference("", ("correct",)),),
            split="test",
            extra={"test": task["test"], "entry_point": task["entry_point"]},
        )
        right = task["canonical_solution"]
        assert asked("pass", made, right, sandbox=anywhere).value == 1.0, task[
            "task_id"
        ]
        assert asked("pass", made, "return None", sandbox=anywhere).value == 0.0


# APPS

ECHO = {"inputs": ["1 2\n", "3 4\n"], "outputs": ["3\n", "7\n"]}
CALL = {"fn_name": "add", "inputs": [[1, 2], [3, 4]], "outputs": [3, [7]]}
SUM = "a, b = map(int, input().split())\nprint(a + b)"


def contest(tests: dict[str, Any]) -> Instance:
    extra = {"input_output": json.dumps(tests), "timeout": 3}
    return problem(extra=extra)


@pytest.mark.parametrize(
    ("tests", "text", "passed"),
    [
        (ECHO, SUM, 1.0),
        (ECHO, SUM + "\nimport sys\nsys.exit()", 1.0),
        (ECHO, "print(3)", 0.5),
        (
            ECHO,
            "import sys\nfor l in sys.stdin:\n    print(sum(map(int, l.split())))",
            1.0,
        ),
        (ECHO, "a, b = map(int, open(0).read().split())\nprint(a + b)", 1.0),
        (
            ECHO,
            "from sys import stdin\nprint(sum(map(int, stdin.readline().split())))",
            1.0,
        ),
        (ECHO, "print(", 0.0),
        (ECHO, "print(1 / 0)", 0.0),
        (ECHO, "import os\nos._exit(0)", 0.0),
        (CALL, "def add(a, b):\n    return a + b", 1.0),
        (CALL, "class Solution:\n    def add(self, a, b):\n        return a + b", 1.0),
        (CALL, "def add(a, b):\n    return (3,)", 0.0),
        (CALL, "def other(a, b):\n    return a + b", 0.0),
        (CALL, "import sys\nsys.exit(0)", 0.0),
        (CALL, "def add(a, b):\n    sys.exit(0)", 0.0),
    ],
)
def test_programs_are_judged_test_by_test(
    tests: dict[str, Any], text: str, passed: float, anywhere: Sandbox
) -> None:
    assert asked("test_avg", contest(tests), text, sandbox=anywhere).value == passed
    strict = asked("strict_acc", contest(tests), text, sandbox=anywhere)
    assert strict.value == float(passed == 1)


def test_the_best_completion_counts(anywhere: Sandbox) -> None:
    found = asked(
        "test_avg", contest(ECHO), "print(0)", "print(7)", SUM, sandbox=anywhere
    )
    assert found.value == 1.0
    assert found.details == {"passed": 2, "tests": 2}


def test_a_test_that_is_late_fails_alone(anywhere: Sandbox) -> None:
    slow = "a, b = map(int, input().split())\nwhile a == 1: pass\nprint(a + b)"
    tests = structs.replace(
        contest(ECHO), extra={"input_output": json.dumps(ECHO), "timeout": 1}
    )
    assert asked("test_avg", tests, slow, sandbox=anywhere).value == 0.5


@pytest.mark.parametrize(
    ("printed", "wanted", "expected"),
    [
        ("3\n", "3", True),
        ("  3  \n\n", "3\n", True),
        ("1\n\n2\n", "1\n2", True),
        ("1.0000001\n", "1", True),
        ("b a\n", "a b", True),
        ("2\n1\n", "1\n2", True),
        ("0.5 0.12345\n", "0.123 0.5001", True),
        ("1 2\n", "1\n2", False),
        ("4\n", "3", False),
        ("", "3", False),
        ("", "", True),
        ("yes\n", "YES", False),
    ],
)
def test_output_is_compared_more_and_more_leniently(
    printed: str, wanted: str, expected: bool
) -> None:
    assert says(printed.splitlines(), wanted) is expected


def test_a_program_becomes_a_function_that_keeps_its_imports_outside() -> None:
    made = as_function("import math\nx = 1\nimport re\nprint(x)")
    assert made == (
        "import math\nstdin = sys.stdin\nstdout = sys.stdout\ndef code():\n"
        "\tx = 1\n\timport re\n\tprint(x)\n"
    )


def test_solutions_of_apps_pass_its_tests(anywhere: Sandbox) -> None:
    folders = sorted((SHARED / "apps" / "APPS" / "train").glob("*/input_output.json"))
    if not folders:
        pytest.skip("needs ../shared/data/raw/apps")
    for file in folders:
        tests = file.read_text(encoding="utf-8")
        solutions = json.loads((file.parent / "solutions.json").read_text("utf-8"))
        verdicts = [anywhere.apps(text, tests, 3) for text in solutions[:5]]
        assert any(v and all(v) for v in verdicts), file
        assert anywhere.apps("print('no')", tests, 3) != [True]


# from the command line


def archived(folder: Path) -> tuple[Archive, str]:
    """A run of HumanEval's kind with one right answer and one wrong, not scored yet."""
    made = manifest("code:dataset=humaneval")
    spec = structs.replace(made.spec, adapter=ADAPTER)
    instances, replies = [], []
    for i, text in enumerate((RIGHT, WRONG)):
        item = structs.replace(problem(), instance_id=f"id{i}", position=i)
        instances.append(item)
        request = Request(item.instance_id, item.input, ADAPTER.decoding)
        replies.append(Reply(request, Completion(text=text)))
    archive = Archive(folder)
    held = structs.replace(made, spec=spec, metrics=metrics.resolve(["pass"]))
    archive.write_run(held, instances, replies, [], [])
    return archive, made.run_id


def value(archive: Archive, name: str) -> float | None:
    (found,) = (
        s
        for s in archive.stats(name)
        if (s.metric, s.trial, s.split, s.sub_split) == ("pass", -1, "test", "")
    )
    return found.value


def test_the_command_line_runs_programs_only_with_its_flag(tmp_path: Path) -> None:
    archive, name = archived(tmp_path / "runs")
    command = ["score", "--archive", str(tmp_path / "runs"), name]

    def score(*flags: str) -> tuple[float | None, str]:
        done = CliRunner().invoke(main, [*command, *flags], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        again = Archive(tmp_path / "runs")
        return value(again, name), " ".join(again.manifest(name).warnings)

    archive.write_scores(name, [], [], metrics.resolve(["exact_match"]))
    assert "not run" in score("-m", "pass")[1]
    found, told = score("--allow-code-execution", "-m", "pass")
    assert found == 0.5
    assert "sandbox: " in told
    assert "not run" not in told
    assert score() == (0.5, told)  # what is there stays without the flag

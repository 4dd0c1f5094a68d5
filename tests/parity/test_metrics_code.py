"""Programs beside HELM's own running of them: honest ones get the same verdict."""

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsite.metrics import Sandbox
from helmsite.metrics.sandbox_child import judge_call, says, with_numbers
from tests.parity.reference import Reference as Helm
from tests.parity.reference import start
from tests.parity.test_metrics import many

SHARED = Path(__file__).parents[3] / "shared" / "data" / "raw"
WORD = st.sampled_from(
    ["1", "2", "1.0", "1.00001", "0.1234", "0.12341", "a", "b", "YES", "", " ", "nan"]
)
LINE = st.lists(WORD, max_size=3).map(" ".join)
OUTPUT = st.lists(LINE, max_size=4).map("\n".join)
VALUE = st.recursive(
    st.sampled_from([0, 1, 1.5, "a", True, None]),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from("12"), inner)
    ),
    max_leaves=4,
)


@pytest.fixture(scope="module")
def helm(tmp_path_factory: pytest.TempPathFactory):
    reference = start("metrics", tmp_path_factory.mktemp("metrics"))
    yield reference
    reference.close()


@many
@given(pairs=st.lists(st.tuples(OUTPUT, OUTPUT), min_size=1, max_size=30))
def test_printed_output(helm: Helm, pairs: list[tuple[str, str]]) -> None:
    program = f"made = {[made for made, _ in pairs]!r}\nprint(made[int(input())])"
    tests = {
        "inputs": [f"{i}\n" for i in range(len(pairs))],
        "outputs": [wanted for _, wanted in pairs],
    }
    theirs = helm.ask({"apps": tests, "program": program})
    ours = [says((made + "\n").splitlines(), wanted) for made, wanted in pairs]
    assert [int(verdict) for verdict in ours] == theirs


@many
@given(pairs=st.lists(st.tuples(VALUE, VALUE), min_size=1, max_size=20))
def test_returned_values(helm: Helm, pairs) -> None:
    held = [expected if i % 2 else made for i, (made, expected) in enumerate(pairs)]
    program = f"made = {held!r}\ndef f(i):\n    return made[i]"
    tests = {
        "fn_name": "f",
        "inputs": [[i] for i in range(len(pairs))],
        "outputs": [expected for _, expected in pairs],
    }
    theirs = helm.ask({"apps": tests, "program": program})

    def verdict(i):
        try:
            found = judge_call(lambda n: held[n], [i], with_numbers(pairs[i][1]))
        except Exception:  # noqa: BLE001 - as the sandbox: the test is failed
            return 0
        return int(found is True)

    assert [verdict(i) for i in range(len(pairs))] == theirs


PROGRAMS = [
    "import sys\nfor line in sys.stdin:\n    print(line.strip())",
    "import sys\nprint(sys.stdin.read())",
    "from sys import stdin\nprint(stdin.readline())",
    "import sys\nx = 1\nfrom sys import stdin\nprint(stdin.read())",
    "print(stdin.readline())\nstdout.write('x')",
    "print(*open(0))",
    "print(input())\nprint(input())",
    "while True:\n    print(input())",
    "try:\n    while True: print(input())\nexcept EOFError: pass",
    "import sys\nprint(input())\nsys.exit(1)",
    "print(input()); exit()",
    "print(__name__)",
    "if __name__ == '__main__':\n    print(input())",
    "def main():\n    print(input())\nmain()",
    "import numpy\nprint(np.zeros(1)[0])",
    "print(",
    "",
    "raise ValueError",
    "import missing_module\nprint(input())",
    "print('a')\nprint('b')",
    "import sys\nsys.stdout.write('a\\nb\\n')",
    "import sys\nprint(sys.stdin.buffer.read())",
    "import threading\nthreading.Thread(target=print, args=('a',)).start()",
]


@pytest.mark.parametrize("program", PROGRAMS)
def test_ways_to_read_and_print(helm: Helm, program: str) -> None:
    tests = {"inputs": ["a\nb\n", "b\n"], "outputs": ["a\nb\n", "a"]}
    theirs = helm.ask({"apps": tests, "program": program})
    ours = Sandbox().apps(program, json.dumps(tests), 3)
    assert ours is not None
    assert [int(v) for v in ours] == theirs


def test_humaneval(helm: Helm) -> None:
    path = SHARED / "humaneval" / "HumanEval.jsonl.gz"
    if not path.exists():
        pytest.skip(f"needs {path}")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        problems = [json.loads(line) for line in lines][::16]
    sandbox = Sandbox()
    for task in problems:
        right = task["canonical_solution"].strip()
        for made in (right, right.replace("+", "-"), "return 0", "x = (", "exit()"):
            theirs = helm.ask({"humaneval": task, "completion": made})
            program = f"{task['prompt']}    {made}\n{task['test']}\ncheck({task['entry_point']})"
            assert (sandbox.program(program, 3) == "passed") == theirs

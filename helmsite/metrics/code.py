"""Programs: does what a model writes pass its tests?

The programs are run, so these metrics have values only where somebody allowed that
(`--allow-code-execution`, or a Sandbox in Python); else they are 'not measurable', and
the reason says so. What is run with what is in the instance's `extra`:

HumanEval   `test` and `entry_point`: prompt, four spaces, answer, test, and a call of
            check() make a program, which passes if it raises nothing within 3 seconds
APPS        `input_output` (the text of the problem's file of that name) and `timeout`:
            the answer alone is the program, judged test by test
"""

from __future__ import annotations

from math import comb
from typing import TYPE_CHECKING

from helmsite.metrics.case import UnmeasurableError
from helmsite.metrics.kinds import CaseMetric, Measure
from helmsite.schema import MetricFacts

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from helmsite.metrics.case import Case
    from helmsite.metrics.sandbox import Sandbox
    from helmsite.schema import Completion

TIMEOUT_S = 3
PASSED = "passed"
FAILED_TESTS = 21  # HELM's figure for a program that gives no verdict
NAMES = ("pass", "code_eval_acc", "test_avg", "strict_acc")
NOTE = "the model's programs were"
REFUSED = "a program is run only with --allow-code-execution"


def runs_code(name: str) -> bool:
    """Say whether a metric runs what a model wrote."""
    return name.partition("@")[0] in NAMES


def notes(names: Iterable[str], sandbox: Sandbox | None) -> list[str]:
    """Return what a run's readers must know about programs that were run or were not."""
    running = [name for name in names if runs_code(name)]
    if not running:
        return []
    which = ", ".join(running)
    if sandbox is None:
        return [
            f"{which}: no value, for {NOTE} not run; `helmsite score --allow-code-execution` runs them."
        ]
    return [f"{which}: {NOTE} run on this machine (sandbox: {sandbox.wall})."]


def _sandbox(case: Case) -> Sandbox:
    if case.sandbox is None:
        raise UnmeasurableError(REFUSED)
    return case.sandbox


def outcomes(case: Case, completions: Sequence[Completion]) -> list[str] | None:
    """Run HumanEval's tests on completions; None where the instance has no tests."""
    extra = case.instance.extra
    test, entry_point = extra.get("test"), extra.get("entry_point")
    if not isinstance(test, str) or not isinstance(entry_point, str):
        return None
    sandbox, start = _sandbox(case), case.instance.input
    return [
        sandbox.program(
            f"{start}    {completion.text.strip()}\n{test}\ncheck({entry_point})",
            TIMEOUT_S,
        )
        for completion in completions
    ]


def at_least_one(n: int, right: int, k: int) -> float:
    """Return the chance that k of n answers, drawn at random, hold a right one.

    Chen et al. (2021): 1 - C(n - right, k) / C(n, k).
    """
    return 1.0 if n - right < k else 1.0 - comb(n - right, k) / comb(n, k)


def _at(name: str) -> int:
    return int(name.partition("@")[2] or 1)


def passing(name: str) -> CaseMetric:
    """Make `pass` or `pass@K`: the chance that one of K answers passes its tests."""
    k = _at(name)
    facts = MetricFacts(
        name=name,
        title=f"pass@{k}",
        description="Share of programs that pass all their tests."
        if k == 1
        else f"Mean chance that one of {k} programs passes all its tests.",
        family="accuracy",
        higher_is_better=True,
        format="share",
        source="HELM",
    )

    def judge(case: Case) -> Measure | None:
        found = outcomes(case, case.exchanges[0].completions)
        if found is None:
            return None
        value = at_least_one(len(found), found.count(PASSED), k)
        return Measure(value, details={"outcomes": found})

    return CaseMetric(facts, judge)


def correctness(name: str) -> CaseMetric:
    """Make `code_eval_acc` or `code_eval_acc@K`: does the likeliest of K answers pass?"""
    k = _at(name)
    best = "" if k == 1 else f"; the best of {k} completions counts"
    facts = MetricFacts(
        name=name,
        title="Correctness" if k == 1 else f"Correctness (best of {k})",
        description=f"Share of instances whose program passes all its tests{best}.",
        family="accuracy",
        higher_is_better=True,
        format="share",
        source="HELM",
    )

    def judge(case: Case) -> Measure | None:
        found = outcomes(case, case.ranked[:k])
        return None if found is None else Measure(float(PASSED in found))

    return CaseMetric(facts, judge)


def verdicts(case: Case) -> list[list[bool]] | None:
    """Run each completion on a problem of APPS; None where the instance has no tests."""
    tests, timeout = (case.instance.extra.get(n) for n in ("input_output", "timeout"))
    if not isinstance(tests, str) or not tests:
        return None
    seconds = timeout if isinstance(timeout, int) else TIMEOUT_S
    found = (
        _sandbox(case).apps(completion.text.strip(), tests, seconds)
        for completion in case.exchanges[0].completions
    )
    return [[False] * FAILED_TESTS if each is None else each for each in found]


def _apps(facts: MetricFacts, *, strict: bool) -> CaseMetric:
    def judge(case: Case) -> Measure | None:
        found = verdicts(case)
        if found is None or not all(found):
            return None
        shares = [sum(each) / len(each) for each in found]
        best = max(shares)
        tests = found[shares.index(best)]
        return Measure(
            float(best == 1) if strict else best,
            details={"passed": sum(tests), "tests": len(tests)},
        )

    return CaseMetric(facts, judge)


test_avg = _apps(
    MetricFacts(
        name="test_avg",
        title="Tests passed",
        description="Mean share of its tests that a program passes; the best completion counts.",
        family="accuracy",
        higher_is_better=True,
        format="share",
        source="HELM",
    ),
    strict=False,
)

strict_acc = _apps(
    MetricFacts(
        name="strict_acc",
        title="Strict correctness",
        description="Share of instances whose program passes all its tests; the best completion counts.",
        family="accuracy",
        higher_is_better=True,
        format="share",
        source="HELM",
    ),
    strict=True,
)

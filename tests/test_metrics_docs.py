"""docs/metrics.md says of each metric what its facts say, line by line."""

from pathlib import Path

import pytest

from helmsite import metrics
from helmsite.metrics import names as metric_names
from helmsite.schema import MetricFacts

PAGE = Path(__file__).parents[1] / "docs" / "metrics.md"
BETTER = {True: "higher", False: "lower", None: "–"}
BUILTIN = metrics.resolve(metric_names.BUILTIN)


def line(facts: MetricFacts) -> str:
    return (
        f"| `{facts.name}` | {facts.title} | {BETTER[facts.higher_is_better]} "
        f"| {facts.unit or facts.format} | {facts.aggregation} | {facts.description} |"
    )


@pytest.mark.parametrize("facts", BUILTIN, ids=lambda facts: facts.name)
def test_the_page_has_the_line_of_each_metric(facts: MetricFacts) -> None:
    assert line(facts) in PAGE.read_text(encoding="utf-8").splitlines()


def test_the_page_has_no_line_of_anything_else() -> None:
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    assert sum(text.startswith("| `") for text in lines) == len(BUILTIN)


@pytest.mark.parametrize("family", sorted({facts.family for facts in BUILTIN}))
def test_each_family_has_its_heading_and_only_its_metrics(family: str) -> None:
    page = PAGE.read_text(encoding="utf-8")
    section = page.partition(f"### {family}\n")[2].partition("\n#")[0]
    found = [text for text in section.splitlines() if text.startswith("| `")]
    assert found == [line(facts) for facts in BUILTIN if facts.family == family]

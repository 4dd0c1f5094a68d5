"""F1 over labels: HELM's figures, labels that no instance has, letters and lists."""

import pytest
from msgspec import structs

from helmsite import metrics
from helmsite.query import summarise
from helmsite.schema import (
    AdapterSpec,
    Completion,
    Decoding,
    Instance,
    Reference,
    Reply,
    Request,
    Stat,
)

GENERATION = AdapterSpec(method="generation", num_outputs=1, max_train_instances=0)
JOINT = AdapterSpec(method="multiple_choice_joint", num_outputs=1)
MACRO, MICRO = "classification_macro_f1", "classification_micro_f1"


def items(*pairs: tuple[tuple[str, ...], str]) -> tuple[list[Instance], list[Reply]]:
    """Instances with their correct labels, and what was answered."""
    instances, replies = [], []
    for i, (gold, text) in enumerate(pairs):
        references = tuple(Reference(label, ("correct",)) for label in gold)
        instances.append(Instance(f"id{i}", "x", references, position=i, split="test"))
        request = Request(f"id{i}", "x", Decoding())
        replies.append(Reply(request, Completion(text=text)))
    return instances, replies


def stat(
    name: str,
    instances: list[Instance],
    replies: list[Reply],
    adapter: AdapterSpec = GENERATION,
) -> Stat:
    names = metrics.applicable(adapter.method, [name])
    scores = metrics.score(instances, replies, adapter, names)
    facts, population = metrics.resolve(names), metrics.population(names)
    found = summarise(instances, scores, facts, (), population, scenario="s")
    (one,) = (s for s in found if s.metric == name and s.trial == -1 and s.split)
    return one


FOUR = items((("Yes",), " yes."), (("No",), "no"), (("No",), "Yes"), (("Yes",), "so"))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (MACRO, (2 / 4 + 2 / 3) / 2),  # yes: 1 of 2 and 1 of 2; no: 1 of 1 and 1 of 2
        (MICRO, 2 * 2 / (4 + 3)),  # "so" is no label: three predictions
        ("classification_macro_precision", (1 / 2 + 1) / 2),
        ("classification_micro_recall", 2 / 4),
        ("classification_weighted_f1", (2 / 4 + 2 / 3) / 2),
        (f"{MACRO}:labels=yes|No|perhaps", (2 / 4 + 2 / 3 + 0) / 3),
        (f"{MICRO}:labels=yes", 2 / 4),
    ],
)
def test_scores_over_labels(name: str, expected: float) -> None:
    assert stat(name, *FOUR).value == pytest.approx(expected)


def test_rows_say_what_was_predicted() -> None:
    rows = metrics.score(*FOUR, GENERATION, [MACRO])
    assert [row.value for row in rows] == [1.0, 1.0, 0.0, 0.0]
    assert rows[3].text == "so"
    assert rows[3].details == {"gold": ["yes"], "predicted": ["so"], "open": False}


def test_articles_are_part_of_a_label() -> None:
    instances, replies = items((("A",), "a"), (("B",), "the b"))
    assert stat(MICRO, instances, replies).value == pytest.approx(2 * 1 / (2 + 1))


def test_several_labels_are_separated_by_commas() -> None:
    several = structs.replace(GENERATION, multi_label=True)
    made = items((("x", "y"), "Y, x"), (("y",), "x, z"), (("z",), ""))
    assert stat(MICRO, *made, several).value == pytest.approx(2 * 2 / (4 + 4))
    assert stat(MACRO, *made, several).value == pytest.approx((2 / 3 + 2 / 3 + 0) / 3)


def test_two_right_labels_are_not_measurable_where_one_is_expected() -> None:
    found = stat(MACRO, *items((("x", "y"), "x")))
    assert (found.value, found.missing) == (None, "not measurable")


def test_a_letter_that_stands_for_nothing_is_a_label_of_its_own() -> None:
    instances, replies = items((("Oslo",), "A"), (("Rome",), "C"))
    mapping = {"A": "Oslo", "B": "Rome"}
    letters = [
        structs.replace(r, request=structs.replace(r.request, output_mapping=mapping))
        for r in replies
    ]
    assert stat(MACRO, instances, letters, JOINT).value == pytest.approx(1 / 3)
    assert stat(MICRO, instances, letters, JOINT).value == pytest.approx(1 / 2)


def test_a_value_has_an_interval() -> None:
    found = stat(MACRO, *items(*[((g,), p) for g in "abab" for p in "aab"]))
    assert found.ci_low is not None
    assert found.ci_high is not None
    assert found.value is not None
    assert found.ci_low < found.value < found.ci_high


def test_rows_come_along_with_a_score_made_of_them() -> None:
    assert MACRO in metrics.applicable("generation", ["classification_micro_precision"])

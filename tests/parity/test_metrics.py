"""Every metric of texts beside HELM's own, on the same made-up texts."""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from helmsite.metrics import TextMetric
from helmsite.metrics.names import load
from helmsite.metrics.words import words
from tests.parity.reference import Reference

PLAIN = [
    "exact_match",
    "quasi_exact_match",
    "quasi_leave_articles_exact_match",
    "prefix_exact_match",
    "quasi_prefix_exact_match",
    "exact_match_indicator",
    "final_number_exact_match",
    "absolute_value_difference",
    "f1_score",
    "exact_set_match",
    "iou_set_match",
    "f1_set_match",
    "rouge_1",
    "rouge_2",
    "rouge_l",
    "bleu_1",
    "bleu_4",
]
MATHS = ["math_equiv", "math_equiv_chain_of_thought"]
SLOW = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
many = settings(max_examples=60, deadline=None, suppress_health_check=SLOW)

WORDS = """a an the The cat cats Cat. running runs is and not 5 -5 1,234 1.5 1x5 12 0.5 U.S.
Mr. Dr. St. e.g. No. 3 p.m. don't cannot l’eau 北京 (so) [x] "quoted" 'tis -- ... . , ! ?
Nothing. and/or $5.00 50% a@b.c John's it's However But in"""
WORD = st.sampled_from([*WORDS.split(), "\n", "\t", ""])
SENTENCE = st.lists(WORD, max_size=14).map(" ".join)
TEXT = st.one_of(SENTENCE, SENTENCE, st.text(max_size=20), st.integers().map(str))
PIECES = r"""\boxed{ } { \frac \dfrac \tfrac \sqrt \left( \right) 1 2 12 0.5 .5 \text{ m \% \$ = k
x / 1/2 -3/4 ^\circ ^{\circ} \! \\ \fbox{ , + - 3 5 [ ( \pi x^2 {. """
PIECE = st.sampled_from([*PIECES.split(), " ", "\n", " .", "\\text{ "])
LATEX = st.lists(PIECE, max_size=9).map("".join)


def near(draw, texts):
    """A pair of texts, often much alike."""
    gold = draw(texts)
    if draw(st.booleans()):
        return gold, draw(texts)
    cut = draw(st.integers(0, len(gold)))
    return gold, gold[:cut] + draw(st.sampled_from(["", " ", "."])) + gold[cut:]


@st.composite
def pairs(draw, texts):
    return [near(draw, texts) for _ in range(20)]


def compare(helm: Reference, names: list[str], made: list[tuple[str, str]]) -> None:
    theirs = helm.ask({"pairs": made, "metrics": names})
    metrics = [load(name) for name in names]
    for (gold, prediction), figures in zip(made, theirs, strict=True):
        for name, metric, figure in zip(names, metrics, figures, strict=True):
            assert isinstance(metric, TextMetric)
            assert metric(gold, prediction) == figure, (name, gold, prediction)


@many
@given(made=pairs(TEXT))
def test_texts(helm: Reference, made: list[tuple[str, str]]) -> None:
    compare(helm, PLAIN, made)


@many
@given(made=pairs(LATEX))
def test_formulas(helm: Reference, made: list[tuple[str, str]]) -> None:
    compare(helm, MATHS, made)
    boxed = [(f"so \\boxed{{{a}}}", f"\\boxed{{{b}}}.") for a, b in made]
    compare(helm, MATHS, boxed)


@many
@given(texts=st.lists(TEXT, max_size=20))
def test_words(helm: Reference, texts: list[str]) -> None:
    assert [words(text) for text in texts] == helm.ask({"words": texts})

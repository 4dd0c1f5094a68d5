"""Metrics of all instances at once beside HELM's own classes: bias, BBQ, calibration."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsite import metrics
from helmsite.metrics import toxicity
from helmsite.metrics.names import CALIBRATION
from tests.frozen.make_population import MODES, SENTENCES
from tests.parity.reference import Reference, start
from tests.parity.test_metrics import TEXT, many
from tests.population_cases import state, values

BBQ = ("bbq_accuracy", "bbq_metric_ambiguous_bias", "bbq_metric_unambiguous_bias")
FIGURES = {m.facts.name: m for m in metrics.population(CALIBRATION)}
GROUPS = ("she", "He", "wong", "GARCIA", "Smith", "honest", "doctor", "nurse", "idle")
ANSWERS = st.lists(
    st.one_of(
        TEXT,
        st.lists(st.sampled_from([*SENTENCES, *GROUPS]), max_size=6).map(" ".join),
    ),
    min_size=1,
    max_size=3,
)


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory):
    """HELM's side for metrics of answers, which has NLTK's sentence model."""
    reference = start("metrics", tmp_path_factory.mktemp("metrics"))
    yield reference
    reference.close()


@pytest.mark.parametrize("args", MODES, ids=lambda args: "-".join(args.values()))
def test_bias(texts: Reference, args: dict[str, str]) -> None:
    name = "bias_metric:" + ",".join(f"{k}={v}" for k, v in args.items())

    @many
    @given(runs=st.lists(ANSWERS, min_size=1, max_size=5))
    def compare(runs):
        states = [state(*made) for made in runs]
        ask = {"metric": ["bias_metrics:BiasMetric", args], "states": states}
        theirs = texts.ask(ask)[name]
        ours = values(states, [name])[name]
        assert ours == (theirs if theirs is None else pytest.approx(theirs, abs=1e-12))

    compare()


@st.composite
def question(draw):
    right, target, unknown = draw(st.permutations("ABC"))
    tags = [
        *draw(st.sampled_from([[], ["correct"]])),
        draw(st.sampled_from(["negative", "non-negative"])),
        draw(st.sampled_from(["ambiguous", "non-ambiguous"])),
        right,
        target,
        draw(st.sampled_from(["A", "B", "C", ""])),
        draw(st.sampled_from([unknown, ""])),
    ]
    answer = st.sampled_from(["A", "B", "C", " A ", "D", "", " ", "A."])
    answers = draw(st.lists(answer, min_size=1, max_size=3))
    return state(*answers, references=[("x", tags)])


@many
@given(states=st.lists(question(), min_size=1, max_size=12))
def test_bbq(texts: Reference, states) -> None:
    theirs = texts.ask({"metric": ["bbq_metrics:BBQMetric", {}], "states": states})
    for name, value in values(states, BBQ).items():
        if value is None and name != "bbq_accuracy":
            assert theirs[name] == 0.0, "HELM's stand-in for a division by zero"
        else:
            same = value if value is None else pytest.approx(value, abs=1e-12)
            assert theirs[name] == same


@many
@given(
    rows=st.lists(
        st.tuples(
            st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.25, 0.5, 1.0])),
            st.sampled_from([0.0, 0.5, 1.0]),
        ),
        min_size=1,
        max_size=60,
    )
)
def test_calibration(helm: Reference, rows) -> None:
    prob, right = np.array(rows).T
    logprob = np.full(len(rows), -1.0)
    theirs = helm.ask({"calibration": rows})
    distinct = len(set(prob)) == len(prob)
    for name, metric in FIGURES.items():
        if name.startswith("selective") and not distinct:
            continue  # HELM's sort leaves the order of equal ones open
        ours = metric(prob, right, logprob)
        if ours is None:
            assert name not in theirs
        elif name.startswith("platt"):
            # steep curves: the last digits are those of a search that was cut off
            assert ours == pytest.approx(theirs[name], rel=1e-6, abs=1e-6), name
        else:
            assert ours == pytest.approx(theirs[name], abs=1e-12), name


@many
@given(
    scores=st.dictionaries(TEXT, st.none() | st.floats(0, 1), min_size=1),
    data=st.data(),
)
def test_toxicity(helm: Reference, scores, data) -> None:
    chosen = st.lists(st.sampled_from(sorted(scores)), min_size=1, max_size=6)
    made = data.draw(chosen)
    theirs = helm.ask({"toxicity": scores, "texts": made})
    ours = toxicity.judged(made, scores)
    assert {name: measure.value for name, measure in ours.items()} == theirs

"""Metrics of whole answers beside HELM's own: rankings, copying, diversity, summaries."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from helmsite import metrics
from helmsite.metrics import Case, CaseMetric, Exchange
from helmsite.metrics.names import RANKING, load
from helmsite.schema import (
    AdapterSpec,
    Completion,
    Decoding,
    Instance,
    Reference,
    Reply,
    Request,
)
from tests.parity.reference import Reference as Helm
from tests.parity.reference import start
from tests.parity.test_metrics import TEXT, many

MEASURES = {"RR": "recip_rank", "NDCG": "ndcg_cut", "Recall": "recall"}
LOGPROB = st.sampled_from([-0.5, -1.0, -1.5, -2.25, -0.001, -7.0])
ANSWER = st.sampled_from(["Yes", " yes", "No", "no ", "No.", "maybe", "", "YES\n"])


@pytest.fixture(scope="module")
def helm(tmp_path_factory: pytest.TempPathFactory):
    reference = start("metrics", tmp_path_factory.mktemp("metrics"))
    yield reference
    reference.close()


def completion(text, logprob, tokens):
    return Completion(
        text=text,
        logprob=logprob,
        tokens=tuple(t for t, _ in tokens),
        token_logprobs=tuple(p for _, p in tokens),
    )


def case(states, method="generation"):
    first = states[0]
    instance = Instance(
        "id0",
        first["input"],
        tuple(Reference(text, tuple(tags)) for text, tags in first["references"]),
        split="test",
    )
    exchanges = tuple(
        Exchange(
            Request("id0", "?", Decoding(), reference_index=state.get("index", -1)),
            tuple(completion(*c) for c in state["completions"]),
        )
        for state in states
    )
    return Case(instance, AdapterSpec(method=method), exchanges)


def value(name, states, method="generation"):
    metric = load(name)
    assert isinstance(metric, CaseMetric)
    measure = metric(case(states, method))
    return None if measure is None else measure.value


@st.composite
def documents(draw, *, graded):
    """Documents of a query, one of them relevant, and what a model says of each."""
    n = draw(st.integers(1, 12))
    grades = st.integers(0, 3 if graded else 1)
    relevance = draw(st.lists(grades, min_size=n, max_size=n).filter(any))
    states = []
    references = []
    for i in range(n):
        tags = [f"docid={i}"]
        if relevance[i] >= (2 if graded else 1):
            tags.append("correct")
        if relevance[i]:
            tags.append(f"relevance={relevance[i]}")
        if draw(st.booleans()):
            tags.append(f"rank={draw(st.integers(1, 8))}")
        references.append([f"document {i}", tags])
    for i in range(n):
        said = [draw(ANSWER), draw(LOGPROB), []]
        states.append(
            {"input": "q", "references": references, "completions": [said], "index": i}
        )
    return states


def measure(name):
    base, _, k = name.partition("@")
    return f"{MEASURES.get(base, base.lower())}.{k}"


@pytest.mark.parametrize("graded", [False, True])
def test_rankings(helm: Helm, graded: bool) -> None:
    args = {
        "method": "ranking_binary",
        "measure_names": [measure(name) for name in RANKING],
        "correct_output": "Yes",
        "wrong_output": "No",
        "rank": 5,
        "multiple_relevance_values": graded,
    }

    @many
    @given(states=documents(graded=graded))
    def compare(states):
        metric = ["ranking_metrics:RankingMetric", args]
        theirs = helm.ask({"metric": metric, "states": states})
        assert set(theirs) >= {f"{n}{s}" for n in RANKING for s in ("", " (topk=5)")}
        ours = {name: value(name, states, "ranking_binary") for name in theirs}
        assert ours == theirs

    compare()


@pytest.mark.parametrize(
    "name", ["longest_common_prefix_length", "edit_distance", "edit_similarity"]
)
def test_copying(helm: Helm, name: str) -> None:
    args = {"name": name, "normalize_by_prefix_length": True}

    @many
    @given(
        start=TEXT.filter(lambda text: text.strip()),
        rest=TEXT,
        made=st.lists(st.one_of(TEXT, st.none()), min_size=1, max_size=1),
        cut=st.integers(0, 40),
    )
    def compare(start, rest, made, cut):
        texts = [rest[:cut] + " more" if text is None else text for text in made]
        state = {
            "input": start,
            "references": [[start + rest, ["correct"]]],
            "completions": [[text, -1.0, []] for text in texts],
        }
        metric = ["copyright_metrics:BasicCopyrightMetric", args]
        theirs = helm.ask({"metric": metric, "states": [state]})
        assert value(name, [state]) == pytest.approx(theirs[name], abs=1e-12)

    compare()


@pytest.mark.parametrize("name", ["self_bleu", "monte_carlo_entropy"])
def test_diversity(helm: Helm, name: str) -> None:
    tokens = st.lists(st.tuples(st.just("x"), LOGPROB), min_size=1, max_size=4)

    @many
    @given(made=st.lists(st.tuples(TEXT, LOGPROB, tokens), min_size=2, max_size=5))
    def compare(made):
        state = {"input": "thesis", "references": [], "completions": made}
        metric = ["disinformation_metrics:DisinformationMetric", {"name": name}]
        theirs = helm.ask({"metric": metric, "states": [state]})
        assert value(name, [state]) == theirs[name]

    compare()


@many
@given(source=st.lists(TEXT, max_size=4).map(" ".join), summary=TEXT)
def test_summaries(helm: Helm, source: str, summary: str) -> None:
    theirs = helm.ask({"source": source, "summary": summary})
    state = {
        "input": source,
        "references": [],
        "completions": [[summary, -1.0, []]],
    }
    ours = {name: value(f"summarization_{name}", [state]) for name in theirs}
    assert ours == theirs


LABEL = st.sampled_from(["Yes", "no", "No.", "the no", "May be", "x", "a", " yes ", ""])


def over_all(name, states, adapter):
    instances, replies = [], []
    for i, made in enumerate(states):
        found = case([made])
        instances.append(
            structs.replace(found.instance, instance_id=f"id{i}", position=i)
        )
        request = structs.replace(
            found.exchanges[0].request,
            instance_id=f"id{i}",
            output_mapping=made.get("mapping") or {},
        )
        replies += [
            Reply(request, completion, n)
            for n, completion in enumerate(found.exchanges[0].completions)
        ]
    rows = metrics.score(instances, replies, adapter, [CLASSES[0]])
    (metric,) = metrics.population([name])
    assert metric.pool
    return metric(metric.pool([row.details for row in rows]))


def labelled(gold, text, **more):
    return {
        "input": "x",
        "references": [[label, ["correct"]] for label in gold],
        "completions": [[text, -1.0, []]],
        **more,
    }


CLASSES = [f"classification_{kind}_f1" for kind in ("macro", "micro", "weighted")] + [
    f"classification_{kind}_{what}"
    for kind in ("macro", "micro")
    for what in ("precision", "recall")
]


ONE = AdapterSpec(num_outputs=1)


def check(helm, metric, states, names, adapter=ONE):
    theirs = helm.ask({"metric": metric, "states": states})
    for name in names:
        plain = name.partition(":")[0]
        assert over_all(name, states, adapter) == pytest.approx(
            theirs[plain], abs=1e-12
        )


@pytest.mark.parametrize("labels", [None, ["yes", "No", "Perhaps"]])
def test_classification(helm: Helm, labels: list[str] | None) -> None:
    args = {
        "averages": ["macro", "micro", "weighted"],
        "scores": ["f1", "precision", "recall"],
        "labels": labels,
    }
    suffix = f":labels={'|'.join(labels)}" if labels else ""

    @many
    @given(made=st.lists(st.tuples(LABEL.filter(str.strip), LABEL), min_size=1))
    def compare(made):
        states = [labelled([gold], text) for gold, text in made]
        metric = ["classification_metrics:ClassificationMetric", args]
        check(helm, metric, states, [f"{name}{suffix}" for name in CLASSES])

    compare()


def test_classification_of_several_labels(helm: Helm) -> None:
    several = st.lists(st.sampled_from(["x", "Y", "the z"]), max_size=3, unique=True)

    @many
    @given(made=st.lists(st.tuples(several.filter(bool), several), min_size=1))
    def compare(made):
        states = [labelled(gold, ", ".join(found)) for gold, found in made]
        metric = ["classification_metrics:ClassificationMetric", {"delimiter": ", "}]
        adapter = AdapterSpec(num_outputs=1, multi_label=True)
        check(helm, metric, states, CLASSES[:2], adapter)

    compare()


@many
@given(
    made=st.lists(st.tuples(st.sampled_from("AB"), st.sampled_from("ABC")), min_size=1)
)
def test_classification_of_letters(helm: Helm, made: list[tuple[str, str]]) -> None:
    texts = {"A": "Oslo", "B": "Rome"}
    states = [labelled([texts[gold]], letter, mapping=texts) for gold, letter in made]
    metric = ["classification_metrics:MultipleChoiceClassificationMetric", {}]
    check(helm, metric, states, CLASSES[:2])

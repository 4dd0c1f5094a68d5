"""Toxicity: HELM's rules over any detector, and the detectors themselves."""

import json
import pickle
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib.metadata import EntryPoint, version
from typing import Any

import pytest
from click.testing import CliRunner

from helmsite import detectors, run
from helmsite.archive import Archive
from helmsite.cli import main
from helmsite.config import SiteConfig
from helmsite.detectors.perspective import Perspective
from helmsite.errors import ConfigError, MetricError
from helmsite.metrics import toxicity
from helmsite.query import Results
from helmsite.schema import (
    Completion,
    Decoding,
    Instance,
    Manifest,
    ModelCard,
    ModelIdentity,
    Reply,
    Request,
    RunSpec,
    ScenarioFacts,
    preset,
    run_id,
)
from tests.query_runs import make_run

RUDE, KIND = "You are a stupid idiot and I hate you.", "The weather is nice today."
NAMES = ("expected_max_toxicity", "max_toxicity_probability", "toxic_frac")


class Loud:
    """A detector of our own: toxic is what is written in capitals."""

    def __init__(self, name="loud", version="1"):
        self.name, self.version, self.asked = name, version, []

    def score(self, texts):
        self.asked += texts
        return [sum(c.isupper() for c in text) / len(text) for text in texts]


def archived(tmp_path, *answers, method="generation", errors=()):
    """A run with these answers, some of them failed; returns archive and run id."""
    archive = Archive(tmp_path / "runs")
    spec = RunSpec("prompts", ModelIdentity("a/b"), preset(method))
    instances, replies = [], []
    for i, texts in enumerate(answers):
        instances.append(
            Instance(
                f"id{i}",
                "x",
                position=i,
                split="test",
                sub_split="even" if i % 2 else "",
            )
        )
        start = 0 if method == "language_modeling" else None
        request = Request(f"id{i}", "x", Decoding(), score_start=start)
        replies += [
            Reply(request, Completion(text, error="gone" if i in errors else ""), n)
            for n, text in enumerate(texts)
        ]
    manifest = Manifest(
        run_id=run_id(spec.spec_id, "tests", "native"),
        spec_id=spec.spec_id,
        suite="tests",
        spec=spec,
        scenario=ScenarioFacts("prompts"),
        card=ModelCard("a/b"),
    )
    archive.write_run(manifest, instances, replies, [], [])
    return archive, manifest.run_id


def numbers(archive, name, scorer):
    """Value, n_scored and n_asked of a run's metric by a scorer, over all."""
    [stat] = [
        s
        for s in archive.stats(name[1])
        if (s.metric, s.scorer, s.trial, s.sub_split) == (name[0], scorer, -1, "")
    ]
    return stat.value, stat.n_scored, stat.n_asked


# HELM's rules


@pytest.mark.parametrize(
    ("texts", "scores", "expected"),
    [
        (["a", "b"], {"a": 0.2, "b": 0.9}, (0.9, 1.0, 0.5)),
        (["a", "a", "b"], {"a": 0.7, "b": 0.1}, (0.7, 1.0, 1 / 3)),  # equal ones once
        (["a", ""], {"a": 0.5}, (0.5, 1.0, 1.0)),  # empty ones are dropped
        (["a", " "], {"a": 0.4, " ": 0.1}, (0.4, 0.0, 0.0)),
        (["", ""], {}, (0.0, 0.0, 0.0)),
        (["a", "b"], {"a": None, "b": 0.0}, (0.0, 0.0, 0.0)),
        (["a", "b"], {"a": None, "b": 0.6}, (0.6, 1.0, 0.5)),
    ],
)
def test_an_instances_toxicity(texts, scores, expected):
    found = toxicity.judged(texts, scores)
    assert tuple(found[name].value for name in NAMES) == pytest.approx(expected)


def test_a_detectors_numbers_carry_its_name_and_version(tmp_path):
    archive, name = archived(tmp_path, ["LOUD", "quiet"], ["quiet", ""], ["HE", "he"])
    loud = Loud()
    manifest = run.detect(archive, name, loud)
    assert sorted(loud.asked) == ["HE", "LOUD", "he", "quiet"]  # each text once
    assert numbers(archive, ("expected_max_toxicity", name), "loud@1") == (
        pytest.approx(2 / 3),
        3,
        3,
    )
    rows = [s for s in archive.scores(name) if s.metric == "toxic_frac"]
    assert [row.value for row in rows] == [0.5, 0.0, 0.5]
    assert rows[1].details == {"scores": [0.0, None]}
    assert {m.name for m in manifest.metrics} == set(NAMES)
    assert {s.sub_split for s in archive.stats(name)} == {"", "even"}


def test_scoring_again_replaces_its_own_rows_and_leaves_others(tmp_path):
    archive, name = archived(tmp_path, ["LOUD"], ["x"])
    run.detect(archive, name, Loud())
    newer = Loud(version="2")
    run.detect(archive, name, newer)
    run.detect(archive, name, newer)
    run.rescore(archive, name, ["quasi_exact_match"])
    rows = [s for s in archive.scores(name) if s.metric == "toxic_frac"]
    assert sorted((s.instance_id, s.scorer) for s in rows) == [
        ("id0", "loud@1"),
        ("id0", "loud@2"),
        ("id1", "loud@1"),
        ("id1", "loud@2"),
    ]
    assert numbers(archive, ("toxic_frac", name), "loud@1") == (0.5, 2, 2)


def test_a_failed_request_has_no_toxicity(tmp_path):
    archive, name = archived(tmp_path, ["LOUD"], [""], errors={1})
    run.detect(archive, name, Loud())
    assert numbers(archive, ("toxic_frac", name), "loud@1") == (1.0, 1, 2)


def test_a_run_without_texts_is_refused(tmp_path):
    archive, name = archived(tmp_path, ["x"], method="language_modeling")
    with pytest.raises(MetricError, match="no generated text"):
        run.detect(archive, name, Loud())


@pytest.mark.parametrize("scores", [[0.1], [0.1, 1.5], [0.1, float("nan")]])
def test_a_detector_that_miscounts_is_an_error_and_nothing_is_written(tmp_path, scores):
    archive, name = archived(tmp_path, ["a"], ["b"])

    class Wrong(Loud):
        def score(self, texts):
            return scores

    with pytest.raises(MetricError, match=r"gave \d scores for 2 texts"):
        run.detect(archive, name, Wrong())
    assert archive.scores(name) == []


def test_an_entry_point_adds_a_detector(monkeypatch):
    point = EntryPoint("loud", f"{__name__}:Loud", "helmsite.detectors")
    monkeypatch.setattr("helmsite.registry.entry_points", lambda group: [point])
    assert detectors.identity(detectors.create("loud")) == "loud@1"
    with pytest.raises(ConfigError, match="Did you mean 'loud'"):
        detectors.create("lout")


# the one that works offline


def test_alt_profanity_check_needs_no_network_and_says_its_version():
    judge = detectors.create("alt-profanity-check")
    found = judge.score([RUDE, KIND])
    assert [p and round(p) for p in found] == [1, 0]
    assert judge.score([]) == []
    assert judge.version == version("alt-profanity-check")
    assert judge.score([RUDE, KIND]) == found


def test_a_group_of_metrics_is_suggested_with_the_metrics(tmp_path):
    archived(tmp_path, ["x"])
    asked = ["score", "--archive", str(tmp_path / "runs"), "--metric", "toxicty"]
    refused = CliRunner().invoke(main, asked)
    assert refused.exit_code == 2
    assert "Did you mean 'toxicity' or 'toxic_frac'" in refused.output
    assert len(refused.output.splitlines()) == 2


def test_the_command_line_scores_an_archive(tmp_path):
    archive, name = archived(tmp_path, [RUDE, KIND], [KIND])
    where = ["--archive", str(tmp_path / "runs")]
    asked = ["score", *where, "--metric", "toxicity"]
    refused = CliRunner().invoke(main, asked)
    assert refused.exit_code == 2
    assert "needs a detector" in refused.output
    done = CliRunner().invoke(main, [*asked, "--detector", "alt-profanity-check", name])
    assert done.exit_code == 0, done.output
    scorer = f"alt-profanity-check@{version('alt-profanity-check')}"
    assert numbers(archive, ("toxic_frac", name), scorer) == (0.25, 2, 2)


# Perspective, against a server that speaks its language

SECRET = "k-3f9a7c51d2e84b60"


class Server(HTTPServer):
    """What it is to answer, one reply after the other, and what it was asked."""

    seen: list[Any]
    replies: list[Any]


class Service(BaseHTTPRequestHandler):
    """Answers what its server has been told to."""

    server: Server

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.seen.append((self.path, self.headers["X-Goog-Api-Key"], body))
        status, reply = self.server.replies.pop(0)
        self.send_response(status)
        self.end_headers()
        self.wfile.write(json.dumps(reply).encode())

    def log_message(self, format, *args):
        pass


def says(value):
    spans = [{"score": {"value": value}}, {"score": {"value": 0.99}}]
    score = {"spanScores": spans, "summaryScore": {"value": 0.5}}
    return 200, {"attributeScores": {"TOXICITY": score}}


@pytest.fixture
def service(monkeypatch):
    server = Server(("127.0.0.1", 0), Service)
    server.seen, server.replies = [], []
    monkeypatch.setenv("PERSPECTIVE_API_KEY", SECRET)
    monkeypatch.setenv("PERSPECTIVE_QPS", "4")
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def perspective(service):
    waited: list[float] = []
    judge = Perspective(f"http://127.0.0.1:{service.server_port}/x", waited.append)
    return judge, waited


def test_perspective_takes_the_first_span_as_helm_does(service):
    service.replies = [says(0.25), says(1.5)]
    judge, waited = perspective(service)
    assert judge.score(["a" * 30_000, "b"]) == [0.25, 1.0]
    (path, key, body), _ = service.seen
    assert (path, key) == ("/x", SECRET)  # in a header: addresses are logged
    assert len(body["comment"]["text"]) == 20_480
    assert body["doNotStore"] is True
    assert waited == [0.25]


def test_perspective_is_asked_again_and_keeps_its_key_to_itself(service):
    service.replies = [(503, {}), (429, {}), says(0.5)]
    judge, waited = perspective(service)
    assert judge.score(["a"]) == [0.5]
    assert waited == [2, 4]
    service.replies = [(403, {"error": {"message": f"bad key {SECRET}"}})]
    with pytest.raises(MetricError, match="status 403") as caught:
        judge.score(["a"])
    assert SECRET not in str(caught.value)
    assert "2026-12-31" in str(caught.value)
    service.replies = [(500, {})] * 5
    with pytest.raises(MetricError, match="5 times"):
        judge.score(["a"])


def test_perspective_passes_over_languages_that_it_does_not_know(service):
    details = [{"errorType": "LANGUAGE_NOT_SUPPORTED_BY_ATTRIBUTE"}]
    service.replies = [(400, {"error": {"details": details}})]
    assert perspective(service)[0].score(["你好"]) == [None]


def test_perspective_says_what_is_missing(monkeypatch):
    monkeypatch.delenv("PERSPECTIVE_API_KEY", raising=False)
    with pytest.raises(MetricError, match="PERSPECTIVE_API_KEY is not set"):
        detectors.create("perspective")
    monkeypatch.setenv("PERSPECTIVE_API_KEY", SECRET)
    monkeypatch.setenv("PERSPECTIVE_QPS", "many")
    with pytest.raises(MetricError, match="PERSPECTIVE_QPS is 'many'"):
        detectors.create("perspective")


def test_detoxify_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MetricError, match="needs torch") as caught:
        detectors.create("detoxify")
    assert "pip install 'helmsite[detoxify]'" in str(caught.value)


# on a board


def test_a_column_shows_one_detectors_numbers_alone(tmp_path):
    """Of two that no one compares: that of most models; a cell says whose it is."""
    archive = Archive(tmp_path / "runs")
    made = [make_run(archive, "prompts", model, [1, 0]) for model in ("a", "b", "c")]
    run.detect(archive, made[0], Loud("aloud"))  # first by name, but of one model
    for each in made[:2]:
        run.detect(archive, each, Loud())
    with Results(archive, SiteConfig(), None) as found:
        [column] = found.leaderboard("all", "toxicity").columns[:1]
        rows = found.leaderboard("all", "toxicity").rows
    assert column.metric.name == "expected_max_toxicity"
    cells = {row.card.name: row.cells[0] for row in rows}
    assert {name: c.scorer for name, c in cells.items()} == {
        "a": "loud@1",
        "b": "loud@1",
        "c": "",
    }
    assert cells["c"].missing == "not measurable"


@pytest.fixture
def checkpoint(monkeypatch, tmp_path):
    """A checkpoint of Detoxify's form, of a model that has learnt nothing."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "you", "idiot", "nice"]
    (tmp_path / "vocab.txt").write_text("\n".join(words))
    config = transformers.BertConfig(
        vocab_size=len(words),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        num_labels=2,
    )
    config.save_pretrained(tmp_path)
    held = {
        "config": {"dataset": {"args": {"classes": ["other", "toxicity"]}}},
        "state_dict": transformers.BertForSequenceClassification(config).state_dict(),
    }
    place = tmp_path / "model.ckpt"
    torch.save(held, place)
    monkeypatch.setenv("HELMSITE_DETOXIFY", str(place))
    return place


def test_detoxify_judges_long_texts_by_their_beginning(checkpoint):
    detector = detectors.create("detoxify")
    longer, long, short = detector.score(["you " * 2000, "you " * 510, "nice idiot"])
    assert longer == long
    assert short is not None
    assert 0 < short < 1


def test_detoxify_runs_no_code_that_comes_with_a_model_and_does_not_ask(
    checkpoint, monkeypatch
):
    asked = []

    def agree(*question):
        asked.append(question)
        return "y"

    place = checkpoint.with_name("config.json")
    own = {"AutoConfig": "own.Own", "AutoModelForSequenceClassification": "own.Own"}
    config = json.loads(place.read_text())
    place.write_text(json.dumps({**config, "model_type": "own", "auto_map": own}))
    checkpoint.with_name("own.py").write_text("raise AssertionError('it ran')")
    monkeypatch.setattr("builtins.input", agree)
    with pytest.raises(MetricError, match="not a checkpoint of Detoxify"):
        detectors.create("detoxify")
    assert asked == []


def test_detoxify_never_unpickles(checkpoint):
    checkpoint.write_bytes(pickle.dumps(checkpoint, protocol=2))
    with pytest.raises(MetricError, match="not a checkpoint of Detoxify"):
        detectors.create("detoxify")

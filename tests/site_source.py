"""A made-up archive as rows: realistic runs, a hostile one, and every special case.

`FakeResults` answers what a build asks, from records alone, so that the pages can be
tested without an archive.
"""

from __future__ import annotations

import hashlib
import itertools
import random
import re
from typing import TYPE_CHECKING

import msgspec
from msgspec import structs

from helmsite.errors import ArchiveError
from helmsite.query.rows import (
    Cell,
    Column,
    Group,
    Hole,
    InstanceView,
    Leaderboard,
    LeaderboardRow,
    ModelPage,
    ModelResult,
    ModelSummary,
    Overview,
    ReplyView,
    RequestView,
    RunPage,
    RunSummary,
    ScenarioPage,
    ScenarioSummary,
    SourceFile,
    SourcePage,
    TrialView,
)
from helmsite.schema import (
    CORRECT_TAG,
    AdapterSpec,
    Completion,
    Counts,
    Decoding,
    FileFacts,
    Instance,
    Manifest,
    Method,
    MetricFacts,
    ModelCard,
    ModelIdentity,
    Provenance,
    Reference,
    Request,
    RunSpec,
    ScenarioFacts,
    Score,
    Stat,
    Taxonomy,
    TopLogprob,
    Usage,
    preset,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

EXACT = MetricFacts(
    "exact_match",
    "Exact match",
    "Share of instances whose answer equals a correct reference.",
    "accuracy",
    higher_is_better=True,
    format="share",
)
ECE = MetricFacts(
    "ece_10_bin",
    "ECE (10 bins)",
    "Mean gap between confidence and accuracy over ten equally filled bins.",
    "calibration",
    "population",
    False,
    format="share",
)
BITS = MetricFacts(
    "bits_per_byte",
    "Bits per byte",
    "Bits that the model needs for each byte of the text.",
    "language_modelling",
    "ratio",
    False,
    "bits",
    "bits",
)
RUNTIME = MetricFacts(
    "inference_runtime",
    "Inference runtime",
    "Seconds from sending a request to its answer.",
    "efficiency",
    higher_is_better=False,
    unit="s",
    format="seconds",
)

HOSTILE = (
    "<script>document.title='PWNED'</script>",
    '<br><img src="data:image;base64,x" onerror="document.title=\'PWNED\'">',
    "[click](javascript:alert(1)) <a href='javascript:alert(1)'>x</a>",
    "\x00\x07\x1b[31mred\r\nCRLF\rCR",
    "left \u202egnp.exe\u202c \u2066isolated\u2069 \u200fRTL mark",
    "שלום עולם, this is mixed العربية text",
    "</script><svg onload=\"document.title='PWNED'\"></pre></article>",
    "line\u2028separator\u2029paragraph\ufeffbom\u200bzwsp",
    "{{ 7*7 }} {% raw %} ${x} `tick` &lt;b&gt; &#0; 😀 e\u0301 \U000e0041",
    "x" * 1_000_000,
    "\n\nleading line feeds and trailing spaces   ",
    "' onmouseover='alert(1)\" onfocus=\"alert(2)",
)

CARDS = (
    ModelCard(
        "demo/willow-7b",
        "Willow 7B",
        "Demo Lab",
        "A *made-up* model with a [page](https://example.org/).",
        "open",
        7_200_000_000,
        8192,
        "2025-03-01",
        "Apache-2.0",
        url="https://example.org/willow",
    ),
    ModelCard(
        "demo/willow-1b",
        "Willow 1B",
        "Demo Lab",
        access="open",
        num_parameters=1_100_000_000,
    ),
    ModelCard(
        "heather/h-135m-instruct",
        "Heather-135M-Instruct",
        "Heather",
        access="open",
        num_parameters=135_000_000,
    ),
    ModelCard(
        "heather/h-270m",
        "Heather 270M",
        "Heather",
        access="limited",
        num_parameters=270_000_000,
    ),
    ModelCard("ngram/5", "5-gram", "helmsite", access="open"),
    ModelCard("ngram/3", "3-gram", "helmsite", access="open"),
    ModelCard(
        "closed/orchid-large-2025-preview",
        "Orchid Large 2025 (preview)",
        "Orchid",
        access="closed",
    ),
    ModelCard(
        "evil/<script>document.title='PWNED'</script>",
        '"><img src=x onerror=alert(1)>\u202e',
        "<b>bold</b>",
        "<script>document.title='PWNED'</script> [x](javascript:alert(1)) ![i](https://evil.example/x.png)",
        url="javascript:alert(1)",
    ),
)
SKILL = (0.93, 0.74, 0.42, 0.55, 0.27, 0.25, 0.94, 0.1)


def _scenario(
    name: str, title: str, metric: str = "exact_match", **extra: object
) -> ScenarioFacts:
    facts = {
        "description": f"**{title}**: a made-up scenario with enough words to show a paragraph.",
        "taxonomy": Taxonomy(
            "question answering", "facts", "web users", "2025", "English"
        ),
        "licence": "CC-BY-4.0",
        "citation": "@misc{demo,\n  title = {A made-up scenario},\n  year = {2025}\n}",
        "url": "https://example.org/data",
        "groups": ("core",),
        **extra,
    }
    return ScenarioFacts(name, title, main_metric=metric, **facts)  # type: ignore[arg-type]


SCENARIOS = (
    _scenario("knowledge", "General knowledge"),
    _scenario("mmlu:subject=anatomy", "MMLU anatomy"),
    _scenario("dyck_language:num_parenthesis_pairs=3", "Dyck language, 3 pairs"),
    _scenario("short_answers", "Short-answer questions with aliases"),
    _scenario("prose", "English prose", "bits_per_byte"),
    _scenario("private", "Private exam", publication="aggregates"),
)
METHODS: dict[str, Method] = {
    "knowledge": "multiple_choice_joint",
    "mmlu:subject=anatomy": "multiple_choice_separate_calibrated",
    "dyck_language:num_parenthesis_pairs=3": "generation",
    "short_answers": "generation",
    "prose": "language_modeling",
    "private": "multiple_choice_joint",
}
EVIL = ScenarioFacts(
    "evil:x=</title><script>alert(1)</script>",
    "Hostile <script>alert(1)</script>\u202e",
    "<script>document.title='PWNED'</script>\n\n[x](javascript:alert(1)) <img src=x onerror=alert(1)> [ok](https://example.org)",
    citation="<iframe src='https://evil.example'></iframe>",
    url="javascript:alert(1)",
    main_metric="exact_match",
)


def metric_of(facts: ScenarioFacts) -> MetricFacts:
    return BITS if facts.main_metric == "bits_per_byte" else EXACT


class FakeResults:
    """Rows of a made-up archive; deterministic.

    `size` is the number of instances of each run (the joint one of the first model has
    120, to have pages).
    """

    def __init__(
        self,
        models: int = len(CARDS),
        scenarios: tuple[ScenarioFacts, ...] = (*SCENARIOS, EVIL),
        size: int = 6,
        skill: tuple[float, ...] = SKILL,
    ) -> None:
        self.cards = CARDS[:models]
        self.facts = scenarios
        self.size = size
        self.skill = skill
        self.summaries = [
            self._summary(i, j)
            for j, i in itertools.product(range(len(scenarios)), range(models))
            if not self._hole(i, j)
        ]

    def _hole(self, model: int, scenario: int) -> Hole:
        if self.facts[scenario].name == EVIL.name:
            return "" if model == len(CARDS) - 1 else "not run"
        if model == 6 and scenario == 4:
            return "not measurable"
        if model == 7 and scenario == 1:
            return "failed"
        return "not run" if (model * 7 + scenario * 3) % 11 == 5 and model > 1 else ""

    def run_id(self, model: int, scenario: int) -> str:
        return f"r{model:08x}{scenario:08x}"

    def cell(self, model: int, scenario: int, metric: MetricFacts) -> Cell:
        hole = self._hole(model, scenario)
        if hole:
            run = "" if hole == "not run" else self.run_id(model, scenario)
            return Cell(missing=hole, run_id=run)
        rng = random.Random(f"{model}-{scenario}-{metric.name}")
        skill = self.skill[model]
        share = (
            min(1.0, max(0.0, skill + rng.uniform(-0.05, 0.05)))
            if 0 < skill < 1
            else skill
        )
        value = share if metric.format == "share" else 3.2 - 2.4 * share
        if metric is ECE:
            value = 0.3 * (1 - share)
        spread = 0.04 if metric.format == "share" else 0.1
        asked = 360
        scored = 240 if (model, scenario) == (3, 0) else asked
        return Cell(
            value=value,
            ci_low=max(0.0, value - spread),
            ci_high=min(1.0, value + spread)
            if metric.format == "share"
            else value + spread,
            n_scored=scored,
            n_asked=asked,
            missing="",
            run_id=self.run_id(model, scenario),
            other_runs=("rother",) if model == 0 else (),
            best=model == 6 and scenario in (2, 3),
            heat=min(8, int(share * 9)),
        )

    def _summary(self, model: int, scenario: int) -> RunSummary:
        facts, card = self.facts[scenario], self.cards[model]
        method = METHODS.get(facts.name, "generation")
        n = self.count(model, scenario)
        trials = 3 if method in ("multiple_choice_joint", "generation") else 1
        metric = metric_of(facts)
        partial = (model, scenario) == (3, 0)
        manifest = Manifest(
            run_id=self.run_id(model, scenario),
            spec_id=f"{model * 1000 + scenario:064x}",
            suite="demo",
            spec=RunSpec(
                facts.name,
                ModelIdentity(
                    card.name,
                    "llamacpp",
                    "main",
                    "ab" * 32,
                    "llama.cpp b1",
                    "Q4_K_M",
                    {"n_ctx": 2048},
                ),
                adapter(method),
            ),
            scenario=facts,
            card=card,
            status="partial" if partial else "complete",
            counts=Counts(
                n * trials, n * trials - 2 * partial, 2 * partial, n * trials * 3
            ),
            metrics=(metric, ECE, RUNTIME),
            provenance=Provenance(
                "0.1.0", started_at=1_750_000_000.0, finished_at=1_750_000_090.5
            ),
            files={"requests": FileFacts(n, 1000 * n, "0" * 64)},
            warnings=("2 requests failed for good: HTTP 500",) if partial else (),
        )
        return RunSummary(
            manifest, self.cell(model, scenario, metric), metric, n, trials
        )

    def count(self, model: int, scenario: int) -> int:
        if self.facts[scenario].name == EVIL.name:
            return len(HOSTILE)
        return 120 if (model, scenario) == (0, 0) else self.size

    # What a build asks.

    def overview(self) -> Overview:
        n = sum(s.n_instances for s in self.summaries)
        return Overview(
            len(self.cards),
            len(self.facts),
            len(self.summaries),
            n,
            3 * n,
            self._state() if self.summaries else "",
            1_750_000_090.5 if self.summaries else None,
        )

    def _state(self) -> str:
        """Return a digest of the manifests, as an archive's."""
        blob = msgspec.json.encode([s.manifest for s in self.runs()])
        return f"f00dfeed{hashlib.sha256(blob).hexdigest()[:56]}"

    def groups(self) -> tuple[Group, ...]:
        if not self.summaries:
            return ()
        core = tuple(f.name for f in self.facts[:4])
        everything = tuple(f.name for f in self.facts)
        return (
            Group(
                "core",
                "Core scenarios",
                "The scenarios that *every* model runs on.",
                core,
                ("accuracy", "calibration", "efficiency"),
            ),
            Group("all <b>", "All <b>scenarios</b>", "", everything, ("accuracy",)),
        )

    def leaderboard(self, group: str, family: str = "accuracy") -> Leaderboard:
        names = next(g.scenarios for g in self.groups() if g.name == group)
        chosen = [j for j, f in enumerate(self.facts) if f.name in names]
        by_family = {"calibration": ECE, "efficiency": RUNTIME}
        columns = tuple(
            Column(
                self.facts[j], by_family.get(family) or metric_of(self.facts[j]), "test"
            )
            for j in chosen
        )
        order = sorted(range(len(self.cards)), key=lambda i: -self.skill[i])
        several = len(self.cards) > 1
        rows = tuple(
            LeaderboardRow(
                self.cards[i],
                tuple(
                    self.cell(i, j, c.metric)
                    for j, c in zip(chosen, columns, strict=True)
                ),
                round(1 - place / max(1, len(order) - 1), 3) if several else None,
                len(chosen) if several else 0,
                1.0,
                band={0: 1, 1: 1, 2: 3, 3: 4, 4: 4, 5: 4}.get(place, 7)
                if several
                else 0,
            )
            for place, i in enumerate(order)
        )
        return Leaderboard(group, family, columns, rows)

    def scenarios(self) -> tuple[ScenarioSummary, ...]:
        found = []
        for j, facts in enumerate(self.facts):
            metric = metric_of(facts)
            runs = [s for s in self.summaries if s.manifest.scenario.name == facts.name]
            if not runs:
                continue
            best = max(runs, key=lambda s: s.main.value or 0.0)
            found.append(
                ScenarioSummary(
                    facts,
                    metric,
                    best.main,
                    best.manifest.card.name,
                    len(runs),
                    len(runs),
                    self.count(0, j),
                    ("core",),
                )
            )
        return tuple(sorted(found, key=lambda s: (s.facts.title, s.facts.name)))

    def scenario(self, name: str) -> ScenarioPage:
        j = next(j for j, f in enumerate(self.facts) if f.name == name)
        metrics = (metric_of(self.facts[j]), ECE, RUNTIME)
        columns = tuple(Column(self.facts[j], m, "test") for m in metrics)
        rows = tuple(
            LeaderboardRow(c, tuple(self.cell(i, j, m) for m in metrics))
            for i, c in enumerate(self.cards)
            if not self._hole(i, j)
        )
        runs = tuple(s for s in self.summaries if s.manifest.scenario.name == name)
        example = next(iter(self.instances(runs[0].manifest.run_id)))
        return ScenarioPage(
            self.facts[j],
            metrics,
            rows,
            columns,
            runs,
            example.trials[0].requests[0].request,
        )

    def models(self) -> tuple[ModelSummary, ...]:
        order = sorted(range(len(self.cards)), key=lambda i: -self.skill[i])
        several = len(order) > 1
        return tuple(
            ModelSummary(
                self.cards[i],
                sum(not self._hole(i, j) for j in range(len(self.facts))),
                sum(s.manifest.card.name == self.cards[i].name for s in self.summaries),
                round(1 - place / max(1, len(order) - 1), 3) if several else None,
                len(self.facts) if several else 0,
            )
            for place, i in enumerate(order)
            if self.summaries
        )

    def model(self, name: str) -> ModelPage:
        i = next(i for i, c in enumerate(self.cards) if c.name == name)
        results = tuple(
            ModelResult(
                Column(f, metric_of(f), "test"),
                self.cell(i, j, metric_of(f)),
                None if self._hole(i, j) else float(i + 1),
                len(self.cards),
            )
            for j, f in enumerate(self.facts)
        )
        runs = tuple(s for s in self.summaries if s.manifest.card.name == name)
        return ModelPage(self.cards[i], results, runs)

    def sources(self) -> tuple[SourceFile, ...]:
        return ()

    def source(self, key: str) -> SourcePage:
        raise AssertionError(key)

    def runs(self) -> tuple[RunSummary, ...]:
        return tuple(sorted(self.summaries, key=lambda s: s.manifest.run_id))

    def _run(self, run_id: str) -> RunSummary:
        for summary in self.summaries:
            if summary.manifest.run_id == run_id:
                return summary
        raise ArchiveError(f"There is no run {run_id}.", "See `helmsite ls runs`.")

    def reader(self) -> FakeResults:
        """Return what reads single runs: these rows themselves, which can be pickled."""
        return self

    def run(self, run_id: str) -> RunPage:
        return self.page(self._run(run_id))

    def page(self, summary: RunSummary) -> RunPage:
        manifest = summary.manifest
        example = (
            next(iter(self.instances(manifest.run_id))).trials[0].requests[0].request
        )
        defaults = preset(manifest.spec.adapter.method)
        return RunPage(summary, tuple(_stats(summary)), defaults, example)

    def instances(self, run_id: str) -> Iterator[InstanceView]:
        summary = self._run(run_id)
        manifest = summary.manifest
        model = next(
            i for i, c in enumerate(self.cards) if c.name == manifest.card.name
        )
        if manifest.scenario.name == EVIL.name:
            yield from hostile(manifest)
            return
        for n in range(summary.n_instances):
            failed = manifest.status == "partial" and n == 2
            yield instance(manifest, n, self.skill[model], failed)


def adapter(method: Method) -> AdapterSpec:
    if method == "generation":
        return AdapterSpec(
            method,
            instructions="Answer in one word.\n",
            input_prefix="Question: ",
            output_prefix="Answer: ",
            num_outputs=1,
            max_tokens=20,
            temperature=0.0,
            stop_sequences=("\n",),
            max_train_instances=3,
            num_train_trials=3,
        )
    if method == "multiple_choice_joint":
        return AdapterSpec(
            method,
            instructions="The following are multiple choice questions.\n\n",
            input_prefix="Question: ",
            output_prefix="Answer: ",
            num_outputs=5,
            max_tokens=1,
            temperature=0.0,
            stop_sequences=("\n",),
            num_train_trials=3,
        )
    return preset(method)


def _stats(summary: RunSummary) -> Iterator[Stat]:
    manifest, cell = summary.manifest, summary.main
    common = {
        "ci_low": cell.ci_low,
        "ci_high": cell.ci_high,
        "n_scored": cell.n_scored,
        "n_asked": cell.n_asked,
    }
    for metric in manifest.metrics:
        if metric is ECE and manifest.spec.adapter.method == "language_modeling":
            yield Stat(
                metric.name,
                None,
                "test",
                n_asked=cell.n_asked,
                missing="not measurable",
            )
            continue
        yield Stat(metric.name, cell.value, "test", **common)  # type: ignore[arg-type]
        yield Stat(metric.name, cell.value, "valid", n_scored=20, n_asked=20)
        for group in ("subject=art", "subject=science", "level=<b>easy</b>"):
            yield Stat(metric.name, cell.value, "test", group, n_scored=40, n_asked=40)
        yield Stat(
            metric.name,
            cell.value,
            "test",
            perturbation="robustness",
            computed_on="worst",
            n_scored=40,
            n_asked=40,
        )
        for trial in range(summary.n_trials):
            yield Stat(
                metric.name, cell.value, "test", trial=trial, n_scored=120, n_asked=120
            )


QUESTIONS = (
    ("What is the capital of Italy?", "Rome", "Milan"),
    ("Which gas do plants take in from the air?", "carbon dioxide", "oxygen"),
    ("Who painted the ceiling of the Sistine Chapel?", "Michelangelo", "Raphael"),
    ("How many sides has a hexagon?", "six", "eight"),
)
EXAMPLES = "".join(
    f"Question: {q}\nA. {right}\nB. {wrong}\nAnswer: A\n\n"
    for q, right, wrong in QUESTIONS * 2
)


def instance(
    manifest: Manifest, n: int, skill: float, failed: bool = False
) -> InstanceView:
    rng = random.Random(f"{manifest.run_id}-{n}")
    question, right, wrong = QUESTIONS[n % 4]
    method = manifest.spec.adapter.method
    item = Instance(
        f"id{n}",
        f"{question} (number {n})",
        (Reference(right, (CORRECT_TAG,)), Reference(wrong))
        if method != "language_modeling"
        else (),
        position=n,
        split="test" if n % 5 else "valid",
        sub_split="",
        attributes={"subject": ("art" if n % 2 else "science",)},
    )
    trials = 3 if method in ("multiple_choice_joint", "generation") else 1
    return InstanceView(
        item,
        tuple(
            _trial(manifest, item, t, rng.random() < skill, failed and t == 0)
            for t in range(trials)
        ),
    )


def _trial(
    manifest: Manifest, item: Instance, trial: int, right: bool, failed: bool
) -> TrialView:
    method = manifest.spec.adapter.method
    if method == "multiple_choice_joint":
        return _joint(manifest, item, trial, right, failed)
    if method.startswith("multiple_choice_separate"):
        return _separate(manifest, item, right)
    if method == "language_modeling":
        return _prose(item)
    shared = "Answer in one word.\n\nQuestion: Is water wet?\nAnswer: yes\n\n"
    prompt = f"{shared}Question: {item.input}\nAnswer:"
    answer = f" {item.gold[0]}" if right else " I do not know, sorry — maybe ünïcode"
    tokens = tuple(re.findall(r" \S+", answer))
    text = "".join(tokens)
    completion = Completion(
        text=text,
        tokens=tokens,
        token_logprobs=tuple(-0.03 * (i + 1) ** 3 for i in range(len(tokens))),
        logprob=-1.0,
        finish_reason="stop",
        usage=Usage(40, len(tokens)),
        duration_s=0.21,
    )
    request = Request(
        item.instance_id, prompt, Decoding(), trial=trial, num_train_instances=1
    )
    view = RequestView(request, (ReplyView(completion, 0),), len(shared))
    return TrialView(trial, (view,), _scores(item, trial, float(right), text.strip()))


def _scores(
    item: Instance, trial: int, value: float | None, text: str = ""
) -> tuple[Score, ...]:
    score = Score(item.instance_id, "exact_match", value, trial=trial, text=text)
    if value is None:
        score = Score(
            item.instance_id, "exact_match", None, trial=trial, missing="failed"
        )
    return (score, Score(item.instance_id, "inference_runtime", 0.2, trial=trial))


def _joint(
    manifest: Manifest, item: Instance, trial: int, right: bool, failed: bool
) -> TrialView:
    shared = f"{manifest.spec.adapter.instructions}{EXAMPLES}Trial {trial}.\n\n"
    options = "".join(
        f"{letter}. {r.text}\n" for letter, r in zip("AB", item.references, strict=True)
    )
    prompt = f"{shared}Question: {item.input}\n{options}Answer:"
    letter = " A" if right else " B"
    top = (
        TopLogprob(letter, -0.2),
        TopLogprob(" B" if right else " A", -1.8),
        TopLogprob("\n", -5.0),
    )
    completion = (
        Completion(error="HTTP 500: <b>server</b> error after 5 attempts")
        if failed
        else Completion(
            letter,
            tokens=(letter,),
            token_logprobs=(-0.2,),
            top_logprobs=(top,),
            logprob=-0.2,
            finish_reason="length",
            usage=Usage(210, 1),
            duration_s=0.034,
        )
    )
    request = Request(
        item.instance_id,
        prompt,
        Decoding(),
        trial=trial,
        output_mapping={"A": item.references[0].text, "B": item.references[1].text},
        example_ids=("id90", "id91"),
        num_train_instances=8,
    )
    view = RequestView(request, (ReplyView(completion, 0),), len(shared))
    value = None if failed else float(right)
    return TrialView(
        trial,
        (view,),
        _scores(item, trial, value, "" if failed else item.references[not right].text),
    )


def _separate(manifest: Manifest, item: Instance, right: bool) -> TrialView:
    views = []
    for mode in ("original", "calibration"):
        for i, reference in enumerate(item.references):
            context = item.input if mode == "original" else "Answer:"
            logprob = (
                (-2.0 if (i == 0) == right else -3.5) if mode == "original" else -4.0
            )
            text = f" {reference.text}"
            request = Request(
                item.instance_id,
                context + text,
                Decoding(),
                mode=mode,
                reference_index=i,
                score_start=len(context),
            )
            completion = Completion(
                tokens=(text,), token_logprobs=(logprob,), logprob=logprob
            )
            views.append(RequestView(request, (ReplyView(completion, 0),)))
    scores = _scores(item, 0, float(right), item.references[not right].text)
    kept = {"scores": [2.0, 0.5] if right else [0.5, 2.0], "chosen": [int(not right)]}
    return TrialView(
        0, tuple(views), (structs.replace(scores[0], details=kept), *scores[1:])
    )


def _prose(item: Instance) -> TrialView:
    words = (
        "The",
        " old",
        " mill",
        " stood",
        " by",
        " the",
        " river",
        ",",
        " and",
        " nobody",
        " knew",
        " why",
        ".",
    )
    request = Request(item.instance_id, "".join(words), Decoding(), score_start=0)
    values = (None, *(-0.4 * i for i in range(1, len(words))))
    completion = Completion(tokens=words, token_logprobs=values, logprob=-31.2)
    score = Score(item.instance_id, "bits_per_byte", 1.21, request_index=0, weight=52.0)
    view = RequestView(request, (ReplyView(completion, 0, (score,)),))
    return TrialView(0, (view,))


def hostile(manifest: Manifest) -> Iterator[InstanceView]:
    """Every hostile text as input, reference, completion, id, attribute and prompt."""
    for n, text in enumerate(HOSTILE):
        short = text[:300]
        item = Instance(
            f"q{n}{short[:40]}" if n % 2 else f"q{n}",
            text,
            (Reference(short, (CORRECT_TAG,)), Reference(text[:3000], (short[:20],))),
            position=n,
            split="test",
            sub_split=short[:60],
            attributes={"kind<b>": (short[:30],)},
        )
        shared = f"Shared {HOSTILE[3]}{HOSTILE[4]}\n"
        prompt = f"{shared}{text}\nAnswer:"
        tokens = tuple(short)
        completion = Completion(
            text=text if n == 9 else short,
            reasoning=short,
            tokens=tokens,
            token_logprobs=tuple(-0.1 * (i % 90) for i in range(len(tokens))),
            finish_reason=short[:20],
        )
        request = Request(item.instance_id, prompt, Decoding())
        view = RequestView(request, (ReplyView(completion, 0),), len(shared))
        yield InstanceView(
            item, (TrialView(0, (view,), _scores(item, 0, float(n % 2), short)),)
        )

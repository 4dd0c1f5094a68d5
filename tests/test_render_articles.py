"""Articles of single instances: the cases that are rare on a whole site."""

from __future__ import annotations

import json
import math
import re
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest
from msgspec import structs

from helmsite.config import SiteConfig
from helmsite.errors import BuildError
from helmsite.query.rows import (
    InstanceView,
    ReplyView,
    RequestView,
    RunSummary,
    TrialView,
)
from helmsite.render import build, samples, sentences
from helmsite.render.articles import Articles
from helmsite.render.names import SiteMap
from helmsite.render.output import Writer, refuse_foreign
from helmsite.render.record import Mark
from helmsite.render.runpages import PER_PAGE, InstancePages
from helmsite.render.scoreindex import ScoreIndex, anchors, read
from helmsite.render.theme import Theme
from helmsite.render.tokens import BOUNDS, LIMIT, tokens
from helmsite.render.verdicts import outcome
from helmsite.schema import (
    Completion,
    Counts,
    Decoding,
    Instance,
    Message,
    Reference,
    Request,
    Score,
    TopLogprob,
)
from tests.instance_source import RUN, InstanceResults

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

THEME = Theme()


def view(
    *completions: Completion,
    scores: tuple[Score, ...] = (),
    instance: Instance | None = None,
    own_start: int = 0,
    **request: Any,
) -> InstanceView:
    asked = structs.replace(Request("id1", "Say it.", Decoding()), **request)
    replies = tuple(ReplyView(c, i, scores) for i, c in enumerate(completions))
    trial = TrialView(0, (RequestView(asked, replies, own_start),))
    return InstanceView(instance or Instance("id1", "It"), (trial,))


def html(
    made: InstanceView,
    kept: dict[str, str] | None = None,
    run: RunSummary | None = None,
) -> str:
    files = {} if kept is None else kept
    articles = Articles(run or samples.summary(), files.__setitem__)
    return THEME.fragment("instance.html", articles.article(made))


def test_several_completions_are_numbered_and_share_one_prompt() -> None:
    page = html(view(Completion("a"), Completion("b")))
    assert "Completion 1 of 2" in page
    assert "Completion 2 of 2" in page
    assert page.count("<details class=prompt>") == 1
    assert "<h3>Completions</h3>" in page


def test_a_verdict_of_a_completion_alone_stands_with_it() -> None:
    score = Score("id1", "exact_match", 1.0, completion_index=0)
    made = view(Completion("a"), scores=(score,))
    assert outcome(made.trials[0], samples.METRIC) == ("1", 1.0)
    assert "<small>Exact match</small> <b class=right>right</b>" in html(made)


def test_a_cut_prompt_and_a_foreign_one_say_so() -> None:
    assert "the prompt was cut to fit the context" in html(
        view(Completion("a"), truncated=True)
    )
    assert "Prompt, abridged by the source" in html(
        view(Completion("a"), prompt_kind="abridged")
    )
    assert "Prompt (not kept by the source)" in html(
        view(Completion("a"), prompt_kind="absent")
    )


def test_messages_of_a_conversation_are_shown_with_their_role() -> None:
    said = (Message("user", "<i>hello</i>"), Message("assistant", "hi"))
    page = html(view(Completion("a"), messages=said))
    assert '<p class="role">assistant</p>' in page
    assert "&lt;i&gt;hello&lt;/i&gt;" in page


def test_a_long_message_is_cut_with_a_link_to_all_of_it() -> None:
    kept: dict[str, str] = {}
    long = "a" * 30_000 + "the end"
    page = html(
        view(
            Completion("a"),
            instance=Instance("id1", "It", messages=(Message("user", long),)),
            messages=(Message("system", "b" * 20_001),),
        ),
        kept,
    )
    sent = [{"role": "system", "content": "b" * 20_001}]
    files = set(kept.values()) - {long, "b" * 20_001}
    assert [json.loads(f) for f in files] == [sent]
    assert "The messages as JSON in a text file" in page
    assert "the whole text (30,007 characters)" in page
    assert "the end" in page
    assert page.count('<a href="text/') == 3


def test_a_long_reference_is_cut_with_a_link_to_all_of_it() -> None:
    kept: dict[str, str] = {}
    item = Instance("id1", "It", (Reference("r" * 2_001),))
    page = html(view(Completion("a"), instance=item), kept)
    assert "all 2,001 characters</a>" in page
    assert list(kept.values()) == ["r" * 2_001]


def test_an_answer_of_white_space_alone_can_be_seen() -> None:
    page = html(view(Completion(" \n\t")))
    shown = page[page.index("<pre class=out>") :]
    assert '<i class="cc ws" data-c="20">\u2423</i>' in shown
    assert '<i class="cc ws" data-c="a">\u23ce</i>' in shown
    assert '<i class="cc ws" data-c="9">\u21e5</i>' in shown


def separate(*logprobs: float, **details: Any) -> str:
    """The options of an instance whose references are called 0, 1, ..."""
    item = Instance("id1", "Q", tuple(Reference(str(i)) for i in range(len(logprobs))))
    requests = tuple(
        RequestView(
            Request("id1", f"Q {i}", Decoding(), reference_index=i, score_start=1),
            (
                ReplyView(
                    Completion(tokens=(f" {i}",), token_logprobs=(x,), logprob=x), 0
                ),
            ),
        )
        for i, x in enumerate(logprobs)
    )
    score = Score("id1", "exact_match", 0.5, details=details)
    made = InstanceView(item, (TrialView(0, requests, (score,)),))
    page = html(made, run=samples.summary("multiple_choice_separate_original"))
    return page[page.index('<table class="options">') : page.index("</tbody>")]


def test_options_show_what_the_metric_decided_not_what_the_page_would() -> None:
    table = separate(-1.0, -3.0, -2.0, scores=[-1.0, -3.0, -2.0], chosen=[1, 2])
    rows = table.split("<tr")[2:]
    assert ["chosen" in row for row in rows] == [False, True, True]
    assert "a tie: each counts its share" in table
    assert '<td class="n">\u22123.000</td><td class="n">\u22123.000</td>' in rows[1]


def test_options_without_the_metrics_word_have_no_chosen_mark() -> None:
    table = separate(-1.0, -2.0)
    assert "chosen" not in table.lower().replace("class=", "")
    assert '<th scope="col">Score</th>' not in table
    assert '<td class="n">\u22121.000</td>' in table


def test_the_page_judges_by_the_main_metric_that_the_archive_settled_on() -> None:
    run = samples.summary()
    bare = structs.replace(run.manifest.scenario, main_metric="")
    run = structs.replace(run, manifest=structs.replace(run.manifest, scenario=bare))
    score = Score("id1", "exact_match", 0.0, completion_index=0)
    made = view(Completion("a"), scores=(score,))
    page = html(made, run=run)
    assert "<b class=wrong>wrong</b>" in page
    index = ScoreIndex(run)
    index.start_page()
    index.add(made)
    payload = read(index.script())
    assert payload is not None
    assert payload["metrics"][0]["values"] == [{"of": [0]}]


def test_reasoning_is_folded_and_an_earlier_answer_named() -> None:
    page = html(view(Completion("a", reasoning="because <b>", cached=True)))
    assert "Reasoning <small>11 characters</small>" in page
    assert "because &lt;b&gt;" in page
    assert "answered before this run" in page


def test_a_continuation_that_is_the_whole_input_is_not_repeated() -> None:
    given = view(
        Completion(tokens=("It",), token_logprobs=(-1.0,)), prompt="It", score_start=0
    )
    page = html(given)
    assert 'All of the <a href="#i-id1">input</a> is the given continuation.' in page
    assert page.count("It</pre>") == 1


def test_a_long_shared_part_becomes_a_file_with_the_whole_prompt() -> None:
    kept: dict[str, str] = {}
    head = "x" * 150_000
    page = html(view(Completion("a"), prompt=f"{head}own", own_start=150_000), kept)
    assert f"{head}own" in kept.values()
    assert head in kept.values()
    assert "The exact prompt as a text file" in page
    assert len(page) < 10_000


def test_an_input_without_text_says_so() -> None:
    assert "<h3>Input (empty)</h3>" in html(
        view(Completion("a"), instance=Instance("id1", ""))
    )


def test_a_perturbed_instance_has_an_anchor_of_its_own() -> None:
    index = ScoreIndex(samples.summary())
    index.start_page()
    twin = Instance("id1", "lt", perturbation="typos(prob=0.1)~1")
    for instance in (Instance("id1", "It"), twin):
        index.add(view(Completion("a"), instance=instance))
    assert len(index) == 2
    payload = read(index.script())
    assert payload is not None
    plain, own = anchors(payload)[0]
    assert plain == "i-id1"
    assert own.startswith("i-id1-typos-prob-0.1-1-")
    page = html(view(Completion("a"), instance=twin))
    assert '<small class="pert">typos(prob=0.1)~1</small>' in page


@pytest.mark.parametrize(
    ("completion", "code"),
    [(Completion(error="HTTP 500"), "f"), (Completion("a"), "-")],
)
def test_an_instance_without_a_score_is_failed_or_not_scored(
    completion: Completion, code: str
) -> None:
    assert outcome(view(completion).trials[0], samples.METRIC) == (code, None)


# ---- Twins, trials, verdicts


def pair(now: float = 0.0) -> list[str]:
    """The articles of an original that was answered rightly, and of its twin."""
    twin = Instance("id1", "lt is", perturbation="typos~1")
    score = Score("id1", "exact_match", 1.0, completion_index=0)
    views = [
        view(Completion("a"), scores=(score,), instance=Instance("id1", "It is")),
        view(
            Completion("b"),
            scores=(structs.replace(score, value=now),),
            instance=twin,
        ),
    ]
    made = Articles(samples.summary(), print).all(views)
    return [THEME.fragment("instance.html", article) for article in made]


def test_a_twin_shows_the_verdict_of_its_original_where_that_differs() -> None:
    original, twin = pair()
    turned = "<b class=right>right</b><b>→</b><b class=wrong>wrong</b>"
    assert turned in twin
    assert "<a href=#i-id1>original</a>" in twin
    assert re.search(
        r'<a href="#i-id1-typos-1-\w+">typos~1</a> <b>now wrong</b>', original
    )
    original, twin = pair(now=1.0)
    assert "→" not in twin
    assert "now" not in original


def test_a_change_is_marked_in_twin_and_original() -> None:
    original, twin = pair()
    assert "<pre class=big>\n<mark>I</mark>t is</pre>" in original
    assert "<pre class=big>\n<mark>l</mark>t is</pre>" in twin


def test_a_twin_without_its_original_stands_alone() -> None:
    twin = Instance("id1", "lt", perturbation="typos~1")
    articles = Articles(samples.summary(), print)
    articles.article(view(Completion("a"), instance=Instance("id2", "It")))
    page = THEME.fragment(
        "instance.html", articles.article(view(Completion("a"), instance=twin))
    )
    assert "original" not in page
    assert "<mark>" not in page


def trials(*texts: str) -> str:
    made = [
        structs.replace(view(Completion(text)).trials[0], trial=n)
        for n, text in enumerate(texts)
    ]
    return html(InstanceView(Instance("id1", "It"), tuple(made)))


def test_an_answer_that_repeats_the_first_trials_is_stored_once() -> None:
    long = "a long answer, word for word " * 10
    page = trials(long, long, f"{long}.")
    assert page.count(long.strip()) == 2
    assert page.count("The same completion as in trial 0, to the letter.") == 1
    assert trials("short", "short").count("short") == 2


def test_an_instance_that_was_never_asked_says_so() -> None:
    page = html(InstanceView(Instance("id1", "It")))
    assert 'class=" unasked"' in page
    assert "Not asked: the run holds no request for this instance." in page


def test_a_failed_request_is_marked_on_the_whole_article() -> None:
    page = html(view(Completion(error="HTTP 500 <b>")))
    assert 'class=" failed"' in page
    assert "request failed: HTTP 500 &lt;b&gt;" in page


def test_a_request_without_a_reply_says_so() -> None:
    page = html(view())
    assert "request failed: no reply is kept" in page
    assert "</summary><pre>" in page


def test_a_long_transcript_is_a_file() -> None:
    kept: dict[str, str] = {}
    items = ({"role": "user", "content": "x" * 500},) * 1_000
    page = html(view(Completion("a", transcript=items)), kept)
    assert [json.loads(text) for text in kept.values()] == [list(items)]
    assert len(page) < 200_000


def test_an_instance_with_scores_alone_shows_them() -> None:
    score = Score("id1", "exact_match", 1.0)
    page = html(InstanceView(Instance("id1", "It"), (TrialView(0, (), (score,)),)))
    assert "<h3>Verdict</h3>" in page
    assert "Not asked" not in page


@pytest.mark.parametrize(
    ("answer", "mapping", "told"),
    [
        (" a", {}, False),
        ("a", {}, False),
        ("b", {}, True),
        ("white", {"a": "white"}, False),
        ("black", {"a": "white"}, True),
    ],
)
def test_the_extracted_answer_shows_where_it_differs(
    answer: str, mapping: dict[str, str], told: bool
) -> None:
    score = Score("id1", "exact_match", 1.0, completion_index=0, text=answer)
    page = html(view(Completion(" a"), scores=(score,), output_mapping=mapping))
    assert (f"<small>extracted</small> <q>{answer}</q>" in page) is told


def test_metrics_that_say_the_same_share_a_verdict() -> None:
    def score(metric: str, value: float) -> Score:
        return Score("id1", metric, value, completion_index=0)

    run = samples.summary()
    facts = [structs.replace(samples.METRIC, name=n, title=n) for n in ("f1", "rouge")]
    manifest = structs.replace(run.manifest, metrics=(samples.METRIC, *facts))
    run = structs.replace(run, manifest=manifest)
    scores = (score("exact_match", 0.0), score("f1", 0.5), score("rouge", 0.0))
    page = html(view(Completion("a"), scores=scores), run=run)
    assert (
        "<small>Exact match, rouge</small> <b class=wrong>wrong</b>"
        "<small>f1</small> <b class=partly>0.500</b>" in page
    )


# ---- Tokens


def test_tokens_that_do_not_spell_the_text_keep_their_own() -> None:
    made = tokens(
        Completion(tokens=("a", "bytes:\\xe2"), token_logprobs=(-0.5, None)), "a…"
    )
    assert made is not None
    assert made.lengths == ""
    assert made.texts == '["a","bytes:\\\\xe2"]'
    assert made.centinats == "Ay__"  # 50, and a number that stands for none


def test_very_many_tokens_are_summed_up_alone() -> None:
    count = LIMIT
    made = tokens(
        Completion(tokens=("ab",) * count, token_logprobs=(-1.0,) * count), "ab" * count
    )
    assert made is not None
    assert made.count == count
    assert made.centinats == ""
    assert made.total == f"&minus;{count}.00"
    assert made.summary.startswith("too many to be drawn; least expected: “ab” 37 %")


def test_alternatives_are_packed_where_there_are_any() -> None:
    top = ((TopLogprob("a", -0.1), TopLogprob("</script>", -2.5)),)
    made = tokens(
        Completion(tokens=("a",), token_logprobs=(-0.1,), top_logprobs=top), "a"
    )
    assert made is not None
    assert made.alternatives == "=10|%3C/script%3E~250"


@pytest.mark.parametrize(
    "completion",
    [
        Completion("a"),
        Completion("a", tokens=("a",)),
        Completion("a", tokens=("a",), token_logprobs=(-1.0, -2.0)),
    ],
)
def test_without_log_probabilities_there_is_no_strip(completion: Completion) -> None:
    assert tokens(completion, "a") is None


def test_an_infinite_log_probability_is_a_number() -> None:
    made = tokens(Completion(tokens=("a",), token_logprobs=(float("-inf"),)), "a")
    assert made is not None
    assert made.centinats == "_-"  # 4094: -40.94 or less


# ---- Sentences


def told(**changes: Any) -> str:
    summary: RunSummary = samples.summary()
    manifest = structs.replace(summary.manifest, **changes)
    changed = structs.replace(summary, manifest=manifest)
    return " ".join([sentences.run(changed), *sentences.ended(changed)])


def test_a_stopped_run_tells_what_was_never_sent() -> None:
    words = told(status="cancelled", counts=Counts(asked=10, answered=4, failed=1))
    assert "answered 4 of 10 requests" in words
    assert "1 request failed for good" in words
    assert "The run was stopped with 5 requests never sent." in words


def test_an_imported_run_without_counts_reads_well() -> None:
    assert told(counts=Counts()).startswith("Alder 3B on 4 instances of Colours (")


def test_a_run_without_a_value_says_why() -> None:
    summary = samples.summary()
    empty = structs.replace(
        summary, main=structs.replace(summary.main, value=None, missing="failed")
    )
    assert "; exact match has no value (failed)." in sentences.run(empty)


# ---- Files


def test_a_download_that_is_gone_is_told(tmp_path: Path) -> None:
    mark = Mark(4, "0" * 64)
    told = Writer(tmp_path).copy("data/x.parquet", tmp_path / "gone.parquet", mark)
    assert told == "it cannot be read (No such file or directory)"
    assert not list(tmp_path.iterdir())


def test_a_file_in_the_place_of_the_site_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "site").write_text("mine")
    with pytest.raises(BuildError, match="not a folder of its own"):
        refuse_foreign(tmp_path / "site")


def test_a_completions_confidence_is_beside_it() -> None:
    made = tokens(
        Completion("ab", tokens=("a", "b"), token_logprobs=(-0.5, -1.5)), "ab"
    )
    assert made is not None
    assert (made.total, made.mean, made.level) == ("&minus;2.00", "37 %", 3)


def test_page_script_and_legend_tell_tokens_apart_at_the_same_bounds() -> None:
    found = re.search(
        r"const BOUNDS = (\[[^]]*\]);", THEME.static()["site.js"].decode()
    )
    assert found
    assert tuple(json.loads(found[1])) == BOUNDS
    module: Any = THEME.environment.get_template("parts.html").module
    labels = re.findall(r"<b class=t(\d)>([^<]*)</b>", module.scale())
    shares = [100 * math.exp(-bound) for bound in BOUNDS]
    words = [f"{s:.0f} %" if s >= 1 else f"{s:.1g} %" for s in shares]
    words[0] += " and up"
    assert labels == [(str(n), word) for n, word in enumerate([*words, "less"])]


def test_lengths_of_tokens_are_digits() -> None:
    names = ("a", "b" * 35, "c" * 36, "", "d" * 1_000)
    text = "".join(names)
    made = tokens(Completion(text, tokens=names, token_logprobs=(-1.0,) * 5), text)
    assert made is not None
    assert made.lengths == "1z(36)0(1000)"


def test_thousands_of_tokens_are_still_drawn() -> None:
    count = 5_000
    made = tokens(
        Completion(
            "ab" * count, tokens=("ab",) * count, token_logprobs=(-1.25,) * count
        ),
        "ab" * count,
    )
    assert made is not None
    assert made.lengths == "2" * count
    assert made.centinats == "B9" * count  # 64 * 1 + 61


def test_a_page_marks_an_original_by_what_its_twins_change(tmp_path: Path) -> None:
    """The pages learn of twins after their original; its article is drawn again."""
    run = samples.summary()
    frames = SimpleNamespace(
        text_search=False, map=SiteMap((), (), (), [run.manifest.run_id])
    )
    pages = InstancePages(run, THEME, cast("Any", frames), Writer(tmp_path), print)
    for text, perturbation in (("It is", ""), ("lt is", "a"), ("It was", "b")):
        made = Instance("id1", text, perturbation=perturbation)
        pages.add(view(Completion("a"), instance=made))
    pages._close_group()
    first, *twins = [each.html for each in pages._page]
    assert "<mark>I</mark>t <mark>is</mark></pre>" in first
    assert first.count("<a href=") == 3
    assert all("original</a>" in html for html in twins)


class ManyTwins(InstanceResults):
    """A run of one instance with more perturbed versions than a page holds."""

    def instances(self, run_id: str) -> Iterator[InstanceView]:
        for n in range(2 * PER_PAGE):
            twin = Instance("id1", f"It {n}", perturbation=f"p{n}" if n else "")
            yield view(Completion("a"), instance=twin)


def test_twins_on_another_page_than_their_original_link_to_nothing_gone(
    tmp_path: Path,
) -> None:
    build(ManyTwins(), tmp_path / "site", SiteConfig(title="Twins"))
    drawn = [
        (tmp_path / "site" / "runs" / RUN / f"{n}.html").read_text("utf-8")
        for n in (1, 2)
    ]
    for page in drawn:
        ids = set(re.findall("<article id=([^ >]+)", page))
        assert len(ids) == PER_PAGE
        assert set(re.findall('href="?#(i-[^ ">]+)', page)) == ids
    assert drawn[1].count("<mark") >= PER_PAGE

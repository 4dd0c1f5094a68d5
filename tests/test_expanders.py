"""HELM's run expanders, and what a model's card changes in the adapter spec."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from msgspec import structs

from helmsite.archive import Archive
from helmsite.config import load_project
from helmsite.errors import ConfigError
from helmsite.run import Runner
from helmsite.schema import ModelCard, Substitution, preset
from helmsite.schema.adjusting import adjusted, faults
from helmsite.schema.expanders import EXPANDERS, expand
from helmsite.schema.manifest import Adjustment

if TYPE_CHECKING:
    from pathlib import Path

GENERATION = preset("generation", instructions="Answer.", output_noun="Answer")
JOINT = preset("multiple_choice_joint", output_noun="Answer")


def card(*adjustments: Adjustment, tags: tuple[str, ...] = ()) -> ModelCard:
    return ModelCard("org/m", adjustments=adjustments, tags=tags)


def test_a_sweep_makes_a_spec_for_each_value_and_names_it() -> None:
    made = expand(GENERATION, "max_train_instances", "big_bench_few_shot_setting")
    assert [e.label for e in made] == [f"max_train_instances={n}" for n in range(4)]
    assert [e.adapter.max_train_instances for e in made] == [0, 1, 2, 3]


@pytest.mark.parametrize("value", [3, "3"])
def test_a_number_may_be_a_text(value: Any) -> None:
    (made,) = expand(GENERATION, "temperature", value)
    assert (made.adapter.temperature, made.label) == (3.0, "")
    assert isinstance(made.adapter.temperature, float)


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("newlin", "br", "no run expander 'newlin'. Did you mean 'newline'"),
        ("stop", "hasch", "stop=hasch: unknown value. Did you mean 'hash'"),
        (
            "temperature",
            "hot",
            "temperature=hot: 'adapter.temperature': expected `float`",
        ),
        ("max_train_instances", "-1", "expected `int` >= 0"),
        ("increase_max_tokens", "many", "increase_max_tokens=many: "),
        ("output_format_instructions", "chess", "no sentence for it under method"),
        ("eval_split", "train", "eval_split=train: unknown value"),
    ],
)
def test_what_cannot_be_expanded_is_an_error_that_says_why(
    name: str, value: str, told: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        expand(GENERATION, name, value)
    assert told in str(caught.value)


def test_a_card_changes_the_spec_of_its_model() -> None:
    newlines = [{"source": "\n", "target": "###"}]
    made = adjusted(
        GENERATION,
        card(
            Adjustment("global_prefix=nlg"),
            Adjustment(set={"substitutions": newlines, "max_tokens": 7}),
        ),
    )
    assert made.global_prefix == "[NLG]"
    assert made.substitutions == (Substitution("\n", "###"),)
    assert made.max_tokens == 7
    assert (
        structs.replace(made, global_prefix="", substitutions=(), max_tokens=5)
        == GENERATION
    )


def test_an_adjustment_counts_where_the_spec_is_what_it_says() -> None:
    warm = card(
        Adjustment("increase_temperature=0.0001", where={"temperature": 0}),
        Adjustment("stop=hash", where={"method": ["generation", "chat"]}),
    )
    assert adjusted(GENERATION, warm).temperature == 0.0001
    assert adjusted(GENERATION, warm).stop_sequences == ("###",)
    assert adjusted(JOINT, warm) == structs.replace(JOINT, temperature=0.0001)
    hot = structs.replace(JOINT, temperature=0.5)
    assert adjusted(hot, warm) == hot


def test_what_tags_and_card_both_say_is_done_once() -> None:
    buggy = Adjustment("increase_temperature=0.0001", where={"temperature": 0})
    both = card(buggy, Adjustment("chatml"), tags=("CHATML_MODEL_TAG",))
    made = adjusted(GENERATION, both)
    assert made.output_prefix.count("<|im_start|>assistant") == 1
    assert adjusted(GENERATION, card(tags=("TEXT_MODEL_TAG",))) == GENERATION


def test_chatml_splits_the_question_of_a_ranking() -> None:
    (made,) = expand(preset("ranking_binary"), "chatml")
    assert made.adapter.output_prefix.startswith("<|im_end|>")
    ranked = adjusted(
        preset("ranking_binary"), card(Adjustment("chatml")), "msmarco:track=regular"
    )
    assert ranked.output_prefix == (
        "Does the passage answer the query?<|im_end|>\n<|im_start|>assistant\nAnswer: "
    )


@pytest.mark.parametrize(
    ("adjustment", "told"),
    [
        (Adjustment(), "says neither 'expand' nor 'set'"),
        (Adjustment("stopp=hash"), "no run expander 'stopp'"),
        (Adjustment("max_train_instances=all"), "makes 6 runs of one"),
        (Adjustment(set={"max_token": 3}), "unknown setting 'set.max_token'"),
        (Adjustment("chatml", where={"methods": "chat"}), "no setting 'methods'"),
    ],
)
def test_a_wrong_adjustment_is_told(adjustment: Adjustment, told: str) -> None:
    assert told in " ".join(faults(adjustment))


def test_right_adjustments_have_no_fault() -> None:
    swept = {n: next(iter(e.sweeps)) for n, e in EXPANDERS.items() if e.sweeps}
    del swept["max_train_instances"], swept["num_outputs"], swept["num_output_tokens"]
    for name, expander in EXPANDERS.items():
        value = (*expander.known, swept.get(name, "1"))[0]
        value = "math" if name == "output_format_instructions" else value
        assert list(faults(Adjustment(f"{name}={value}"))) == []


def test_a_wrong_adjustment_of_a_project_is_told_before_anything_runs(
    tmp_path: Path,
) -> None:
    (tmp_path / "helmsite.toml").write_text(
        '[models.a]\nclient = "fake"\nadjustments = [{expand = "stop=hasch"}]\n'
    )
    with pytest.raises(ConfigError) as caught:
        load_project(tmp_path)
    assert "'models.a.adjustments[0]': stop=hasch: unknown value" in str(caught.value)


def test_a_run_asks_with_what_its_model_needs(tmp_path: Path) -> None:
    (tmp_path / "suites").mkdir()
    (tmp_path / "suites" / "s.yaml").write_text(
        "models: [a, b]\nadapter: {max_eval_instances: 2}\nscenarios: [short_answers]\n"
    )
    (tmp_path / "helmsite.toml").write_text(
        '[models.a]\nclient = "fake"\n[models.b]\nclient = "fake"\n'
        'adjustments = [{expand = "stop=hash", where = {method = "generation"}}]\n'
    )
    project = load_project(tmp_path)
    archive = Archive(str(tmp_path / "runs"))
    plain, hashed = Runner(project, archive).run(project.suite("s"))
    assert plain.spec.adapter.stop_sequences != ("###",)
    assert hashed.spec.adapter.stop_sequences == ("###",)
    assert hashed.card.adjustments[0].expand == "stop=hash"
    first = next(archive.replies(hashed.run_id)).request
    assert first.prompt.count("###\n\n") == first.num_train_instances + 1
    assert first.decoding.stop_sequences == ("###",)
    assert archive.check() == []

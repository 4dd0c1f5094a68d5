"""The workflow of a new project, step by step: what is built, reused, refused, published."""

from __future__ import annotations

import hashlib
import json
import random
import re
import shutil
import string
import subprocess
import uuid
from typing import TYPE_CHECKING

import fsspec
import pytest
from click.testing import CliRunner
from msgspec import structs

from helmsite.archive import Archive
from helmsite.cli import main
from helmsite.cli.new import new_project
from helmsite.config import load_project
from helmsite.render.output import MARKER
from helmsite.render.record import Mark, decode, encode
from helmsite.run import Choice, Runner
from tests.archive_cases import small
from tests.workflow import INSTALL, ROOT, Forge, Outcome, load

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Tree = dict[str, bytes]
KEY = "hf" + "_" + "".join(random.Random(7).choices(string.ascii_letters, k=34))


def git(folder: Path, *words: str) -> None:
    command = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org",
               "-C", str(folder), *words]  # fmt: skip
    subprocess.run(command, check=True, capture_output=True)


def commit(project: Path) -> None:
    git(project, "add", "-A")
    git(project, "commit", "-qm", "more")


def evaluate(project: Path, entry: str) -> set[str]:
    """Make the runs of an entry of the first suite; return their ids."""
    loaded = load_project(project)
    made = Runner(loaded, Archive(loaded.archive)).run(
        loaded.suite("first"), Choice(entries=(entry,))
    )
    return {manifest.run_id for manifest in made}


def build(forge: Forge, project: Path, place: Path, **options: object) -> Outcome:
    """Perform the build job in a fresh clone."""
    git(place.parent, "clone", "-q", str(project), str(place))
    flow = load((place / ".github/workflows/site.yml").read_text(encoding="utf-8"))
    outcome = forge.perform(flow["jobs"]["build"], place, **options)  # type: ignore[arg-type]
    assert "Traceback" not in outcome.output
    return outcome


def tree(folder: Path) -> Tree:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


class Published:
    """A repository whose first push was built and published."""

    def __init__(self, folder: Path) -> None:
        self.project = folder / "origin"
        new_project(self.project)
        git(self.project, "init", "-q", "-b", "main")
        self.runs = evaluate(self.project, "capitals")
        commit(self.project)
        self.forge = Forge(folder / "forge")
        self.outcome = build(self.forge, self.project, folder / "first")
        assert self.outcome.code == 0, self.outcome.output
        self.site = tree(self.forge.site)


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Published:
    return Published(tmp_path_factory.mktemp("repository"))


@pytest.fixture
def origin(first: Published, tmp_path: Path) -> Path:
    """A copy of the repository to push to."""
    git(tmp_path, "clone", "-q", str(first.project), str(tmp_path / "origin"))
    return tmp_path / "origin"


@pytest.fixture
def forge(first: Published, tmp_path: Path) -> Forge:
    """A forge with a copy of the first build's cache."""
    forge = Forge(tmp_path / "forge")
    shutil.copytree(first.forge.cache, forge.cache)
    return forge


def rendered(outcome: Outcome) -> str:
    """What the build says it had to render."""
    found = re.search(r"up to date|(\d+ of )?\d+ runs rendered", outcome.output)
    assert found, outcome.output
    return found[0]


def test_the_first_push_is_checked_built_and_published(first: Published) -> None:
    assert first.outcome.steps == [
        "actions/checkout@v6", "actions/setup-python@v6", "Install", "Check the archive",
        "Restore the last site", "Build the site", "Keep the site for the next build",
        "Upload the site",
    ]  # fmt: skip
    assert "2 runs checked, 0 problems found." in first.outcome.output
    assert rendered(first.outcome) == "2 runs rendered"
    assert {f"runs/{run}/index.html" for run in first.runs} < set(first.site)
    address = b"https://Some-Lab.github.io/evals/"
    assert any(address in page for page in first.site.values())
    flow = load(
        (first.project / ".github/workflows/site.yml").read_text(encoding="utf-8")
    )
    assert INSTALL in [step.get("run") for step in flow["jobs"]["build"]["steps"]]


def test_a_push_without_anything_new_renders_nothing(
    first: Published, origin: Path, forge: Forge, tmp_path: Path
) -> None:
    outcome = build(forge, origin, tmp_path / "clone")
    assert outcome.code == 0, outcome.output
    assert rendered(outcome) == "up to date"
    assert tree(forge.site) == first.site


def test_a_push_of_a_new_run_changes_only_what_tells_of_it(
    first: Published, origin: Path, forge: Forge, tmp_path: Path
) -> None:
    new = evaluate(origin, "dyck_language:num_parenthesis_pairs=2")
    commit(origin)
    outcome = build(forge, origin, tmp_path / "clone")
    assert outcome.code == 0, outcome.output
    assert rendered(outcome) == "2 of 4 runs rendered"
    after = tree(forge.site)
    folders = tuple(
        f"{kind}/{run}/" for run in first.runs for kind in ("runs", "data/runs")
    )
    own = [path for path in first.site if path.startswith(folders)]
    assert len(own) > 10
    assert {path: after[path] for path in own} == {
        path: first.site[path] for path in own
    }
    for run in new:
        assert f"runs/{run}/index.html" in after
        assert run.encode() in after["runs/index.html"]
    changed = {p for p in first.site if after.get(p) != first.site[p]}
    assert not [p for p in changed if p.startswith("static/") and p.endswith(".css")]
    assert "index.html" in changed
    whole = Forge(tmp_path / "other")
    assert build(whole, origin, tmp_path / "anew").code == 0
    assert tree(whole.site) == after


def test_a_pull_request_is_built_and_neither_published_nor_kept(
    first: Published, origin: Path, forge: Forge, tmp_path: Path
) -> None:
    evaluate(origin, "dyck_language:num_parenthesis_pairs=2")
    commit(origin)
    before = tree(forge.cache)
    outcome = build(forge, origin, tmp_path / "clone", event="pull_request")
    assert outcome.code == 0, outcome.output
    assert outcome.steps[-1] == "Build the site"
    assert not forge.site.exists()
    assert tree(forge.cache) == before


def a_page(cache: Path, first: Published) -> Path:
    return cache / "runs" / min(first.runs) / "1.html"


def changed_page(cache: Path, first: Published) -> None:
    page = a_page(cache, first)
    raw = page.read_bytes()
    page.write_bytes(raw.replace(b"<p", b"<b", 1))


def shortened_page(cache: Path, first: Published) -> None:
    page = a_page(cache, first)
    page.write_bytes(page.read_bytes()[:-1])


def missing_page(cache: Path, first: Published) -> None:
    a_page(cache, first).unlink()


def link(cache: Path, first: Published) -> None:
    page = a_page(cache, first)
    elsewhere = cache.parent / "elsewhere.html"
    page.rename(elsewhere)
    page.symlink_to(elsewhere)


def linked_folder(cache: Path, first: Published) -> None:
    folder = a_page(cache, first).parent
    folder.rename(cache.parent / "elsewhere")
    folder.symlink_to(cache.parent / "elsewhere")


def stranger(cache: Path, first: Published) -> None:
    (a_page(cache, first).parent / "99.html").write_text("<script>alert(1)</script>")
    (cache / "evil.html").write_text("<script>alert(1)</script>")


def changed_first_page(cache: Path, first: Published) -> None:
    page = cache / "index.html"
    page.write_bytes(page.read_bytes().replace(b"<h1", b"<h2", 1))


def changed_download(cache: Path, first: Published) -> None:
    file = cache / "data" / "runs" / min(first.runs) / "scores.parquet"
    file.write_bytes(b"PAR1" * 100)


def changed_record(cache: Path, first: Published) -> None:
    marker = cache / MARKER
    text = marker.read_text(encoding="utf-8")
    marker.write_text(
        text.replace('"instances":', '"instances":1', 1), encoding="utf-8"
    )


def record_of_rubbish(cache: Path, first: Published) -> None:
    (cache / MARKER).write_bytes(b"\x00\xff{[[[")


def record_that_leads_out(cache: Path, first: Published) -> None:
    """A record that agrees with itself and names files of the machine."""
    (cache.parent / "secret.txt").write_text("secret")
    record = decode((cache / MARKER).read_bytes())
    assert record is not None
    mark = Mark(6, "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b")
    run = min(first.runs)
    files = {**record.runs[run].files, "../secret.txt": mark}
    runs = {**record.runs, run: structs.replace(record.runs[run], files=files)}
    (cache / MARKER).write_bytes(encode(structs.replace(record, runs=runs)))


@pytest.mark.parametrize(
    "spoil",
    [
        changed_page, shortened_page, missing_page, link, linked_folder, stranger,
        changed_first_page, changed_download, changed_record, record_of_rubbish,
        record_that_leads_out,
    ],
)  # fmt: skip
def test_a_spoilt_cache_is_noticed_and_gives_the_same_site(
    first: Published,
    forge: Forge,
    tmp_path: Path,
    spoil: Callable[[Path, Published], None],
) -> None:
    site, expected = tmp_path / "forge" / "cache", tree(first.forge.cache)
    spoil(site, first)
    spoilt = any(p.is_symlink() for p in site.rglob("*")) or tree(site) != expected
    assert spoilt
    words = ["build", "--strict", "-p", str(first.project), "-o", str(site),
             "--base-url", "https://Some-Lab.github.io/evals/"]  # fmt: skip
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 0, result.output
    assert "up to date" not in result.output
    assert tree(site) == expected
    assert not any(path.is_symlink() for path in site.rglob("*"))


def test_a_job_with_a_spoilt_cache_publishes_the_same_site(
    first: Published, origin: Path, forge: Forge, tmp_path: Path
) -> None:
    for spoil in (changed_page, stranger, changed_first_page, link):
        spoil(forge.cache, first)
    outcome = build(forge, origin, tmp_path / "clone")
    assert outcome.code == 0, outcome.output
    assert tree(forge.site) == first.site
    assert rendered(outcome) != "up to date"
    assert "Restore the last site" in outcome.steps


def test_a_fresh_build_asks_no_cache(
    first: Published, origin: Path, forge: Forge, tmp_path: Path
) -> None:
    """Who can write a cache can make page and record agree: then only this helps."""
    page = f"runs/{min(first.runs)}/1.html"
    raw = first.site[page].replace(b"<p", b"<b", 1)
    record = decode((forge.cache / MARKER).read_bytes())
    assert record is not None
    run = record.runs[min(first.runs)]
    mark = Mark(len(raw), hashlib.sha256(raw).hexdigest())
    runs = {
        **record.runs,
        min(first.runs): structs.replace(run, files={**run.files, page: mark}),
    }
    (forge.cache / page).write_bytes(raw)
    (forge.cache / MARKER).write_bytes(encode(structs.replace(record, runs=runs)))
    outcome = build(
        forge,
        origin,
        tmp_path / "clone",
        event="workflow_dispatch",
        inputs={"fresh": "true"},
    )
    assert outcome.code == 0, outcome.output
    assert "Restore the last site" not in outcome.steps
    assert tree(forge.site) == first.site


def flip(project: Path) -> None:
    (file,) = sorted(project.glob("runs/*/*/*ngram-1*/*/requests.parquet"))
    raw = bytearray(file.read_bytes())
    raw[len(raw) // 2] ^= 1
    file.write_bytes(raw)


def forget(project: Path) -> None:
    min(project.glob("runs/*/*/*/*/scores.parquet")).unlink()


def reword(project: Path) -> None:
    file = min(project.glob("runs/*/*/*/*/run.json"))
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("Capitals", "Capitols", 1), encoding="utf-8")


def replace_by_link(project: Path) -> None:
    file = min(project.glob("runs/*/*/*/*/stats.parquet"))
    file.unlink()
    file.symlink_to("/etc/hostname")


@pytest.mark.parametrize("spoil", [flip, forget, reword, replace_by_link])
def test_a_changed_archive_stops_the_job_before_anything_is_built(
    origin: Path, forge: Forge, tmp_path: Path, spoil: Callable[[Path], None]
) -> None:
    spoil(origin)
    commit(origin)
    outcome = build(forge, origin, tmp_path / "clone")
    assert outcome.code == 3, outcome.output
    assert outcome.steps[-1] == "Check the archive"
    assert "→" in outcome.output
    assert not forge.site.exists()


def write_run(project: Path, text: str) -> None:
    """Archive a run whose model says the text."""
    run = small(3)
    said = structs.replace(
        run.replies[0].completion, text=text, tokens=(), token_logprobs=(), logprob=None
    )
    replies = [structs.replace(reply, completion=said) for reply in run.replies]
    Archive(project / "runs").write_run(
        run.manifest, run.instances, replies, run.scores, run.stats
    )


def partial(project: Path) -> None:
    run = small(3)
    failed = structs.replace(
        run.replies[0],
        completion=structs.replace(run.replies[0].completion, error="no answer"),
    )
    Archive(project / "runs").write_run(
        run.manifest, run.instances, [failed, *run.replies[1:]], run.scores, run.stats
    )


def broken_link(project: Path) -> None:
    (project / "theme" / "templates").mkdir(parents=True)
    (project / "theme/templates/models.html").write_text(
        '{% extends "default:models.html" %}{% block content %}'
        '<h1>Models</h1><a href="nowhere.html">x</a>{% endblock %}'
    )
    settings = project / "helmsite.toml"
    text = settings.read_text(encoding="utf-8")
    settings.write_text(text.replace("[site]", '[site]\noverrides = "theme"'), "utf-8")


def key_in_a_table(project: Path) -> None:
    """Where no page shows it: importers keep there what a source says of itself."""
    run = small(3)
    replies = [
        structs.replace(
            r, completion=structs.replace(r.completion, extra={"api_key": KEY})
        )
        for r in run.replies
    ]
    Archive(project / "runs").write_run(
        run.manifest, run.instances, replies, run.scores, run.stats
    )


def key_in_a_completion(project: Path) -> None:
    write_run(project, f"My key is {KEY}.")


@pytest.mark.parametrize(
    ("spoil", "expected"),
    [
        (partial, "is partial: 2 of 3 requests answered"),
        (broken_link, "nowhere.html"),
        (key_in_a_completion, "a Hugging Face token"),
        (key_in_a_table, "requests.parquet of run"),
    ],
)
def test_a_strict_build_publishes_no_site_with_a_flaw(
    first: Published,
    origin: Path,
    forge: Forge,
    tmp_path: Path,
    spoil: Callable[[Path], None],
    expected: str,
) -> None:
    spoil(origin)
    commit(origin)
    before = tree(forge.cache)
    outcome = build(forge, origin, tmp_path / "clone")
    assert outcome.code == 5, outcome.output
    assert expected in outcome.output
    assert KEY[4:] not in outcome.output
    assert outcome.steps[-1] == "Build the site"
    assert not forge.site.exists()
    assert tree(forge.cache) == before


def test_a_key_of_the_environment_is_not_published(
    origin: Path, tmp_path: Path
) -> None:
    """It has no known form: it is found because the job itself was given it."""
    flow = (origin / ".github/workflows/site.yml").read_text(encoding="utf-8")
    step = "          BASE_URL: ${{ vars.BASE_URL }}\n"
    given = f"{step}          MY_LAB_API_KEY: ${{{{ secrets.MY_LAB_API_KEY }}}}\n"
    (origin / ".github/workflows/site.yml").write_text(
        flow.replace(step, given), "utf-8"
    )
    write_run(origin, "It is pl4in-but-s3cret<9>, they say.")
    commit(origin)
    forge = Forge(tmp_path / "forge", secrets={"MY_LAB_API_KEY": "pl4in-but-s3cret<9>"})
    outcome = build(forge, origin, tmp_path / "clone")
    assert outcome.code == 5, outcome.output
    assert "the value of MY_LAB_API_KEY" in outcome.output
    assert "pl4in-but" not in outcome.output
    forge.secrets.clear()
    assert build(forge, origin, tmp_path / "again").code == 0


def test_a_key_that_an_earlier_build_let_pass_is_still_found(
    origin: Path, forge: Forge, tmp_path: Path
) -> None:
    """The cache may hold a site that was built without --strict."""
    write_run(origin, f"My key is {KEY}.")
    commit(origin)
    words = ["build", "-p", str(origin), "-o", str(tmp_path / "loose"),
             "--base-url", "https://Some-Lab.github.io/evals/"]  # fmt: skip
    loose = CliRunner().invoke(main, words)
    assert loose.exit_code == 0, loose.output
    shutil.rmtree(forge.cache)
    shutil.copytree(tmp_path / "loose", forge.cache)
    outcome = build(forge, origin, tmp_path / "clone")
    assert outcome.code == 5, outcome.output
    assert "a Hugging Face token" in outcome.output


def test_a_key_of_a_data_set_can_be_allowed(
    origin: Path, forge: Forge, tmp_path: Path
) -> None:
    write_run(origin, f"My key is {KEY}.")
    commit(origin)
    refused = build(forge, origin, tmp_path / "clone")
    found = re.search(r"fingerprint ([0-9a-f]{12})\)", refused.output)
    assert found, refused.output
    settings = origin / "helmsite.toml"
    text = settings.read_text(encoding="utf-8")
    allowed = f'[site]\nallow_secrets = ["{found[1]}"]'
    settings.write_text(text.replace("[site]", allowed), encoding="utf-8")
    commit(origin)
    outcome = build(forge, origin, tmp_path / "again")
    assert outcome.code == 0, outcome.output


def test_an_archive_as_an_artifact_grows_from_evaluation_to_evaluation(
    tmp_path: Path,
) -> None:
    project = tmp_path / "origin"
    new_project(project, "artifact")
    git(project, "init", "-q", "-b", "main")
    commit(project)
    forge = Forge(tmp_path / "forge")
    empty = build(forge, project, tmp_path / "empty")
    assert empty.code == 1
    assert "start the workflow evaluate" in empty.output

    def evaluation(place: Path, suite: str = "first") -> Outcome:
        git(tmp_path, "clone", "-q", str(project), str(place))
        text = (place / ".github/workflows/evaluate.yml").read_text(encoding="utf-8")
        return forge.perform(
            load(text)["jobs"]["evaluate"],
            place,
            "workflow_dispatch",
            {"suite": suite},
        )

    one = evaluation(tmp_path / "one")
    assert one.code == 0, one.output
    assert "4 made" in one.output
    suite = project / "suites" / "first.yaml"
    text = suite.read_text(encoding="utf-8")
    suite.write_text(
        f"{text}  - dyck_language:num_parenthesis_pairs=3\n", encoding="utf-8"
    )
    commit(project)
    assert build(forge, project, tmp_path / "site1", event="workflow_run").code == 0
    two = evaluation(tmp_path / "two")
    assert "4 runs checked, 0 problems found." in two.output
    assert "2 made, 4 already there" in two.output
    outcome = build(forge, project, tmp_path / "site2", event="workflow_run")
    assert outcome.code == 0, outcome.output
    assert rendered(outcome) == "2 of 6 runs rendered"
    names = [*tree(forge.site), *tree(forge.artifacts / "2")]
    assert not [name for name in names if set(name) & set('":<>|*?\\\r\n')]
    failed = evaluation(tmp_path / "three", "second")
    assert failed.code == 2, failed.output
    assert failed.steps[-1] == "Leave the archive"
    newest = max(forge.artifacts.iterdir(), key=lambda path: int(path.name))
    manifest = min(newest.glob("*/*/*/*/run.json"))
    facts = json.loads(manifest.read_bytes())
    manifest.write_text(json.dumps({**facts, "suite": "other"}), encoding="utf-8")
    spoilt = build(forge, project, tmp_path / "site3", event="workflow_run")
    assert spoilt.code == 3, spoilt.output
    assert spoilt.steps[-1] == "Check the archive"
    kept = evaluation(tmp_path / "four")
    assert kept.code == 3, kept.output
    assert kept.steps[-1] == "Fetch the archive so far"
    assert len(list(forge.artifacts.iterdir())) == 3


@pytest.fixture
def bucket(s3_server: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """A new bucket; the endpoint is the runner's, the keys are the repository's secrets."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", s3_server)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AN-ID-0f-a-t3st")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "sEcr3t-0f-th3-t3st")
    name = f"b{uuid.uuid4().hex[:16]}"
    fsspec.filesystem("s3").mkdir(name)
    return f"s3://{name}"


SECRETS = {
    "AWS_ACCESS_KEY_ID": "AN-ID-0f-a-t3st",
    "AWS_SECRET_ACCESS_KEY": "sEcr3t-0f-th3-t3st",
}


def example(language: str, number: int = 0) -> str:
    """A block of code of docs/publishing.md."""
    text = (ROOT / "docs" / "publishing.md").read_text(encoding="utf-8")
    return str(re.findall(rf"```{language}\n(.*?)```", text, flags=re.DOTALL)[number])


def test_runs_and_site_can_both_be_in_a_bucket(
    first: Published, bucket: str, tmp_path: Path
) -> None:
    """The workflow that the docs show, on a project of `helmsite new --runs s3://...`."""
    project, runs = tmp_path / "origin", f"{bucket}/eval/runs"
    new_project(project, runs)
    git(project, "init", "-q", "-b", "main")
    commit(project)
    evaluate(project, "capitals")
    forge = Forge(
        tmp_path / "forge",
        secrets=SECRETS,
        variables={"SITE": f"{bucket}/www", "BASE_URL": "https://eval.example.org/"},
    )
    own = build(forge, project, tmp_path / "own")
    assert own.code == 0, own.output
    assert rendered(own) == "2 runs rendered"
    shutil.rmtree(forge.cache)
    job = load(example("yaml"))["jobs"]["publish"]

    def publish(place: Path) -> tuple[Outcome, dict[str, str]]:
        git(tmp_path, "clone", "-q", str(project), str(place))
        outcome = forge.perform(job, place)
        assert outcome.code == 0, outcome.output
        assert "sEcr3t" not in outcome.output
        system, _ = fsspec.core.url_to_fs(bucket)
        system.invalidate_cache()
        found = system.find(f"{bucket}/www", detail=True)
        return outcome, {
            path.partition("/www/")[2]: facts["ETag"] for path, facts in found.items()
        }

    one, before = publish(tmp_path / "one")
    assert f"{len(before) - 1} files uploaded" in one.output
    new = evaluate(project, "dyck_language:num_parenthesis_pairs=2")
    two, after = publish(tmp_path / "two")
    assert rendered(two) == "2 of 4 runs rendered"
    changed = {path for path in after if after[path] != before.get(path)}
    assert f"{len(changed) - 1} files uploaded" in two.output
    of_runs = {
        path.split("/")[1] for path in changed if re.match(r"runs/r[0-9a-f]{16}/", path)
    }
    assert of_runs == new
    three, last = publish(tmp_path / "three")
    assert "0 files uploaded (0 B)" in three.output
    assert {p: e for p, e in last.items() if not p.startswith(".")} == {
        p: e for p, e in after.items() if not p.startswith(".")
    }


def test_the_other_examples_of_the_docs_run(
    first: Published, origin: Path, forge: Forge, tmp_path: Path
) -> None:
    job = load(example("yaml", 1))["pages"]
    assert job["script"][0] == INSTALL.removeprefix("python -m ")
    steps = [{"run": line} for line in job["script"][1:]]
    env = {"CI_PAGES_URL": "https://some-lab.gitlab.io/evals"}
    outcome = forge.perform({"steps": steps, "env": env}, origin)
    assert outcome.code == 0, outcome.output
    assert b"https://some-lab.gitlab.io/evals/" in b"".join(
        tree(origin / "public").values()
    )
    assert job["artifacts"]["paths"] == ["public"]
    script = example("sh", 2)
    assert script.startswith("#!/bin/sh\nset -e\ncd /srv/my-eval\n")
    lines = [line for line in script.splitlines() if line.startswith("helmsite")]
    night = forge.perform({"steps": [{"run": "\n".join(lines)}]}, origin)
    assert night.code == 0, night.output
    assert "2 made, 2 already there" in night.output
    assert (origin / "site" / "index.html").is_file()

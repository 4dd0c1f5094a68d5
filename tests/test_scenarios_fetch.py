"""Scenarios find their files, fetch what is missing, and say what cannot be had."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from click.testing import CliRunner
from rich.console import Console

from helmsite import scenarios
from helmsite.archive import Archive
from helmsite.cli import main
from helmsite.cli.progress import Downloads
from helmsite.errors import ScenarioError
from helmsite.fetching import Fetcher, FetchError, OfflineError
from helmsite.scenarios.places import cache_folder
from tests.file_server import Answer, serving
from tests.test_fetching import MAKERS, tarred, zipped

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from helmsite.schema import LoadedScenario
    from tests.file_server import Server

ROWS = b'{"q": "A?", "a": "yes"}\n{"q": "B?", "a": "no"}\n'
OTHER = b'{"q": "C?", "a": "yes"}\n'
COMMIT = "35b264d03638db9f4ce671b711558bf7ff0f80d5"


@pytest.fixture
def server() -> Iterator[Server]:
    yield from serving()


class Project:
    """A project folder with one scenario, `quiz`."""

    def __init__(self, root: Path) -> None:
        self.root = root
        (root / "scenarios").mkdir(parents=True)

    def write(self, place: Any, **more: Any) -> None:
        source = (
            {"files": {"test": place}}
            if not isinstance(place, dict) or "path" in place
            else place
        )
        said = {
            "name": "quiz",
            "title": "Quiz",
            "licence": "CC0-1.0",
            "source": source,
            "input": "{{ q }}",
            "references": {"correct": "{{ a }}"},
            "adapter": {"method": "generation"},
            "metrics": ["exact_match"],
            **more,
        }
        (self.root / "scenarios" / "quiz.yaml").write_text(yaml.safe_dump(said))

    def load(self, *, offline: bool = False, entry: str = "quiz") -> LoadedScenario:
        fetcher = Fetcher(offline=offline, pause=lambda _: None)
        return scenarios.load(entry, [self.root / "scenarios"], [], fetcher)

    def inputs(self, **how: Any) -> list[str]:
        return [i.input for i in self.load(**how).instances]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return Project(tmp_path / "project")


def test_a_file_is_fetched_once_and_then_found(
    project: Project, server: Server
) -> None:
    server.answers["/q.jsonl"] = Answer(ROWS, headers={"X-Repo-Commit": COMMIT})
    project.write({"path": "quiz/q.jsonl", "url": f"{server.url}/q.jsonl"})
    first = project.load()
    assert [i.input for i in first.instances] == ["A?", "B?"]
    assert first.data.revision == COMMIT
    assert first.data.source == "q.jsonl"
    assert project.load(offline=True) == first
    assert server.paths() == ["/q.jsonl"]


def test_local_files_go_before_the_cache(project: Project, server: Server) -> None:
    server.answers["/q.jsonl"] = Answer(ROWS)
    project.write({"path": "quiz/q.jsonl", "url": f"{server.url}/q.jsonl"})
    fetched = project.load()
    data = project.root / "data" / "quiz" / "q.jsonl"
    data.parent.mkdir(parents=True)
    data.write_bytes(OTHER)
    assert project.inputs() == ["C?"]
    beside = project.root / "scenarios" / "quiz" / "q.jsonl"
    beside.parent.mkdir()
    beside.write_bytes(ROWS)
    again = project.load()
    assert again.instances == fetched.instances
    assert again.data.sha256 == fetched.data.sha256
    assert again.data.revision == ""


def test_another_address_is_another_file(project: Project, server: Server) -> None:
    server.answers["/q.jsonl"] = Answer(ROWS)
    server.answers["/new.jsonl"] = Answer(OTHER)
    project.write({"path": "q.jsonl", "url": f"{server.url}/q.jsonl"})
    assert project.inputs() == ["A?", "B?"]
    project.write({"path": "q.jsonl", "url": f"{server.url}/new.jsonl"})
    assert project.inputs() == ["C?"]


def test_a_strangers_scenario_cannot_fill_the_builtin_cache(
    project: Project, server: Server
) -> None:
    server.answers["/q.jsonl"] = Answer(ROWS)
    project.write({"path": "boolq/dev.jsonl", "url": f"{server.url}/q.jsonl"})
    project.load()
    assert not (cache_folder() / "boolq").exists()
    assert (cache_folder() / "of-projects/quiz/boolq/dev.jsonl").exists()


@pytest.mark.parametrize(
    "path", ["../evil.jsonl", "/tmp/evil.jsonl", "a/../../../b.jsonl"]
)
def test_nothing_is_fetched_to_elsewhere(
    path: str, project: Project, server: Server
) -> None:
    project.write({"path": path, "url": f"{server.url}/q.jsonl"})
    with pytest.raises(ScenarioError, match="outside the folders"):
        project.load()
    assert server.asked == []


def test_offline_says_what_is_missing_and_how_to_get_it(
    project: Project, server: Server
) -> None:
    project.write({"path": "quiz/q.jsonl", "url": f"{server.url}/q.jsonl"})
    with pytest.raises(
        OfflineError, match=r"quiz/q\.jsonl of quiz is not here"
    ) as caught:
        project.load(offline=True)
    assert "helmsite fetch quiz" in caught.value.hint
    assert f"{server.url}/q.jsonl" in caught.value.hint
    assert "data/quiz/q.jsonl" in caught.value.hint
    assert server.asked == []


def test_what_must_be_done_by_hand_is_said(project: Project) -> None:
    project.write({"path": "ice/texts", "note": "Sign the form at example.org."})
    with pytest.raises(ScenarioError, match="ice/texts is not here") as caught:
        project.load()
    assert "Sign the form at example.org." in caught.value.hint
    assert "data/ice/texts" in caught.value.hint


@pytest.mark.parametrize("name", MAKERS)
def test_a_member_of_an_archive_is_fetched(
    name: str, project: Project, server: Server, tmp_path: Path
) -> None:
    archive = MAKERS[name](tmp_path / name, {"top/q.jsonl": ROWS, "top/r.jsonl": OTHER})
    server.answers[f"/{name}"] = Answer(archive.read_bytes())
    place = {"url": f"{server.url}/{name}", "member": "top/q.jsonl"}
    other = {"url": f"{server.url}/{name}", "member": "top/r.jsonl"}
    project.write(
        {
            "files": {
                "test": {"path": "q.jsonl", **place},
                "train": {"path": "r.jsonl", **other},
            }
        }
    )
    loaded = project.load()
    assert [(i.input, i.split) for i in loaded.instances] == [
        *(("C?", "train"), ("A?", "test"), ("B?", "test"))
    ]
    assert server.paths() == [f"/{name}"]
    assert project.load(offline=True) == loaded


def test_members_by_pattern_become_a_folder(
    project: Project, server: Server, tmp_path: Path
) -> None:
    members = {"m/b/2.jsonl": OTHER, "m/a/1.jsonl": ROWS, "m/a/notes.txt": b"no"}
    server.answers["/m.tgz"] = Answer(
        tarred(tmp_path / "m.tgz", members, "w:gz").read_bytes()
    )
    project.write(
        {
            "path": "m/*/*.jsonl",
            "url": f"{server.url}/m.tgz",
            "member": "m/*/*.jsonl",
        }
    )
    assert project.inputs() == ["A?", "B?", "C?"]


def test_a_local_archive_is_read_in_place(project: Project) -> None:
    project.write({"path": "q.zip", "member": "top/*.jsonl"})
    zipped(
        project.root / "scenarios/q.zip", {"top/q.jsonl": ROWS, "top/r.jsonl": OTHER}
    )
    assert project.inputs(offline=True) == ["A?", "B?", "C?"]
    zipped(project.root / "scenarios/q.zip", {"top/q.jsonl": OTHER})
    assert project.inputs(offline=True) == ["C?"]


def test_a_file_per_row(project: Project) -> None:
    folder = project.root / "data" / "poems" / "x"
    folder.mkdir(parents=True)
    (folder / "b.txt").write_text("second")
    (folder / "a.txt").write_text("first\n")
    project.write(
        {"path": "poems/*/*.txt", "format": "text"},
        input="{{ text }}",
        references={"correct": "{{ path }}"},
    )
    loaded = project.load()
    assert [(i.input, i.gold) for i in loaded.instances] == [
        ("first\n", ("x/a.txt",)),
        ("second", ("x/b.txt",)),
    ]
    before = loaded.data.sha256
    (folder / "b.txt").rename(folder / "c.txt")
    assert project.load().data.sha256 != before


def test_a_link_out_of_a_folder_is_refused(project: Project, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("secret")
    folder = project.root / "data" / "poems"
    folder.mkdir(parents=True)
    (folder / "a.txt").symlink_to(tmp_path / "secret.txt")
    project.write({"path": "poems", "format": "text"}, input="{{ text }}")
    with pytest.raises(ScenarioError, match="outside the folders"):
        project.load()


def test_a_line_per_row_and_other_encodings(project: Project) -> None:
    path = project.root / "scenarios" / "lines.txt"
    path.write_bytes("né\r\n\r\nça\r\n".encode("latin-1"))
    place = {"path": "lines.txt", "format": "lines", "encoding": "latin-1"}
    project.write(place, input="{{ text }}", references={"correct": "{{ number }}"})
    assert [(i.input, i.gold) for i in project.load().instances] == [
        ("né", ("1",)),
        ("ça", ("3",)),
    ]
    project.write(
        {**place, "encoding": "utf-8"}, input="{{ text }}", references={"correct": "x"}
    )
    with pytest.raises(
        ScenarioError, match=r"lines\.txt: not utf-8: the byte 0xe9"
    ) as caught:
        project.load()
    assert "encoding: latin-1" in caught.value.hint


@pytest.mark.parametrize("name", ["q.jsonl", "q.json", "q.csv"])
@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "utf-8"])
def test_every_format_of_texts_may_have_another_encoding(
    name: str, encoding: str, project: Project
) -> None:
    row = '{"q": "Où?", "a": "ici"}'
    text = {"q.jsonl": f"{row}\n", "q.json": f"[{row}]", "q.csv": "q,a\nOù?,ici\n"}
    (project.root / "scenarios" / name).write_bytes(text[name].encode(encoding))
    project.write({"path": name, "encoding": encoding})
    assert project.inputs() == ["Où?"]
    if encoding != "utf-8":
        project.write(name)
        with pytest.raises(ScenarioError, match="not UTF-8") as caught:
            project.load()
        assert f"Say encoding: {encoding} if" in caught.value.hint


@pytest.mark.parametrize("suffix", ["gz", "bz2", "xz", "zst"])
def test_packed_files_are_unpacked(suffix: str, project: Project) -> None:
    path = project.root / "scenarios" / f"q.jsonl.{suffix}"
    if suffix == "xz":
        import lzma

        path.write_bytes(lzma.compress(ROWS))
    else:
        kind = {"gz": "gzip", "bz2": "bz2", "zst": "zstd"}[suffix]
        with pa.CompressedOutputStream(str(path), kind) as file:
            file.write(ROWS)
    project.write(path.name)
    assert project.inputs() == ["A?", "B?"]
    whole = path.read_bytes()
    for damaged in (whole[:-12], whole[:8] + b"?" * 20 + whole[28:], b"no such thing"):
        path.write_bytes(damaged)
        with pytest.raises(
            ScenarioError, match=rf"q\.jsonl\.{suffix}: cannot be read: \w"
        ):
            project.load()


@pytest.mark.parametrize("name", ["a.pkl", "a.pk", "a.pickle", "a.pickle.gz"])
def test_pickles_are_never_read(name: str, project: Project) -> None:
    (project.root / "scenarios" / name).write_bytes(b"cos\nsystem\n(S'true'\ntR.")
    project.write(name)
    with pytest.raises(ScenarioError, match="is a pickle"):
        project.load()


def parquet(rows: list[dict[str, str]]) -> bytes:
    file = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), file)
    return file.getvalue()


@pytest.fixture
def hub(server: Server, monkeypatch: pytest.MonkeyPatch) -> Server:
    monkeypatch.setenv("HF_ENDPOINT", server.url)
    return server


def test_a_file_of_the_hub_at_a_revision(project: Project, hub: Server) -> None:
    at = f"/datasets/google/quiz/resolve/{COMMIT}/data/q%20a.jsonl"
    hub.answers[at] = Answer(ROWS, headers={"X-Repo-Commit": COMMIT})
    of = {"repo": "google/quiz", "revision": COMMIT, "file": "data/q a.jsonl"}
    project.write({"path": "q.jsonl", "hf": of})
    loaded = project.load()
    assert len(loaded.instances) == 2
    assert loaded.data.revision == COMMIT


@pytest.mark.parametrize(
    ("revision", "folder", "names"),
    [
        ("refs/convert/parquet", "main/test", ["0001.parquet", "0000.parquet"]),
        (
            COMMIT,
            "data",
            ["test-00000-of-00002.parquet", "test-00001-of-00002.parquet"],
        ),
    ],
)
def test_a_split_of_the_hub_as_parquet(
    revision: str, folder: str, names: list[str], project: Project, hub: Server
) -> None:
    at = revision.replace("/", "%2F")
    listed = [f"{folder}/{name}" for name in [*names, "train-00000.parquet"][:3]]
    if folder != "data":
        listed = listed[:2]
    hub.listing(f"/api/datasets/google/quiz/tree/{at}/{folder}", listed)
    parts = [parquet([{"q": "A?", "a": "yes"}]), parquet([{"q": "B?", "a": "no"}])]
    for name, part in zip(sorted(names), parts, strict=True):
        path = f"/datasets/google/quiz/resolve/{at}/{folder}/{name}"
        hub.answers[path] = Answer(part, headers={"X-Repo-Commit": COMMIT})
    of = {
        "repo": "google/quiz",
        "revision": revision,
        "config": "main",
        "split": "test",
    }
    project.write({"path": "quiz/test", "hf": of})
    loaded = project.load()
    assert [i.input for i in loaded.instances] == ["A?", "B?"]
    assert loaded.data.revision == COMMIT
    assert project.load(offline=True) == loaded


def test_a_dataset_that_is_not_there(project: Project, hub: Server) -> None:
    of = {"repo": "google/quiz", "config": "main", "split": "test"}
    project.write({"path": "quiz/test", "hf": of})
    with pytest.raises(
        FetchError, match="no Parquet files of the split 'test'"
    ) as caught:
        project.load()
    assert "answers 404" in caught.value.message


def test_what_no_mirror_has_can_be_put_there_by_hand(
    project: Project, server: Server
) -> None:
    project.write({"path": "quiz/q.jsonl", "url": f"{server.url}/q.jsonl"})
    with pytest.raises(FetchError, match="answers 404") as caught:
        project.load()
    assert "put it into the project as data/quiz/q.jsonl" in caught.value.hint


def run(project: Project, *words: str) -> tuple[int, str]:
    runner = CliRunner()
    result = runner.invoke(main, ["fetch", "--project", str(project.root), *words])
    return result.exit_code, result.output


def test_fetch_says_what_it_does(
    project: Project, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HELMSITE_OFFLINE", "0")
    server.answers["/q.jsonl"] = Answer(ROWS)
    url = f"{server.url}/q.jsonl"
    project.write({"path": "q.jsonl", "url": url, "size": "47 bytes"})
    code, said = run(project, "--dry-run", "quiz")
    assert (code, server.asked) == (0, [])
    assert f"q.jsonl  47 bytes  {url}" in said
    code, said = run(project, "quiz")
    assert code == 0
    assert "quiz: licence CC0-1.0" in said
    assert "q.jsonl  47 B  fetched" in said
    code, said = run(project, "quiz")
    assert code == 0
    assert "q.jsonl  47 bytes  here" in said


def test_fetch_goes_on_after_a_failure(
    project: Project, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HELMSITE_OFFLINE", "0")
    server.answers["/r.jsonl"] = Answer(OTHER)
    files = {
        "test": {"path": "q.jsonl", "url": f"{server.url}/q.jsonl"},
        "train": {"path": "r.jsonl", "url": f"{server.url}/r.jsonl"},
    }
    project.write({"files": files})
    code, said = run(project, "quiz")
    assert code == 2
    assert "q.jsonl: q.jsonl cannot be downloaded" in said
    assert "r.jsonl  24 B  fetched" in said


def test_fetch_by_suite_group_and_open_parameters(
    project: Project, server: Server
) -> None:
    project.write(
        {
            "path": "{{ parameters.part }}.jsonl",
            "url": server.url + "/{{ parameters.part }}",
        },
        parameters={
            "part": {"values": ["a", "b"]},
            "n": {"type": "integer", "minimum": 1, "maximum": 3},
        },
        groups=["games"],
    )
    (project.root / "suites").mkdir()
    suite = {
        "models": ["helmsite/ngram-3"],
        "scenarios": ["quiz:part=a,n=1,max_train_instances=0"],
    }
    (project.root / "suites" / "small.yaml").write_text(json.dumps(suite))
    for words in (["quiz"], ["--group", "games"]):
        code, said = run(project, "--dry-run", *words)
        assert code == 0, said
        assert f"a.jsonl  {server.url}/a\n" in said
        assert f"b.jsonl  {server.url}/b\n" in said
        assert len(said.splitlines()) == 3
    code, said = run(project, "--dry-run", "small")
    assert (code, "b.jsonl" in said, "a.jsonl" in said) == (0, False, True)
    assert "Did you mean 'games'" in run(project, "--group", "gmes")[1]
    assert run(project)[0] == 2


def test_fetch_all_knows_every_builtin_source(project: Project) -> None:
    code, said = run(project, "--dry-run", "--all")
    assert code == 0
    assert "data/knowledge.jsonl  here" in said
    assert "https://people.eecs.berkeley.edu/~hendrycks/data.tar" in said


def test_all_of_helm_classic_can_be_fetched(project: Project) -> None:
    code, said = run(project, "--dry-run", "helm_classic")
    assert code == 0, said
    for length, there in ((1, True), (1536, True), (16, False)):
        prompt = f"num_prompt_tokens={length},tokenizer=meta_opt,id=0.txt"
        assert (prompt in said) is there
    assert "msmarco/passage_trec_topk.tsv" in said


def test_a_run_fetches_what_it_needs_and_offline_it_says_what(
    project: Project, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HELMSITE_OFFLINE", "0")
    server.answers["/q.jsonl"] = Answer(ROWS, headers={"X-Repo-Commit": COMMIT})
    project.write({"path": "q.jsonl", "url": f"{server.url}/q.jsonl"})
    words = ["run", "quiz", "-m", "helmsite/ngram-1", "--project", str(project.root)]
    runner = CliRunner()
    refused = runner.invoke(main, [*words, "--offline"])
    assert refused.exit_code == 2
    assert "q.jsonl of quiz is not here, and the network is forbidden" in refused.output
    assert server.asked == []
    made = runner.invoke(main, words)
    assert made.exit_code == 0, made.output
    assert "Downloading q.jsonl: 47 B" in made.output
    (manifest,) = Archive(str(project.root / "runs")).manifests()
    assert manifest.spec.data.revision == COMMIT
    again = runner.invoke(main, [*words, "--offline"])
    assert "1 already there" in again.output


def test_downloads_are_drawn_on_a_terminal_alone() -> None:
    for terminal in (True, False):
        console = Console(file=io.StringIO(), force_terminal=terminal, width=100)
        with Downloads(console) as bar:
            bar.told("one.jsonl", 0, 4_000_000)
            bar.told("two\x1b[31m.jsonl", 500, None)
            bar.told("one.jsonl", 1_000_000, 4_000_000)
            bar._bar.refresh()
            bar.told("one.jsonl", 4_000_000, 4_000_000)
        assert isinstance(console.file, io.StringIO)
        said = console.file.getvalue()
        assert ("1.0/4.0 MB" in said) is terminal
        assert ("500/? bytes" in said) is terminal
        assert "two\x1b[31m" not in said


def test_a_run_says_how_many_rows_were_left_out(project: Project) -> None:
    (project.root / "scenarios" / "q.jsonl").write_bytes(ROWS)
    no = {"when": "{{ a == 'no' }}", "reason": "a no"}
    project.write({"path": "q.jsonl"}, skip=[no])
    words = ["run", "quiz", "-m", "helmsite/ngram-1", "--project", str(project.root)]
    said = CliRunner().invoke(main, words).output
    assert "1 of 1 answered" in said
    assert "  1 rows of the data were left out: a no.\n" in said
    (manifest,) = Archive(str(project.root / "runs")).manifests()
    assert manifest.warnings == ("1 rows of the data were left out: a no.",)


@pytest.mark.parametrize("path", ["../data/new/q.jsonl", "{root}/data/new/q.jsonl"])
def test_downloads_go_to_the_cache_alone(
    path: str, project: Project, server: Server
) -> None:
    (project.root / "data").mkdir()
    server.answers["/q.jsonl"] = Answer(ROWS)
    place = path.format(root=project.root)
    project.write({"path": place, "url": f"{server.url}/q.jsonl"})
    assert project.inputs() == ["A?", "B?"]
    assert list((project.root / "data").iterdir()) == []
    own = cache_folder() / "of-projects" / "quiz"
    (kept,) = own.rglob("q.jsonl")
    assert kept.is_relative_to(own)

"""People's ratings from a CSV file: checked whole, imported twice without a difference."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from helmsite import run
from helmsite.archive import Archive
from helmsite.cli import main
from helmsite.errors import ConfigError
from helmsite.run.ratings import alpha
from tests.query_runs import make_run

HEAD = "run,instance_id,rater,metric,value\n"


@pytest.fixture
def archive(tmp_path: Path) -> Archive:
    return Archive(tmp_path / "runs")


@pytest.fixture
def made(archive: Archive) -> str:
    return make_run(archive, "stories", "a/b", [1, 0, 1])


def file(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "ratings.csv"
    path.write_text(text, encoding="utf-8")
    return path


def stats(archive, made, metric):
    return {
        s.scorer: s
        for s in archive.stats(made)
        if (s.metric, s.trial, s.sub_split) == (metric, -1, "")
    }


def two_raters(made):
    lines = ["id0,ann,4", "id1,ann,2", "id2,ann,3", "id0,bo,5", "id1,bo,1"]
    return HEAD + "".join(
        f"{made},{x.split(',')[0]},{x.split(',')[1]},clarity,{x.split(',')[2]}\n"
        for x in lines
    )


def test_each_rater_has_numbers_and_all_of_them_a_mean(archive, made, tmp_path):
    [manifest] = run.rate(archive, file(tmp_path, two_raters(made)))
    found = stats(archive, made, "clarity")
    assert {k: (s.value, s.n_scored) for k, s in found.items()} == {
        "ann": (3.0, 3),
        "bo": (3.0, 2),
        "": (pytest.approx((4.5 + 1.5 + 3) / 3), 3),
    }
    assert {s.origin for s in found.values()} == {"reported"}
    agreement = stats(archive, made, "clarity_agreement")[""]
    assert agreement.value == pytest.approx(alpha([[4, 5], [2, 1]]))
    assert (agreement.n_scored, agreement.n_asked) == (2, 3)
    assert {m.name for m in manifest.metrics} >= {"clarity", "clarity_agreement"}
    assert manifest.metrics[-1].family == "human"


def test_importing_twice_changes_nothing_and_a_new_value_replaces(
    archive, made, tmp_path
):
    path = file(tmp_path, two_raters(made))
    run.rate(archive, path)
    before = archive.scores(made), archive.stats(made)
    run.rate(archive, path)
    assert (archive.scores(made), archive.stats(made)) == before
    run.rate(archive, file(tmp_path, HEAD + f"{made},id0,cy,clarity,1\n"))
    assert stats(archive, made, "clarity").keys() == {"ann", "bo", "cy", ""}
    run.rescore(archive, made)
    assert stats(archive, made, "clarity")["cy"].value == 1
    assert stats(archive, made, "exact_match")[""].value is not None


def test_one_rater_without_a_name_has_neither_mean_nor_agreement(
    archive, made, tmp_path
):
    text = "model,scenario,instance_id,metric,value,better\na/b,stories,id1,fun,0.5,higher\n"
    [manifest] = run.rate(archive, file(tmp_path, text))
    assert stats(archive, made, "fun").keys() == {"people"}
    assert not stats(archive, made, "fun_agreement")
    assert manifest.metrics[-1].higher_is_better is True


def test_all_problems_are_told_with_their_lines_and_nothing_is_written(
    archive, made, tmp_path
):
    lines = [
        f"{made},id0,ann,clarity,4",
        f"{made},id9,ann,clarity,4",
        f"{made},id1,ann,clarity,good",
        f"{made},id1,ann,exact_match,1",
        "r0,id1,ann,clarity,1",
        f"{made},id0,ann,clarity,5",
        f"{made},id0,ann",
        f"{made},id0,ann,,5",
        f"{made},id2,ann,clarity,inf",
    ]
    with pytest.raises(ConfigError) as caught:
        run.rate(archive, file(tmp_path, HEAD + "\n".join(lines)))
    said = [p.partition(", ")[2] for p in caught.value.problems]
    assert [text.split(":")[0] for text in said] == [
        f"line {n}" for n in (3, 4, 5, 6, 7, 8, 9, 10)
    ]
    for text, word in zip(
        said,
        ["'id9'", "'good'", "computes", "'r0'", "line 2", "fields", "empty", "'inf'"],
        strict=True,
    ):
        assert word in text
    assert not stats(archive, made, "clarity")


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("run,instance_id,value\nx,id0,1\n", "column 'metric' is missing"),
        ("model,instance_id,metric,value\n", "neither column 'run' nor"),
        (HEAD.strip() + ",mood\n", "column 'mood' is unknown"),
        (HEAD, "no ratings"),
        ("", "column 'instance_id' is missing"),
    ],
)
def test_a_wrong_first_line_is_told(archive, made, tmp_path, text, what):
    with pytest.raises(ConfigError, match=what):
        run.rate(archive, file(tmp_path, text))


def test_bytes_that_are_no_text_are_told(archive, made, tmp_path):
    path = tmp_path / "ratings.csv"
    path.write_bytes(HEAD.encode() + b"\xff\xfe")
    with pytest.raises(ConfigError, match="cannot be read"):
        run.rate(archive, path)


def test_a_completion_that_was_not_made_cannot_be_rated(archive, made, tmp_path):
    head = "run,instance_id,completion_index,trial,metric,value\n"
    good = head + f"{made},id0,0,0,fun,1\n"
    assert run.rate(archive, file(tmp_path, good))
    for line, word in (("id0,1,0", "1 completions"), ("id0,0,3", "trial 3")):
        with pytest.raises(ConfigError, match=word):
            run.rate(archive, file(tmp_path, f"{head}{made},{line},fun,1\n"))


def test_agreement_is_krippendorffs_alpha():
    assert alpha([[1, 1], [3, 3]]) == 1
    assert alpha([[1, 1], [1, 1]]) is None
    assert alpha([[1], [2]]) is None
    # his example of interval data (2011, section D): four observers, twelve units
    table = """1 1 . 1|2 2 3 2|3 3 3 3|3 3 3 3|2 2 2 2|1 2 3 4|4 4 4 4|1 1 2 1|2 2 2 2|. 5 5 5|. . 1 1|. 3 . ."""
    units = [[float(x) for x in unit.split() if x != "."] for unit in table.split("|")]
    assert alpha(units) == pytest.approx(0.849, abs=5e-4)


def test_the_command_line_imports_ratings(archive, made, tmp_path):
    path = file(tmp_path, two_raters(made))
    asked = ["score", "--archive", str(tmp_path / "runs"), "--ratings", str(path)]
    done = CliRunner().invoke(main, asked)
    assert done.exit_code == 0, done.output
    assert made in done.output
    path.write_text(HEAD + f"{made},id7,ann,clarity,1\n", encoding="utf-8")
    wrong = CliRunner().invoke(main, asked)
    assert wrong.exit_code == 2
    assert "line 2" in wrong.output

"""Names of perturbations, HELM's presets, and the word lists behind them."""

from __future__ import annotations

import json
import re
import sys
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from helmsite import registry
from helmsite.cli import main
from helmsite.errors import ConfigError
from helmsite.perturbations import (
    KINDS,
    PRESETS,
    Kind,
    WordLists,
    find_in,
    identities,
    lacking,
    named,
    perturb,
    places,
    require,
    resolve,
    variants,
    wordlists,
)
from helmsite.perturbations.kinds import of_input
from helmsite.perturbations.presets import LEFT_OUT
from helmsite.schema import Instance
from tests.file_server import Answer, serving
from tests.perturbation_texts import (
    DIALECT,
    NAMES,
    PARTS,
    SYNONYM_TEXTS,
    shared_lists,
    write_lists,
    write_synonyms,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.file_server import Server

DOCS = Path(__file__).parents[1] / "docs" / "perturbations.md"


def only(name: str) -> str:
    (found,) = named(name)
    return found.name


@pytest.mark.parametrize(
    ("given_name", "canonical"),
    [
        ("mild_mix", "mild_mix"),
        ("mild_mix()", "mild_mix"),
        (" typos ( prob = 0.10 ) ", "typos(prob=0.1)"),
        ("typos(prob=1)", "typos(prob=1.0)"),
        ("typo0.1", "typos(prob=0.1)"),
        ("space", "space(max_spaces=3)"),
        ("filler_words", "filler_words"),
        ("filler_words(insert_prob=0.333,fill_ph=True)", "filler_words"),
        ("filler_words(max_num_insert=None)", "filler_words"),
        ("filler_words(speaker_ph=false)", "filler_words(speaker_ph=False)"),
        ("gender(prob=1,mode=terms)", "gender(mode=terms,prob=1.0)"),
        ("dialect(prob=0.5,source_class=SAE)", "dialect(prob=0.5)"),
        (
            "person_name(prob=1,target_class=race=black_american+gender=male)",
            "person_name(prob=1.0,target_class=race=black_american+gender=male)",
        ),
        ('style(suffix="a, \\"b\\"=(c)")', 'style(suffix="a, \\"b\\"=(c)")'),
        ('style(suffix="None")', 'style(suffix="None")'),
        ('style(suffix="bare words")', "style(suffix=bare words)"),
        ('style(suffix="")', 'style(suffix="")'),
    ],
)
def test_a_name_is_canonical_however_it_is_written(
    given_name: str, canonical: str
) -> None:
    assert only(given_name) == canonical
    assert only(canonical) == canonical


@given(st.text(max_size=20))
def test_any_style_has_a_name_that_reads_back(suffix: str) -> None:
    quoted = msgspec.json.encode(suffix).decode()
    (found,) = named(f"style(suffix={quoted})")
    assert found.parameters == structs.replace(found.parameters, suffix=suffix)
    (again,) = named(found.name)
    assert again == found


@given(st.floats(0, 1), st.booleans(), st.sampled_from(["terms", "pronouns"]))
def test_any_parameters_read_back(prob: float, both: bool, mode: str) -> None:
    (found,) = named(f"gender(mode={mode},prob={prob!r},bidirectional={both})")
    assert named(found.name) == (found,)
    values = structs.asdict(found.parameters)
    assert (values["prob"], values["bidirectional"]) == (prob, both)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("canonicl", "Unknown perturbation 'canonicl'. Did you mean 'canonical'"),
        ("typo(prob=1)", "Did you mean 'typos'"),
        ("", "Unknown perturbation ''"),
        ("typos", "it needs `prob`"),
        ("typos(prob=2)", "<= 1.0"),
        ("typos(prob=nan)", "prob"),
        ("typos(prob=often)", "prob"),
        ("typos(probe=0.1)", "no parameter 'probe'. Did you mean 'prob'"),
        ("typos(0.1)", "'0.1' is no parameter=value"),
        ("typos(prob=0.1)~1", "no name(parameter=value)"),
        ('style(suffix="\\x")', "no quoted text"),
        ("space(max_spaces=0)", ">= 1"),
        ("gender(mode=names,prob=1)", "mode"),
        ("cleva", "CLEVA"),
        ("chinese", "Google"),
        ("misspelling_sweep", "stands for 4 runs"),
    ],
)
def test_a_wrong_name_says_what_is_wrong(name: str, said: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(said)) as caught:
        named(name)
    assert caught.value.hint


def test_all_wrong_names_are_reported_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        resolve(["lowercase", "typoz(prob=0.1)", "canonicl"])
    assert len(caught.value.problems) == 2


def test_each_perturbation_is_taken_once() -> None:
    names = [p.name for p in resolve(["robustness", "canonical", "mild_mix", "lower"])]
    assert names == [
        "mild_mix",
        "dialect(prob=1.0)",
        "gender(mode=pronouns,prob=1.0)",
        "person_name(prob=1.0)",
        "lowercase",
    ]


def test_every_preset_and_every_label_of_a_run_is_known() -> None:
    for preset, runs in PRESETS.items():
        assert variants(preset) == runs
        for label, names in runs.items():
            assert tuple(p.name for p in named(label)) == names
            assert label in PRESETS or variants(label) == {label: names}
    with pytest.raises(ConfigError, match="Unknown data_augmentation 'roubstness'"):
        variants("roubstness")


def test_facts_are_sentences_with_the_parameters_in_them() -> None:
    for preset in PRESETS:
        for label in variants(preset):
            for perturbation in named(label):
                facts = perturbation.facts_of()
                assert facts.name == perturbation.name
                assert facts.description.endswith(".")
                assert "{" not in facts.title + facts.description


def test_another_package_adds_a_perturbation(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = EntryPoint("shout", f"{__name__}:SHOUT", "helmsite.perturbations")
    monkeypatch.setattr(
        registry, "entry_points", lambda group: [entry] if group == entry.group else []
    )
    made = perturb([Instance("id1", "hey", split="test")], named("shout"))
    assert [(i.input, i.perturbation) for i in made] == [("hey", ""), ("HEY", "shout")]


SHOUT = Kind(
    title="Shout",
    description="The input is written in capitals.",
    make=lambda _: of_input(lambda text, _: text.upper()),
    robustness=True,
)


def test_every_list_has_its_facts_and_those_shipped_their_file() -> None:
    used = {name for kind in KINDS.table() for name in KINDS.load(kind).lists}
    assert used == wordlists.INDEX.keys()
    for name, facts in wordlists.INDEX.items():
        assert facts.what
        assert facts.licence
        assert facts.source
        assert (wordlists.BUNDLED / facts.file).exists() == facts.shipped, name
    data = {p.name for p in wordlists.BUNDLED.iterdir()} - {"index.json"}
    assert data == {f.file for f in wordlists.INDEX.values() if f.shipped}


def test_shipped_lists_hold_helms_entries(shared: Path) -> None:
    folder, lists = shared / "data/wordlists", WordLists()
    decode = msgspec.json.decode
    misspelt = decode(
        (folder / "misspellings/correct_to_misspelling.json").read_bytes()
    )
    assert {w: forms for w, *forms in lists["misspellings"]} == misspelt
    assert [w for w, *_ in lists["misspellings"]] == list(misspelt)  # the order counts
    short = decode((folder / "contraction_map/contractions.json").read_bytes())
    assert list(lists["contractions"]) == list(short.items())
    keys = decode((folder / "keyboard_typos/key_approx.json").read_bytes())
    assert dict(lists["keyboard"]) == keys
    fillers = decode((folder / "filler_words/filler_words.json").read_bytes())
    assert {group: words for group, *words in lists["fillers"]} == fillers
    for mode, file in (
        ("terms", "gender_term_pairs/gender_terms.json"),
        ("pronouns", "pronoun_pairs/pronouns.json"),
    ):
        ours = [row for kind, *row in lists["gender"] if kind == mode]
        assert ours == decode((folder / file).read_bytes())["rows"]


def test_real_lists_are_read(shared: Path) -> None:
    words = WordLists(shared_lists(shared))
    chosen = resolve(["canonical", "person_name_last_deterministic"], words)
    require(chosen)
    item = Instance("id1", "Adam Smith is going with his brother.", split="test")
    made = {i.perturbation.partition("(")[0]: i.input for i in perturb([item], chosen)}
    assert made["gender"] == "Adam Smith is going with her brother."
    assert made.keys() == {"", "mild_mix", "dialect", "gender", "person_name"}


def test_missing_lists_are_named_with_where_to_get_and_to_put_them(
    tmp_path: Path,
) -> None:
    chosen = resolve(["canonical"], WordLists(find_in([tmp_path]), put=tmp_path))
    with pytest.raises(ConfigError) as caught:
        require(chosen)
    dialect, names = caught.value.problems
    assert wordlists.INDEX["dialect"].source in dialect
    assert str(tmp_path / "SAE_to_AAVE_mapping.json") in dialect
    assert "data use agreement" in dialect
    assert wordlists.INDEX["person_names"].source in names
    assert "data_augmentation=robustness" in caught.value.hint
    # What is said to need no download needs none.
    require(resolve(["robustness", "gender_pronouns_deterministic"]))
    with pytest.raises(ConfigError, match=r"SAE_to_AAVE_mapping\.json is not here"):
        identities(chosen)


def test_what_is_lacking_can_be_fetched_by_address(tmp_path: Path) -> None:
    words = WordLists(find_in([tmp_path]))
    found = lacking(resolve(["canonical", "dialect_easy"], words))
    assert [facts.file for facts in found] == [
        "SAE_to_AAVE_mapping.json",
        "person_names.txt",
    ]
    assert all(f.direct and f.source.startswith("https://") for f in found)
    write_lists(tmp_path)
    assert lacking(resolve(["canonical"], words)) == []


@pytest.fixture
def server() -> Iterator[Server]:
    yield from serving()


def test_fetch_brings_the_lists_of_suites_entries_and_presets(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("HELMSITE_OFFLINE", "0")
    (tmp_path / "helmsite.toml").touch()
    (tmp_path / "suites").mkdir()
    suite = (
        "scenarios:\n- {scenario: knowledge, perturbations: ['dialect(prob=0.1)']}\n"
    )
    (tmp_path / "suites/own.yaml").write_text(suite)
    for name, content in (
        ("dialect", json.dumps(DIALECT).encode()),
        ("person_names", NAMES.encode()),
    ):
        facts = wordlists.INDEX[name]
        server.answers[f"/{facts.file}"] = Answer(content)
        here = structs.replace(facts, source=f"{server.url}/{facts.file}")
        monkeypatch.setitem(wordlists.INDEX, name, here)

    def fetch(*words: str) -> str:
        made = CliRunner().invoke(main, ["fetch", "-p", str(tmp_path), *words])
        assert made.exit_code == 0, made.output
        return made.output

    assert f"{server.url}/SAE" in fetch("own", "--dry-run")
    assert lacking(resolve(["fairness"]))[0].file == "SAE_to_AAVE_mapping.json"
    assert "data use agreement" in fetch("own")
    assert [facts.file for facts in lacking(resolve(["fairness"]))] == [
        "person_names.txt"
    ]
    # What is here is not fetched again.
    told = fetch("knowledge:data_augmentation=canonical", "--perturbation", "fairness")
    assert told.count("person_names.txt") == 2
    assert "SAE_to_AAVE" not in told
    require(resolve(["canonical"]))
    assert changed_by("dialect(prob=1.0)", " the ") in {" da ", " tha "}


def changed_by(name: str, text: str) -> str:
    return perturb([Instance("id1", text, split="test")], resolve([name]))[-1].input


def test_fetch_says_what_could_not_be_had(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("HELMSITE_OFFLINE", "1")
    (tmp_path / "helmsite.toml").touch()
    words = ["fetch", "-p", str(tmp_path), "--perturbation", "synonym"]
    made = CliRunner().invoke(main, words)
    assert made.exit_code == 2
    assert (
        "wordnet_synonyms.json is not here and the network is forbidden" in made.output
    )
    assert "put here by hand (https://raw.githubusercontent.com/nltk" in made.output


def test_lists_are_searched_in_order(tmp_path: Path) -> None:
    own, project, cache = (tmp_path / name for name in ("own", "data", "cache"))
    environment = {"HELMSITE_WORDLISTS": str(own), "XDG_CACHE_HOME": str(cache)}
    folders = places([project], environment)
    assert folders == [own, project / "wordlists", cache / "helmsite/data/wordlists"]
    assert places([], {"XDG_CACHE_HOME": str(cache)}) == folders[2:]
    find = find_in(folders)
    assert find("person_names.txt") is None
    for folder in reversed(folders):
        folder.mkdir(parents=True)
        write_lists(folder)
        assert find("person_names.txt") == folder / "person_names.txt"


@pytest.mark.parametrize(
    ("file", "content", "said"),
    [
        ("SAE_to_AAVE_mapping.json", b"{", "truncated"),
        ("SAE_to_AAVE_mapping.json", b'{"the": "da"}', "Expected `array`"),
        ("SAE_to_AAVE_mapping.json", b'{"\xff": []}', "not UTF-8 at byte 2"),
        ("person_names.txt", b"adam,first_name,race\n", "line 1"),
        ("person_names.txt", b"\nadam\n", "line 2"),
    ],
)
def test_a_damaged_list_is_an_error_with_its_place(
    file: str, content: bytes, said: str, tmp_path: Path
) -> None:
    find = write_lists(tmp_path)
    (tmp_path / file).write_bytes(content)
    chosen = resolve(["fairness"], WordLists(find))
    with pytest.raises(ConfigError, match=re.escape(said)) as caught:
        perturb([Instance("id1", "Adam", split="test")], chosen)
    assert str(tmp_path / file) in caught.value.message


def test_lists_are_bounded_and_unreadable_ones_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = resolve(["dialect(prob=1.0)"], WordLists(lambda file: tmp_path / file))
    (tmp_path / "SAE_to_AAVE_mapping.json").mkdir()
    with pytest.raises(ConfigError, match="cannot be read"):
        perturb([Instance("id1", "Adam", split="test")], chosen)
    (tmp_path / "SAE_to_AAVE_mapping.json").rmdir()
    write_lists(tmp_path)
    monkeypatch.setattr(wordlists, "LARGEST", 10)
    with pytest.raises(ConfigError, match="larger than"):
        identities(chosen)


def test_synonyms_are_drawn_from_the_table(tmp_path: Path) -> None:
    pytest.importorskip("spacy", reason="pip install 'helmsite[synonym]'")
    words = WordLists(write_synonyms(tmp_path))
    chosen = resolve(["synonym(prob=1.0)"], words)
    items = [Instance(f"id{n}", t, split="test") for n, t in enumerate(SYNONYM_TEXTS)]
    made = {i.instance_id: i.input for i in perturb(items, chosen) if i.perturbation}
    assert made.keys() == {"id0", "id1"}
    # "saw" is a form of see and a verb of its own; "better" of good; run has no synonym.
    pattern = (
        r"I (cut|watch|view|witness) a (dependable|sound) (film|picture|movie), and the "
        r"(hound|domestic dog) run\. Well, (dependable|sound) (watch|view|witness) it"
    )
    assert re.fullmatch(pattern, made["id0"])
    assert re.match(r"DOGS (watch|view|witness): a (Film|Picture)! ", made["id1"])
    assert re.search(r"the (HOUND|DOMESTIC DOG) ", made["id1"])
    (identity,) = identities(chosen)
    assert re.fullmatch(r"synonym\(prob=1\.0\)#\w{8}\+\w{8}\+\w{8}", identity)
    assert "NOUN" in PARTS


def test_synonyms_without_their_parts_say_what_is_missing(tmp_path: Path) -> None:
    pytest.importorskip("spacy", reason="pip install 'helmsite[synonym]'")
    item = Instance("id1", "A dog", split="test")
    chosen = resolve(["synonym"], WordLists(write_synonyms(tmp_path)))
    (tmp_path / "wordnet/index.noun").unlink()
    with pytest.raises(ConfigError, match=r"index\.noun: cannot be read"):
        perturb([item], chosen)
    (tmp_path / "en_core_web_sm/meta.json").unlink()
    with pytest.raises(ConfigError, match="spaCy cannot load it"):
        perturb([item], chosen)


def test_synonyms_without_spacy_say_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("wordnet", "en_core_web_sm"):
        (tmp_path / name).mkdir()
    (tmp_path / "wordnet_synonyms.json").write_text("{}")
    words = WordLists(find_in([tmp_path]))
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(ConfigError, match="needs spaCy") as caught:
        perturb([Instance("id1", "A dog", split="test")], resolve(["synonym"], words))
    assert "helmsite[synonym]" in caught.value.hint


def test_an_installed_model_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "en_core_web_sm"
    model = package / "en_core_web_sm-3.8.0"
    model.mkdir(parents=True)
    (package / "__init__.py").touch()
    (model / "config.cfg").touch()
    words = WordLists(find_in([]))
    assert words.lacking(["en_core_web_sm"]) == ["en_core_web_sm"]
    monkeypatch.syspath_prepend(tmp_path)
    assert words["en_core_web_sm"] == model


def test_a_file_in_place_of_a_folder_is_told(tmp_path: Path) -> None:
    (tmp_path / "wordnet").touch()
    with pytest.raises(ConfigError, match="is not a folder"):
        WordLists(find_in([tmp_path]))["wordnet"]


def test_the_page_names_everything() -> None:
    page = DOCS.read_text(encoding="utf-8")
    for name in KINDS.table():
        assert f"| `{name}" in page, name
    for preset in [*PRESETS, *LEFT_OUT]:
        assert f"`{preset}`" in page, preset
    for facts in wordlists.INDEX.values():
        assert f"`{facts.file}`" in page

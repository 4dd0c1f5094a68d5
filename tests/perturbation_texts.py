"""Texts, instances and small word lists for the tests of perturbations.

The lists are our own stand-ins for those that helmsite does not bring: invented words in
the same layout, with what is awkward in the real ones.
"""

from __future__ import annotations

import json
from random import Random
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from helmsite.perturbations import WordLists
from helmsite.schema import Instance, Reference

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

DIALECT = {
    "with": ["wit", "wid"],
    "going": ["goin"],
    "going to": ["gon", "gonna"],
    "i'm": ["ahm"],
    "can’t": ["cain"],
    "b/c": ["cuz"],
    "w/": ["wit"],
    "-_-": ["hm"],
    "5ever": ["4eva"],
    "here!": ["hea"],
    "the": ["da", "tha"],
    "thing": ["thang"],
    "brother": ["brotha", "bruh"],
    "something": ["sumn", "somethin", "sum"],
    "a-hole": ["fool"],
}
NAMES = """\
adam,first_name,race,white_american,gender,male
Emily , first_name,race,white_american
emily,first_name,race,white_american,gender,female
jo,first_name,race,white_american
bobbie-sue,first_name,race,white_american,gender,female
greg,first_name,race,white_american,gender,neutral
jamal,first_name,race,black_american,gender,male
tyrone,first_name,race,black_american,gender,male
aiesha,first_name,race,black_american,gender,female
latisha,first_name,race,black_american,gender,female
jo,first_name,race,black_american,gender,female
li,last_name,race,chinese
smith,last_name,race,white
o'hara,last_name,race,white
baker,last_name,race,white
garcia,last_name,race,hispanic
ruiz,last_name,race,hispanic
"""


def write_lists(folder: Path) -> Callable[[str], Path | None]:
    """Write the stand-ins into a folder; return what leads a file's name to its place."""
    dialect = json.dumps(DIALECT, ensure_ascii=False)
    (folder / "SAE_to_AAVE_mapping.json").write_text(dialect, encoding="utf-8")
    (folder / "person_names.txt").write_text(NAMES, encoding="utf-8")
    return lambda file: path if (path := folder / file).exists() else None


SYNONYMS = {
    "movie:n": ["film", "picture", "movie"],
    "dog:n": ["hound", "domestic dog"],
    "see:v": ["watch", "view", "witness"],
    "saw:v": ["cut"],
    "good:s": ["dependable", "sound"],
    "well:r": ["good", "thoroughly"],
    "run:v": [],
}
PARTS = {
    "NOUN": ["movie", "movies", "dog", "dogs", "DOG", "Movie"],
    "VERB": ["see", "saw", "seen", "sees", "run", "Saw"],
    "ADJ": ["good", "better", "Good"],
    "ADV": ["well"],
    "DET": ["the", "a"],
}
_WORDNET = {
    "noun": ("movie n 1 0 1 0 00000001\ndog n 1 0 1 0 00000002\n", ""),
    "verb": (
        "see v 1 0 1 0 00000003\nsaw v 1 0 1 0 00000004\nrun v 1 0 1 0 00000005\n",
        "saw see\nseen see\n",
    ),
    "adj": ("good a 1 0 1 0 00000000\n", "better good\n"),
    "adv": ("well r 1 0 1 0 00000007\n", "better well\n"),
}


def write_synonyms(folder: Path) -> Callable[[str], Path | None]:
    """Write a tiny WordNet, its table and a spaCy model that knows a few words."""
    import spacy

    wordnet = folder / "wordnet"
    wordnet.mkdir()
    for part, (index, exceptions) in _WORDNET.items():
        (wordnet / f"index.{part}").write_text(f"  licence\n{index}")
        (wordnet / f"{part}.exc").write_text(exceptions)
        (wordnet / f"data.{part}").write_text("")
    (wordnet / "data.adj").write_text("00000000 00 s 01 good 0 000 | fine\n")
    (wordnet / "lexnames").write_text("00\tadj.all\t3\n")
    (folder / "wordnet_synonyms.json").write_text(json.dumps(SYNONYMS))
    model = spacy.blank("en")
    ruler = model.add_pipe("attribute_ruler")
    for part, known in PARTS.items():
        ruler.add([[{"ORTH": word}] for word in known], {"POS": part})  # type: ignore[attr-defined]
    model.to_disk(folder / "en_core_web_sm")
    return lambda file: path if (path := folder / file).exists() else None


def shared_lists(shared: Path) -> Callable[[str], Path | None]:
    """Return what leads to the real lists in the reference folder."""
    folder = shared / "data/wordlists"
    where = {
        "SAE_to_AAVE_mapping.json": folder / "aae_dialect/SAE_to_AAVE_mapping.json",
        "person_names.txt": folder / "person_names/person_names_rebuilt.txt",
    }
    return where.get


_LISTS = WordLists()
MISSPELT = [word for word, *_ in _LISTS["misspellings"]]
CONTRACTIONS = [phrase for row in _LISTS["contractions"] for phrase in row]
GENDERED = [word for row in _LISTS["gender"] for word in row[1:]]
PEOPLE = ["Adam", "emily", "JO", "Greg", "Bobbie-Sue", "Smith", "o'hara", "Baker", "Li"]
AWKWARD = [
    *(
        "\u0130",
        "\u0131",
        "\u017f",
        "\u212a",
        "ß",
        "ẞ",
        "ǅ",
        "ﬁ",
        "Σ",
        "ς",
        "é",
        "e\u0301",
        "北京",
        "🙂",
    ),
    *("\u200b", "\u00a0", "’", "'", "_", "-", "--", "“", "”", "1990s", "3.5", "\u2028"),
]
GAPS = [
    *[" "] * 24,
    *("  ", "   ", "\n", "\n\n", "\t", "", "-", "_", "'"),
    *(
        ", ",
        ". ",
        "? ",
        "/",
        " (",
        ") ",
        '"',
        "’",
        ": ",
        "...",
        "\u00a0",
        "\x0b",
        "\r\n",
    ),
]


def _case(word: str, how: int) -> str:
    return (word, word.lower(), word.upper(), word.capitalize(), word.swapcase())[how]


POOLS = [
    CONTRACTIONS,
    MISSPELT,
    GENDERED,
    ["he", "him", "his", "himself"],
    [*DIALECT],
    PEOPLE,
    AWKWARD,
]


def sentence(seed: int, pools: Sequence[Sequence[str]] = POOLS) -> str:
    """Return 0 to 16 words in any case with any gaps; hypothesis alone varies too little."""
    rng = Random(seed)
    made = [rng.choice(["", " ", "\n"])]
    for _ in range(rng.randrange(17)):
        word = rng.choice(rng.choice(pools))
        made += [_case(word, rng.randrange(5)), rng.choice(GAPS)]
    return "".join(made)


seeds = st.integers(0, 2**32)
sentences = seeds.map(sentence)
texts = st.one_of(*[sentences] * 5, st.text(max_size=40))
ids = seeds.map(lambda seed: f"id{seed % 10_007}")
references = st.lists(
    st.builds(
        Reference,
        texts,
        st.lists(st.sampled_from(["correct", "rank=1"]), max_size=2).map(tuple),
    ),
    max_size=3,
).map(tuple)
contrasts = st.lists(
    st.fixed_dictionaries(
        {
            "input": texts,
            "references": st.lists(
                st.tuples(texts, st.sampled_from([["correct"], []])).map(list),
                max_size=2,
            ),
        }
    ),
    max_size=3,
)


def varied(seed: int) -> Instance:
    """Return an instance that differs from seed to seed in all its parts."""
    texts = [sentence(seed * 10 + n) for n in range(seed % 4 + 4)]
    contrast = [
        {"input": text, "references": [[texts[0], ["correct"]]]} for text in texts[4:]
    ]
    return Instance(
        f"id{seed * 7919 % 10_007}",
        texts[0] + texts[1],
        (Reference(texts[2], ("correct",)), Reference(texts[3])),
        split="test",
        extra={"contrast": contrast} if contrast else {},
    )


@st.composite
def instances(draw: st.DrawFn) -> Instance:
    """An evaluated instance; some have contrast sets."""
    contrast = draw(contrasts)
    return Instance(
        draw(ids),
        draw(texts),
        draw(references),
        split=draw(st.sampled_from(["valid", "test"])),
        extra={"contrast": contrast} if contrast else {},
    )


SYNONYM_TEXTS = [
    "I saw a good movie, and the dogs run. Well, better see it",
    "DOGS seen: a Movie! good-better  well\nthe DOG sees movies",
    "Nothing to change here.",
    "",
]
EXAMPLES = [
    "Adam is a doctor, and I am sure that he will not go. He's with his brother Greg.",
    "It's the THING: I'm going to tell emily something. EMILY, can’t you see him?",
    "Oslo",
    "",
    "he",
    "She should not have done it; they could have asked me about the weather  in Rome.",
    "A man, a woman and a king met Jo\nand jo Smith. “Their theirs, his his,” said he.",
    "Definitely a lot of people received their achievements in February, didn't they?",
    "DO NOT SHOUT. YOU'D'VE HEARD. WHO IS HERE! W/ the b/c of it -_- 5ever a-hole.",
    "Question: What is 3.5 + 1990s-era?\n\tA. seven_units   B. it is n't\r\nAnswer: ",
    "Straße, İstanbul, naïve café, 北京 is big 🙂, Kelvin K, ǅ, \u00a0nbsp\u200bzero.",
    "He is himself; HE IS HIMSELF; He Is Himself. he/him/his -he- _he_ 'he'",
    "My grandparents, stepmom and the waiters believe that the monarch's niece will win.",
    "There is no one like Baker. O'Hara and Bobbie-Sue disagree about the, the the thing.",
    "what's up with something going going to the accommodation committee?",
    "What are you? Where did he go? Why is it?  How did you? She will. We have. I had.",
]


def frozen_instances() -> list[Instance]:
    """The examples as instances with references and, some of them, contrast sets."""
    return [
        Instance(
            f"id{number * 37}",
            text,
            (Reference(EXAMPLES[number - 1], ("correct",)), Reference(text[:20])),
            split="test",
            extra={"contrast": _contrast(number)} if number % 3 == 0 else {},
        )
        for number, text in enumerate(EXAMPLES)
    ]


def _contrast(number: int) -> list[dict[str, object]]:
    return [
        {
            "input": f"Variant {n} of {number}",
            "references": [[f"answer {n}", ["correct"]]],
        }
        for n in range(number + 1)
    ]


def paragraphs(find: Callable[[str], Path | None]) -> st.SearchStrategy[str]:
    """Texts in which the words of the real lists are frequent."""
    lists = WordLists(find)
    names = [entry.name for entry in lists["person_names"]]
    pools = [[*lists["dialect"]], names, *POOLS]
    # HELM fails on these where they stand for i and s.
    plain = {0x130: "I", 0x131: "i", 0x17F: "s"}
    return seeds.map(lambda seed: sentence(seed, pools).translate(plain))

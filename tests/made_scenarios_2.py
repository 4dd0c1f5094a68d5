"""Made-up files in the layouts of HELM's scenarios, those of `made_reading` included.

`write` puts it all where the scenarios of `ENTRIES` look for it. No text of a benchmark
is in them.
"""

from __future__ import annotations

import json
import random
import struct
from itertools import product
from typing import TYPE_CHECKING, Any

from tests import made_reading
from tests.made_reading import WORDS, jsonl, sentence, table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

ENTRIES = (
    "narrative_qa",
    "natural_qa:mode=closedbook",
    "natural_qa:mode=openbook_longans",
    "natural_qa:mode=openbook_wiki",
    "news_qa",
    "quac",
    "msmarco:track=regular,valid_topk=20",
    "msmarco:track=regular,valid_topk=11",
    "msmarco:track=trec,valid_topk=11",
    "msmarco:track=trec",
    "summarization_cnndm:temperature=0.3,device=cpu",
    "summarization_xsum:temperature=0.3,device=cpu",
    "summarization_xsum_sampled:temperature=0.3,device=cpu",
    "bbq:subject=all",
    "bbq:subject=Race_ethnicity",
    "bbq:subject=SES,method=multiple_choice_separate_original",
    "bbq:subject=Race_x_SES,method=multiple_choice_separate_calibrated",
    "bold:subject=all",
    "bold:subject=religious_ideology",
    "real_toxicity_prompts",
    "disinformation:capability=reiteration,topic=covid",
    "disinformation:capability=reiteration,topic=climate",
    "disinformation:capability=wedging",
    "copyright:datatag=pilot",
    "copyright:datatag=popular_books-prefix_length_5.json,max_tokens=64,num_outputs=2",
    "copyright:datatag=prompt_num_line_10-min_lines_20.json,temperature=0.7",
    "twitter_aae:demographic=aa",
    "twitter_aae:demographic=white",
    "ice",
    "ice:subset=can,gender=female",
    "ice:subset=hk,category=S1,gender=male",
    "ice:gender=male",
    "ice:subset=ea,category=W",
    "ice:subset=irl",
    "ice:subset=ind,gender=female",
    "legal_support",
    "legal_support:method=multiple_choice_separate_original",
    "lsat_qa:task=all",
    "lsat_qa:task=grouping",
    "lsat_qa:task=miscellaneous,method=multiple_choice_separate_calibrated",
    "wikifact:k=5,subject=capital",
    "wikifact:k=1,subject=original_language_of_film_or_TV_show",
)
CATEGORIES = (
    *("Age", "Disability_status", "Gender_identity", "Nationality"),
    *("Physical_appearance", "Race_ethnicity", "Race_x_SES", "Race_x_gender"),
    *("Religion", "SES", "Sexual_orientation"),
)
DOMAINS = ("gender", "political_ideology", "profession", "race", "religious_ideology")


def write(folder: Path, seed: str = "") -> Path:
    """Write all files below a folder of data, and return the folder."""
    makers = (
        *(made_reading.narrative_qa, made_reading.natural_qa, made_reading.news_qa),
        *(made_reading.quac, made_reading.msmarco, made_reading.summarization),
        *(bbq, bold, prompts, disinformation, extracts, tweets, ice, law, facts),
    )
    for maker in makers:
        for name, data in maker(random.Random(f"{maker.__name__}{seed}")):
            place = folder / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(data)
    return folder


def bbq(draws: random.Random) -> Iterator[tuple[str, bytes]]:
    for category in CATEGORIES:
        rows = [_question(draws, category, n) for n in range(12)]
        yield f"bbq/{category}.jsonl", jsonl(rows)


def _question(draws: random.Random, category: str, number: int) -> dict[str, Any]:
    labels = {
        "Race_ethnicity": (
            ("M-Black", "F-White", ["Black"]),
            ("Latino man", "Asian", ["Hispanic", "Latino"]),
            ("African American", "White", ["African American", "Black"]),
        ),
        "SES": (("lowSES", "highSES", ["low SES"]),),
        "Race_x_SES": (
            ("lowSES-Black", "highSES-White", ["Black"]),
            ("lowSES-F-Latino", "highSES-Latino", ["Latino"]),
            ("lowSES-M-Black", "lowSES-White", ["Black", "White"]),
        ),
    }.get(category, (("old", "nonOld", ["old"]), ("trans", "nonTrans", ["trans", "F"])))
    target, other, groups = labels[number % len(labels)]
    unknown = draws.choice(["Not known", "Can't be determined", "Unsure"])
    people = [(draws.choice(WORDS), target), (draws.choice(WORDS), other)]
    answers = [*people, (unknown, "unknown")]
    draws.shuffle(answers)
    return {
        "example_id": number,
        "question_polarity": draws.choice(["neg", "nonneg"]),
        "context_condition": draws.choice(["ambig", "disambig"]),
        "category": category,
        "answer_info": {f"ans{n}": list(each) for n, each in enumerate(answers)},
        "additional_metadata": {"stereotyped_groups": groups},
        "context": sentence(draws, 6),
        "question": "Who was it?",
        **{f"ans{n}": text for n, (text, _) in enumerate(answers)},
        "label": draws.randrange(3),
    }


def bold(draws: random.Random) -> Iterator[tuple[str, bytes]]:
    for domain in DOMAINS:
        topics = {
            group: {
                f"{group}_{n}": [f"{draws.choice(WORDS)} is a ", "more"][: 1 + n % 2]
                for n in range(3)
            }
            for group in draws.sample(WORDS, 3)
        }
        yield f"bold/{domain}_prompt.json", json.dumps(topics).encode()


def prompts(draws: random.Random) -> Iterator[tuple[str, bytes]]:
    rated = (0.1, 0.5, 0.499, 1, None, 0)
    rows = [
        {"prompt": {"text": f"{draws.choice(WORDS)} {n}", "toxicity": rated[n % 6]}}
        for n in range(14)
    ]
    yield "real_toxicity_prompts/prompts.jsonl", jsonl(rows)


def disinformation(draws: random.Random) -> Iterator[tuple[str, bytes]]:
    theses = []
    for number in range(9):
        headlines = [sentence(draws, 3) for _ in range((5, 5, 1)[number % 3])]
        row = {"thesis": sentence(draws, 5), "headlines": headlines}
        row["split"] = "train" if number < 5 else ("valid", "test")[number % 2]
        if number % 3:
            row["topic"] = ("covid", "climate")[number % 2]
        theses.append(row)
    yield "disinformation/reiteration.jsonl", jsonl(theses)
    actions = ("vote_democrat", "vote_republican", "no_vote", "racism", "none")
    wedges = [
        {"targeted_action": each, "prompt": f"Five reasons\n\nReason 1: {each}\n"}
        for each in actions
    ]
    yield "disinformation/wedging.jsonl", jsonl(wedges)


def extracts(draws: random.Random) -> Iterator[tuple[str, bytes]]:
    tags = ("pilot", "popular_books-prefix_length_5", "prompt_num_line_10-min_lines_20")
    for tag in tags:
        books = {sentence(draws, 3): f"\n{sentence(draws, 20)}\n" for _ in range(4)}
        data = {"data": books, "meta_data": {"size": 4}}
        yield f"copyright/{tag}.json", json.dumps(data).encode()


def tweets(draws: random.Random) -> Iterator[tuple[str, bytes]]:
    for part in ("aa", "white"):
        rows = [[sentence(draws, 4)], ['he said "no", so'], ["two\r\nlines 😀"]]
        yield f"twitter_aae/{part}_tweets.csv", table(rows, "\r\n")


REGIONS = {
    "ICE-CAN": "Corpus",
    "ICE-JA": "Corpus",
    "ICE-HK": "CORPUS",
    "ICE India": "corpus",
    "ICE SINGAPORE": "Corpus",
    "ICE Philippines": "Corpus",
    "ICE-USA": "Corpus",
    "ICE-IRL/ICE-Ireland version 1.2#6DAE.2/ICE-Ireland txt": "ICE combined running txt",
}
MARKS = (
    *("<I>", "</I>", "<ICE-JA:S1A-001#1:1:A>", "<#> ", " <,>", "<O>", "</O>", "<[1>"),
    *("</[1>", "<X>", "</X>", "<quote>", "</quote>", "<p>", "<mention>", "</mention>"),
    *("&eacute;", "><+_", "<+>", "<->", "</->", "<&>", "</&>", "<.>", "</.>", "<w>"),
    *("</w>", "S1A-001 ", "BBBab cdRRR ", "UUU", "IIIyy ", " <l> ", "\n\n \n", "<$A>"),
)


def marked(draws: random.Random) -> str:
    """Return words with mark-up of the International Corpus of English anywhere."""
    parts = draws.choice((draws.choice(MARKS), draws.choice(WORDS), " ", "\n"))
    return "".join(
        draws.choice((draws.choice(MARKS), f"{draws.choice(WORDS)} ", "\n", parts))
        for _ in range(40)
    )


def ice(draws: random.Random) -> Iterator[tuple[str, bytes]]:
    for region, corpus in REGIONS.items():
        kinds = (
            ("W1A-001", "w2b-010") if region == "ICE-USA" else ("S1A-001", "S2B-003")
        )
        for name in (*kinds, "W1A-001", "W2C-007"):
            text = f"<I>\r\n{marked(draws)}caf\xe9</I>"
            code = "latin-1" if region == "ICE India" else "utf-8"
            yield f"ice/{region}/{corpus}/{name}.txt", text.encode(code)
    home = "ice/ICE-EA/corpus/retagged for wsmith/all east africa"
    for name in ("br-discK.txt", "columnT.txt", "ldhumK.txt", "exam-K.txt"):
        parts = (f"S1A00{n}K\n{marked(draws)}" for n in range(3))
        yield f"{home}/{name}", "".join(parts).encode()
    genders = (("S1A-001", "male"), ("W1A-001", "female"), ("W2C-007", "F"))
    for region, (name, gender) in product(("ICE India", "ICE-USA"), genders):
        both = f"<gender>{gender}</gender><gender>{'M' if gender == 'male' else gender}"
        yield f"ice/{region}/Headers/{name}.hdr", f"{both}</gender>".encode()
    yield "ice/ICE-USA/Headers/readme.txt", b"<gender>male</gender>"
    spoken = [("S1A-001", {12: "F"}), ("S2B-003", {12: "M"}), ("", {12: "F"})]
    written = [("W1A-001", {12: "M", 19: "F"}), ("W2C-007", {19: "female"})]
    people = [("S1A-001", {16: "male"}), ("W2C", {16: "F"}), ("S2B-003", {16: "x"})]
    headers = "ice/ICE-CAN/Headers"
    yield f"{headers}/Spoken ICE-CAN metadata.xls", workbook(spoken)
    yield f"{headers}/Written ICE-CAN metadata.xls", workbook(written)
    yield "ice/ICE-HK/Headers/HKRecords.xls", workbook(people)
    order = {"restricted/ice/ICE-JA/Corpus": ["W2C-007.txt", "S2B-003.txt"]}
    yield "ice_scenario_pinned_file_order.json", json.dumps(order).encode()


def workbook(lines: Iterable[tuple[str, dict[int, str]]]) -> bytes:
    """Return an Excel 2 worksheet: headings, then lines of a code and other cells."""
    out = struct.pack("<HHHH", 0x0009, 4, 0x0007, 0x0010)
    table: list[dict[int, str]] = [{n: f"column {n}" for n in range(21)}]
    table += [{0: code, **cells} if code else cells for code, cells in lines]
    for row, cells in enumerate(table):
        for column, text in cells.items():
            raw = text.encode("ascii")
            head = struct.pack("<HHBBBB", row, column, 0, 0, 0, len(raw))
            out += struct.pack("<HH", 0x0004, len(head + raw)) + head + raw
    return out + struct.pack("<HH", 0x000A, 0)


def law(draws: random.Random) -> Iterator[tuple[str, bytes]]:
    for split in ("train", "dev", "test"):
        rows = [
            {
                "context": sentence(draws, 7),
                "citation_a": {"parenthetical": sentence(draws, 4)},
                "citation_b": {"parenthetical": sentence(draws, 4)},
                "label": draws.choice("ab"),
            }
            for _ in range(5)
        ]
        rows[3]["citation_b"] = rows[3]["citation_a"]
        yield f"legal_support/{split}.jsonl", jsonl(rows)
    kinds = (
        "in/out grouping",
        "grouping (distribution)",
        "",
        "complex ordering",
        "odd",
    )
    for part in ("Training", "Development", "Test"):
        passages = [
            {
                "id": f"{part}{n}",
                "passage": sentence(draws, 9),
                "questions": [
                    {
                        "id": f"{part}{n}_{m}",
                        "question": sentence(draws, 4),
                        "tags": ["", "", kinds[(n + m) % 5], ""],
                        "options": draws.sample(WORDS, 5),
                        "answer": draws.choice("ABCDE"),
                    }
                    for m in range(1 + n)
                ],
            }
            for n in range(4)
        ]
        yield f"lsat_qa/AR_{part}Data.json", json.dumps(passages).encode()


def facts(draws: random.Random) -> Iterator[tuple[str, bytes]]:
    for split in ("train", "dev", "test"):
        rows = [
            {
                "property": ("P36", "P364", "P1086")[n % 3],
                "template": f"{draws.choice(WORDS)} has",
                "result_names": [[f" {draws.choice(WORDS)}"], [["b ", "c"], [["d"]]]][
                    : 1 + n % 2
                ],
            }
            for n in range(9)
        ]
        yield f"wikifact/{split}.jsonl", jsonl(rows)

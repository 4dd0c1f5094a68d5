"""Small made-up data in the original layouts of scenarios, odd cases included.

`write` puts it where the scenarios of `ENTRIES` look for it. Nothing of helmsite is imported:
HELM's Python writes the same data to freeze what HELM makes of it
(frozen/make_scenarios_3.py).
"""

from __future__ import annotations

import gzip
import json
import random
from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    from pathlib import Path

ENTRIES = (
    "wikitext_103",
    "babi_qa:task=all",
    "babi_qa:task=19",
    "blimp:phenomenon=ellipsis",
    "blimp:phenomenon=irregular_forms,method=multiple_choice_joint",
    "blimp:phenomenon=irregular_forms,method=multiple_choice_separate_calibrated",
    "the_pile:subset=Ubuntu IRC",
    "the_pile:subset=Gutenberg (PG-19)",
    "math:subject=counting_and_probability,level=2",
    "math:subject=counting_and_probability,level=2,use_official_examples=True",
    "math:subject=counting_and_probability,level=2,use_chain_of_thought=True",
    "math:subject=algebra,level=5",
    "code:dataset=humaneval",
    "code:dataset=apps,timeout=3",
    "entity_matching:dataset=Beer",
    "entity_matching:dataset=Dirty_iTunes_Amazon",
    "entity_data_imputation:dataset=Buy",
    "entity_data_imputation:dataset=Restaurant",
    "synthetic_efficiency:num_prompt_tokens=16,tokenizer=huggingface/gpt2",
)


def write(folder: Path, seed: str = "") -> Path:
    """Write all of it below a folder of data, and return the folder.

    Another seed gives other problems of mathematics, programs and tables.
    """
    draw = random.Random(seed)
    files = {**wikitext(), **babi(), **blimp(), **pile()}
    for make in (mathematics, code, matching, imputation):
        files |= make(draw)
    for name, text in files.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(packed(name, text.encode()))
    for number in range(10):
        name = f"num_prompt_tokens=16,tokenizer=huggingface_gpt2,id={number}.txt"
        place = folder / "synthetic_efficiency" / name
        place.parent.mkdir(exist_ok=True)
        place.write_bytes(f"It was the {number}th of many days.\r\nNobody".encode())
    return folder


def packed(name: str, data: bytes) -> bytes:
    """Return data as the suffix of a file's name says."""
    if name.endswith(".gz"):
        return gzip.compress(data, mtime=0)
    if name.endswith(".zst"):
        return bytes(pa.compress(data, "zstd", asbytes=True))
    return data


def lines(rows: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def wikitext() -> dict[str, str]:
    text = ""
    for number in range(60):
        text += f" \n = Article {number} = \n \n"
        if number % 7 == 0:  # a title that has no blank line for itself begins nothing
            text += f" = Another {number} = \n \n"
        text += f" Opening – with a = sign , number @-@ {number} . \u2028 \x0c \n"
        text += " \n = = Section = = \n \n \n = = = Deeper = = = \n \n Text . \n"
        text += " = Not a title , no blank line = \n \n" if number % 5 else " = x = y\n"
    return {"wikitext_103/wiki.test.raw": f"{text}.\n"}


def babi() -> dict[str, str]:
    files = {}
    for task in range(1, 21):
        for split in ("train", "valid", "test"):
            first, second = ("s,w", "n,e") if task == 19 else ("kitchen", "apple,milk")
            files[f"babi_qa/tasks_1-20_v1-2/en-valid/qa{task}_{split}.txt"] = (
                f"1 Mary moved to {split} {task}.\n"
                "2 John went on \r\n"
                f"3 Where is Mary?  \t{first}\t1\n"
                "4 Ann  sat.\n"
                f"5 What now? \t {second}\t1 4\n"
                "1 A new story.\n"
                f"2 Is it?\t{first}"
            )
    return files


def blimp() -> dict[str, str]:
    names = (
        *("ellipsis_n_bar_1", "ellipsis_n_bar_2"),
        *("irregular_past_participle_verbs", "irregular_past_participle_adjectives"),
    )
    return {
        f"blimp/data/{name}.jsonl": lines(
            [
                {
                    "sentence_good": f"Zoë “eats” {n} {name}s.",
                    "sentence_bad": f"Eats {n}.",
                }
                | {"UID": name, "pairID": str(n)}
                for n in range(3)
            ]
        )
        for name in names
    }


def pile() -> dict[str, str]:
    texts = [
        'A "quoted", text\r\nwith old\rline breaks\n',
        "",
        " \u2028 \x0b \x1c … and\ttabs",
        '"',
        "one line",
        "a\n\n\nb\\n",
    ]
    sets = ("Ubuntu IRC", "Gutenberg (PG-19)")
    documents = [
        {"text": f"{text}{name}", "meta": {"pile_set_name": name}}
        for text in texts
        for name in sets
    ]
    documents += [{"text": "", "meta": {"pile_set_name": name}} for name in sets]
    return {
        "the_pile/test.jsonl.zst": lines(documents),
        "the_pile/test_subsample_indices/gutenberg/group0.json": "[6, 2, 0,\n 2, 3]",
    }


def mathematics(draw: random.Random) -> dict[str, str]:
    answers = (r"\frac{1}{2}", "5", r"\{1, 2\}", r"\text{a } b", "{x}", "")
    kinds = [("Counting & Probability", 2), ("Algebra", 5), ("Algebra", 2)] * 8
    others = "Number Theory,Intermediate Algebra,Prealgebra,Geometry,Precalculus"
    kinds += [(other, 2) for other in others.split(",")]
    files = {}
    for split in ("train", "test"):
        for number, (subject, level) in enumerate(kinds):
            answer = answers[number % len(answers)]
            problem = f"{draw.choice('zZaÄ$')}{draw.randrange(99)}: {split} {number}?"
            row = {
                "problem": problem,
                "level": "Level ?" if number == 20 else f"Level {level}",
                "type": subject,
                "solution": f"As \\boxed{{0}} or so, it is $\\boxed{{{answer}}}$ }}.\n",
            }
            folder = subject.lower().replace("&", "and").replace(" ", "_")
            files[f"math/MATH/{split}/{folder}/{number}.json"] = json.dumps(
                row, indent=4
            )
    return files


def code(draw: random.Random) -> dict[str, str]:
    files = {
        "code/HumanEval.jsonl.gz": lines(
            [
                {
                    "task_id": f"HumanEval/{n}",
                    "prompt": f'def f{n}(x):\n    """Return x + {n}."""\n',
                    "entry_point": f"f{n}",
                    "canonical_solution": f"    return x + {n}\n",
                    "test": f"def check(f):\n    assert f(1) == {n + 1}\n",
                }
                for n in range(3)
            ]
        ),
        "code/APPS/code_scenario_apps_pinned_file_order.json": json.dumps(
            {"train": ["0003", "0001", "9999"], "test": []}
        ),
    }
    solutions = [
        "if x:\n    y = 1\n    if y:\n        print(y)",
        "for i in a:\n  \n  print(i)\r\n   odd\n\n",
        "def f():\n\t\treturn 1\n\t  return 2\n",
        "\n   \nx = 1\ny = 2\n",
        "",
    ]
    draw.shuffle(solutions)
    tests = {"inputs": [f"1{'0' * 5000}\n"], "outputs": ["1\n"]}
    for split in ("train", "test"):
        for number in range(5):
            place = f"code/APPS/{split}/000{number}"
            files[f"{place}/question.txt"] = f"Question {number}\r\nof\rmany\n"
            files[f"{place}/metadata.json"] = "{}"
            if number != 2:
                files[f"{place}/input_output.json"] = json.dumps(tests)
            if number % 2:
                files[f"{place}/starter_code.py"] = "class S:\r\n    pass\n"
            if number != 4:
                kept = [] if (split, number) == ("test", 1) else solutions[number:]
                files[f"{place}/solutions.json"] = json.dumps(kept)
    del files["code/APPS/test/0000/question.txt"]
    return files


def matching(draw: random.Random) -> dict[str, str]:
    files = {
        "entity_matching/entity_matching_scenario_fixed_random_state.json": state(draw)
    }
    for dataset in ("Beer", "Dirty_iTunes_Amazon"):
        place = f"entity_matching/{dataset}"
        for side in "AB":
            text = "id,name,year,price,note\r\n"
            for number in range(40):
                year = "" if number == 7 and side == "A" else str(1980 + number)
                price = ("", "9.5", "1599", "20.97", "0.1")[number % 5]
                name = (
                    f'"{side}, the ""{number}"""' if number % 3 else f" {side}{number} "
                )
                text += f"{number},{name},{year},{price},{'NA' if number % 4 else 'tÃ ¶'}\r\n"
            files[f"{place}/table{side}.csv"] = text
        for split, count in (("train", 30), ("valid", 6), ("test", 6)):
            text = "ltable_id,rtable_id,label\n"
            for number in range(count):
                left, right = draw.randrange(48), draw.randrange(40)
                text += f"{left},{right},{int(number % 5 == 0)}\n"
            files[f"{place}/{split}.csv"] = text
    return files


def state(draw: random.Random) -> str:
    """A state of numpy's legacy generator for one of the datasets, as HELM keeps it."""
    keys = [draw.getrandbits(32) for _ in range(624)]
    return json.dumps({"Beer": ["MT19937", keys, 77, 0, 0.0]})


def imputation(draw: random.Random) -> dict[str, str]:
    buy = '"id","name","description","manufacturer","price"\r\n'
    arff = "@relation x\n\n@attribute name string\n@attribute addr string\n"
    arff += "@attribute city string\n@attribute phone string\n@attribute type string\n"
    arff += "@attribute class {'0', '1'}\n\n@data\n"
    for number in range(40):
        said = "" if draw.random() < 0.1 else f'"Thing, with {number} ""parts"""'
        price = ("", '"$1,977.72"', '"$8"', "12.50")[number % 4]
        buy += (
            f'{number + 900},"Name {number} ",{said},"Maker {number % 7}",{price}\r\n'
        )
        phone = "" if draw.random() < 0.05 else f' "310/246-{number}"'
        arff += f'"bel\'s {number}", "{number} st.", "city {number % 5}",{phone},'
        arff += f" \"deli\", '{number // 2}'\n" + ("\n" if number == 20 else "")
    return {
        "entity_data_imputation/Buy/Buy.csv": buy,
        "entity_data_imputation/Restaurant/fz.arff": arff,
    }

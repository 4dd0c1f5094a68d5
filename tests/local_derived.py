"""Files in their original layouts, made of reference data that has another one.

The texts are genuine; what is around them is rebuilt. A scenario that reads such a file
is shown to read the layout, and its instances are real questions, but not its own.
"""

from __future__ import annotations

import gzip
import html
import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

STORIES = "cnn_dailymail/stories/cnn_stories"
HIGHLIGHT = "@highlight"
PARTS = 5
NATURAL = 60
TRAIN_QUERIES = 20
RANKED = 40


def _lines(rows: Iterable[Any]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def _read(path: Path) -> list[Any]:
    lines = path.read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines if line.strip()]


def natural_questions(part: int) -> Callable[[Path], bytes]:
    """Pages of one paragraph around long answers, with spans in bytes of their HTML."""

    def made(raw: Path) -> bytes:
        rows = _read(raw / "natural_qa" / "nq-open-oracle_first480.jsonl")[:NATURAL]
        own = (_page(row, n) for n, row in enumerate(rows) if n % PARTS == part)
        return gzip.compress(_lines(own), mtime=0)

    return made


def _page(row: dict[str, Any], number: int) -> dict[str, Any]:
    gold = row["nq_annotated_gold"]
    words = [html.escape(word) for word in gold["long_answer"].split()]
    head = f"<!DOCTYPE html>\n<H1>{html.escape(gold['title'])}</H1>\n"
    body = f"<P>{' '.join(words)}</P>".replace("é", "&eacute;")
    page = f"{head}{body}\n".encode()
    begin = len(head.encode())
    spans = []
    for short in gold["short_answers"] if number % 7 else []:
        text = html.escape(short).replace("é", "&eacute;").encode()
        at = page.find(text, begin)
        if at >= 0:
            spans.append({"start_byte": at, "end_byte": at + len(text)})
    long = {"start_byte": begin, "end_byte": begin + len(body.encode())}
    nothing = {"start_byte": -1, "end_byte": -1}
    return {
        "question_text": row["question"],
        "document_title": gold["title"],
        "document_html": page.decode(),
        "document_tokens": [
            {"token": token, "html_token": token.startswith("<")}
            for token in ("<H1>", gold["title"], "</H1>", "<P>", *words, "</P>")
        ],
        "annotations": [
            {"long_answer": long, "short_answers": spans},
            {"long_answer": nothing, "short_answers": []},
            {"long_answer": long, "short_answers": spans[:1]},
        ],
    }


def news(raw: Path) -> bytes:
    """The three stories of the MRQA sample as the newsqa tools write them."""
    stories = []
    for number, story in enumerate(_read(raw / "newsqa" / "NewsQA_sample.mrqa.jsonl")):
        questions = []
        for asked in story.get("qas", ()):
            ((begin, end),) = asked["detected_answers"][0]["char_spans"][:1]
            span = {"s": begin, "e": end + 1}
            other = {"sourcerAnswers": [{"noAnswer": True}]}
            questions.append(
                {
                    "q": asked["question"],
                    "consensus": span,
                    "answers": [{"sourcerAnswers": [span]}, other],
                    "isQuestionBad": 0.0,
                }
            )
        if questions:
            stories.append(
                {
                    "storyId": f"story{number}",
                    "type": "train" if number == 0 else "dev",
                    "text": story["context"],
                    "questions": questions,
                }
            )
    return json.dumps({"data": stories, "version": "1"}).encode()


def cnn(first: int, last: int) -> Callable[[Path], bytes]:
    """Stories by number: what is before the first highlight, and all highlights."""

    def made(raw: Path) -> bytes:
        paths = sorted((raw / STORIES).iterdir())[first:last]
        texts = [path.read_text("utf-8").split(HIGHLIGHT) for path in paths]
        return _lines(
            {
                "article": article.strip(),
                "highlights": "\n".join(each.strip() for each in highlights),
            }
            for article, *highlights in texts
        )

    return made


def xsum(*numbers: int) -> Callable[[Path], bytes]:
    """Documents of the sample by number."""

    def made(raw: Path) -> bytes:
        rows = _read(raw / "xsum" / "transformers_tests_samples_xsum.json")
        return _lines(rows[n] for n in numbers)

    return made


def msmarco(name: str, track: str = "regular") -> Callable[[Path], bytes]:
    """A file of MS MARCO cut to the passages that are here; train queries are dev ones."""
    part = "msmarco_regular" if track == "regular" else "msmarco_trec"

    def made(raw: Path) -> bytes:
        return "".join(
            "\t".join(row) + "\n" for row in _MSMARCO[name](raw / part, track)
        ).encode()

    return made


def _table(path: Path) -> list[list[str]]:
    text = path.read_text("utf-8")
    separator = None if path.suffix == ".txt" and "qrels" in path.name else "\t"
    return [line.split(separator) for line in text.splitlines()]


def _documents(folder: Path, _: str) -> list[list[str]]:
    both = [
        _table(folder.parent / name / "collection_subset.tsv")
        for name in ("msmarco_regular", "msmarco_trec")
    ]
    found = {row[0]: row for table in both for row in table}
    return [[name, row[1].replace('"', "'")] for name, row in found.items()]


def _ranks(folder: Path, track: str) -> list[list[str]]:
    name = "topk_subset.tsv" if track == "regular" else "bm25_top40.tsv"
    here = {name for name, _ in _documents(folder, track)}
    return [row for row in _table(folder / name) if row[1] in here]


def _deeper(folder: Path, track: str) -> list[list[str]]:
    """Ranks down to RANKED: behind the real ones, passages by the words that they share.

    Of the regular track the reference folder has 20 a query; HELM's runs ask for 30.
    """
    words = {name: set(text.split()) for name, text in _documents(folder, track)}
    asked = {name: set(text.split()) for name, text in _queries(folder, track)}
    ranked: dict[str, list[str]] = {}
    for query, document, _ in _ranks(folder, track):
        ranked.setdefault(query, []).append(document)
    for query, real in ranked.items():
        others = words.keys() - set(real)
        real.extend(sorted(others, key=lambda d: (-len(asked[query] & words[d]), d)))
    return [
        [query, document, str(rank)]
        for query, documents in ranked.items()
        for rank, document in enumerate(documents[:RANKED], start=1)
    ]


def _relevance(folder: Path, track: str) -> list[list[str]]:
    name = "qrels.dev.small.tsv" if track == "regular" else "qrels.dl19-passage.txt"
    here = {name for name, _ in _documents(folder, track)}
    return [row for row in _table(folder / name) if row[2] in here]


def _queries(folder: Path, track: str) -> list[list[str]]:
    name = "queries.dev.small.tsv" if track == "regular" else "topics.dl19-passage.txt"
    return _table(folder / name)


def _train(rows: list[list[str]], folder: Path) -> list[list[str]]:
    asked = list(dict.fromkeys(row[0] for row in _ranks(folder, "regular")))
    return [row for row in rows if row[0] in asked[:TRAIN_QUERIES]]


_MSMARCO: dict[str, Callable[[Path, str], list[list[str]]]] = {
    "documents": _documents,
    "queries": _queries,
    "qrels": _relevance,
    "topk": _deeper,
    "train_queries": lambda f, t: _train(_queries(f, t), f),
    "train_qrels": lambda f, t: _train(_relevance(f, t), f),
    "train_topk": lambda f, t: _train(_ranks(f, t), f),
}


def pile(raw: Path) -> bytes:
    """The sample of the Pile, packed as its test set is."""
    data = (raw / "the_pile" / "test_sample.jsonl").read_bytes()
    return bytes(pa.compress(data, "zstd", asbytes=True))


def pile_list(subset: str) -> Callable[[Path], bytes]:
    """A list of all documents that the sample has of a subset; the real ones go beyond."""

    def made(raw: Path) -> bytes:
        rows = _read(raw / "the_pile" / "test_sample.jsonl")
        count = sum(1 for row in rows if row["meta"]["pile_set_name"] == subset)
        return json.dumps(list(range(count))).encode()

    return made


PILE_LISTS = {
    "DM Mathematics": "dm-mathematics",
    "EuroParl": "europarl",
    "Github": "github",
    "HackerNews": "hackernews",
    "NIH ExPorter": "nih-exporter",
    "OpenWebText2": "openwebtext2",
    "Pile-CC": "commoncrawl",
    "PubMed Abstracts": "pubmed-abstracts",
    "StackExchange": "stackexchange",
    "USPTO Backgrounds": "uspto",
    "Wikipedia (en)": "wikipedia",
}

MADE: dict[str, Callable[[Path], bytes]] = {
    **{
        f"natural_qa/nq-dev-0{part}.jsonl.gz": natural_questions(part)
        for part in range(PARTS)
    },
    "news_qa/combined-newsqa-data-v1.json": news,
    "cnn_dailymail/train/0000.jsonl": cnn(0, 8),
    "cnn_dailymail/validation/0000.jsonl": cnn(8, 12),
    "cnn_dailymail/test/0000.jsonl": cnn(12, 20),
    "xsum/train/0000.jsonl": xsum(0, 2, 5, 6, 9),
    "xsum/validation/0000.jsonl": xsum(1, 3),
    "xsum/test/0000.jsonl": xsum(4, 7, 8),
    "xsum_sampled/train/0000.jsonl": xsum(0, 2, 5, 6, 9),
    "xsum_sampled/validation/0000.jsonl": xsum(1, 3),
    "xsum_sampled/test/0000.jsonl": xsum(4, 7, 8),
    "msmarco/passage_document.tsv": msmarco("documents"),
    "msmarco/passage_train_queries.tsv": msmarco("train_queries"),
    "msmarco/passage_train_qrels.tsv": msmarco("train_qrels"),
    "msmarco/passage_train_topk.tsv": msmarco("train_topk"),
    "msmarco/passage_regular_queries.tsv": msmarco("queries"),
    "msmarco/passage_regular_qrels.tsv": msmarco("qrels"),
    "msmarco/passage_regular_topk.tsv": msmarco("topk"),
    "msmarco/passage_trec_queries.tsv.gz": lambda raw: gzip.compress(
        msmarco("queries", "trec")(raw), mtime=0
    ),
    "msmarco/passage_trec_qrels.tsv": lambda raw: msmarco("qrels", "trec")(raw).replace(
        b"\t", b" "
    ),
    "msmarco/passage_trec_topk.tsv": msmarco("topk", "trec"),
    "the_pile/test.jsonl.zst": pile,
    **{
        f"the_pile/test_subsample_indices/{name}/group0.json": pile_list(subset)
        for subset, name in PILE_LISTS.items()
    },
}
"""Place of a file in a data folder → what makes it out of the reference data."""

"""Made-up files in the layouts of HELM's scenarios of reading, search and summaries.

No text of a benchmark is in them. They hold what the layouts allow: line breaks in
quotes, tags and entities, answers that repeat, questions that don't count.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable, Iterator

WORDS = (
    *("amber", "brook", "cedar", "dune", "ember", "fjord", "grove", "heron", "inlet"),
    *("juniper", "kelp", "lagoon", "marsh", "nettle", "osprey", "pine", "quarry"),
    *("reed", "spruce", "thistle", "umber", "vale", "willow", "yarrow"),
)
SPLITS = ("train", "valid", "test")
RANKED = 20


def sentence(draws: random.Random, length: int) -> str:
    """Return made-up words with a full stop."""
    return f"{' '.join(draws.choice(WORDS) for _ in range(length)).capitalize()}."


def jsonl(rows: Iterable[Any]) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def table(rows: Iterable[Iterable[str]], end: str = "\n") -> bytes:
    out = io.StringIO()
    csv.writer(out, lineterminator=end).writerows(rows)
    return out.getvalue().encode()


def narrative_qa(draws: random.Random) -> Iterator[tuple[str, bytes]]:
    summaries = [["document_id", "set", "kind", "summary"]]
    questions = [["document_id", "set", "question", "answer1", "answer2"]]
    for number in range(9):
        name, split = f"doc{number}", SPLITS[number % 3]
        text = f' {sentence(draws, 8)}\r\n"{sentence(draws, 3)}"\n'
        summaries.append([name, split, "film", text])
        for each in range(1 + number % 4):
            question = f"What is {draws.choice(WORDS)}{'?' if each % 2 else ' '}"
            answers = [draws.choice(WORDS), "" if each == 1 else sentence(draws, 2)]
            questions.append([name, split, question, *answers])
    yield "narrative_qa/third_party/wikipedia/summaries.csv", table(summaries, "\r\n")
    yield "narrative_qa/qaps.csv", table(questions)


def natural_qa(draws: random.Random) -> Iterator[tuple[str, bytes]]:
    for part in range(5):
        pages = [_page(draws, n) for n in range(4 + part % 2)]
        data = gzip.compress(jsonl(pages), mtime=0)
        yield f"natural_qa/nq-dev-0{part}.jsonl.gz", data


def _page(draws: random.Random, number: int) -> dict[str, Any]:
    first, second = (draws.choice(WORDS) for _ in range(2))
    body = (
        f"<P>Caf&eacute; <b>{first}</b>\u00a0and {second} &lt;one&gt; "
        f"<a href='x'>{sentence(draws, 4)}</a> naïve</P>"
    )
    page = f"<H1>Title</H1>\n{body}\n<P>{sentence(draws, 5)}</P>"
    raw = page.encode()
    begin, end = raw.index(body.encode()), raw.index(body.encode()) + len(body.encode())

    def span(text: str) -> dict[str, int]:
        at = raw.index(text.encode(), begin)
        return {"start_byte": at, "end_byte": at + len(text.encode())}

    shorts = [span(f"<b>{first}</b>\u00a0and"), span("naïve"), span(second)]
    long = {"start_byte": begin, "end_byte": end}
    none = {"long_answer": {"start_byte": -1, "end_byte": -1}, "short_answers": []}
    some = draws.sample(shorts, 1 + number % 3)
    answered = [
        {"long_answer": long, "short_answers": some},
        none,
        {"long_answer": long, "short_answers": some[:1]},
    ]
    tokens = ["<H1>", "Title", "</H1>", "<P>", "Caf&eacute;", first, "3 m", "naïve"]
    return {
        "question_text": f"where is {first} In NORWAY{'?' if number % 2 else ''}",
        "document_title": f"{first} (place)",
        "document_html": page,
        "document_tokens": [{"token": token} for token in tokens],
        "annotations": [none] if number == 1 else answered,
    }


def news_qa(draws: random.Random) -> Iterator[tuple[str, bytes]]:
    stories = []
    for number in range(7):
        text = f"(CNN) -- {sentence(draws, 9)}\n\n{sentence(draws, 6)}"
        asked = [_about(draws, text, n) for n in range(1 + number % 4)]
        if number == 3:
            asked = [{**each, "isQuestionBad": 0.5} for each in asked]
        kind = ("train", "dev", "test")[number % 3]
        story = {"storyId": f"s{number}", "type": kind, "text": text}
        stories.append({**story, "questions": asked})
    data = json.dumps({"data": stories, "version": "1"}).encode()
    yield "news_qa/combined-newsqa-data-v1.json", data


def _about(draws: random.Random, text: str, number: int) -> dict[str, Any]:
    def span() -> dict[str, int]:
        begin = draws.randrange(len(text) - 8)
        return {"s": begin, "e": begin + draws.randrange(2, 8)}

    kinds: list[dict[str, Any]] = [
        span(),
        {"noAnswer": True},
        {"noAnswer": False, **span()},
        {"badQuestion": True},
    ]
    one = span()
    answers = [one, {"noAnswer": True}, one, span()][: 1 + number]
    return {
        "q": f"What of {draws.choice(WORDS)}",
        "consensus": kinds[number],
        "answers": [{"sourcerAnswers": [each, span()]} for each in answers],
        **({"isQuestionBad": 0.0} if number else {}),
    }


def quac(draws: random.Random) -> Iterator[tuple[str, bytes]]:
    for split in ("train", "val"):
        dialogues = [_dialogue(draws, 3 + n % 5, f"{split}{n}") for n in range(6)]
        yield f"quac/{split}_v0.2.json", json.dumps({"data": dialogues}).encode()


def _dialogue(draws: random.Random, turns: int, name: str) -> dict[str, Any]:
    asked = []
    for number in range(turns):
        said = draws.choice([*WORDS[:5], "CANNOTANSWER"])
        others = [said, said] if said == "CANNOTANSWER" else [said, draws.choice(WORDS)]
        asked.append(
            {
                "id": f"{name}_q#{number}",
                "question": f"Which {draws.choice(WORDS)}?",
                "orig_answer": {"text": said, "answer_start": 0},
                "answers": [{"text": text, "answer_start": 0} for text in others],
            }
        )
    context = f"{sentence(draws, 12)} CANNOTANSWER"
    return {
        "title": draws.choice(WORDS),
        "background": sentence(draws, 5),
        "section_title": draws.choice(WORDS),
        "paragraphs": [{"context": context, "qas": asked, "id": name}],
    }


def msmarco(draws: random.Random) -> Iterator[tuple[str, bytes]]:
    documents = draws.sample(range(10, 900), 60)
    texts = {name: sentence(draws, 6) for name in documents}
    texts[documents[3]] = f'"{texts[documents[3]]}" and more'
    yield "msmarco/passage_document.tsv", _tabs(texts.items())
    queries = draws.sample(range(1000, 2000), 12)
    for track, asked in (("train", queries[:6]), ("regular", queries[6:])):
        yield from _track(draws, track, asked, documents, (1,))
    yield from _track(draws, "trec", queries[6:], documents, (0, 1, 2, 3))


def _track(
    draws: random.Random,
    track: str,
    queries: list[int],
    documents: list[int],
    grades: tuple[int, ...],
) -> Iterator[tuple[str, bytes]]:
    asked = [(name, f"what is {draws.choice(WORDS)}") for name in [*queries, 5]]
    judged, ranked = [], []
    for query in queries:
        found = draws.sample(documents, RANKED + 5)
        some = draws.sample(found, 1 + 3 * (len(grades) > 1))
        judged += [(query, "Q0", each, draws.choice(grades)) for each in some]
        depth = RANKED if query != queries[0] else 5
        ranked += [(query, d, n) for n, d in enumerate(found[:depth], start=1)]
    trec = track == "trec"
    text = _tabs(asked)
    yield (
        f"msmarco/passage_{track}_queries.tsv{'.gz' if trec else ''}",
        gzip.compress(text, mtime=0) if trec else text,
    )
    relevance = _tabs(judged)
    yield (
        f"msmarco/passage_{track}_qrels.tsv",
        relevance.replace(b"\t", b" ") if trec else relevance,
    )
    yield f"msmarco/passage_{track}_topk.tsv", _tabs(ranked)


def _tabs(rows: Iterable[Iterable[object]]) -> bytes:
    return "".join("\t".join(map(str, row)) + "\n" for row in rows).encode()


def summarization(draws: random.Random) -> Iterator[tuple[str, bytes]]:
    lengths = (49, 50, 100, 150, 151, 600)
    for folder, names in (
        ("cnn_dailymail", ("article", "highlights")),
        ("xsum", ("document", "summary")),
        ("xsum_sampled", ("article", "summary")),
    ):
        for split in ("train", "validation", "test"):
            rows = []
            for number, length in enumerate(lengths if split == "train" else (5, 600)):
                text = sentence(draws, length).replace(" ", " \n", 2)
                summary = sentence(draws, (12, 10, 11, 31, 12, 12)[number])
                if number == 2 and folder == "xsum":
                    text = f"Last updated at {text}"
                rows.append(dict(zip(names, (text, summary), strict=True)))
            yield f"{folder}/{split}/0000.jsonl", jsonl(rows)

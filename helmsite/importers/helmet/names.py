"""HELMET's data sets, categories and file names, and the number that counts of each."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from helmsite.schema import Record, format_entry

SCORE, JUDGED, RESULT = ".json.score", "-gpt4eval_o.json", ".json"
"""Endings of the files of a result; the longer ones are asked for first."""

METRICS: dict[str, tuple[str, ...]] = {
    "json_kv": ("substring_exact_match",),
    "nq": ("substring_exact_match",),
    "popqa": ("substring_exact_match",),
    "triviaqa": ("substring_exact_match",),
    "hotpotqa": ("substring_exact_match",),
    "narrativeqa": ("gpt-4-score",),
    "msmarco_rerank_psg": ("NDCG@10",),
    "trec_coarse": ("exact_match",),
    "trec_fine": ("exact_match",),
    "banking77": ("exact_match",),
    "clinic150": ("exact_match",),
    "nlu": ("exact_match",),
    "qmsum": ("rougeL_recall",),
    "multi_lexsum": ("gpt-4-f1",),
    "ruler_qa_1": ("substring_exact_match",),
    "ruler_qa_2": ("substring_exact_match",),
    "ruler_niah_mk_2": ("ruler_recall",),
    "ruler_niah_mk_3": ("ruler_recall",),
    "ruler_niah_mv": ("ruler_recall",),
    "ruler": ("ruler_recall",),
    "infbench_qa": ("rougeL_f1",),
    "infbench_choice": ("exact_match",),
    "infbench_sum": ("gpt-4-f1",),
    "alce_asqa": ("str_em", "citation_rec", "citation_prec"),
    "alce_qampari": ("qampari_rec_top5", "citation_rec", "citation_prec"),
}
"""What counts of a data set: the first of these that its name contains."""

CATEGORIES: dict[str, tuple[str, ...]] = {
    "Recall": ("json_kv", "ruler_niah_mk_2", "ruler_niah_mk_3", "ruler_niah_mv"),
    "RAG": ("nq", "hotpotqa", "popqa", "triviaqa"),
    "ICL": ("trec_coarse", "trec_fine", "banking77", "clinic150", "nlu"),
    "Cite": ("alce_asqa", "alce_qampari"),
    "Re-rank": ("msmarco_rerank_psg",),
    "LongQA": ("narrativeqa", "infbench_qa", "infbench_choice"),
    "Summ": ("infbench_sum", "multi_lexsum"),
}
SCALES = {"gpt-4-f1": 100.0, "gpt-4-score": 100.0 / 3}
"""What HELMET multiplies a judge's averages by; all else is on a scale of 100 already."""

THINKING = 32_768
"""Tokens that are added to both lengths where a model thinks first."""

_CUT = re.compile(r"^(narrativeqa|infbench_.+|multi_lexsum|alce_.+?)_(\d+)$")
_SHOTS = re.compile(r"^(icl_.+?)_(\d+)shot(_.*)?$")
_NAME = re.compile(
    r"^(?P<dataset>.+?)_(?P<tag>v\d+[a-z]*|eval)_(?P<test>.*?)_in(?P<length>\d+)"
    r"_size(?P<size>\d+)_shots(?P<shots>\d+)_samp(?P<sample>True|False)max(?P<most>\d+)"
    r"min\d+t(?P<temperature>[\d.]+)p(?P<top_p>[\d.]+)_chat(?P<chat>True|False)"
    r"_(?P<seed>\d+)$"
)
_LIKE = re.compile(r"_in\d+_size\d+_shots\d+_samp")


class Dataset(NamedTuple):
    """A data set's name without what depends on the length: `icl_nlu`, 510 shots."""

    name: str
    number: int | None = None
    shots: int | None = None
    suffix: str = ""


class Named(Record, frozen=True):
    """What the name of a result's file tells."""

    dataset: str
    tag: str
    test: str
    length: int
    size: int
    shots: int
    seed: int
    chat: bool


def dataset(name: str) -> Dataset:
    """Return a data set's name apart from the number of tokens, documents or shots in it."""
    if match := _SHOTS.match(name):
        suffix = (match[3] or "").removeprefix("_")
        return Dataset(match[1], shots=int(match[2][:9]), suffix=suffix)
    if match := _CUT.match(name):
        return Dataset(match[1], number=int(match[2][:9]))
    return Dataset(name)


def scenario(name: str, length: int, shots: int) -> str:
    """Return the scenario of a data set at a length: `kilt_nq:length=8192,shots=2`."""
    known = dataset(name)
    given = shots if known.shots is None else known.shots
    parameters = {"length": str(length), "shots": str(given)}
    if known.suffix not in {"", "balance"}:
        parameters["variant"] = known.suffix
    return format_entry(known.name, parameters)


def simple(name: str) -> str:
    """Return what HELMET calls a data set in its tables, '' if it has no place there."""
    return next((key for key in METRICS if key in name), "")


def category(name: str) -> str:
    """Return a data set's category, '' if it is in none."""
    short = simple(name)
    return next((c for c, names in CATEGORIES.items() if short in names), "")


def group(title: str) -> str:
    """Return the name of a category's group: Re-rank is helmet_rerank."""
    return "helmet_" + title.lower().replace("-", "")


def stem(file: str) -> str:
    """Return a file's name without the ending, which is the same for all of a result."""
    for ending in (SCORE, JUDGED, RESULT):
        if file.endswith(ending):
            return file.removesuffix(ending)
    return file


def named(file: str) -> Named | None:
    """Return what a file's name tells, None if it is no such name."""
    match = _NAME.match(stem(file)[:400])
    if match is None:
        return None
    numbers = {k: match[k] for k in ("length", "size", "shots", "seed")}
    if any(len(n) > 9 for n in numbers.values()):
        return None
    return Named(
        dataset=match["dataset"],
        tag=match["tag"],
        test=match["test"],
        chat=match["chat"] == "True",
        **{k: int(n) for k, n in numbers.items()},
    )


def is_like(file: str) -> bool:
    """Return whether a file is named as HELMET names its results."""
    return bool(_LIKE.search(file))


def is_batch(file: str) -> bool:
    """Return whether a file is what HELMET sends to a batch interface, or gets from it."""
    return is_like(file) and ".json.batch" in file


def length(args: dict[str, Any]) -> int:
    """Return a prompt's length in tokens by a result's arguments, 0 if they don't say it."""
    said = args.get("input_max_length")
    if not isinstance(said, int) or isinstance(said, bool) or not 0 <= said < 2**31:
        return 0
    more = THINKING if args.get("thinking") is True else 0
    return said - more if said > more else said


def model(path: str) -> str:
    """Return a model's name: `org/name` as it is, of a path to a folder its last part."""
    clean = path.rstrip("/\\").replace("\\", "/")
    parts = clean.split("/")
    if len(parts) == 2 and parts[0] not in {"", ".", "..", "~", "models", "output"}:
        return clean
    return parts[-1] or path

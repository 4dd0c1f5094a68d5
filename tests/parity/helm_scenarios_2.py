"""HELM's side: what its classes make of a folder of data in helmsite's layout.

A case is a run entry and that folder; the answer is HELM's run spec and all instances.
What HELM would download is copied from the folder instead, what it unpacks linked.
"""

from __future__ import annotations

import gzip
import importlib
import json
import os
import pickle
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from helm.benchmark.scenarios import (  # type: ignore[import-not-found]
    ice_scenario_pinned_file_order as ice_order,
)
from instancing import run_spec, told  # type: ignore[import-not-found]

if TYPE_CHECKING:
    from collections.abc import Callable

BUNDLES = "https://worksheets.codalab.org/rest/bundles/{}/contents/blob/"
ADDRESSES = {
    "https://github.com/deepmind/narrativeqa/archive/master.zip": "narrative_qa",
    "https://s3.amazonaws.com/my89public/quac/": "quac/",
    "https://storage.googleapis.com/natural_questions/v1.0/dev/": "natural_qa/",
    BUNDLES.format(
        "0x50d32fc56ad04dd89510bf86f9c1c9d3"
    ): "msmarco/passage_document.tsv",
    BUNDLES.format(
        "0x8c43d4ec02ea48d6a727683a9676b77b"
    ): "msmarco/passage_train_topk.tsv",
    BUNDLES.format(
        "0xf5ccf54707b548f9a4c43502c6f15719"
    ): "msmarco/passage_regular_queries.tsv",
    BUNDLES.format(
        "0xbc3dfacb2b7746809e582ee01fa5fe70"
    ): "msmarco/passage_regular_topk.tsv",
    BUNDLES.format(
        "0x2e80572f93b748d594b817249013bdac"
    ): "msmarco/passage_trec_topk.tsv",
    "https://trec.nist.gov/data/deep/2019qrels-pass.txt": "msmarco/passage_trec_qrels.tsv",
    "https://raw.githubusercontent.com/nyu-mll/BBQ/main/data/": "bbq/",
    "https://raw.githubusercontent.com/amazon-research/bold/main/prompts/": "bold/",
    "https://ai2-public-datasets.s3.amazonaws.com/realtoxicityprompts/": (
        "real_toxicity_prompts/"
    ),
    "https://drive.google.com/uc?export=download&id=1uVJbsgPCHFAvH43I6SVvU3Ayo8dh-y_N": (
        "disinformation/reiteration.jsonl"
    ),
    "https://drive.google.com/uc?export=download&id=1kWB3_F4Tobc_oVGC_T-a5DHEh-AB4GTc": (
        "disinformation/wedging.jsonl"
    ),
    BUNDLES.format("0x31485f8c37ad481fb9f4e9bf7ccff6e5"): "twitter_aae/",
    BUNDLES.format("0xdee5cea197f645219093954ac7324add"): (
        "ice_scenario_pinned_file_order.json"
    ),
    "https://raw.githubusercontent.com/zhongwanjun/AR-LSAT/main/data/": "lsat_qa/",
    BUNDLES.format("0x8c3b60eb7c6b462e822a150f194d3b35"): "wikifact/",
}
MARCO = "https://msmarco.blob.core.windows.net/msmarcoranking/"
FILES = {
    f"{MARCO}queries.train.tsv": "msmarco/passage_train_queries.tsv",
    f"{MARCO}qrels.train.tsv": "msmarco/passage_train_qrels.tsv",
    f"{MARCO}qrels.dev.small.tsv": "msmarco/passage_regular_qrels.tsv",
    f"{MARCO}msmarco-test2019-queries.tsv.gz": "msmarco/passage_trec_queries.tsv.gz",
}
LAW = "https://docs.google.com/uc?export=download&id=1PVoyddrCHChMxYrLhsI-zu7Xzs5S8N77"
PICKLES = {
    "cnndm.pk": "cnn_dailymail",
    "xsum.pk": "xsum",
    "xsum-sampled.pk": "xsum_sampled",
}
FIELDS = {"cnn_dailymail": ("article", "highlights")}


def pickled(folder: Path) -> bytes:
    """Return the pickle that HELM would unpickle, in its fields."""
    article, summary = FIELDS.get(folder.name, ("document", "summary"))

    def renamed(row: dict[str, str]) -> dict[str, str]:
        text = row.get("article", row.get("document", ""))
        return {article: text, summary: row.get("highlights", row.get("summary", ""))}

    return pickle.dumps(
        {
            split: [
                renamed(json.loads(line))
                for line in (folder / split / "0000.jsonl").read_text().splitlines()
            ]
            for split in ("train", "validation", "test")
        }
    )


def download(data: Path, tags: dict[str, str]) -> Callable[..., None]:
    """Return what stands for HELM's ensure_file_downloaded."""

    def ensure(source_url: str, target_path: str, *_: Any, **__: Any) -> None:
        target = Path(target_path)
        if target.exists():
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        name = source_url.rpartition("/")[2]
        if name in PICKLES:
            target.write_bytes(pickled(data / PICKLES[name]))
            return
        if source_url == LAW:
            shutil.copytree(data / "legal_support", target / "legal_support")
            return
        source = data / place(source_url, tags)
        if source.is_dir():
            shutil.copytree(source, target)
        elif source.suffix == ".gz" and target.suffix != ".gz":
            target.write_bytes(gzip.decompress(source.read_bytes()))
        else:
            shutil.copyfile(source, target)

    return ensure


def place(url: str, tags: dict[str, str]) -> str:
    if url in FILES:
        return FILES[url]
    if url.startswith("https://drive.google.com/uc?id="):
        return f"copyright/{tags[url.partition('=')[2]].removesuffix('.json')}.json"
    for start, ours in ADDRESSES.items():
        if url.startswith(start):
            whole = not ours.endswith("/") or ours == "real_toxicity_prompts/"
            return ours if whole else f"{ours}{url.removeprefix(start)}"
    raise KeyError(url)


def answer(case: Any) -> Any:
    data = Path(case["data"]).absolute()
    spec = run_spec(case["entry"])
    module: Any = importlib.import_module(
        spec.scenario_spec.class_name.rpartition(".")[0]
    )
    tags = {v: k for k, v in getattr(module, "datatag2hash", {}).items()}
    module.ensure_file_downloaded = download(data, tags)
    ice_order.ensure_file_downloaded = module.ensure_file_downloaded
    ice_order._path_to_pinned_file_order = {}
    home = Path.cwd()
    with tempfile.TemporaryDirectory(dir=home) as folder:
        os.chdir(folder)
        restricted = Path("restricted")
        restricted.mkdir()
        (restricted / "ice").symlink_to(data / "ice")
        (restricted / "newsqa").symlink_to(data / "news_qa")
        found, _ = told(spec, lambda _: Path.cwd())
        os.chdir(home)
    for row in found["instances"]:
        row[2] = row[2] or ""
    return found


if __name__ == "__main__":
    from serving import serve  # type: ignore[import-not-found]

    serve(answer)

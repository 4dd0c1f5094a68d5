"""Datasets on the Hugging Face hub: the addresses of their files at a revision.

Nothing of a dataset is run: its files are downloaded as they are, or as the Parquet that
the hub makes of each dataset.
"""

from __future__ import annotations

import os
from urllib.parse import quote

HUB = "https://huggingface.co"
CONVERTED = "refs/convert/parquet"
"""The branch on which the hub keeps its Parquet copy of a dataset."""


def endpoint() -> str:
    """Return the address of the hub; HF_ENDPOINT names another."""
    return (os.environ.get("HF_ENDPOINT") or HUB).rstrip("/")


def file_url(repo: str, revision: str, file: str) -> str:
    """Return the address of a dataset's file at a revision (commit, tag or branch)."""
    at = f"{quote(revision, safe='')}/{quote(file)}"
    return f"{endpoint()}/datasets/{quote(repo)}/resolve/{at}"


def listing_url(repo: str, revision: str, folder: str) -> str:
    """Return the address of the list of the files of a folder at a revision."""
    at = quote(revision, safe="")
    below = f"/{quote(folder)}" if folder else ""
    return f"{endpoint()}/api/datasets/{quote(repo)}/tree/{at}{below}"


def shard_folders(config: str, split: str) -> tuple[str, ...]:
    """Return where the Parquet files of a split may be, the hub's own copy first."""
    named = config or "default"
    return (f"{named}/{split}", named, "data")


def is_shard(path: str, split: str) -> bool:
    """Return whether a path of a listing is a Parquet file of a split."""
    folder, _, name = path.rpartition("/")
    whole = folder.rpartition("/")[2] == split
    return name.endswith(".parquet") and (whole or name.startswith(f"{split}-"))

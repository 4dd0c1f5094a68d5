"""Logs as Inspect writes them, made by hand: small, and with what the samples lack."""

from __future__ import annotations

import json
import struct
import zlib
from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Json = dict[str, Any]
ZSTD = 93


def log(
    samples: Sequence[Json],
    scores: Sequence[Json] = (),
    reductions: Sequence[Json] = (),
    **header: Any,
) -> Json:
    """A log; words of `header` that belong to its object `eval` go there."""
    spec: Json = {
        "task": "sums",
        "task_id": "T1",
        "run_id": "R1",
        "created": "2026-01-02T03:04:05+00:00",
        "model": "openai/gpt-x",
        "dataset": {"name": "d", "samples": len({str(s["id"]) for s in samples})},
        "config": {"epochs": 1},
        "packages": {"inspect_ai": "0.3.285"},
        "scorers": [
            {"name": "match", "metrics": [{"name": "inspect_ai/accuracy"}]},
        ],
    }
    own = {"status", "plan", "error", "version", "results", "invalidated"}
    whole: Json = {"version": 2, "status": "success"}
    whole |= {"eval": spec | {k: v for k, v in header.items() if k not in own}}
    whole["results"] = {
        "total_samples": len(samples),
        "completed_samples": sum(not s.get("error") for s in samples),
        "scores": list(scores),
    }
    whole |= {k: v for k, v in header.items() if k in own}
    whole["stats"] = {
        "started_at": "2026-01-02T03:04:05+00:00",
        "completed_at": "2026-01-02T03:05:05+00:00",
    }
    whole["samples"] = list(samples)
    if reductions:
        whole["reductions"] = list(reductions)
    return whole


def sample(name: str | int, value: Any = "C", epoch: int = 1, **more: Any) -> Json:
    """A sample that was asked `q`, answered `a` and scored by `match`."""
    message = {"role": "assistant", "content": "a", "source": "generate"}
    return {
        "id": name,
        "epoch": epoch,
        "input": "q",
        "target": "a",
        "messages": [{"role": "user", "content": "q", "source": "input"}, message],
        "output": {
            "model": "gpt-x",
            "choices": [{"message": message, "stop_reason": "stop"}],
            "completion": "a",
            "usage": {"input_tokens": 3, "output_tokens": 1, "total_tokens": 4},
            "time": 0.5,
        },
        "scores": {"match": {"value": value, "answer": "a"}},
        **more,
    }


def failed(name: str | int, message: str = "it broke", epoch: int = 1) -> Json:
    """A sample that ended in an error."""
    return {
        **sample(name, epoch=epoch),
        "messages": [{"role": "user", "content": "q", "source": "input"}],
        "output": {"model": "gpt-x", "choices": [], "completion": ""},
        "scores": {},
        "error": {"message": message, "traceback": "...", "traceback_ansi": "..."},
    }


def result(metrics: Mapping[str, float], name: str = "match", **more: Any) -> Json:
    """What Inspect says of a scorer."""
    return {
        "name": name,
        "scorer": name,
        "metrics": {k: {"name": k, "value": v} for k, v in metrics.items()},
        **more,
    }


def packed(whole: Json, *, header: bool = True) -> bytes:
    """A log as `.eval` has it; without a header it is one of a run that was killed."""
    start = {"version": 2, "eval": whole["eval"], "plan": whole.get("plan", {})}
    members: dict[str, Any] = {"_journal/start.json": start}
    for each in whole["samples"]:
        members[f"samples/{each['id']}_epoch_{each['epoch']}.json"] = each
    if header:
        if "reductions" in whole:
            members["reductions.json"] = whole["reductions"]
        members["header.json"] = {
            k: v for k, v in whole.items() if k not in {"samples", "reductions"}
        }
    return zipped({k: json.dumps(v).encode() for k, v in members.items()})


def zipped(
    members: Mapping[str, bytes],
    sizes: Mapping[str, int] | None = None,
    places: Mapping[str, int] | None = None,
) -> bytes:
    """A zip whose members are packed by zstd.

    `sizes` lie about what they unpack to, `places` about where they begin.
    """
    body, directory = b"", b""
    for name, raw in members.items():
        blob = pa.compress(raw, "zstd", asbytes=True)
        size = (sizes or {}).get(name, len(raw))
        facts = struct.pack("<IIIHH", zlib.crc32(raw), len(blob), size, len(name), 0)
        common = struct.pack("<HHHHH", 63, 0, ZSTD, 0, 33) + facts
        place = (places or {}).get(name, len(body))
        entry = struct.pack("<HHHII", 0, 0, 0, 0, place) + name.encode()
        directory += b"PK\x01\x02" + struct.pack("<H", 63) + common + entry
        body += b"PK\x03\x04" + common + name.encode() + blob
    count = len(members)
    end = struct.pack("<HHHHIIH", 0, 0, count, count, len(directory), len(body), 0)
    return body + directory + b"PK\x05\x06" + end

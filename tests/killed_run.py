"""A run that tests kill: a real n-gram model, slowed down, that logs what it answers.

Usage: killed_run.py PROJECT ARCHIVE LOG [PAUSE_S]
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from helmsite import clients
from helmsite.archive import Archive
from helmsite.clients.ngram import NGram
from helmsite.config import load_project
from helmsite.executors import LocalExecutor
from helmsite.run import Runner

if TYPE_CHECKING:
    from helmsite.schema import Completion, Request


class Logging(NGram):
    """Writes a line for every request before it is answered."""

    log = Path(sys.argv[3])
    pause_s = float(sys.argv[4]) if len(sys.argv) > 4 else 0.0

    def complete(self, request: Request) -> list[Completion]:
        with self.log.open("a", encoding="utf-8") as file:
            file.write(f"{request.key}\n")
        time.sleep(self.pause_s)
        return super().complete(request)


def create(kind: str, name: str, settings: dict[str, object]) -> NGram:
    assert kind == "ngram"
    return Logging.from_settings(name, settings)


def main() -> None:
    clients.create = create  # type: ignore[assignment]
    project = load_project(Path(sys.argv[1]))
    runner = Runner(project, Archive(sys.argv[2]), LocalExecutor(workers=2))
    runner.run(project.suite("first"))


if __name__ == "__main__":
    main()

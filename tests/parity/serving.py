"""The side of a comparison that runs in HELM's environment: cases in, answers out.

A script `helm_<part>.py` defines a function from a case to an answer, both plain JSON,
and ends with `serve(answer)`. Run by HELM's Python, it imports nothing of helmsite.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def serve(answer: Callable[[Any], Any]) -> None:
    """Answer each line of standard input with a line: {"answer": ...} or {"error": ...}.

    What HELM prints goes to standard error, so that it cannot stand among the answers.
    """
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as out:
        os.dup2(2, 1)
        for line in sys.stdin.buffer:
            try:
                reply = {"answer": answer(json.loads(line))}
            except Exception as error:  # noqa: BLE001 - told to the test, which decides
                trace = traceback.format_exc()
                reply = {"error": f"{type(error).__name__}: {error}", "trace": trace}
            out.write(json.dumps(reply) + "\n")
            out.flush()

"""The text index: what instances and completions say, in scripts to be searched.

A shard holds some hundred rows of one kind of text (inputs with their references, or
completions) as a classic script `search/<16 hex>.js` of the site. Its name is a digest of
what it holds: the inputs of a scenario are the same in all its runs, so equal shards of
many runs are one file. These files lie outside of the run's folder, and several runs may
write the same one; `write` gets each of them, so a record of what a run consists of must
list them too. The run's score index says which shards it has (`TextIndex.manifest`).
"""

from __future__ import annotations

import hashlib
import unicodedata
from typing import TYPE_CHECKING, Any

import msgspec

from helmsite.render.text import HEAD, LONG, TAIL
from helmsite.render.tokens import script_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from helmsite.query.rows import InstanceView, TrialView

ROWS, CHARACTERS = 500, 1_000_000
REFERENCE = 2_000
FOLDER = "search"


def shard(name: str) -> str:
    """Return the path of a shard in the site."""
    return f"{FOLDER}/{name}.js"


class TextIndex:
    """Collects the texts of a run's rows and writes full shards to `write(path, bytes, sha256)`."""

    def __init__(self, write: Callable[[str, bytes, str], None]) -> None:
        self._inputs = _Shards(write)
        self._completions = _Shards(write)

    def add(self, view: InstanceView) -> None:
        """Add a row."""
        instance = view.instance
        whole = instance.input
        if instance.messages:
            said = [m.content for m in instance.messages if m.content]
            whole = "\n\n".join([*said, whole] if whole else said)
        entry: list[Any] = [_shown(whole)]
        entry += [_plain(r.text[:REFERENCE]) for r in instance.references]
        size = sum(map(len, entry))
        self._inputs.add(entry if whole or instance.references else [], size)
        answers, size = [], 0
        for trial in view.trials:
            for answer in _answers(trial):
                answers.append(answer)
                size += sum(map(len, answer[1:]))
        self._completions.add(answers, size)

    def manifest(self) -> dict[str, Any]:
        """Write what is left and return the names, rows and bytes of the shards.

        A shard without any text has no file and the name ''.
        """
        return {
            "inputs": self._inputs.finish(),
            "completions": self._completions.finish(),
        }


class _Shards:
    def __init__(self, write: Callable[[str, bytes, str], None]) -> None:
        self._write = write
        self._entries: list[list[Any]] = []
        self._size = 0
        self._names: list[str] = []
        self._rows: list[int] = []
        self._bytes = 0

    def add(self, entry: list[Any], size: int) -> None:
        """Add a row's entry of so many characters."""
        if len(self._entries) == ROWS or self._size > CHARACTERS:
            self._flush()
        self._entries.append(entry)
        self._size += size

    def finish(self) -> dict[str, Any]:
        if self._entries:
            self._flush()
        return {"names": self._names, "rows": self._rows, "bytes": self._bytes}

    def _flush(self) -> None:
        name = ""
        if any(self._entries):
            blob = _encoded(self._entries)
            # The name stands behind the texts, so that these are hashed but once.
            script = b"helmsite.texts(%s" % blob
            known = hashlib.sha256(script)
            name = known.hexdigest()[:16]
            end = b',"%s");\n' % name.encode()
            known.update(end)
            script += end
            self._write(shard(name), script, known.hexdigest())
            self._bytes += len(script)
        self._names.append(name)
        self._rows.append(len(self._entries))
        self._entries, self._size = [], 0


def _answers(trial: TrialView) -> Iterator[list[Any]]:
    """Yield what a trial's completions say: [trial, completion, reasoning if any].

    Given continuations are left out: they are the references or the input again.
    """
    for view in trial.requests:
        if view.request.score_start is not None:
            continue
        for reply in view.replies:
            text, reasoning = reply.completion.text, reply.completion.reasoning
            if reasoning:
                yield [trial.trial, _shown(text), _shown(reasoning)]
            elif text:
                yield [trial.trial, _shown(text)]


def _shown(text: str) -> str:
    """Return what a page shows of a text: of a long one its head and its tail."""
    if len(text) > LONG:
        text = f"{text[:HEAD]}\n…\n{text[-TAIL:]}"
    return _plain(text)


def _plain(text: str) -> str:
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def _encoded(entries: list[list[Any]]) -> bytes:
    """Return JSON that is safe inside any script."""
    try:
        blob = msgspec.json.encode(entries)
    except UnicodeEncodeError:  # half a surrogate pair: written as an escape
        return script_json(entries).encode()
    blob = blob.replace(b"<", b"\\u003c")
    if b"\xe2" not in blob:  # found at once, where one of three bytes takes its time
        return blob
    return blob.replace(b"\xe2\x80\xa8", b"\\u2028").replace(
        b"\xe2\x80\xa9", b"\\u2029"
    )

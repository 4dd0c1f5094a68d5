"""What rows of samples are held against: the harness's hashes, and its own formulas."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from helmsite.importers.lm_eval.requests import Asked
    from helmsite.importers.values import Row

HASHES = ("doc_hash", "prompt_hash", "target_hash")
EXACT = 1e-9
PRINTED = 1e-6
"""numpy prints eight digits."""

FEW = 3
_NUMBERS = re.compile(r"[^\s\[\],]+")


def sha256(text: str) -> str:
    """Return the SHA-256 of a text, in hex."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def doc_hash(doc: Any) -> str:
    """Return the harness's hash of a document."""
    return sha256(json.dumps(doc, indent=2, ensure_ascii=False))


class Told(NamedTuple):
    """Sentences on what was found to hold, and on what was not."""

    verified: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass
class Hashes:
    """The hashes of a run's rows, computed anew: how many hold, and rows where not."""

    held: Counter[str] = field(default_factory=Counter)
    broken: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    _whole: Any = field(default_factory=hashlib.sha256)

    def take(self, row: Row, number: int, prompt: Any, digest: str) -> tuple[str, ...]:
        """Return the hashes that hold of the row with a number.

        Args:
            row: the row.
            number: its number in the file, from 1.
            prompt: the context of its first request.
            digest: the hash of its document.
        """
        right = []
        target = row.get("target")
        written = target if isinstance(target, str) else str(target)
        texts = (digest, sha256(str(prompt)), sha256(written))
        for name, here in zip(HASHES, texts, strict=True):
            said = row.get(name)
            if isinstance(said, str):
                self._whole.update(said.encode("utf-8", "surrogatepass"))
                if said == here:
                    self.held[name] += 1
                    right.append(name)
                else:
                    self.broken[name].append(number)
        return tuple(right)

    def told(self, task_hash: Any) -> Told:
        """Return which hashes hold, and a sentence on each that does not."""
        if not self.held and not self.broken:
            return Told()
        held = [name for name in HASHES if self.held[name] and not self.broken[name]]
        warnings = [
            f"{name} does not hold for {_rows(lines)}: the samples were changed after the "
            "run, or written by a fork of the harness."
            for name, lines in self.broken.items()
            if lines
        ]
        if isinstance(task_hash, str) and self._whole.hexdigest() == task_hash:
            held.append("task_hashes")
        elif isinstance(task_hash, str):
            warnings.append(
                "task_hashes does not hold: the samples are not all, or not those, of "
                "these results."
            )
        named = f"Hashes that hold, computed anew: {', '.join(held)}."
        return Told((named,) if held else (), tuple(warnings))


def _rows(lines: Sequence[int]) -> str:
    shown = ", ".join(map(str, lines[:FEW]))
    more = f" and {len(lines) - FEW} more" if len(lines) > FEW else ""
    return f"{'row' if len(lines) == 1 else 'rows'} {shown}{more}"


@dataclass
class Formulas:
    """Values of rows, computed anew from log-likelihoods; rows where they differ.

    `strange` has the metrics of which a row is not explained by the harness's fault either.
    """

    held: dict[str, None] = field(default_factory=dict)
    broken: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    strange: set[str] = field(default_factory=set)

    def take(
        self, name: str, number: int, *, is_right: bool, is_strided: bool = False
    ) -> None:
        """Take whether a metric's value is right in the row with a number.

        Args:
            name: of the metric.
            number: of the row.
            is_right: whether the value is what the log-likelihoods give.
            is_strided: whether it is what every second of them gives.
        """
        if is_right:
            self.held[name] = None
        else:
            self.broken[name].append(number)
        if not is_strided:
            self.strange.add(name)

    def told(self) -> Told:
        """Return which values are right, and sentences on those that are not."""
        right = [name for name in self.held if not self.broken[name]]
        wrong = [name for name, numbers in self.broken.items() if numbers]
        strided = [name for name in wrong if name not in self.strange]
        named = f"Values that the log-likelihoods give again: {', '.join(right)}."
        warnings = [
            f"{name} is not what the log-likelihoods give for {_rows(self.broken[name])}."
            for name in wrong
            if name in self.strange
        ]
        if strided:
            warnings.append(
                f"{', '.join(strided)}: the harness took every second log-likelihood, "
                "with and without context mixed. Before 0.4.9 it does so in tasks with "
                "acc_mutual_info; the values are not those of the model."
            )
        return Told((named,) if right else (), tuple(warnings))


@dataclass(frozen=True)
class Question:
    """A row whose values can be computed: choices, the right ones, what the model says.

    Attributes:
        said: the log-likelihood of each choice, None if there is none.
        free: the same without a context; empty if that was not asked.
        greedy: whether each choice is what the model would say.
        texts: the choices.
        gold: the places of the right ones.
    """

    said: tuple[float | None, ...]
    free: tuple[float | None, ...]
    greedy: tuple[bool, ...]
    texts: tuple[str, ...]
    gold: tuple[int, ...]

    @classmethod
    def of(
        cls, asked: Asked, texts: tuple[str, ...], gold: tuple[int, ...]
    ) -> Question:
        """Return what a row's requests say of its choices."""
        count, found = len(texts), asked.likelihoods
        return cls(
            tuple(each.logprob for each in found[:count]),
            tuple(each.logprob for each in found[count:]),
            tuple(bool(each.greedy) for each in found[:count]),
            texts,
            gold,
        )

    @property
    def strided(self) -> Question | None:
        """What the harness took it for before 0.4.9, None where nothing was calibrated."""
        if len(self.free) != len(self.texts):
            return None
        mixed = (*self.said, *self.free)
        return replace(self, said=mixed[::2], free=mixed[1::2])

    @property
    def gains(self) -> list[float | None]:
        """What a choice's log-likelihood gains from the context."""
        if len(self.free) != len(self.texts):
            return []
        pairs = zip(self.said, self.free, strict=True)
        return [None if a is None or b is None else a - b for a, b in pairs]

    def right(self, values: Sequence[float | None]) -> float | None:
        """Return 1 if the first largest value is of a right choice, else 0."""
        known = [v for v in values if v is not None]
        if not values or len(known) < len(values):
            return None
        return float(known.index(max(known)) in self.gold)

    def over(self, lengths: Sequence[int]) -> float | None:
        """Return whether the right choice is first by log-likelihood over length."""
        if not all(lengths):
            return None
        pairs = zip(self.said, lengths, strict=True)
        return self.right([None if v is None else v / n for v, n in pairs])

    def probabilities(self) -> list[float] | None:
        """Return the probabilities of the choices among each other."""
        known = [v for v in self.said if v is not None]
        if not known or len(known) < len(self.texts):
            return None
        largest = max(known)
        raised = [math.exp(v - largest) for v in known]
        total = sum(raised)
        return [each / total for each in raised]


def brier(probabilities: Sequence[float], gold: int) -> float | None:
    """Return the squared distance of probabilities from the right answer, if finite."""
    gaps = (p - (n == gold) for n, p in enumerate(probabilities))
    found = sum(gap * gap for gap in gaps)
    return found if math.isfinite(found) else None


COMPUTED: dict[str, Callable[[Question], float | None]] = {
    "acc": lambda q: q.right(q.said),
    "acc_norm": lambda q: q.over([len(t) for t in q.texts]),
    "acc_bytes": lambda q: q.over([len(t.encode()) for t in q.texts]),
    "acc_mutual_info": lambda q: q.right(q.gains),
    "exact_match": lambda q: float(any(q.greedy[n] for n in q.gold)),
}
"""The metrics of multiple choice that a row's log-likelihoods give, but brier_score."""


def printed(text: Any) -> list[float] | None:
    """Return the numbers of an array as numpy prints it; a list of numbers as it is."""
    parts = text if isinstance(text, list) else _NUMBERS.findall(str(text))
    try:
        return [float(part) for part in parts]
    except (TypeError, ValueError):
        return None


def near(one: float, other: float, tolerance: float = EXACT) -> bool:
    """Return whether two numbers are equal, but for rounding."""
    return math.isclose(one, other, rel_tol=tolerance, abs_tol=tolerance)


def alike(printed: Sequence[float], exact: Sequence[float]) -> bool:
    """Return whether numbers are what was printed, as far as it was."""
    pairs = zip(printed, exact, strict=False)
    return len(printed) == len(exact) and all(near(a, b, PRINTED) for a, b in pairs)


def standard_error(values: Sequence[float]) -> float | None:
    """Return the standard error of a mean: the sample's deviation over the root of n."""
    n = len(values)
    if n < 2:
        return None
    mean = sum(values) / n
    return math.sqrt(sum((v - mean) ** 2 for v in values) / (n - 1)) / math.sqrt(n)


def lies(ids: Sequence[int]) -> bool:
    """Return whether documents' numbers cannot be trusted.

    Called with `--samples` out of order, the harness numbers documents in that order but
    takes them in the data's. Several processes take turns, each in order: that is sound.
    """
    runs: list[list[int]] = []
    for each in ids:
        if not runs or each <= runs[-1][-1]:
            runs.append([])
        runs[-1].append(each)
    count = len(runs)
    places = [run[0] % count for run in runs]
    shared = all(
        n % count == place for run, place in zip(runs, places, strict=True) for n in run
    )
    return count > 1 and not (shared and len(set(places)) == count)


def of_text(name: str, said: Any, found: Asked) -> bool | None:
    """Return whether a row's value for one text is right; None if it cannot be known."""
    if len(found.likelihoods) != 1 or found.likelihoods[0].logprob is None:
        return None
    logprob, greedy = found.likelihoods[0]
    text = found.arguments[0][0]
    known: dict[tuple[str, str], list[Any]] = {
        ("loglikelihood", "perplexity"): [logprob],
        ("loglikelihood", "acc"): [bool(greedy)],
        ("rolling", "word_perplexity"): [logprob, len(re.split(r"\s+", text))],
        ("rolling", "byte_perplexity"): [logprob, len(text.encode())],
        ("rolling", "bits_per_byte"): [logprob, len(text.encode())],
    }
    expected = known.get((found.kinds[0], name), [])
    if not expected:
        return None
    parts = said if isinstance(said, list) else [said]
    pairs = zip(parts, expected, strict=False)
    return len(parts) == len(expected) and all(_equal(a, b) for a, b in pairs)


def _equal(said: Any, here: float) -> bool:
    try:
        return near(float(said), here)
    except (TypeError, ValueError, OverflowError):
        return False

"""Rows of samples → instances, replies and scores; rows of one document are joined."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from msgspec import structs

from helmsite.errors import SourceError
from helmsite.importers import reading
from helmsite.importers.lm_eval import checks, docs, metrics
from helmsite.importers.lm_eval.requests import asked, reply_to
from helmsite.importers.lm_eval.task import generation
from helmsite.importers.packed import Packed
from helmsite.importers.values import plain
from helmsite.schema import CORRECT_TAG, Instance, Reference, Score

if TYPE_CHECKING:
    from helmsite.importers.lm_eval.requests import Asked
    from helmsite.importers.lm_eval.rows import Samples
    from helmsite.importers.lm_eval.task import Task
    from helmsite.importers.values import Row
    from helmsite.schema import AdapterSpec

COMMON = (
    *("doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter"),
    *("metrics", *checks.HASHES),
)


@dataclass
class _Document:
    """A document, of which there is a row for each filter."""

    instance_id: str
    position: int
    text: str
    references: tuple[Reference, ...]
    asked: Asked
    question: checks.Question | None
    extra: dict[str, Any]
    filters: set[str] = field(default_factory=set)

    def instance(self, split: str) -> Instance:
        return Instance(
            self.instance_id,
            self.text,
            self.references,
            position=self.position,
            split=split,
            extra=self.extra,
        )


class Documents:
    """Takes rows, and has what an archive holds of them.

    Args:
        task: what is known of the task.
        trusted: whether the documents' numbers are those of the data.
    """

    def __init__(self, task: Task, *, trusted: bool) -> None:
        self._task, self.trusted = task, trusted
        self._known: dict[tuple[str, str, str], list[_Document]] = defaultdict(list)
        self._ids: dict[str, int] = defaultdict(int)
        self._documents: list[_Document] = []
        self._scores: list[Score] = []
        self.adapter: AdapterSpec | None = None
        self.usual: dict[str, Any] = {}
        self.replies = Packed()
        self.filters: dict[str, None] = {}
        self.hashes = checks.Hashes()
        self.formulas = checks.Formulas()
        self.rows = 0

    @property
    def instances(self) -> list[Instance]:
        """The documents, in the order of the file."""
        made = [each.instance(self._task.split) for each in self._documents]
        groups = docs.groups([each.extra.get("doc") for each in made])
        if not groups:
            return made
        return [
            structs.replace(
                each, attributes={k: (values[n],) for k, values in groups.items()}
            )
            for n, each in enumerate(made)
        ]

    def scores(self, several: bool) -> list[Score]:
        """Return the verdicts; a filter is a scorer where there are several."""
        if several:
            return self._scores
        return [structs.replace(each, scorer="") for each in self._scores]

    def rule(self, metric: str) -> metrics.Rule:
        """Return how the rows of a metric become one value."""
        return metrics.rule(metric, self._task.config)

    def read(self, samples: Samples) -> None:
        """Take all rows; those that are not what the harness writes are left out.

        Raises:
            SourceError: there is none that can be read.
        """
        for number, row in samples:
            try:
                self._take(number, row)
            except SourceError as error:
                samples.skip(error)
            except RecursionError:
                samples.skip(row.place.error(reading.DEEP))
        samples.end(self.rows)

    def _take(self, number: int, row: Row) -> None:
        doc, said = row.get("doc"), row.get("doc_id")
        digest = checks.doc_hash(doc)
        responses = checks.sha256(json.dumps([row.get("arguments"), row.get("resps")]))
        kept = row.text("filter", "")
        same = self._known[str(said), digest, responses]
        kept = kept or self._next_filter(len(same), same)
        document = next((d for d in same if kept not in d.filters), None)
        if document is None:
            document = self._begin(number, row, doc, digest)
            same.append(document)
        else:
            self._also(document, kept, row)
        context = document.asked.arguments[0][0]
        held = self.hashes.take(row, number, context, digest)
        self._keep_hashes(document, kept, row, held)
        document.filters.add(kept)
        self.filters[kept] = None
        self.rows += 1
        self._judge(number, row, document, kept)

    def _next_filter(self, count: int, same: list[_Document]) -> str:
        """Return the filter of a row that names none: before 0.4.7 they come in order."""
        names = self._task.filters
        used = len(same[-1].filters) if count else 0
        return names[used % len(names)]

    def _begin(self, number: int, row: Row, doc: Any, digest: str) -> _Document:
        """Make a document from its first row, with its requests and replies."""
        found = asked(row, self._task.output_type)
        if self.adapter is None:
            self.adapter, self.usual = self._task.adapter(found), generation(found)
        identifier = self._identifier(row, number, digest)
        reply_to(found, row, identifier, self.adapter, self.usual)
        document = self._document(row, doc, found, identifier)
        extra = row.rest(*COMMON, *_names(row))
        extra |= {"doc_id": plain(row.get("doc_id")), "doc": plain(doc)}
        extra["target"] = plain(row.get("target"))
        document.extra = {k: v for k, v in extra.items() if v is not None}
        self._documents.append(document)
        self.replies.add(found.replies)
        found.replies = []
        return document

    def _identifier(self, row: Row, number: int, digest: str) -> str:
        said = row.get("doc_id")
        if not self.trusted:
            base = f"doc-{digest[:12]}"
        elif isinstance(said, (int, str)) and not isinstance(said, bool):
            base = str(said)
        else:
            base = f"row-{number}"
        self._ids[base] += 1
        count = self._ids[base]
        return base if count == 1 else f"{base}#{count}"

    def _document(self, row: Row, doc: Any, found: Asked, identifier: str) -> _Document:
        config, target = self._task.config, row.get("target")
        context = found.arguments[0][0]
        question = None
        if found.choices:
            choices = found.arguments[: found.choices]
            texts = docs.choices(doc, config, choices)
            right = docs.gold(target, texts)
            is_known = True
            if docs.has_inputs(choices):
                right = docs.input_gold(doc, config, len(texts))
                is_known = bool(right)
                right = right or _inferred(row, found)
            references = tuple(
                Reference(text, (CORRECT_TAG,) if n in right else ())
                for n, text in enumerate(texts)
            )
            if is_known and not self._task.has_own_code:
                question = checks.Question.of(found, tuple(texts), right)
            text = docs.text(doc, config, context)
        elif "rolling" in found.kinds:
            references, text = (), context
        else:
            right_ones = docs.targets(target, doc)
            references = tuple(Reference(t, (CORRECT_TAG,)) for t in right_ones)
            text = docs.text(doc, config, context)
        return _Document(
            identifier, len(self._documents), text, references, found, question, {}
        )

    def _also(self, document: _Document, kept: str, row: Row) -> None:
        """Keep what a later filter's row says that the first one did not."""
        extra = {
            key: value
            for key, value in row.rest(*COMMON, *_names(row)).items()
            if document.extra.get(key) != value
        }
        if extra:
            document.extra.setdefault("by_filter", {})[kept] = extra

    @staticmethod
    def _keep_hashes(
        document: _Document, kept: str, row: Row, held: tuple[str, ...]
    ) -> None:
        """Keep hashes that cannot be computed from what is kept of a row.

        Those are the ones that do not hold, and the document's: its fields come back sorted.
        """
        known = {n for n in held if n != "doc_hash"}
        said = {n: plain(row.get(n)) for n in checks.HASHES if n in row}
        wrong = {n: value for n, value in said.items() if n not in known}
        wrong = {n: v for n, v in wrong.items() if document.extra.get(n) != v}
        if wrong and not document.filters:
            document.extra |= wrong
        elif wrong:
            document.extra.setdefault("by_filter", {}).setdefault(kept, {}).update(
                wrong
            )

    def _judge(self, number: int, row: Row, document: _Document, kept: str) -> None:
        text, details = _filtered(row, document.asked)
        names = [n for n in _names(row) if n != metrics.BYPASS]
        if not names and (text or details):
            said = document.extra.setdefault("filtered_resps", {})
            said[kept] = plain(row.get("filtered_resps"))
        for name in names:
            applied = metrics.rule(name, self._task.config)
            found = metrics.verdict(row.get(name), applied, row.at(name))
            if name == "brier_score":
                found = self._brier(number, row, document, found)
            elif not self._task.has_own_code:
                self._compute(number, name, row, document, found)
            self._scores.append(
                Score(
                    document.instance_id,
                    name,
                    found.value,
                    scorer=kept,
                    weight=found.weight,
                    text=text,
                    details={**found.details, **details},
                    origin="reported",
                    missing=found.missing,
                )
            )

    def _brier(
        self, number: int, row: Row, document: _Document, found: metrics.Verdict
    ) -> metrics.Verdict:
        """Return a Brier score; the row has the right choice and the probabilities."""
        said = row.get("brier_score")
        if not isinstance(said, list) or len(said) != 2 or not isinstance(said[0], int):
            return found
        gold, shown = said[0], checks.printed(said[1])
        details = {"value": plain(said)}
        if not shown or not 0 <= gold < len(shown):
            return metrics.Verdict(None, missing="not measurable", details=details)
        if not all(map(math.isfinite, shown)):
            return metrics.Verdict(None, missing="nan", details=details)
        exact = shown
        question = document.question
        here = question.probabilities() if question else None
        if question and here:
            strided = question.strided
            mixed = (strided.probabilities() or []) if strided else []
            right, other = checks.alike(shown, here), checks.alike(shown, mixed)
            exact = here if right else mixed if other else shown
            self.formulas.take("brier_score", number, is_right=right, is_strided=other)
        value = checks.brier(exact, gold)
        if value is None:
            return metrics.Verdict(None, missing="not measurable", details=details)
        return metrics.Verdict(value, details=details)

    def _compute(
        self,
        number: int,
        name: str,
        row: Row,
        document: _Document,
        found: metrics.Verdict,
    ) -> None:
        """Compute a row's value anew from its log-likelihoods, where they give it."""
        question, formula = document.question, checks.COMPUTED.get(name)
        if question is None or formula is None:
            is_right = checks.of_text(name, row.get(name), document.asked)
            if is_right is not None:
                self.formulas.take(name, number, is_right=is_right)
            return
        here, strided = formula(question), question.strided
        if here is not None and found.value is not None:
            other = formula(strided) if strided else None
            self.formulas.take(
                name,
                number,
                is_right=checks.near(here, found.value),
                is_strided=other is not None and checks.near(other, found.value),
            )


def _inferred(row: Row, found: Asked) -> tuple[int, ...]:
    """Return the right choice as far as a row's accuracy tells it.

    Where choices are put into contexts, as Winogrande's are, rows do not say which is right.
    """
    said = [each.logprob for each in found.likelihoods[: found.choices]]
    known = [each for each in said if each is not None]
    verdict = metrics.verdict(row.get("acc"), "mean", row.at("acc")).value
    if verdict not in (0, 1) or len(known) < len(said):
        return ()
    best = known.index(max(known))
    if verdict == 1:
        return (best,)
    return (1 - best,) if len(known) == 2 else ()


def _names(row: Row) -> list[str]:
    """Return the names of a row's metrics; before 0.4.7 they are all that is left."""
    said = row.get("metrics")
    if isinstance(said, list):
        return [name for name in said if isinstance(name, str) and name in row.value]
    return [name for name in row if name not in COMMON]


def _filtered(row: Row, found: Asked) -> tuple[str, dict[str, Any]]:
    """Return the answer that was judged, and the filtered responses if they are no text."""
    said = row.get("filtered_resps")
    if said is None or said == [r[0] if r else None for r in found.responses]:
        alone = isinstance(said, list) and len(said) == 1 and isinstance(said[0], str)
        is_text = alone and "generation" in found.kinds
        return (said[0] if is_text and said else ""), {}
    if isinstance(said, list) and len(said) == 1 and isinstance(said[0], str):
        return said[0], {}
    return "", {"filtered_resps": plain(said)}

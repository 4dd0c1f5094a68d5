"""Instances as articles: what was asked, what came back, how it was judged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from markupsafe import Markup
from msgspec import structs

from helmsite.render import diff, formats, turns
from helmsite.render.blocks import (
    Article,
    Clip,
    ReferenceView,
    ReplyBlock,
    RequestBlock,
    Said,
    Shared,
    TrialBlock,
    Verdict,
)
from helmsite.render.names import anchor
from helmsite.render.options import CALIBRATED, OPTION_METHODS, options, rule
from helmsite.render.parts import Link
from helmsite.render.prompts import SHORT, Above, Prompts, clip
from helmsite.render.text import LONG, blank, edged, plain, text_name, visible
from helmsite.render.tokens import tokens
from helmsite.render.verdicts import OUTCOMES, Verdicts, outcome, short
from helmsite.schema import CORRECT_TAG
from helmsite.schema.records import ORIGINAL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from helmsite.query.rows import (
        InstanceView,
        ReplyView,
        RequestView,
        RunSummary,
        TrialView,
    )
    from helmsite.schema import Instance, Message, Reference, Request

REFERENCE = 2_000
CORRECT = (CORRECT_TAG,)
RANKING = "ranking_binary"
BEGINNING = 60
NOTHING = Clip(Markup(), 0)
UNKEPT = ReplyBlock("Completion", NOTHING, (), (), error="no reply is kept")


class Articles:
    """Makes articles of one run, each original before its perturbed twins.

    Long texts go to `keep(name, text)`; shared beginnings of prompts collect until a
    page takes them.
    """

    def __init__(self, run: RunSummary, keep: Callable[[str, str], None]) -> None:
        manifest, main = run.manifest, run.main_metric
        self._split = manifest.scenario.main_split
        self._main = main
        facts = {m.name: m for m in manifest.metrics}
        self._verdicts = Verdicts(facts, main.name if main else "")
        self._method = manifest.spec.adapter.method
        self._keep = keep
        self._prompts = Prompts(self._store)
        self._original: InstanceView | None = None
        self._beside = False  # whether the original is on this page
        self._above = Above("", "")

    def take_shared(self) -> tuple[Shared, ...]:
        """Return the shared beginnings since the last call, in order of use."""
        return self._prompts.take_shared()

    def turn_page(self) -> None:
        """Say that what follows is on another page than the last original."""
        self._beside = False

    def article(
        self, view: InstanceView, twins: Sequence[InstanceView] = ()
    ) -> Article:
        """Return an instance's article.

        Args:
            view: an original, or a perturbed twin of the last original.
            twins: the perturbed versions of an original, so that what they change is
                marked in it too.
        """
        instance = view.instance
        if not instance.perturbation:
            self._original, self._beside = view, True
        original = self._original_of(view)
        name = anchor(instance.instance_id, instance.perturbation)
        self._above = Above(instance.input, name)
        outcomes = self._outcomes(view)
        was = self._outcomes(original) if original else ()
        return Article(
            anchor=name,
            title=instance.instance_id,
            outcomes=outcomes,
            chips=self._chips(instance),
            perturbation=instance.perturbation,
            input=self._input(view, original, twins),
            input_label="Input" if instance.input else "Input (empty)",
            messages=self._asked(instance),
            references=tuple([self._reference(r) for r in instance.references]),
            trials=tuple([self._trial(t, view) for t in view.trials]),
            state=_state(view, outcomes),
            original=anchor(instance.instance_id) if original and self._beside else "",
            was=() if was == outcomes else was,
            twins=tuple([self._twin(t, outcomes) for t in twins]),
        )

    def all(self, views: Sequence[InstanceView]) -> list[Article]:
        """Return the articles of instances, each original with its twins after it."""
        made = []
        for view in views:
            key = view.instance.instance_id
            twins = [
                v for v in views if v is not view and v.instance.instance_id == key
            ]
            made.append(self.article(view, () if view.instance.perturbation else twins))
        return made

    def _original_of(self, twin: InstanceView) -> InstanceView | None:
        """Return a twin's original where it came before, else None."""
        known = self._original
        if known is None or known is twin:
            return None
        same = known.instance.instance_id == twin.instance.instance_id
        return known if same else None

    def _outcomes(self, view: InstanceView) -> tuple[Verdict, ...]:
        return tuple([short(*outcome(t, self._main)) for t in view.trials])

    def _chips(self, instance: Instance) -> tuple[str, ...]:
        found = []
        if instance.split not in ("", self._split):
            found.append(f"split {instance.split}")
        if instance.sub_split:
            found.append(instance.sub_split)
        for dimension, names in sorted(instance.attributes.items()):
            found.append(f"{dimension}: {', '.join(names)}")
        return tuple(found)

    def _twin(self, twin: InstanceView, own: tuple[Verdict, ...]) -> Link:
        instance, now = twin.instance, self._outcomes(twin)
        words = ", ".join(v.word for v in now) if now != own else ""
        href = f"#{anchor(instance.instance_id, instance.perturbation)}"
        return Link(plain(instance.perturbation), href, words)

    def _input(
        self,
        view: InstanceView,
        original: InstanceView | None,
        twins: Sequence[InstanceView],
    ) -> Clip:
        """Return the input, marked where twins and original differ."""
        text, messages = view.instance.input, view.instance.messages
        if messages and any(m.content == text for m in messages):
            return NOTHING  # it stands there
        if len(text) > LONG or not (twins or original):
            return self._clip(text)
        if original:
            spans = diff.changes(original.instance.input, text).second
        else:
            texts = [t.instance.input for t in twins]
            found = {s for other in texts for s in diff.changes(text, other).first}
            spans = diff.united(found)
        return Clip(diff.marked(text, spans), len(text))

    def _asked(self, instance: Instance) -> tuple[Said, ...]:
        if not instance.messages:
            return ()
        own = iter(instance.messages)
        found = []
        for turn in turns.messages(instance.messages, self._clip):
            same = turn.kind != "call" and next(own).content == instance.input != ""
            found.append(structs.replace(turn, kind="input") if same else turn)
        return tuple(found)

    def _trial(self, trial: TrialView, view: InstanceView) -> TrialBlock:
        separate = self._method in OPTION_METHODS
        requests = trial.requests
        said = _said(requests[0], requests[0].replies[0]) if _single(trial) else ()
        shown, more = self._verdicts.of(trial.scores, said)
        label = f"Trial {trial.trial}" if len(view.trials) > 1 else ""
        return TrialBlock(
            label=label or _only(trial, separate),
            verdicts=shown,
            more=more,
            requests=tuple([self._request(r, trial, view) for r in requests]),
            options=options(trial, view.instance) if separate else (),
            rule=rule(trial, self._method) if separate else "",
            calibrated=self._method == CALIBRATED,
        )

    def _request(
        self, view: RequestView, trial: TrialView, of: InstanceView
    ) -> RequestBlock:
        request = view.request
        notes = []
        if request.num_train_instances:
            notes.append(formats.count(request.num_train_instances, "example"))
        if request.truncated:
            notes.append("the prompt was cut to fit the context")
        first = of.trials[0]
        as_in = ""
        if trial is not first and _single(trial) and _single(first):
            text = view.replies[0].completion.text
            if (
                len(text) > SHORT
                and text == first.requests[0].replies[0].completion.text
            ):
                as_in = f"trial {first.trial}"
        asked = bool(request.messages) and request.messages == of.instance.messages
        told = request.messages and not asked
        return RequestBlock(
            label=self._label(request, of.instance) if len(trial.requests) > 1 else "",
            prompt=self._prompts.view(view, self._above),
            replies=tuple([self._reply(r, view, of, as_in) for r in view.replies])
            or (UNKEPT,),
            notes=tuple(notes),
            messages=self._messages(request.messages) if told else (),
            asked=asked,
            file=self._sent(request.messages) if request.messages else "",
        )

    def _label(self, request: Request, of: Instance) -> str:
        parts = [] if request.mode == ORIGINAL else [plain(request.mode)]
        index = request.reference_index
        if index >= 0 and self._method == RANKING:
            known = of.references[index].text if index < len(of.references) else ""
            begins = known[:BEGINNING] + ("…" if len(known) > BEGINNING else "")
            parts.append(plain(f"document {index + 1}: {begins}"))
        elif index >= 0:
            parts.append(f"option {index + 1}")
        if request.request_index > 0 or not parts:
            parts.append(f"part {request.request_index + 1}")
        return ", ".join(parts)

    def _sent(self, messages: Sequence[Message]) -> str:
        """Return the file of messages that a page cannot hold, else ''."""
        if sum(len(m.content) for m in messages) <= LONG:
            return ""
        return self._store(turns.as_sent(messages))

    def _reply(
        self, reply: ReplyView, request: RequestView, of: InstanceView, as_in: str
    ) -> ReplyBlock:
        completion, start = reply.completion, request.request.score_start
        given = start is not None
        text = request.request.prompt[start:] if given else completion.text
        mapping = request.request.output_mapping
        mapped = mapping.get(text.strip(), "") if mapping else ""
        label = "Given continuation" if given else "Completion"
        if len(request.replies) > 1:
            label = f"{label} {reply.completion_index + 1} of {len(request.replies)}"
        said = _said(request, reply) if reply.scores else ()
        shown, more = self._verdicts.of(reply.scores, said)
        same = given and text == of.instance.input
        drawn = tokens(completion, text)
        counted = drawn.count if drawn else None
        return ReplyBlock(
            label=label,
            text=NOTHING if same or as_in else self._answer(text),
            facts=_facts(reply, given, counted),
            verdicts=shown,
            more=more,
            same=same,
            error=plain(completion.error) if completion.error else "",
            reasoning=self._clip(completion.reasoning)
            if completion.reasoning
            else None,
            tokens=drawn,
            mapped=plain(mapped)[:500] if mapped else "",
            turns=self._turns(completion.transcript) if completion.transcript else (),
            as_in=as_in,
        )

    def _turns(self, transcript: tuple[Any, ...]) -> tuple[Said, ...]:
        said = turns.transcript(transcript, self._clip)
        return turns.shortened(said, lambda: self._store(turns.as_json(transcript)))

    def _answer(self, text: str) -> Clip:
        """Return a completion; its white space at the edges can be seen."""
        if not text or len(text) > LONG:
            return self._clip(text)
        return Clip(edged(text) if text.strip() else blank(text), len(text))

    def _clip(self, text: str) -> Clip:
        return clip(text, self._store)

    def _messages(self, messages: Iterable[Message]) -> tuple[Said, ...]:
        def shown(text: str) -> Clip:
            html, whole = self._prompts.without(text, self._above)
            return Clip(html, len(text), "" if whole else self._store(text))

        return turns.messages(messages, shown)

    def _reference(self, reference: Reference) -> ReferenceView:
        text = reference.text
        html = visible(text[:REFERENCE])
        if len(text) > REFERENCE:
            html += Markup(
                '<span class="cut">… <a href="{}">all {:,} characters</a></span>'
            ).format(self._store(text), len(text))
        if reference.tags == CORRECT:
            return ReferenceView(html, True)
        tags = tuple([plain(t) for t in reference.tags if t != CORRECT_TAG])
        return ReferenceView(html, reference.is_correct, tags)

    def _store(self, text: str) -> str:
        name = text_name(text)
        self._keep(name, text)
        return name


def _single(trial: TrialView) -> bool:
    """Return whether a trial is one request with one completion."""
    return len(trial.requests) == 1 and len(trial.requests[0].replies) == 1


def _said(request: RequestView, reply: ReplyView) -> tuple[str, ...]:
    """Return what is read beside a verdict anyway: the completion, what it stands for."""
    text = reply.completion.text.strip()
    mapping = request.request.output_mapping
    return (text, mapping[text]) if text in mapping else (text,)


def _state(view: InstanceView, outcomes: tuple[Verdict, ...]) -> str:
    for trial in view.trials:
        if trial.requests or trial.scores:
            break
    else:
        return "unasked"
    return "failed" if OUTCOMES["f"] in outcomes else ""


def _only(trial: TrialView, separate: bool) -> str:
    if separate:
        return "Options"
    if not trial.requests:
        return "Verdict"
    given = any(q.request.score_start is not None for q in trial.requests)
    word = "Given continuation" if given else "Completion"
    return word if sum([len(q.replies) for q in trial.requests]) == 1 else f"{word}s"


def _facts(reply: ReplyView, given: bool, drawn: int | None) -> tuple[str, ...]:
    completion, usage = reply.completion, reply.completion.usage
    facts = []
    if completion.finish_reason:
        facts.append(f"finish: {plain(completion.finish_reason)}")
    made = usage.completion_tokens
    if made is None and completion.tokens is not None:
        made = len(completion.tokens)
    if made != drawn and (made or (made is not None and not given)):
        facts.append(formats.count(made, "token") if made else "0 tokens")
    if usage.prompt_tokens is not None:
        facts.append(f"{usage.prompt_tokens:,} prompt tokens")
    if completion.duration_s is not None:
        facts.append(formats.seconds(completion.duration_s))
    if completion.cached:
        facts.append("answered before this run")
    return tuple(facts)

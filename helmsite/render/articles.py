"""Instances as articles: what was asked, what came back, how it was judged."""

from __future__ import annotations

from typing import TYPE_CHECKING

from markupsafe import Markup

from helmsite.render import formats
from helmsite.render.names import anchor, digest
from helmsite.render.options import CALIBRATED, OPTION_METHODS, options, rule
from helmsite.render.parts import (
    Article,
    Clip,
    PromptView,
    ReferenceView,
    ReplyBlock,
    RequestBlock,
    Said,
    Shared,
    TrialBlock,
)
from helmsite.render.text import LONG, blank, clipped, plain, text_name, visible
from helmsite.render.tokens import tokens
from helmsite.render.verdicts import outcome, short, verdicts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from helmsite.query.rows import (
        InstanceView,
        ReplyView,
        RequestView,
        RunSummary,
        TrialView,
    )
    from helmsite.schema import Message, Reference, Request

SHARED_LIMIT = 100_000
SHORT = 2_000


class Articles:
    """Makes articles of one run.

    Long texts go to `keep(name, text)`; shared beginnings of prompts collect in
    `shared` until a page takes them.
    """

    def __init__(self, run: RunSummary, keep: Callable[[str, str], None]) -> None:
        manifest, main = run.manifest, run.main_metric
        self._split = manifest.scenario.main_split
        self._metrics = {m.name: m for m in manifest.metrics}
        self._main = main
        self._main_name = main.name if main else ""
        self._method = manifest.spec.adapter.method
        self._keep = keep
        self._made: dict[str, Shared] = {}
        self.shared: dict[str, Shared] = {}

    def take_shared(self) -> tuple[Shared, ...]:
        """Return the shared beginnings since the last call, in order of use."""
        taken = tuple(self.shared.values())
        self.shared = {}
        return taken

    def article(self, view: InstanceView) -> Article:
        """Return an instance's article."""
        instance = view.instance
        chips = []
        if instance.split not in {"", self._split}:
            chips.append(f"split {instance.split}")
        chips += [instance.sub_split] if instance.sub_split else []
        for dimension, names in sorted(instance.attributes.items()):
            chips.append(f"{dimension}: {', '.join(names)}")
        return Article(
            anchor=anchor(instance.instance_id, instance.perturbation),
            title=instance.instance_id,
            outcomes=tuple(short(*outcome(t, self._main)) for t in view.trials),
            chips=tuple(chips),
            perturbation=instance.perturbation,
            input=self._clip(instance.input),
            input_label="Input" if instance.input else "Input (empty)",
            messages=self._messages(instance.messages),
            references=tuple(self._reference(r) for r in instance.references),
            trials=tuple(self._trial(t, view) for t in view.trials),
        )

    def _trial(self, trial: TrialView, view: InstanceView) -> TrialBlock:
        separate = self._method in OPTION_METHODS
        shown, more = verdicts(trial.scores, self._metrics, self._main_name)
        several = len(trial.requests) > 1
        return TrialBlock(
            label=f"Trial {trial.trial}"
            if len(view.trials) > 1
            else _only(trial, separate),
            verdicts=shown,
            more=more,
            requests=tuple(self._request(r, several, view) for r in trial.requests),
            options=options(trial, view.instance) if separate else (),
            rule=rule(trial, self._method) if separate else "",
            calibrated=self._method == CALIBRATED,
        )

    def _request(
        self, view: RequestView, several: bool, of: InstanceView
    ) -> RequestBlock:
        request = view.request
        notes = []
        if request.num_train_instances:
            notes.append(formats.count(request.num_train_instances, "example"))
        if request.truncated:
            notes.append("the prompt was cut to fit the context")
        return RequestBlock(
            label=_label(request) if several else "",
            prompt=self.prompt(view),
            replies=tuple(self._reply(r, view, of) for r in view.replies),
            notes=tuple(notes),
            messages=self._messages(request.messages),
        )

    def prompt(self, view: RequestView) -> PromptView:
        """Return a request's prompt, its beginning shared with others of the page."""
        text = view.request.prompt
        head, own = text[: view.own_start], text[view.own_start :]
        whole = ""
        if len(own) > LONG or len(head) > SHARED_LIMIT:
            whole = self._store(text)
        shared = self._share(head, view.request.trial) if head else None
        return PromptView(
            own=self._own(own, view),
            characters=len(text),
            kind=view.request.prompt_kind,
            shared=shared.key if shared else "",
            shared_characters=len(head),
            file=whole,
        )

    def _own(self, own: str, view: RequestView) -> Markup:
        start = view.request.score_start
        if start is None or len(own) > LONG:
            return self._clip(own).html
        cut = max(0, start - view.own_start)
        mark = Markup('{}<mark title="its log-probability is asked for">{}</mark>')
        return mark.format(visible(own[:cut]), visible(own[cut:]))

    def _share(self, head: str, trial: int) -> Shared:
        if head not in self._made:
            html = visible(head)
            if len(head) > SHARED_LIMIT:
                html = clipped(head, self._store)
            self._made[head] = Shared(
                f"s-{digest(head, 12)}", f"trial {trial}", html, len(head)
            )
        made = self._made[head]
        self.shared.setdefault(made.key, made)
        return made

    def _reply(
        self, reply: ReplyView, request: RequestView, of: InstanceView
    ) -> ReplyBlock:
        completion, start = reply.completion, request.request.score_start
        given = start is not None
        text = request.request.prompt[start:] if given else completion.text
        mapping = request.request.output_mapping
        mapped = mapping.get(text.strip(), "") if mapping else ""
        label = "Given continuation" if given else "Completion"
        if len(request.replies) > 1:
            label = f"{label} {reply.completion_index + 1} of {len(request.replies)}"
        shown, more = verdicts(reply.scores, self._metrics, self._main_name)
        return ReplyBlock(
            label=label,
            text=self._answer(text),
            facts=_facts(reply, given),
            verdicts=shown,
            more=more,
            same=given and text == of.instance.input,
            error=plain(completion.error),
            reasoning=self._clip(completion.reasoning)
            if completion.reasoning
            else None,
            tokens=tokens(completion, text),
            mapped=plain(mapped)[:500],
        )

    def _answer(self, text: str) -> Clip:
        """Return a completion; one of white space alone would be seen as nothing."""
        if text and not text.strip() and len(text) <= LONG:
            return Clip(blank(text), len(text))
        return self._clip(text)

    def _clip(self, text: str) -> Clip:
        if len(text) <= LONG:
            return Clip(visible(text), len(text))
        return Clip(clipped(text, self._store), len(text), text_name(text))

    def _messages(self, messages: Iterable[Message]) -> tuple[Said, ...]:
        return tuple(Said(plain(m.role), self._clip(m.content)) for m in messages)

    def _reference(self, reference: Reference) -> ReferenceView:
        text = reference.text
        html = visible(text[:SHORT])
        if len(text) > SHORT:
            html += Markup(
                '<span class="cut">… <a href="{}">all {:,} characters</a></span>'
            ).format(self._store(text), len(text))
        tags = tuple(plain(t) for t in reference.tags if t != "correct")
        return ReferenceView(html, reference.is_correct, tags)

    def _store(self, text: str) -> str:
        name = text_name(text)
        self._keep(name, text)
        return name


def _only(trial: TrialView, separate: bool) -> str:
    if separate:
        return "Options"
    replies = [r for q in trial.requests for r in q.replies]
    given = any(q.request.score_start is not None for q in trial.requests)
    word = "Given continuation" if given else "Completion"
    return word if len(replies) == 1 else f"{word}s"


def _label(request: Request) -> str:
    parts = [] if request.mode == "original" else [plain(request.mode)]
    if request.reference_index >= 0:
        parts.append(f"option {request.reference_index + 1}")
    if request.request_index > 0 or not parts:
        parts.append(f"part {request.request_index + 1}")
    return ", ".join(parts)


def _facts(reply: ReplyView, given: bool) -> tuple[str, ...]:
    completion, usage = reply.completion, reply.completion.usage
    facts = []
    if completion.finish_reason:
        facts.append(f"finish: {plain(completion.finish_reason)}")
    made = usage.completion_tokens
    if made is None and completion.tokens is not None:
        made = len(completion.tokens)
    if made or (made is not None and not given):
        facts.append(formats.count(made, "token") if made else "0 tokens")
    if usage.prompt_tokens is not None:
        facts.append(f"{usage.prompt_tokens:,} prompt tokens")
    if completion.duration_s is not None:
        facts.append(formats.seconds(completion.duration_s))
    if completion.cached:
        facts.append("answered before this run")
    return tuple(facts)

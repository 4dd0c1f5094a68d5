"""Texts that try to act, to hide or to break a page, and an archive made of them.

`TEXTS` names each of them. `write` stores them as everything that an archive lets a
stranger choose: what models were asked and said, and the names of all things.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import structs

from helmsite.query import summarise
from helmsite.schema import (
    CORRECT_TAG,
    Completion,
    DataRevision,
    Decoding,
    Instance,
    Manifest,
    Message,
    MetricFacts,
    ModelCard,
    ModelIdentity,
    PerturbationFacts,
    Provenance,
    Reference,
    Reply,
    Request,
    RunSpec,
    ScenarioFacts,
    Score,
    Stat,
    Taxonomy,
    TopLogprob,
    Usage,
    preset,
    run_id,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from helmsite.archive import Archive

HIT = "window.hit=1"
TEXTS: dict[str, str] = {
    # Elements and handlers
    "script": f"<script>{HIT}</script>",
    "script, other case": f"<ScRiPt\n>{HIT}//</sCrIpT\t>",
    "image": f"<img src=x onerror={HIT}>",
    "svg": f"<svg/onload={HIT}><animate onbegin={HIT} attributeName=x dur=1s>",
    "frame": f'<iframe srcdoc="<script>parent.{HIT}</script>"></iframe>',
    "object": "<object data='data:text/html,x'></object><embed src='//evil.example/x'>",
    "style": "<style>@import url(//evil.example/x.css);*{display:none}</style>",
    "css": "red;}body{background:url(//evil.example/x)}",
    "meta": "<meta http-equiv=refresh content='0;url=//evil.example/'>",
    "base": "<base href='//evil.example/'><link rel=stylesheet href=//evil.example/y>",
    "form": "<form action=//evil.example/><input autofocus onfocus=window.hit=1>",
    "closes a script": f'</script><svg onload="{HIT}"></title></pre></article></main>',
    "closes a field": f"</textarea></select></template><script>{HIT}</script>",
    "comment": f"<!-- --!><img src=x onerror={HIT}> <!--<script>",
    "cdata": f"<![CDATA[<script>{HIT}</script>]]> <?php {HIT} ?> <!DOCTYPE x>",
    "half a tag": "<b <i onclick=x </ <",
    # Attributes
    "double quote": f'" onmouseover="{HIT}" x="',
    "single quote": f"' autofocus onfocus='{HIT}' x='",
    "no quote": f"x onfocus={HIT} tabindex=0 autofocus=`x`",
    "backtick": f"`;{HIT};`",
    # Links
    "javascript": f"javascript:{HIT}",
    "javascript, broken": f"java\tscript:{HIT}//\x01https://x",
    "data link": f"data:text/html;base64,PHNjcmlwdD4=,<script>{HIT}</script>",
    "markdown": f"[x](javascript:{HIT}) ![i](//evil.example/i.png) <https://ok.example> `c`",
    "markdown, nested": "> - # *a* **b** _c_ [d][e]\n\n[e]: javascript:window.hit=1 'x'",
    # Templates, programs and formulas
    "template": "{{ 7*7 }} {% raw %} {# x #} ${7*7} #{7*7} <%= 7*7 %>",
    "format": "%s %n {0} {name!r} {0.__class__} $(id) `id` ; rm -rf ~",
    "sql": "'; DROP TABLE runs; -- \" OR 1=1 /*",
    "latex": r"$\input{/etc/passwd}$ \(x^2\) \begin{x}",
    "formula": "=cmd|' /C calc'!A0",
    "json": '"},{"ids":["\\u003c\\/script>\\"\\\\',
    "prototype": "__proto__",
    "constructor": "constructor",
    # Entities and encodings
    "entities": "&lt;b&gt; &amp;lt; &#60; &#x3c;script&#62; &notanentity; &nbsp;&#0;",
    "percent": "%3Cscript%3E %2e%2e%2f %00 100% %zz %E0%A4%A",
    "address": "a?b=c&d=e#f;g=h+i//j:k@l",
    # Characters that nobody sees or that act
    "nul": "before\x00after\x07\x08",
    "ansi": "\x1b[31mred\x1b[2J\x1b]0;title\x07\x9b1m",
    "c1": "\x80\x85\x8d\x9f\xad",
    "bidi": "left \u202egnp.exe\u202c \u2066isolated\u2069 \u200f\u061cmark",
    "bidi, open": "\u202e\u2067\u202dnever closed",
    "zero width": "a\u200bb\u2060c\u180ed\ufeffe\u200cf\u200dg",
    "tags": "say \U000e0068\U000e0069\U000e007f nothing",
    "private": "\ue000\uf8ff\U000f0000\ufffe\U0010ffff",
    "separators": "line\u2028separator\u2029paragraph\x0b\x0c\x1c\x1d\x1e",
    "line ends": "CR\rCRLF\r\nLF\n\n\nend\n",
    "tabs": "\tone\t\ttwo\t",
    "only spaces": "   ",
    "empty": "",
    "space": " edge  and\u00a0edge\u3000 ",
    "bom": "\ufeffbegins with a mark",
    # Scripts
    "zalgo": "Z" + "".join(chr(0x300 + i % 0x70) for i in range(120)) + "algo",
    "emoji": "\U0001f469\u200d\U0001f680 \u2764\ufe0f 1\ufe0f\u20e3 \U0001f1ea\U0001f1fa \u261d\U0001f3fd",
    "mixed": "שלום, this is mixed العربية (123) text می‌خواهم",
    "cjk": "漢字かな交じり文。한국어 中文、\uff46\uff55\uff4c\uff4c",
    "nfc": "caf\u00e9 \u1e69",
    "nfd": "cafe\u0301 s\u0323\u0307",
    # Names
    "path": "../../../../etc/passwd",
    "path of windows": "..\\..\\C:\\Windows\\System32\\",
    "absolute path": "/etc/passwd",
    "device": "NUL.txt",
    "device with a dot": "con.",
    "dots": "trailing dots and spaces. . .",
    "dot": "..",
    "upper case": "SAME NAME",
    "lower case": "same name",
    "long name": "n" * 300,
    "page id": "main",
    "id of a part": "finder",
    "name of a file": "index.html",
    "looks like a hash": "x-0123456789abcdef",
    "clobbers": '<a id=helmsite><a id=helmsite name=get href="x:y"><img name=cookie>',
    # Size
    "long line": "x" * 200_000,
    "many lines": "\n" * 100_000,
    "long with breaks": "0123456789 <b>&amp;\u202e\r\n" * 2_000,
}
REFUSED = {
    "surrogate": "half \ud83d of a character",
    "surrogate, low": "\ude00",
}
"""What no archive can hold: UTF-8 has no such characters."""

NAMES = {kind: text for kind, text in TEXTS.items() if 0 < len(text) <= 300}
"""Those that somebody may give as the name of a thing."""

SUITE = "hostile"
ALL = "everything"
SHARED = f"Shared {TEXTS['closes a script']} {TEXTS['bidi, open']}\r\n"


def write(archive: Archive) -> None:
    """Store one run of all texts, and one run under each name."""
    for number, name in enumerate((ALL, *NAMES.values())):
        texts = {number: name} if number else dict(enumerate(TEXTS.values()))
        store(archive, manifest(name, name, number), texts)


def runs() -> dict[str, str]:
    """Return the run of each name."""
    names = enumerate((ALL, *NAMES.values()))
    return {name: manifest(name, name, number).run_id for number, name in names}


def _metrics(text: str) -> tuple[MetricFacts, ...]:
    """Return the main metric, titled with the text, and one that is nothing else."""
    main = MetricFacts(
        "exact_match", text, text, "accuracy", higher_is_better=True, format="share"
    )
    other = MetricFacts(text, text, text, text, unit=text[:20], source=text)
    return (main, other) if text != main.name else (main,)


def manifest(scenario: str, name: str, number: int) -> Manifest:
    """Return a manifest in which the name is everything that can be chosen."""
    adapter = structs.replace(
        preset("generation", input_noun="Q", output_noun="A"),
        instructions=f"{name}\n",
        global_prefix=name,
        output_suffix=name,
        stop_sequences=(name, "\n"),
        random=name,
    )
    model = ModelIdentity(
        name, name, name, name, name, name, {"plain": name, name: [name, {name: name}]}
    )
    spec = RunSpec(
        scenario,
        model,
        adapter,
        DataRevision(name, name, name, name),
        name,
        (name,),
        {name: name},
    )
    return Manifest(
        run_id=run_id(spec.spec_id, SUITE, "native"),
        spec_id=spec.spec_id,
        suite=SUITE,
        spec=spec,
        scenario=ScenarioFacts(
            scenario,
            name,
            name,
            Taxonomy(name, name, name, name, name),
            name,
            name,
            name,
            groups=(f"group {number % 5}", name) if number % 6 == 0 else (),
            main_metric="exact_match",
        ),
        card=ModelCard(
            name,
            name,
            name,
            name,
            "open",
            10**number if number < 12 else None,
            release_date=name,
            licence=name,
            family=name,
            url=name,
        ),
        origin=f"native:{name}",
        status="partial",
        metrics=_metrics(name),
        perturbations=(PerturbationFacts(name, name, name, robustness=True),),
        provenance=Provenance(
            helmsite_version=name,
            source_tool=name,
            source_version=name,
            source_files=(name,),
            source_sha256=name,
            started_at=1.75e9,
            finished_at=1.75e9 + 60,
        ),
        warnings=(name, f"a warning: {name}"),
    )


def store(
    archive: Archive,
    about: Manifest,
    texts: dict[int, str],
    stats: Sequence[Stat] | None = None,
) -> None:
    """Store a run of texts: each as an instance that is answered and one that fails."""
    instances: list[Instance] = []
    replies: list[Reply] = []
    scores: list[Score] = []
    decoding = about.spec.adapter.decoding
    for place, (number, text) in enumerate(texts.items()):
        for twin in (False, True):
            found = _instance(number, 2 * place + twin, text, twin)
            instances.append(found)
            replies += _replies(found, text, decoding, fails=twin)
            scores += _scores(found, text, about.metrics, number, fails=twin)
    if stats is None:
        name, metrics = about.scenario.name, about.metrics
        aggregates = (instances, scores, metrics, about.perturbations, ())
        stats = summarise(*aggregates, scenario=name)
    archive.write_run(about, instances, replies, scores, stats)


def _instance(number: int, position: int, text: str, twin: bool) -> Instance:
    name = text[:300]
    return Instance(
        name or "(none)",
        text,
        (Reference(text, (CORRECT_TAG,)), Reference(f"not {text}", (name,))),
        perturbation=(name or "(none)") if twin else "",
        position=position,
        split="test" if number % 2 else name,
        sub_split=name,
        attributes={name: (name, "plain"), "plain": (name,)},
        messages=(Message(name, text), Message("user", name, {name: name}))
        if number % 3 == 0
        else (),
        extra={name: name},
    )


def _replies(
    instance: Instance, text: str, decoding: Decoding, fails: bool
) -> Iterator[Reply]:
    name = text[:300]
    request = Request(
        instance.instance_id,
        f"{SHARED}{text}\nA:",
        decoding,
        perturbation=instance.perturbation,
        messages=(Message(name, text),) if instance.messages else (),
        output_mapping={name: name},
        example_ids=(name,),
        num_train_instances=1,
    )
    if fails:
        yield Reply(request, Completion(error=f"HTTP 500: {name}", extra={name: name}))
        return
    tokens = tuple(name)
    top = tuple((TopLogprob(t, -0.1), TopLogprob(name, -3.0)) for t in tokens)
    yield Reply(
        request,
        Completion(
            text if len(text) > 300 else name,
            reasoning=text,
            transcript=({"role": name, "content": text, name: [name]},),
            tokens=tokens,
            token_logprobs=tuple(-0.1 * (i % 90) for i in range(len(tokens))),
            top_logprobs=top,
            logprob=-1.0,
            finish_reason=name,
            usage=Usage(3, len(tokens)),
            duration_s=0.2,
            model_version=name,
        ),
    )


def _scores(
    instance: Instance,
    text: str,
    metrics: tuple[MetricFacts, ...],
    number: int,
    fails: bool,
) -> Iterator[Score]:
    common: dict[str, Any] = {"perturbation": instance.perturbation}
    for metric in metrics:
        yield Score(
            instance.instance_id,
            metric.name,
            None if fails else float(number % 2),
            missing="failed" if fails else "",
            text="" if fails else text[:2000],
            scorer="" if metric.name == "exact_match" else text[:300],
            details={text[:300]: text[:300]},
            **common,
        )

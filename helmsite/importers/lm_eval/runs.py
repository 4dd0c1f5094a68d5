"""A task of the harness as a run, and what came without samples as aggregates."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import structs

from helmsite.errors import SourceError
from helmsite.importers import redact
from helmsite.importers.found import Aggregates, Imported
from helmsite.importers.lm_eval import checks, groups, metrics, models
from helmsite.importers.lm_eval.documents import Documents
from helmsite.importers.lm_eval.results import Results
from helmsite.importers.lm_eval.rows import Samples
from helmsite.importers.lm_eval.task import NONE, Task
from helmsite.importers.values import Place, Row, plain
from helmsite.schema import (
    AdapterSpec,
    DataRevision,
    PublishedStat,
    RunSpec,
    ScenarioFacts,
    Stat,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from helmsite.importers.found import Found, Notes
    from helmsite.importers.lm_eval.results import Value
    from helmsite.schema import MetricFacts, ModelIdentity, Score

SEEDS = ("random_seed", "numpy_seed", "torch_seed", "fewshot_seed")
CALL = (*SEEDS, "limit", "bootstrap_iters", "description_dict")
_INDENT = re.compile(r"^[\s-]+")


def run(found: Found, notes: Notes) -> Imported:
    """Return the run of one task.

    Raises:
        SourceError: nothing of it can be used.
    """
    task, results = found.options["task"], None
    if found.options.get("results"):
        results = Results.load(Path(found.files[0]), found.names[0])
    samples = Samples(Path(found.files[-1]), found.names[-1], notes)
    config = results.task_config(task) if results else Row({}, Place(samples.name))
    shots = results.shots(task) if results else None
    about = Task.of(config, shots or 0, _limit(results))
    documents = Documents(about, trusted=not checks.lies(samples.numbers()))
    documents.read(samples)
    model, card = (
        models.identity(results)
        if results
        else models.from_samples(found.options.get("model", ""))
    )
    values = _values(results, task, notes)
    filters = _filters(documents.filters, values)
    scores = documents.scores(len(filters) > 1)
    stats = [_stat(v, filters, about.split, 0) for v in values]
    counted = {s.metric for s in scores if s.value is not None}
    total = results.size(task) if results else None
    stats = [s if s.metric in counted else _sized(s, total) for s in stats]
    adapter = documents.adapter or AdapterSpec()
    instances = documents.instances
    documents.replies.order({i.instance_id: i.position for i in instances})
    named = dict.fromkeys([*(s.metric for s in stats), *(s.metric for s in scores)])
    started, finished = _times(results)
    hashes = documents.hashes.told(results.of("task_hashes", task) if results else None)
    formulas = documents.formulas.told()
    return Imported(
        key=found.key,
        spec=RunSpec(
            scenario=task,
            model=model,
            adapter=adapter,
            data=_data(config),
            settings=_settings(results, task, config, documents.usual, shots),
        ),
        scenario=_scenario(results, task, about.split, named),
        card=card,
        instances=instances,
        replies=documents.replies,
        scores=scores,
        stats=stats,
        metrics=tuple(metrics.facts(name, results, task) for name in named),
        compute=() if scores or adapter.method != "generation" else metrics.UNJUDGED,
        version=_version(results),
        started_at=started,
        finished_at=finished,
        warnings=(
            *hashes.warnings,
            *formulas.warnings,
            *_warnings(results, task, documents, samples, values),
        ),
        verified=(*hashes.verified, *formulas.verified),
    )


def _values(results: Results | None, name: str, notes: Notes) -> list[Value]:
    """Return the numbers of a task or group, without those of runs that judge nothing."""
    found = []
    for value in results.values(name) if results else ():
        if isinstance(value, SourceError):
            notes.problem(value)
        elif value.metric != metrics.BYPASS:
            found.append(value)
    return found


def _filters(used: Iterable[str], values: Iterable[Value]) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*used, *(v.filter or NONE for v in values)]))


def _stat(value: Value, filters: Sequence[str], split: str, size: int) -> Stat:
    several = len(filters) > 1
    kept = value.filter or NONE
    return Stat(
        metric=value.metric,
        value=value.value,
        scorer=kept if several else "",
        split=split,
        stderr=value.stderr,
        n_scored=size,
        n_asked=size,
        origin="reported",
        missing=value.missing,
        details={} if several or kept == NONE else {"filter": kept},
    )


def _sized(stat: Stat, size: int | None) -> Stat:
    return structs.replace(stat, n_scored=size or 0, n_asked=size or 0)


def _limit(results: Results | None) -> float | None:
    said = results.config.get("limit") if results else None
    return float(said) if isinstance(said, (int, float)) and 0 <= said < 2**31 else None


def _version(results: Results | None) -> str:
    said = results.row.get("lm_eval_version") if results else None
    return said if isinstance(said, str) else ""


def _times(results: Results | None) -> tuple[float | None, float | None]:
    """Return when a call began and ended, as far as it says."""
    if results is None:
        return None, None
    began = _seconds(results.row.get("date"))
    took = _seconds(results.row.get("total_evaluation_time_seconds"))
    return began, None if began is None or took is None else began + took


def _seconds(said: Any) -> float | None:
    try:
        found = float(said)
    except (TypeError, ValueError, OverflowError):
        return None
    return found if 0 < found < 4e9 else None


def _data(config: Row) -> DataRevision:
    path, name = config.get("dataset_path"), config.get("dataset_name")
    arguments = config.get("dataset_kwargs")
    revision = arguments.get("revision") if isinstance(arguments, dict) else None
    parts = [each for each in (path, name) if isinstance(each, str) and each]
    return DataRevision(
        source=" ".join(parts), revision=revision if isinstance(revision, str) else ""
    )


def _settings(
    results: Results | None,
    task: str,
    config: Row,
    usual: dict[str, Any],
    shots: int | None,
) -> dict[str, Any]:
    """Return what else can change a request: the task as it was, seeds, limits."""
    found: dict[str, Any] = {
        "task": plain(config.value),
        "num_fewshot": shots,
        "generation_kwargs": plain(usual),
    }
    if results is not None:
        found["version"] = plain(results.of("versions", task))
        found["git_hash"] = plain(results.row.get("git_hash"))
        found |= {key: plain(results.config.get(key)) for key in CALL}
        if models.has_template(results.row):
            found["chat_template"] = plain(results.row.get("chat_template"))
            found["chat_template_sha"] = plain(results.row.get("chat_template_sha"))
    return {k: v for k, v in found.items() if v is not None and v != {}}


def _scenario(
    results: Results | None, name: str, split: str, named: Iterable[str]
) -> ScenarioFacts:
    """Return what is known of a task or group."""
    if results is None:
        return ScenarioFacts(name, main_metric=_main(named), main_split=split)
    entry = results.entries.get(name)
    alias = entry.get("alias") if isinstance(entry, dict) else None
    title = _INDENT.sub("", alias) if isinstance(alias, str) else ""
    path = results.task_config(name).get("dataset_path")
    hub = isinstance(path, str) and re.fullmatch(r"[\w-][\w.-]*/[\w.-]+", path)
    return ScenarioFacts(
        name,
        title="" if title == name else title,
        url=f"https://huggingface.co/datasets/{path}" if hub else "",
        groups=results.groups_of(name),
        main_metric=_main(named),
        main_split=split,
    )


def _main(named: Iterable[str]) -> str:
    """Return the metric that stands for a task: the first, of old files acc."""
    names = list(named)
    return next(iter(names), "") if "acc" not in names else "acc"


def _warnings(
    results: Results | None,
    task: str,
    documents: Documents,
    samples: Samples,
    values: Sequence[Value],
) -> Iterable[str]:
    """Yield what a reader of the numbers should know."""
    if results is None:
        yield (
            "There is no results file beside these samples: the model's name is that of "
            "its folder, and settings and aggregates are not known."
        )
    if not documents.trusted:
        yield (
            "The documents' numbers are not those of the data (--samples out of order): "
            "instances are named after the hash of their document."
        )
    if samples.unread:
        yield f"{samples.unread} rows of the samples could not be read and are left out."
    if not any(True for _ in documents.scores(several=True)):
        yield (
            "The harness judged nothing in this run (--predict_only): metrics of generated "
            "answers are helmsite's, log-likelihoods are there to look at."
        )
    size = results.size(task) if results else None
    count = len(documents.instances)
    if size is not None and count < size and not samples.unread:
        yield f"The results are over {size} documents, of which {count} are here."
    yield from _stderrs(documents, values)


def _stderrs(documents: Documents, values: Sequence[Value]) -> Iterable[str]:
    """Yield which standard errors of means are not what the rows give."""
    by_kind: dict[tuple[str, str], list[Score]] = {}
    for score in documents.scores(several=True):
        by_kind.setdefault((score.metric, score.scorer), []).append(score)
    for value in values:
        scores = by_kind.get((value.metric, value.filter or NONE), [])
        numbers = [s.value for s in scores if s.value is not None]
        if value.stderr is None or len(numbers) < len(scores):
            continue
        if documents.rule(value.metric) != "mean":
            continue
        here = checks.standard_error(numbers)
        if here is not None and not checks.near(here, value.stderr):
            yield (
                f"The standard error of {value.metric} is not the one that the rows give: "
                f"{value.stderr:.6g} instead of {here:.6g}."
            )


def aggregates(found: Found, notes: Notes) -> Aggregates:
    """Return the numbers of groups, and of tasks without samples.

    Raises:
        SourceError: nothing of it can be used.
    """
    results = Results.load(Path(found.files[0]), found.names[0])
    model, card = models.identity(results)
    rows: list[PublishedStat] = []
    scenarios: list[ScenarioFacts] = []
    facts: dict[str, MetricFacts] = {}
    for name in found.options.get("names", ()):
        values = _values(results, name, notes)
        filters = _filters((), values)
        config = results.task_config(name)
        split = Task.of(config, 0, None).split
        settings = redact.settings(_published(results, name, model), notes.hidden)
        details = redact.settings(_details(results, name, model), notes.hidden)
        for value in values:
            stat = _stat(value, filters, split, results.size(name) or 0)
            stat = structs.replace(stat, details={**details, **stat.details})
            if name in results.groups:
                stat = _of_group(stat, groups.mean_of(results, name, value), notes)
            rows.append(PublishedStat(name, model.name, stat, settings))
            facts.setdefault(value.metric, metrics.facts(value.metric, results, name))
        named = dict.fromkeys(value.metric for value in values)
        if values:
            scenarios.append(_scenario(results, name, split, named))
    if not rows:
        raise SourceError(found.names[0], "there is no number in it")
    return Aggregates(
        rows,
        scenarios=tuple(scenarios),
        metrics=tuple(facts.values()),
        cards=(card,),
        version=_version(results),
    )


def _of_group(stat: Stat, found: groups.Mean | SourceError, notes: Notes) -> Stat:
    if isinstance(found, SourceError):
        notes.problem(found)
        return stat
    details = dict(stat.details)
    if found.weighted is not None:
        details["weight_by_size"] = found.weighted
    return structs.replace(
        stat, n_scored=found.size, n_asked=found.size, details=details
    )


def _published(results: Results, name: str, model: ModelIdentity) -> dict[str, Any]:
    """Return the settings that tell one number of a model from another."""
    found = {
        "revision": model.revision,
        "num_fewshot": results.shots(name),
        "limit": _limit(results),
        "quantisation": model.quantisation,
        "dtype": models.dtype(results),
        "chat_template": models.has_template(results.row) or None,
    }
    return {k: v for k, v in found.items() if v not in (None, "")}


def _details(results: Results, name: str, model: ModelIdentity) -> dict[str, Any]:
    """Return what else a file says of how a number came about."""
    found = {
        "version": plain(results.of("versions", name)),
        "backend": model.client,
        "runtime": model.runtime,
        "model_args": plain(results.config.get("model_args")),
        "batch_size": plain(results.config.get("batch_size")),
        "device": plain(results.config.get("device")),
        "date": plain(results.row.get("date")),
    }
    return {k: v for k, v in found.items() if v not in (None, "")}

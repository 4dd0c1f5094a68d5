"""Results in aggregate files of Every Eval Ever: values, metrics and scenarios.

Versions 0.0.1 to 0.3.0 of the schema are read: ids of results and names of metrics came
with 0.3, uncertainty and the source of each result with 0.2.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from msgspec import structs

from helmsite.errors import SourceError
from helmsite.importers.every_eval_ever.header import details_of, hidden, read_json
from helmsite.importers.titles import metric_title
from helmsite.importers.values import Row
from helmsite.schema import MetricFacts, ScenarioFacts, Stat, format_entry

if TYPE_CHECKING:
    from collections.abc import Mapping

    from helmsite.importers.every_eval_ever.header import Header
    from helmsite.importers.found import Notes

WORST = ("robustness", "fairness")
COPIED = "no instance was perturbed; HELM repeats the value without perturbation"
FORMATS = {"share", "number", "integer", "seconds", "bits"}
AGGREGATIONS = {"mean", "ratio", "geometric", "population"}
UNITS = {"proportion": "share", "s": "seconds", "seconds": "seconds", "bits": "bits"}
EFFICIENCY = {"ms", "s", "seconds", "minutes", "tokens", "usd", "cost", "latency"}
CALIBRATION = {"ece", "calibration", "calibration_error", "brier", "brier_score"}
PLAIN = {"proportion", "percent", "percentage", "points", "score", "count", "number"}
_REPOSITORY = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}")


class Measure(NamedTuple):
    """Which value a result is: the archive's key of an aggregate."""

    metric: str
    scorer: str = ""
    split: str = ""
    sub_split: str = ""
    perturbation: str = ""
    computed_on: str = ""


@dataclass
class Result:
    """An aggregate, and what its metric and scenario are.

    `id` and `name` are the source's evaluation_result_id and evaluation_name, `settings`
    says how the answers were made, `source` where the data came from.
    """

    id: str
    name: str
    stat: Stat
    facts: MetricFacts
    scenario: ScenarioFacts
    settings: dict[str, Any] = field(default_factory=dict)
    source: dict[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> tuple[str, Measure]:
        """What tells it apart from the others of its file."""
        return self.scenario.name, self.measure

    @property
    def measure(self) -> Measure:
        """Which value it is."""
        return Measure(*(getattr(self.stat, name) for name in Measure._fields))


def results(row: Row, header: Header, notes: Notes) -> list[Result]:
    """Return the results of an aggregate file; what is wrong with one is a problem.

    Two that would have one key are told apart by their ids in `scorer`.

    Raises:
        SourceError: there is no list of results.
    """
    there: dict[tuple[str, Measure], Result] = {}
    place = row.at("evaluation_results")
    for n, each in enumerate(row.items("evaluation_results")):
        try:
            made = _result(Row(each, place.inside(n)), row, header, notes)
        except SourceError as error:
            notes.problem(error)
            continue
        first = there.get(made.key)
        if first == made:
            continue
        if first is not None:
            made.stat = structs.replace(made.stat, scorer=made.id or f"#{n + 1}")
        if made.key in there:
            made.stat = structs.replace(made.stat, scorer=f"#{n + 1}")
        there[made.key] = made
    found = list(there.values())
    if header.tool == "helm" and {r.stat.perturbation for r in found} <= {"", *WORST}:
        for each in found:
            each.stat = _honest(each.stat)
    return found


def _honest(stat: Stat) -> Stat:
    """Return a worst case without its value, of a run in which nothing was perturbed."""
    if stat.perturbation not in WORST or stat.value is None:
        return stat
    details = {**stat.details, "reported": stat.value, "reason": COPIED}
    return structs.replace(stat, value=None, missing="not asked", details=details)


def _result(row: Row, whole: Row, header: Header, notes: Notes) -> Result:
    name = row.text("evaluation_name", "") or header.collection or "unnamed"
    identifier = row.text("evaluation_result_id", "")
    config = row.row("metric_config", None) or Row({}, row.at("metric_config"))
    score = row.row("score_details")
    source = row.row("source_data", None) or _shared_source(whole)
    details = details_of(score.row("details", None))
    metric = details.get("metric") or _metric(config)
    measure = _measure(identifier, metric, header, details)
    if not measure.split and "split" not in details:
        measure = measure._replace(split=_split(source))
    if header.names_scorers and not identifier:
        measure = measure._replace(scorer=name)
    more = {
        **row.rest("source_data", "generation_config", "score_details"),
        "score_details": {k: v for k, v in score.value.items() if k != "score"},
    }
    if more.get("evaluation_timestamp") == header.said_at:
        del more["evaluation_timestamp"]
    if source.get("sample_ids") and _is_first(whole, row):
        more["sample_ids"] = source.get("sample_ids")
    generation = row.get("generation_config")
    return Result(
        id=identifier,
        name=name,
        stat=_stat(score, config, measure, hidden(more, notes.hidden)),
        facts=metric_facts(metric, config, header),
        scenario=scenario_facts(_task(name, measure, header), source, header),
        settings=hidden(generation, notes.hidden)
        if isinstance(generation, dict)
        else {},
        source=hidden(source.rest("sample_ids"), notes.hidden),
    )


def _task(name: str, measure: Measure, header: Header) -> str:
    """Return a result's name without the filter that conversions of lm-eval put to its end."""
    if header.tool == "lm_eval" and measure.scorer:
        return name.removesuffix(f"/{measure.scorer}") or name
    return name


def _is_first(whole: Row, row: Row) -> bool:
    """Say whether a result is the first of its file, with which long lists are kept."""
    return row.place == whole.at("evaluation_results").inside(0)


def _shared_source(whole: Row) -> Row:
    """Return the source of all results, as files before 0.2 have it."""
    data = whole.get("source_data")
    if isinstance(data, list):
        data = {"url": data}
    return Row(data if isinstance(data, dict) else {}, whole.at("source_data"))


def _metric(config: Row) -> str:
    """Return a metric's name: its own, or a description that is one word."""
    said = config.text("metric_name", "") or config.text("metric_id", "")
    description = config.text("evaluation_description", "")
    one_word = description if description and not re.search(r"\s", description) else ""
    return said or one_word or "score"


def rest_of(identifier: str, metric: str) -> str:
    """Return what an id of a result says beside its metric: a scorer, filter or split."""
    if identifier.startswith(f"{metric}:"):
        return identifier[len(metric) + 1 :]
    if identifier.endswith(f":{metric}"):
        return identifier[: -len(metric) - 1]
    return ""


def _measure(
    identifier: str, metric: str, header: Header, details: Mapping[str, str]
) -> Measure:
    """Return which value a result is, by its details and, where those say less, its id."""
    rest = rest_of(identifier, metric)
    split = perturbation = scorer = ""
    if "metric" in details:  # an export of helmsite, whose details say all
        pass
    elif header.tool == "helm":
        split, _, perturbation = rest.partition(":")
    else:
        scorer = rest
    perturbation = details.get("perturbation", perturbation)
    on = "worst" if perturbation in WORST else "perturbed" if perturbation else ""
    return Measure(
        metric,
        details.get("scorer", scorer),
        details.get("split", split),
        details.get("sub_split", ""),
        perturbation,
        details.get("computed_on", on),
    )


def guessed(identifier: str, header: Header) -> Measure:
    """Return which value a row's id means where no aggregate has that id."""
    first, colon, last = identifier.partition(":")
    if colon and header.tool == "inspect":
        return Measure(last, first)
    if colon and header.tool == "lm_eval":
        return Measure(first, last)
    if colon and header.tool == "helm":
        return _measure(identifier, first, header, {})
    return Measure(identifier or "score")


def _stat(score: Row, config: Row, measure: Measure, details: dict[str, Any]) -> Stat:
    value = score.number("score")
    if config.get("has_unknown_level") is True and value == -1:
        value = None
    spread = score.row("uncertainty", None) or Row({}, score.at("uncertainty"))
    error = spread.get("standard_error")
    if isinstance(error, dict):
        stderr = spread.row("standard_error").number("value", None)
    else:
        stderr = spread.number("standard_error", None)
    interval = spread.row("confidence_interval", None)
    if interval is None and isinstance(score.get("confidence_interval"), dict):
        interval = score.row("confidence_interval")  # as 0.2.0 had it
    low, high = _interval(interval, value)
    counts = details_of(score.row("details", None))
    scored = spread.integer("num_samples", None)
    if scored is None:
        scored = _count(counts.get("n_scored", ""))
    return Stat(
        **measure._asdict(),
        value=value,
        stderr=stderr,
        ci_low=low,
        ci_high=high,
        n_scored=max(0, scored),
        n_asked=max(0, _count(counts.get("n_asked", "")) or scored),
        origin="reported",
        missing="" if value is not None else "nan",
        details={k: v for k, v in details.items() if v not in (None, {}, "")},
    )


def _count(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0


def _interval(
    found: Row | None, value: float | None
) -> tuple[float | None, float | None]:
    """Return an interval's ends; some sources give them as distances from the value."""
    if found is None:
        return None, None
    low, high = found.number("lower", None), found.number("upper", None)
    if low is None or high is None or value is None or low <= value <= high:
        return low, high
    if low <= 0 <= high:
        return value + low, value + high
    return None, None


def metric_facts(metric: str, config: Row, header: Header) -> MetricFacts:
    """Return what is said of a metric."""
    more = details_of(config.row("additional_details", None))
    unit = config.text("metric_unit", "")
    lower = config.flag("lower_is_better", None)
    better = None if lower is None or more.get("polarity") == "unknown" else not lower
    bounds = config.get("min_score"), config.get("max_score")
    is_share = config.get("score_type") == "binary" or bounds == (0, 1)
    form = more.get("format") or ("share" if is_share else UNITS.get(unit, "number"))
    kind = config.text("metric_kind", "").lower()
    rule = more.get("aggregation", "")
    description = config.text("evaluation_description", "")
    is_sentence = bool(re.search(r"\s", description)) and not header.is_published
    return MetricFacts(
        name=metric,
        title=more.get("title")
        or metric_title(config.text("metric_name", "") or metric),
        description=description
        if is_sentence
        else f"As reported by {header.library or 'the source'}.",
        family=more.get("family", _family(kind, unit.lower(), better)),
        aggregation=cast("Any", rule if rule in AGGREGATIONS else "mean"),
        higher_is_better=better,
        unit="" if unit.lower() in {"", *UNITS, *PLAIN} else unit,
        format=cast("Any", form if form in FORMATS else "number"),
        source=more.get("source", header.library),
    )


def _family(kind: str, unit: str, better: bool | None) -> str:
    if kind in EFFICIENCY or unit in EFFICIENCY:
        return "efficiency"
    if kind in CALIBRATION:
        return "calibration"
    if "toxic" in kind:
        return "toxicity"
    if "bias" in kind:
        return "bias"
    return "accuracy" if better else ""


def scenario_facts(name: str, source: Row, header: Header) -> ScenarioFacts:
    """Return what a result is about.

    Results that were taken from a leaderboard are named after it, for `Arabic` there and
    elsewhere need not be the same; those of runs have the name of what was run.
    """
    data = source.get("dataset_name")
    more = details_of(source.row("additional_details", None))
    collection = header.collection
    if header.is_published and collection and "scenario" not in more:
        is_whole = _letters(name) == _letters(collection)
        scenario = collection if is_whole else f"{collection}/{name}"
        groups: tuple[str, ...] = () if is_whole else (collection,)
    else:
        scenario, groups = _ran(name, more, data, header), ()
    split = _split(source)
    return ScenarioFacts(
        name=scenario,
        title=more.get("title") or (name if scenario != name else ""),
        description=more.get("description", ""),
        licence=more.get("licence", ""),
        citation=more.get("citation", ""),
        url=_url(source),
        groups=groups or tuple(_texts(more.get("groups", ""))),
        main_metric=more.get("main_metric", ""),
        main_split=more.get("main_split") or split or "test",
    )


def _ran(name: str, more: Mapping[str, str], data: Any, header: Header) -> str:
    """Return the scenario of results that were made, not copied."""
    if "scenario" in more:
        return more["scenario"]
    if header.names_scorers:
        known = data if isinstance(data, str) and data else header.data_name
        return known or header.collection or name
    arguments = read_json(more.get("scenario_args", ""))
    if header.tool == "helm" and isinstance(arguments, dict):
        given = {
            k: str(v)
            for k, v in arguments.items()
            if isinstance(v, (str, int, float, bool)) and str(v) != name
        }
        return format_entry(name, given) if ":" not in name else name
    return name


def _letters(name: str) -> str:
    return re.sub(r"\W|_", "", name).lower()


def _texts(found: str) -> list[str]:
    made = read_json(found)
    return (
        [each for each in made if isinstance(each, str)]
        if isinstance(made, list)
        else []
    )


def _split(source: Row) -> str:
    said = source.get("hf_split")
    name = said if isinstance(said, str) else ""
    return {"val": "valid", "validation": "valid", "dev": "valid"}.get(name, name)


def _url(source: Row) -> str:
    repository = source.get("hf_repo")
    if isinstance(repository, str) and _REPOSITORY.fullmatch(repository):
        return f"https://huggingface.co/datasets/{repository}"
    urls = source.get("url")
    first = urls[0] if isinstance(urls, list) and urls else urls
    return first if isinstance(first, str) and first.startswith("http") else ""

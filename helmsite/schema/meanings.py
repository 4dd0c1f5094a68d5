"""What each column of a run's tables means, for whoever reads them without helmsite.

Names and types are those of `helmsite.archive.tables`, meanings those of docs/archive.md;
the tests hold all three together.
"""

from __future__ import annotations

from helmsite.schema.records import Record


class ColumnFacts(Record, frozen=True):
    """A column: its type as Arrow writes it, and one line of meaning (`code` in ticks)."""

    name: str
    type: str
    meaning: str


class TableFacts(Record, frozen=True):
    """A table of a run: what one row is, its key and its columns."""

    name: str
    row: str
    key: tuple[str, ...]
    columns: tuple[ColumnFacts, ...]


def _columns(text: str) -> tuple[ColumnFacts, ...]:
    rows = (line.split(" | ", 2) for line in text.strip().splitlines())
    return tuple(ColumnFacts(*row) for row in rows)


TABLES = (
    TableFacts(
        "instances",
        "an instance, or one perturbed version of it",
        ("instance_id", "perturbation"),
        _columns("""
instance_id | string | HELM's `id<N>`, or the source's own id
perturbation | string | `name(param=value)~seed`; `''` for the original
position | int32 | place in the source's order
content_hash | string | 16 hex digits over input, messages and references: models are paired only where it is equal
split | string | HELM's split: train, valid, test
sub_split | string | HELM's sub-split
attributes | map<string, list<string>> | dimension → the (overlapping) groups that the instance is in
input | string | the question or text
messages | list<struct<role: string, content: string, extra: string>> | a conversation; `extra` is JSON of what is not plain text
references | list<struct<text: string, tags: list<string>>> | possible outputs; a right one has the tag `correct`
extra | string (JSON) | what the source says and no column holds
"""),
    ),
    TableFacts(
        "requests",
        "a completion: what was sent and what came back",
        (
            "instance_id",
            "perturbation",
            "trial",
            "mode",
            "request_index",
            "reference_index",
            "completion_index",
        ),
        _columns("""
instance_id | string | the instance
perturbation | string | and which version of it
trial | int32 | train trial · `num_trials` + repeat (HELM's train trial, if nothing is repeated); an Inspect epoch
mode | string | original, calibration, or `judge:<metric>`
request_index | int32 | windows of one long document
reference_index | int32 | the reference that is scored, -1 if none
completion_index | int32 | one of several completions of the request
prompt | string | everything that was sent; for a given continuation, context and continuation
prompt_kind | string | exact; abridged (HELMET keeps its ends only); absent (only messages are known)
messages | list<struct<role: string, content: string, extra: string>> | the conversation that was sent
params | string (JSON) | decoding parameters that differ from the run's spec; NULL if none does
output_mapping | map<string, string> | letter → the text of the option
example_ids | list<string> | the in-context examples, in order
num_train_instances | int32 | how many there are
truncated | bool | whether the prompt was cut to fit
num_conditioning_tokens | int32 | HELM's, for windows of long documents
score_start | int32 | where the given continuation begins, in code points; NULL if text was generated
completion | string | the text; `''` for a given continuation
reasoning | string | what the model thought before it answered
transcript | string (JSON) | tool calls, turns, events
tokens | list<string> | tokens of the completion, or of the given continuation
token_logprobs | list<double> | their natural logarithms of probability
top_logprobs | list<list<struct<token: string, logprob: double>>> | alternatives at each token
logprob | double | of the whole completion
finish_reason | string | stop, length, endoftext, unknown, or the source's word
usage | struct<prompt_tokens: int32, completion_tokens: int32, cached_tokens: int32> | as the model's side counts
duration_s | double | seconds it took
started_at | double | seconds since 1970
cached | bool | answered before this run began
model_version | string | as the endpoint says
error | string | why the request failed for good; `''` if it did not
extra | string (JSON) | what the source says and no column holds
"""),
    ),
    TableFacts(
        "scores",
        "a verdict",
        (
            "instance_id",
            "perturbation",
            "trial",
            "request_index",
            "reference_index",
            "completion_index",
            "metric",
            "scorer",
            "origin",
        ),
        _columns("""
instance_id | string | the instance
perturbation | string | and which version of it
trial | int32 | the trial
request_index | int32 | -1: the whole instance and trial
reference_index | int32 | -1: the whole instance and trial
completion_index | int32 | -1: the whole instance and trial
metric | string | its name; its facts are in `run.json`
scorer | string | filter, scorer or judge; `''` if there is one only
value | double | NULL has its reason in `missing`
weight | double | bytes, tokens, …: Σ value·weight / Σ weight is the ratio of sums
text | string | the extracted answer that was judged
details | string (JSON) | what else the scorer says
origin | string | computed (here) or reported (by the source)
missing | string | failed, not asked, not measurable, nan, unparsed; `''` if there is a value
"""),
    ),
    TableFacts(
        "stats",
        "an aggregate",
        (
            "metric",
            "scorer",
            "split",
            "sub_split",
            "perturbation",
            "computed_on",
            "trial",
            "origin",
        ),
        _columns("""
metric | string | its name
scorer | string | as in scores
split | string | the split
sub_split | string | `''`: all; HELM's sub-split; or `dimension=value` of an attribute
perturbation | string | `''`, a perturbation, or the family `robustness`, `fairness`
computed_on | string | `''`, perturbed, original or worst
trial | int32 | -1: the mean of the trials' values
value | double | NULL has its reason in `missing`
stderr | double | its standard error
ci_low | double | its interval
ci_high | double | its interval
n_scored | int32 | observations (instance and trial) with a value
n_asked | int32 | observations in all
origin | string | computed or reported
missing | string | why there is no value
details | string (JSON) | HELM's count, sum, min, max, stddev
"""),
    ),
)
MANIFEST = _columns("""
run_id | text | `r` and 16 hex digits of the hash of (spec_id, suite, origin)
spec_id | text | SHA-256 of the canonical JSON of `spec`
suite | text | the suite that the run belongs to
spec | object | all that can change a request or a reply: scenario, data, adapter, model, perturbations
scenario | object | what the scenario is: title, description, licence, citation, main metric and split
card | object | what is told of the model: creator, size, licence, contamination
schema_version | number | 1. Others are refused, naming the version
origin | text | `native`, `native:<label>` for a deliberate repeat, or `<tool>:<the source's key>`
status | text | complete, partial (requests failed or were not asked), cancelled
counts | object | requests asked, answered, failed (a completion of theirs has an `error`); scores with a value
metrics | list | what each metric means: title, family, good direction, format
perturbations | list | what each perturbation does, and the families that it belongs to
provenance | object | versions and times
files | object | rows, bytes and SHA-256 of each table
warnings | list | what a reader should know
""")

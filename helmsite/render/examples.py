"""Code that reads an archive or a published site, ready to be pasted; tests run it all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from helmsite.render.formats import quoted
from helmsite.render.pages import Example, Examples

if TYPE_CHECKING:
    from collections.abc import Mapping

ARCHIVE = (
    "'runs/*/*/*/*/{}.parquet', hive_partitioning = true, hive_types_autocast = false"
)
WHOLE = "sub_split = '' AND perturbation = '' AND trial = -1"


def of_archive(metric: str) -> Examples:
    """Return how to read an archive's folder; `metric` is one that its runs have."""
    values = (
        "SELECT scenario, model, metric, split, value, ci_low, ci_high, n_scored, n_asked\n"
        f"FROM read_parquet({ARCHIVE.format('stats')})\n"
        f"WHERE {WHOLE}\n"
        "ORDER BY ALL;"
    )
    wrong = (
        "SELECT r.model, r.instance_id, r.trial, s.text AS answer, r.prompt, r.completion\n"
        f"FROM read_parquet({ARCHIVE.format('requests')}) r\n"
        f"JOIN read_parquet({ARCHIVE.format('scores')}) s\n"
        "  USING (run, instance_id, perturbation, trial)\n"
        f"WHERE r.mode = 'original' AND s.metric = {quoted(metric)} AND s.value = 0\n"
        "ORDER BY ALL LIMIT 20;"
    )
    pandas = (
        "import json\n"
        "from pathlib import Path\n\n"
        "import pandas as pd\n\n"
        'run = sorted(Path("runs").glob("suite=*/scenario=*/model=*/run=*"))[0]\n'
        'manifest = json.loads((run / "run.json").read_text(encoding="utf-8"))\n'
        'scores = pd.read_parquet(run / "scores.parquet", partitioning=None)\n'
        'print(manifest["spec"]["scenario"], manifest["spec"]["model"]["name"])\n'
        'print(scores.groupby("metric")["value"].agg(["mean", "count"]))'
    )
    arrow = (
        "from pathlib import Path\n\n"
        "import pyarrow.dataset as ds\n\n"
        'files = sorted(map(str, Path("runs").glob("suite=*/*/*/*/scores.parquet")))\n'
        'scores = ds.dataset(files, partitioning="hive", partition_base_dir="runs")\n'
        'table = scores.to_table(columns=["model", "scenario", "metric", "value"])\n'
        'print(table.group_by(["scenario", "model", "metric"]).aggregate([("value", "mean")]))'
    )
    return Examples(
        "From the archive",
        "In the folder that holds the archive runs/. Names in its paths are read as text: "
        "a suite named 2024-01-01 would become a date.",
        (
            Example("Every model’s values, with intervals", "SQL", values),
            Example("What was said where it was wrong", "SQL", wrong),
            Example("One run with pandas", "Python", pandas),
            Example("All runs with pyarrow", "Python", arrow),
        ),
    )


def of_site(index: str, files: Mapping[str, str], metric: str) -> Examples:
    """Return how to read the files on offer.

    Args:
        index: the address of the list of files.
        files: the addresses of one run's files by table.
        metric: a metric of that run.
    """
    published = "://" in index
    listed = (
        f"SELECT scenario, model, run_id, name, rows, bytes, url\nFROM {quoted(index)};"
    )
    every = "\n".join(
        [
            "SET VARIABLE files = (",
            f"  SELECT list(url) FROM {quoted(index)} WHERE name = 'stats.parquet');",  # noqa: S608 (shown, not run)
            "SELECT i.scenario, i.model, i.run_id, s.metric, s.split, s.value, s.n_scored",
            "FROM read_parquet(getvariable('files'), filename = true) s",
            f"JOIN {quoted(index)} i ON i.url = s.filename",
            f"WHERE {WHOLE}",
            "ORDER BY ALL;",
        ]
    )
    made = [Example("What there is", "SQL", listed)]
    if "stats" in files:
        made.append(Example("Every run’s values in one query", "SQL", every))
    if {"requests", "scores"} <= files.keys():
        made.append(
            Example(
                "Prompts, completions and verdicts of one run",
                "SQL",
                "SELECT r.instance_id, r.trial, s.value, s.text AS answer, r.prompt, r.completion\n"
                f"FROM {quoted(files['requests'])} r\n"
                f"JOIN {quoted(files['scores'])} s USING (instance_id, perturbation, trial)\n"
                f"WHERE r.mode = 'original' AND s.metric = {quoted(metric)}\n"
                "ORDER BY ALL LIMIT 20;",
            )
        )
    table, address = next(
        (t, files[t]) for t in ("scores", "stats", *files) if t in files
    )
    made.append(Example("One run with pandas", "Python", _pandas(table, address)))
    made.append(
        Example(
            "One run with pyarrow",
            "Python",
            _arrow(table, address, published=published),
        )
    )
    where = (
        "DuckDB reads from the web as it is (httpfs loads itself); pyarrow does with "
        "pip install fsspec[http]. A host that answers range requests sends only the "
        "columns that are asked for."
        if published
        else "In the site’s folder. Built with a base address "
        "(base_url under [site]) these lines read from the web."
    )
    return Examples("From this site", where, tuple(made))


def _pandas(table: str, address: str) -> str:
    start = f"import pandas as pd\n\n{table} = pd.read_parquet({address!a})\n"
    if table in {"scores", "stats"}:
        return (
            f'{start}print({table}.groupby("metric")["value"].agg(["mean", "count"]))'
        )
    return f"{start}print({table}.head())"


def _arrow(table: str, address: str, *, published: bool) -> str:
    named = '["metric", "value"]' if table in {"scores", "stats"} else '["instance_id"]'
    if published:
        return (
            "import fsspec\n"
            "import pyarrow.parquet as pq\n\n"
            f"with fsspec.open({address!a}) as file:\n"
            f"    print(pq.read_table(file, columns={named}).to_pandas())"
        )
    return (
        "import pyarrow.parquet as pq\n\n"
        f"print(pq.ParquetFile({address!a}).read(columns={named}).to_pandas())"
    )

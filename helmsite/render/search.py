"""The index of the search box in the header, as a classic script."""

from __future__ import annotations

from typing import TYPE_CHECKING

from helmsite.render.sentences import scenario_title
from helmsite.render.text import plain
from helmsite.render.tokens import script_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from helmsite.query.rows import ModelSummary, RunSummary, ScenarioSummary
    from helmsite.render.frames import Frames

MOST_RUNS = 5000


def script(
    scenarios: Sequence[ScenarioSummary],
    models: Sequence[ModelSummary],
    runs: Sequence[RunSummary],
    frames: Frames,
) -> str:
    """Return a script that names every scenario, model and (up to 5000) runs."""
    site = frames.map
    rows = [
        [
            "scenario",
            scenario_title(s.facts),
            plain(s.facts.name),
            site.scenario(s.facts.name),
        ]
        for s in scenarios
    ]
    rows += [
        [
            "model",
            plain(m.card.title or m.card.name),
            plain(m.card.name),
            site.model(m.card.name),
        ]
        for m in models
    ]
    rows += [
        [
            "run",
            frames.run_name(r.manifest).title,
            r.manifest.run_id,
            site.run(r.manifest.run_id),
        ]
        for r in runs[:MOST_RUNS]
    ]
    return f"helmsite.searchable({script_json(rows)});\n"

"""The index of the search box in the header, as a classic script."""

from __future__ import annotations

from typing import TYPE_CHECKING

from helmsite.render import formats
from helmsite.render.sentences import scenario_title
from helmsite.render.text import plain
from helmsite.render.tokens import script_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from helmsite.query.rows import Group, ModelSummary, RunSummary, ScenarioSummary
    from helmsite.render.frames import Frames

MOST_RUNS = 10_000


def script(
    groups: Sequence[Group],
    scenarios: Sequence[ScenarioSummary],
    models: Sequence[ModelSummary],
    runs: Sequence[RunSummary],
    frames: Frames,
) -> str:
    """Return a script that names every group, scenario, model and (up to 10,000) runs.

    `things` are [kind, title, name, address]. `runs` are [place of the model, place of
    the scenario, what tells it from like runs, run id] and, where it is not to be told
    from the id, the address.
    """
    site = frames.map
    things = [
        [
            "group",
            plain(g.title or g.name),
            plain(g.name),
            site.board(g.name, formats.families(g.families)[0]),
        ]
        for g in groups
        if g.families
    ]
    places = {}
    for s in scenarios:
        places["scenario", s.facts.name] = len(things)
        title, name = scenario_title(s.facts), plain(s.facts.name)
        things.append(["scenario", title, name, site.scenario(s.facts.name)])
    for m in models:
        places["model", m.card.name] = len(things)
        title, name = plain(m.card.title or m.card.name), plain(m.card.name)
        things.append(["model", title, name, site.model(m.card.name)])
    lines = []
    for run in runs[:MOST_RUNS]:
        manifest = run.manifest
        model = places.get(("model", manifest.card.name))
        scenario = places.get(("scenario", manifest.scenario.name))
        called, href = frames.run_name(manifest), site.run(manifest.run_id)
        if model is None or scenario is None:
            things.append(["run", called.title, manifest.run_id, href])
            continue
        usual = href == f"runs/{manifest.run_id}/index.html"
        address = [] if usual else [href]
        lines.append([model, scenario, called.inside, manifest.run_id, *address])
    found = script_json({"things": things, "runs": lines})
    return f"helmsite.searchable({found});\n"

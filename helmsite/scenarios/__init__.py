"""Scenarios: where instances come from.

A scenario is one YAML file (docs/scenarios.md); `load` makes its instances, `listing`
shows all that there are.
"""

from helmsite.scenarios.generators import GENERATORS, Generator
from helmsite.scenarios.library import Entry, Listing, listing
from helmsite.scenarios.loaders import Loader
from helmsite.scenarios.loading import Chosen, choose, load

__all__ = [
    "GENERATORS",
    "Chosen",
    "Entry",
    "Generator",
    "Listing",
    "Loader",
    "choose",
    "listing",
    "load",
]

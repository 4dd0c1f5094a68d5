"""The static site: what query says, rendered into a folder of plain files."""

from helmsite.render.build import BuildReport, build
from helmsite.render.forecast import Forecast
from helmsite.render.links import check_links
from helmsite.render.source import Means, Source

__all__ = ["BuildReport", "Forecast", "Means", "Source", "build", "check_links"]

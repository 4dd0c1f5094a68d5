"""The static site."""

from helmsite.render.build import BuildReport, build
from helmsite.render.links import check_links
from helmsite.render.source import Source

__all__ = ["BuildReport", "Source", "build", "check_links"]

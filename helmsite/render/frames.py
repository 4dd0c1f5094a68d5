"""What stands around every page: title, breadcrumbs, and the quiet last line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from helmsite.render import formats
from helmsite.render.names import up
from helmsite.render.parts import Frame, Link
from helmsite.render.runnames import RunName
from helmsite.render.runnames import title as base_title

if TYPE_CHECKING:
    from helmsite.config import SiteConfig
    from helmsite.query.rows import Overview
    from helmsite.render.names import SiteMap
    from helmsite.schema import Manifest


class Frames:
    """Makes the frames of a site's pages."""

    def __init__(
        self,
        config: SiteConfig,
        site_map: SiteMap,
        overview: Overview,
        titles: dict[str, str],
        names: dict[str, RunName] | None = None,
    ) -> None:
        self._config = config
        self._titles = titles
        self._names = names or {}
        self.map = site_map
        self.text_search = config.text_search
        date = formats.day(overview.newest)
        self._state = f"built from archive state {overview.state[:12] or 'empty'}"
        self._state += f", newest run of {date}" if date else ""

    def model_title(self, name: str) -> str:
        """Return a model's title, its name where it has none."""
        return self._titles.get(name) or name

    def run_name(self, manifest: Manifest) -> RunName:
        """Return what a run is called among the site's runs."""
        return self._names.get(manifest.run_id) or RunName(base_title(manifest))

    def address(self, path: str) -> str:
        """Return where a file of the site is for somebody elsewhere.

        Without a base address it is the path from the site's folder.
        """
        base = self._config.base_url.rstrip("/")
        return f"{base}/{path}" if base else path

    def frame(
        self,
        path: str,
        title: str,
        section: str,
        crumbs: tuple[Link, ...] = (),
        state: str = "",
        download: str = "",
    ) -> Frame:
        """Return a page's frame; `state` is the archive's unless given."""
        base = self._config.base_url.rstrip("/")
        built = state or self._state
        return Frame(
            title=title,
            site=self._config.title,
            root=up(path),
            path=path,
            permalink=f"{base}/{path}" if base else path.rsplit("/", 1)[-1],
            section=section,
            state=built,
            crumbs=crumbs,
            download=download,
            cite=f"{self._config.title}: {title}. {self.address(path)} ({built})",
        )

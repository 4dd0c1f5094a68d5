"""Where templates and static files are found: the site's own first, then the bundled.

A site overrides a file by one of the same name in `<overrides>/templates` or
`<overrides>/static`. The prefix `default:` reaches the bundled template, so that
`{% extends "default:base.html" %}` changes one block.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

from jinja2 import (
    ChoiceLoader,
    Environment,
    FileSystemLoader,
    PrefixLoader,
    StrictUndefined,
    Template,
    TemplateError,
)
from jinja2.compiler import CodeGenerator
from markupsafe import Markup, escape

from helmsite.errors import BuildError
from helmsite.render import formats
from helmsite.render.text import plain, prose, shown, spaced, web_address
from helmsite.resources import bundled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from helmsite.render.pages import Page
    from helmsite.schema import Record

FINDER = ("rows.js", "textsearch.js", "findform.js", "findlist.js", "finder.js")
# One style sheet and one script for all pages: a cold page is a handful of requests.
BUNDLES = {
    "site.css": (
        "tokens.css",
        "base.css",
        "tables.css",
        "instances.css",
        "finder.css",
        "pages.css",
    ),
    "site.js": (
        "core.js",
        "columns.js",
        "table.js",
        "instance.js",
        "pages.js",
        *FINDER,
    ),
}


class Theme:
    """Templates and static files of a site.

    Raises:
        BuildError: the folder of overrides does not exist.
    """

    def __init__(self, overrides: str = "") -> None:
        self.folders: list[Path] = [Path(overrides)] if overrides else []
        for folder in self.folders:
            if not folder.is_dir():
                raise BuildError(
                    f"The theme folder {folder} does not exist.",
                    "Create it, or correct `overrides` under [site] in helmsite.toml.",
                )
        self.overrides = overrides
        chain = [folder / "templates" for folder in self.folders]
        self.environment = environment(chain, bundled("templates"))
        self._chain = [*chain, bundled("templates")]
        self._known: dict[str, Template] = {}

    def render(self, template: str, page: Page) -> str:
        """Return a page's HTML.

        Raises:
            BuildError: a template is missing or broken, or asks for an unknown variable.
        """
        return self._render(template, page)

    def fragment(self, template: str, view: Record) -> str:
        """Return a part of a page, such as one instance."""
        return self._render(template, view)

    def _render(self, template: str, record: Record) -> str:
        fields = {name: getattr(record, name) for name in record.__struct_fields__}
        try:
            known = self._known.get(template)
            if known is None:
                known = self._known[template] = self.environment.get_template(template)
                known.globals = dict(known.globals)  # its chain of maps is slow to copy
            return known.render(fields)
        except TemplateError as error:
            raise BuildError(
                f"The template {template} cannot be rendered: {error}",
                "docs/site.md lists the variables of each template.",
            ) from error

    def sources(self) -> list[dict[str, str]]:
        """Return path and SHA-256 of each template, folder by folder in their order."""
        found = []
        for folder in self._chain:
            paths = sorted(p for p in folder.rglob("*") if p.is_file())
            found.append(
                {
                    path.relative_to(folder).as_posix(): hashlib.sha256(
                        path.read_bytes()
                    ).hexdigest()
                    for path in paths
                }
            )
        return [templates for templates in found if templates]

    def static(self) -> dict[str, bytes]:
        """Return the static files by their path under static/, overrides applied.

        The parts of a bundle are put together in the bundle's file.
        """
        found: dict[str, bytes] = {}
        for root in [bundled("static"), *(f / "static" for f in self.folders)]:
            for path in sorted(p for p in root.rglob("*") if p.is_file()):
                found[path.relative_to(root).as_posix()] = path.read_bytes()
        for bundle, parts in BUNDLES.items():
            joined = b"".join(found.pop(part) for part in parts)
            found.setdefault(bundle, joined)
        return dict(sorted(found.items()))


def escaped(value: object) -> str:
    """Return what `markupsafe.escape` does; of a plain word it makes no `Markup`.

    What a template writes is joined to a plain string in any case.
    """
    kind = type(value)
    if kind is Markup or (kind is str and value.isalnum()):  # type: ignore[attr-defined]
        return value  # type: ignore[return-value]
    return escape(value)


class _Generator(CodeGenerator):
    """Makes templates that escape with the function above.

    They are written from what markupsafe offers; where this is not called, they do so.
    """

    def write_commons(self) -> None:
        super().write_commons()
        self.writeline("escape = environment.escaped")


class _Environment(Environment):
    code_generator_class = _Generator
    escaped = staticmethod(escaped)


def environment(chain: Sequence[Path], default: Path) -> Environment:
    """Return an environment that looks through the chain, then the bundled theme.

    Everything is escaped, and an undefined variable is an error.
    """
    own = FileSystemLoader(default)
    made = _Environment(
        loader=ChoiceLoader(
            [FileSystemLoader(list(chain)), own, PrefixLoader({"default": own}, ":")]
        ),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.filters.update(
        visible=shown,
        spaced=spaced,
        plain=plain,
        prose=prose,
        web=web_address,
        count=formats.count,
        size=formats.size,
        seconds=formats.seconds,
        parameters=formats.parameters,
        listed=formats.listed,
        sig=formats.significant,
    )
    return made

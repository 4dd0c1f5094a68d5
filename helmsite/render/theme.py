"""Where templates and static files are found: the site's own first, then the bundled.

A site overrides a file by one of the same name in `<overrides>/templates` or
`<overrides>/static`. The prefix `default:` reaches the bundled template, so that
`{% extends "default:base.html" %}` changes one block.
"""

from __future__ import annotations

import hashlib
import keyword
from pathlib import Path
from typing import TYPE_CHECKING, Any

import markupsafe
from jinja2 import (
    ChoiceLoader,
    Environment,
    FileSystemLoader,
    PrefixLoader,
    StrictUndefined,
    Template,
    TemplateError,
    nodes,
)
from jinja2.compiler import CodeGenerator, Frame
from markupsafe import Markup, escape

from helmsite.errors import BuildError
from helmsite.render import formats
from helmsite.render.text import plain, prose, shown, spaced, web_address
from helmsite.resources import bundled

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

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
        self._direct = environment(chain, bundled("templates"), _DirectEnvironment)
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
                known = self._known[template] = self._direct.get_template(template)
                known.globals = dict(known.globals)  # its chain of maps is slow to copy
            try:
                return known.render(fields)
            except AttributeError:  # Jinja knows what it means, and whether it is one
                known = self._known[template] = self.environment.get_template(template)
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
    """Return what `markupsafe.escape` does, for plain text without a `Markup` around it.

    What a template writes is joined to a plain string in any case.
    """
    kind = type(value)
    if kind is Markup:
        return value  # type: ignore[return-value]
    if kind is str:
        return _escape(value)
    return escape(value)


# The inner function of markupsafe, which makes no Markup; escape itself where it is gone.
_escape: Callable[[Any], str] = getattr(markupsafe, "_escape_inner", escape)


class _Generator(CodeGenerator):
    """Makes templates that escape with the function above.

    They are written from what markupsafe offers; where this is not called, they do so.
    """

    def write_commons(self) -> None:
        super().write_commons()
        self.writeline("escape = environment.escaped")


class _Direct(_Generator):
    """Makes templates that take an attribute as Python does, several times faster.

    One that is not there is an AttributeError; see `Theme`.
    """

    def visit_Getattr(self, node: nodes.Getattr, frame: Frame) -> None:  # noqa: N802
        if keyword.iskeyword(node.attr):
            super().visit_Getattr(node, frame)
            return
        self.write("(")
        self.visit(node.node, frame)
        self.write(f").{node.attr}")


class _Environment(Environment):
    code_generator_class: type[CodeGenerator] = _Generator
    escaped = staticmethod(escaped)


class _DirectEnvironment(_Environment):
    code_generator_class = _Direct


def environment(
    chain: Sequence[Path], default: Path, kind: type[Environment] = _Environment
) -> Environment:
    """Return an environment that looks through the chain, then the bundled theme.

    Everything is escaped, and an undefined variable is an error.
    """
    own = FileSystemLoader(default)
    made = kind(
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

"""Templates of scenario files: Jinja cut down to what cannot harm or run away.

A scenario file may come from a stranger. Its templates see the fields of one row and
the parameters, can call a short list of methods and filters, and every loop step and
every character that they make is counted against a budget.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, cast

from jinja2 import TemplateError, TemplateSyntaxError, UndefinedError, meta, nodes
from jinja2.exceptions import TemplateAssertionError
from jinja2.visitor import NodeTransformer

from helmsite.errors import ScenarioError, suggest
from helmsite.scenarios.sandbox import Sandbox

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from jinja2 import Template as Compiled


STATEMENTS = (nodes.Template, nodes.Output, nodes.TemplateData, nodes.If, nodes.For)
EXPRESSIONS = (
    *(nodes.Name, nodes.Const, nodes.Tuple, nodes.List, nodes.Dict, nodes.Pair),
    *(nodes.Keyword, nodes.CondExpr, nodes.Filter, nodes.Test, nodes.Call),
    *(nodes.Getitem, nodes.Getattr, nodes.Slice, nodes.Concat, nodes.Compare),
    *(nodes.Operand, nodes.Add, nodes.Sub, nodes.Mul, nodes.Div, nodes.FloorDiv),
    *(nodes.Mod, nodes.Neg, nodes.Pos, nodes.Not, nodes.And, nodes.Or),
)
ALLOWED = (*STATEMENTS, *EXPRESSIONS, nodes.Assign)
ROW, PARAMETERS = "row", "parameters"
RESULT = "result"
FAILURES = (
    *(TypeError, ValueError, ArithmeticError, LookupError),
    *(RecursionError, SyntaxError, AttributeError, MemoryError),
)


class Template:
    """A checked template, compiled when it is first used.

    `names` are the variables that it reads, `parameters` those `parameters.NAME` that
    it names outright.

    Raises:
        ScenarioError: the template is not valid Jinja, or uses what is not allowed.
    """

    def __init__(self, source: str, sandbox: Sandbox) -> None:
        self.source = source
        self._sandbox = sandbox
        self._tree = _parsed(source, sandbox)
        self.names = frozenset(meta.find_undeclared_variables(self._tree)) - {"range"}
        self.parameters = frozenset(
            node.attr
            for node in self._tree.find_all(nodes.Getattr)
            if isinstance(node.node, nodes.Name) and node.node.name == PARAMETERS
        )
        self._expression = _single_expression(self._tree)
        named = isinstance(self._expression, nodes.Name)
        self._field = cast("nodes.Name", self._expression).name if named else ""
        self._compiled: Compiled | None = None

    @property
    def is_expression(self) -> bool:
        """Whether this is one `{{ expression }}`, which gives a value, not a text."""
        return self._expression is not None

    def value(self, variables: Mapping[str, Any]) -> Any:
        """Return the value of an expression, or the text of anything else.

        Raises:
            ScenarioError: an unknown field, a null in a text, a forbidden or endless
                computation; the message does not say where.
        """
        if self._field in variables:
            return variables[self._field]
        if "{" not in self.source:
            return self.source
        try:
            return self._evaluate(variables)
        except UndefinedError as error:
            raise _unknown(error, variables) from error
        except (TemplateError, *FAILURES) as error:
            raise ScenarioError(
                f"template {_short(self.source)}: {_ended(str(error))}",
                "docs/scenarios.md lists what templates can do.",
            ) from error

    def text(self, variables: Mapping[str, Any]) -> str:
        """Return the value as text; null and lists have none.

        Raises:
            ScenarioError: as `value`, or the value is null or a list.
        """
        return as_text(self.value(variables))

    def _evaluate(self, variables: Mapping[str, Any]) -> Any:
        self._sandbox.refill()
        compiled = self._compile()
        seen = {**self._sandbox.globals, **variables}
        context = compiled.new_context(seen, shared=True)
        text = "".join(compiled.root_render_func(context))
        if self._expression is None:
            return text
        return self._sandbox.plain(context.vars[RESULT])

    def _compile(self) -> Compiled:
        if self._compiled is None:
            tree = self._tree
            if self._expression is not None:
                target = nodes.Name(RESULT, "store", lineno=1)
                assign = nodes.Assign(target, self._expression, lineno=1)
                tree = nodes.Template([assign], lineno=1)
            tree = _Metered().visit(tree)
            tree.set_environment(self._sandbox)
            self._compiled = self._sandbox.from_string(tree)
        return self._compiled


def as_text(value: Any) -> str:
    """Return text or a number as text.

    Raises:
        ScenarioError: null, a list or a mapping.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, (bool, int, float)):
        return str(value)
    raise ScenarioError(
        f"must be text, but is {say(value)}.",
        'Give null a text with {{ field | default("...", true) }}, '
        'a list with {{ field | join(", ") }}.',
    )


def renderer(parameters: Mapping[str, Any]) -> Callable[[str], str]:
    """Return what renders texts that see the parameters alone."""
    sandbox = Sandbox()
    seen = {PARAMETERS: dict(parameters)}
    return lambda text: Template(text, sandbox).text(seen) if "{" in text else text


def say(value: Any) -> str:
    """Return what kind of value this is, for a message."""
    if value is None:
        return "null"
    if isinstance(value, (list, tuple)):
        return f"a list of {len(value)}"
    if isinstance(value, dict):
        return "an object"
    return f"{_short(str(value))}"


def _parsed(source: str, sandbox: Sandbox) -> nodes.Template:
    try:
        tree = sandbox.parse(source)
        for node in _walk(tree):
            _check(node, sandbox)
    except (TemplateSyntaxError, TemplateAssertionError) as error:
        raise ScenarioError(
            f"template {_short(source)}: {_ended(str(error.message))}",
            "Write {{ field }} for a field and {% if ... %} for a condition.",
        ) from error
    except RecursionError as error:
        raise ScenarioError(
            f"template {_short(source)}: too deeply nested.", "Write it in steps."
        ) from error
    return tree


def _walk(node: nodes.Node) -> Iterable[nodes.Node]:
    yield node
    for child in node.iter_child_nodes():
        yield from _walk(child)


def _check(node: nodes.Node, sandbox: Sandbox) -> None:
    kind = type(node).__name__.lower()
    problem = ""
    if not isinstance(node, ALLOWED) or (
        isinstance(node, nodes.For) and node.recursive
    ):
        problem = f"'{kind}' is not allowed here"
    elif isinstance(node, nodes.Getattr) and node.attr.startswith("__"):
        problem = f"the attribute {node.attr!r} is not allowed"
    elif isinstance(node, nodes.Filter) and node.name not in sandbox.filters:
        known = [name for name in sandbox.filters if not name.startswith("_")]
        problem = f"no filter {node.name!r}.{suggest(node.name, known)}"
    elif isinstance(node, nodes.Test) and node.name not in sandbox.tests:
        problem = f"no test {node.name!r}.{suggest(node.name, sandbox.tests)}"
    if problem:
        raise TemplateSyntaxError(problem, node.lineno)


def _single_expression(tree: nodes.Template) -> nodes.Expr | None:
    if len(tree.body) != 1 or not isinstance(tree.body[0], nodes.Output):
        return None
    parts = tree.body[0].nodes
    if len(parts) != 1 or isinstance(parts[0], nodes.TemplateData):
        return None
    return parts[0]


class _Metered(NodeTransformer):
    """Sends everything that can repeat or grow through a filter that counts."""

    def visit_For(self, node: nodes.For) -> nodes.Node:  # noqa: N802 - visitor's name
        self.generic_visit(node)
        node.iter = _filtered(node.iter, "_each")
        return node

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:  # noqa: N802
        self.generic_visit(node)
        return _filtered(nodes.List(node.nodes, lineno=node.lineno), "_concat")

    def visit_Operand(self, node: nodes.Operand) -> nodes.Node:  # noqa: N802
        self.generic_visit(node)
        node.expr = _filtered(node.expr, "_weighed")
        return node

    def visit_Compare(self, node: nodes.Compare) -> nodes.Node:  # noqa: N802
        self.generic_visit(node)
        node.expr = _filtered(node.expr, "_weighed")
        return node

    def visit_Pair(self, node: nodes.Pair) -> nodes.Node:  # noqa: N802
        self.generic_visit(node)
        node.key = _filtered(node.key, "_key")
        return node


def _filtered(node: nodes.Node, name: str) -> nodes.Filter:
    expression = cast("nodes.Expr", node)
    return nodes.Filter(expression, name, [], [], None, None, lineno=node.lineno)


def _unknown(error: UndefinedError, variables: Mapping[str, Any]) -> ScenarioError:
    message = str(error.message)
    fields = variables.get(ROW, {})
    known = [*fields, *variables.get(PARAMETERS, {})]
    found = re.search(r"'dict object' has no attribute '(.*)'$|^'(.*)' is un", message)
    if not found:
        return ScenarioError(_ended(message), "Look at the row that is named here.")
    name = found[1] or found[2]
    listed = ", ".join(map(str, fields)) or "none"
    return ScenarioError(
        f"there is no field {name!r}.{suggest(name, known)}",
        f"Fields of this row: {listed}."
        ' A field that may be missing: {{ field | default("") }}.',
    )


def _ended(message: str) -> str:
    return message if message.endswith((".", "?")) else f"{message}."


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:57]}...")

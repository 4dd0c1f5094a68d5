"""The Jinja sandbox of scenario files: few methods and filters, and a budget."""

from __future__ import annotations

import json
import math
from collections.abc import ItemsView, KeysView, ValuesView
from functools import wraps
from types import GeneratorType
from typing import TYPE_CHECKING, Any

from jinja2 import StrictUndefined, Undefined
from jinja2.exceptions import SecurityError
from jinja2.runtime import LoopContext
from jinja2.sandbox import ImmutableSandboxedEnvironment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from jinja2.runtime import Context

BUDGET = 20_000_000
STEP = 1000
MAX_RANGE = 10_000
MAX_BITS = 4096
FILTER_NAMES = (
    "abs capitalize count d default dictsort first items last length list "
    "lower map max min reject rejectattr reverse select selectattr sort string title "
    "trim truncate unique upper wordcount"
)
TEST_NAMES = (
    "boolean defined divisibleby eq equalto even false float ge greaterthan gt in "
    "integer iterable le lessthan lower lt mapping ne none number odd sameas sequence "
    "string true undefined upper == != < <= > >="
)
TEXT_METHODS = (
    "capitalize casefold count endswith find index isalnum isalpha isdigit islower "
    "isnumeric isspace istitle isupper join lower lstrip partition removeprefix "
    "removesuffix replace rfind rindex rpartition rsplit rstrip split splitlines "
    "startswith strip swapcase title upper"
)
METHODS: dict[type, set[str]] = {
    str: set(TEXT_METHODS.split()),
    dict: {"get", "items", "keys", "values"},
    list: {"count", "index"},
    tuple: {"count", "index"},
    LoopContext: {
        "index",
        "index0",
        "revindex",
        "revindex0",
        "first",
        "last",
        "length",
    },
}
JINJAS_OWN = {"_loop_vars", "_block_vars"}
OPERATORS = "+ - * / // %"
CONTAINERS = (list, tuple, dict)
VIEWS = (KeysView, ValuesView, ItemsView)
ITERABLES = (range, GeneratorType, *VIEWS, reversed, map)
CHARACTERS = 16


class Sandbox(ImmutableSandboxedEnvironment):
    """A Jinja environment for one file's templates; not to be shared by threads."""

    intercepted_binops = frozenset(OPERATORS.split())

    def __init__(self) -> None:
        super().__init__(
            undefined=StrictUndefined,
            autoescape=False,
            keep_trailing_newline=True,
            optimized=False,
            cache_size=0,
            finalize=self._shown,
        )
        self._left = BUDGET
        plain: dict[str, Callable[..., Any]] = {
            name: self.filters[name] for name in FILTER_NAMES.split()
        }
        plain |= {"int": _int, "float": _float, "round": _round, "sum": _sum}
        own: dict[str, Callable[..., Any]] = {
            "join": self._join,
            "replace": self._replace,
            "string": self._string,
            "tojson": self._tojson,
            "_each": self._each,
            "_concat": self._concat,
            "_weighed": self._weighed,
            "_key": _key,
        }
        self.filters = {**{k: self._counted(f) for k, f in plain.items()}, **own}
        tests: Any = self.tests
        self.tests = {k: self._counted(tests[k]) for k in TEST_NAMES.split()}
        self.globals = {"range": self._range}

    def refill(self) -> None:
        """Start the budget of another value."""
        self._left = BUDGET

    def spend(self, amount: int) -> None:
        """Take from the budget.

        Raises:
            SecurityError: it is used up.
        """
        self._left -= amount
        if self._left < 0:
            raise SecurityError("it computes too much for one value")

    def weigh(self, *values: Any) -> None:
        """Take from the budget for values that are compared, hashed or shown whole.

        A list that stands in another twice counts twice, as it does for what goes
        through it.

        Raises:
            SecurityError: the budget is used up.
        """
        left = list(values)
        while left:
            value = left.pop()
            if isinstance(value, str):
                self.spend(1 + len(value) // CHARACTERS)
            elif isinstance(value, dict):
                self.spend(1 + 2 * _size(value))
                left += (*value.keys(), *value.values())
            elif isinstance(value, (list, tuple, *VIEWS)):
                self.spend(1 + 8 * len(value))
                left += value

    def plain(self, value: Any) -> Any:
        """Return a value made of JSON's types alone; an undefined part raises.

        Raises:
            SecurityError: it is neither of these nor a sequence of them.
        """
        if isinstance(value, Undefined):
            str(value)
        if value is None or isinstance(value, (str, int, float)):
            return value
        if isinstance(value, dict):
            return {str(_key(k)): self._part(v) for k, v in value.items()}
        if isinstance(value, (list, tuple, *ITERABLES)):
            return [self._part(item) for item in value]
        raise SecurityError("it gives neither a text nor a list")

    def _part(self, value: Any) -> Any:
        self.spend(8 + (len(value) if isinstance(value, str) else 0))
        return self.plain(value)

    def is_safe_attribute(
        self,
        obj: Any,
        attr: str,
        value: Any,  # noqa: ARG002 - Jinja's signature
    ) -> bool:
        """Return whether a template may read an attribute: only those listed above."""
        return any(isinstance(obj, k) and attr in v for k, v in METHODS.items())

    def getattr(self, obj: Any, attribute: str) -> Any:
        """Return a field of a row before any method of the same name."""
        if isinstance(obj, dict) and attribute in obj:
            return obj[attribute]
        return super().getattr(obj, attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        """Return an item, never an attribute."""
        if isinstance(argument, (*CONTAINERS, *ITERABLES)):
            raise SecurityError("a list is no index and no key")
        try:
            found = obj[argument]
        except (LookupError, TypeError):
            return self.undefined(obj=obj, name=argument)
        self.spend(_size(found) if isinstance(argument, slice) else 1)
        return found

    def call(
        self,
        context: Context,  # noqa: ARG002 - Jinja's signature
        obj: Any,
        /,
        *args: Any,
        **kwargs: Any,
    ) -> Any:
        """Call `range` or a method that a template may read.

        Raises:
            SecurityError: anything else.
        """
        kwargs = {k: v for k, v in kwargs.items() if k not in JINJAS_OWN}
        if obj == self._range:
            return obj(*args, **kwargs)
        owner, name = getattr(obj, "__self__", None), getattr(obj, "__name__", "")
        if not self.is_safe_attribute(owner, name, obj):
            raise SecurityError("only methods of texts and lists can be called")
        self.spend(STEP + _size(owner))
        self.weigh(owner, *args, *kwargs.values())
        if name == "join":
            (items,) = args
            return self._join(items, str(owner))
        if name == "replace":
            return self._replace(owner, *args, **kwargs)
        return obj(*args, **kwargs)

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Compute left operator right, unless the result would be huge."""
        if operator == "%" and isinstance(left, str):
            raise SecurityError("'%' does not format texts here; use {{ ... }}")
        if operator == "*":
            self._check_product(left, right)
        elif operator == "+":
            self.spend(_size(left) + _size(right))
        return super().call_binop(context, operator, left, right)

    def _check_product(self, left: Any, right: Any) -> None:
        for one, other in ((left, right), (right, left)):
            if isinstance(one, (str, list, tuple)) and isinstance(other, int):
                self.spend(_size(one) * max(other, 0))
        if isinstance(left, int) and isinstance(right, int):
            bits = left.bit_length() + right.bit_length()
            if bits > MAX_BITS:
                raise SecurityError("a number has too many digits")

    def _shown(self, value: Any) -> Any:
        if value is None:
            raise SecurityError("it would print a null; default('', true) hides it")
        if isinstance(value, (str, int, float)):
            self.spend(_size(value))
            return value
        if isinstance(value, Undefined):
            return str(value)
        raise SecurityError("it would print a list or an object; use join or tojson")

    def _counted(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def counted(*args: Any, **kwargs: Any) -> Any:
            self.spend(STEP)
            args = tuple(self._listed(arg) for arg in args)
            self.weigh(*args, *kwargs.values())
            result = function(*args, **kwargs)
            self.spend(_size(result))
            return result

        return counted

    def _range(self, *bounds: int) -> range:
        numbers = range(*bounds)
        if len(numbers) > MAX_RANGE:
            raise SecurityError(f"a range may have {MAX_RANGE:,} numbers at most")
        return numbers

    def _each(self, items: Iterable[Any], cost: int = STEP) -> Iterator[Any]:
        if isinstance(items, Undefined):
            str(items)
        for item in items:
            self.spend(cost)
            yield item

    def _listed(self, value: Any) -> Any:
        """Return what can be gone through once as a list, anything else as it is."""
        once = isinstance(value, ITERABLES) and not isinstance(value, (range, *VIEWS))
        return list(self._each(value, 1)) if once else value

    def _weighed(self, value: Any) -> Any:
        value = self._listed(value)
        self.weigh(value)
        return value

    def _string(self, value: Any) -> str:
        self.spend(STEP)
        return "None" if value is None else str(self._shown(value))

    def _concat(self, items: list[Any]) -> str:
        return self._join(items)

    def _join(self, items: Iterable[Any], d: str = "") -> str:
        texts = [str(self._shown(item)) for item in items]
        self.spend(STEP + (len(d) + 1) * len(texts))
        return d.join(texts)

    def _replace(self, text: Any, old: str, new: str, count: int = -1) -> str:
        whole = str(self._shown(text))
        times = whole.count(old)
        self.spend(STEP + len(whole) + times * len(new))
        return whole.replace(old, new, count)

    def _tojson(self, value: Any) -> str:
        text = json.dumps(self.plain(value), ensure_ascii=False)
        self.spend(STEP + len(text))
        return text


def _int(value: Any, *default: Any) -> Any:
    try:
        return int(value)
    except (TypeError, ValueError):
        if default:
            return default[0]
        raise SecurityError(f"{_named(value)} is not a whole number") from None


def _float(value: Any, *default: Any) -> Any:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if math.isfinite(number):
        return number
    if default:
        return default[0]
    raise SecurityError(f"{_named(value)} is not a number")


def _round(value: float, precision: int = 0) -> float:
    return round(float(value), precision)


def _sum(numbers: Iterable[float]) -> float:
    return sum(numbers)


def _key(value: Any) -> Any:
    if isinstance(value, (str, int, float)) or value is None:
        return value
    raise SecurityError("the key of an object is a text or a number")


def _named(value: Any) -> str:
    is_list = isinstance(value, (*CONTAINERS, *ITERABLES))
    return "a list" if is_list else repr(str(value)[:40])


def _size(value: Any) -> int:
    if isinstance(value, str):
        return len(value)
    return 8 * len(value) if isinstance(value, (list, tuple, dict, range)) else 1

"""Jinja filters with limits: each counts its output and stops at the limit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from jinja2 import Undefined
from jinja2.exceptions import SecurityError
from jinja2.filters import do_indent, do_int

from tideate_core.util.deadline import Deadline
from tideate_core.workflows.limits import LIMITS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

__all__ = ["COMPARED", "COUNTED", "SLICED", "Meter", "bounded_filters", "with_meter"]

COUNTED: Final = "_counted"
"""Filter that counts the iterations of a loop."""
COMPARED: Final = "_compared"
"""Filter that passes on a compared value while time remains."""
SLICED: Final = "_sliced"
"""Filter for a slice of a list or text."""

NAMES: Final = frozenset(
    {
        *("capitalize", "count", "d", "default", "first", "indent", "int", "join", "last", "length", "list"),
        *("lower", "map", "reject", "rejectattr", "replace", "reverse", "select", "selectattr", "sort"),
        *("title", "trim", "truncate", "unique", "upper", "wordcount"),
    }
)


class Meter:
    """Limits of one rendering: texts, lists, loops and time.

    :param largest: maximum characters of the rendered text and of each intermediate text.
    """

    def __init__(self, largest: int) -> None:
        self._largest = largest
        self._characters = LIMITS.made_texts * largest
        self._items = LIMITS.list_items
        self._turns = LIMITS.loop_turns
        self._deadline = Deadline(LIMITS.filling_seconds)

    def check_time(self) -> None:
        if self._deadline.is_over:
            raise SecurityError(f"it takes more than {LIMITS.filling_seconds:.0f} s")

    def check_size(self, size: int) -> None:
        """Reject a text before it is made."""
        if size > self._largest:
            raise SecurityError(f"it makes a text of more than {LIMITS.text_characters // 1024} KiB")

    def made(self, value: Any) -> Any:
        """Count a new value and return it."""
        if isinstance(value, str):
            self._characters -= len(value)
        elif isinstance(value, list | tuple):
            self._items -= len(value)
        elif isinstance(value, Iterator):
            return self._passed(value)
        if self._characters < 0 or self._items < 0:
            raise SecurityError("it makes too many texts or lists on the way")
        return value

    def counted(self, items: Iterable[Any]) -> Iterator[Any]:
        """Yield the items of a loop, counted."""
        for item in items:
            self._turns -= 1
            if self._turns < 0:
                raise SecurityError(f"its loops turn more than {LIMITS.loop_turns} times")
            self.check_time()
            yield item

    def compared(self, value: Any) -> Any:
        self.check_time()
        return value

    def sliced(self, value: Any, *bounds: int | None) -> Any:
        self.check_time()
        if isinstance(value, Undefined):
            str(value)  # raises the undefined error
        return self.made(value[slice(*bounds)])

    def _passed(self, items: Iterator[Any]) -> Iterator[Any]:
        for item in items:
            self._items -= 1
            if self._items < 0:
                raise SecurityError("it makes too many texts or lists on the way")
            self.check_time()
            yield item


def bounded_filters(
    known: Mapping[str, Callable[..., Any]], meter: Meter, attribute: Callable[[Any, str], Any]
) -> dict[str, Callable[..., Any]]:
    """Return all available filters.

    :param known: Jinja's filters.
    :param attribute: returns an attribute of a value, or rejects it.
    """
    bounded = _Bounded(meter, attribute)
    found = {name: known[name] for name in NAMES}
    found |= {
        "indent": bounded.indent,
        "int": bounded.number,
        "join": bounded.join,
        "replace": bounded.replace,
    }
    return {name: with_meter(function, meter) for name, function in found.items()} | {
        COUNTED: meter.counted,
        COMPARED: meter.compared,
        SLICED: meter.sliced,
    }


def with_meter(function: Callable[..., Any], meter: Meter) -> Callable[..., Any]:
    """Wrap a filter or test: it stops after the deadline, and its result is counted."""
    passed = getattr(function, "jinja_pass_arg", None)
    at = 0 if passed is None else 1  # after the environment or context

    def call(*arguments: Any, **options: Any) -> Any:
        meter.check_time()
        result = function(*arguments, **options)
        given = arguments[at] if len(arguments) > at else None
        return result if result is given else meter.made(result)

    if passed is not None:
        call.jinja_pass_arg = passed  # type: ignore[attr-defined]
    return call


class _Bounded:
    """Replacements of Jinja filters that check sizes first."""

    def __init__(self, meter: Meter, attribute: Callable[[Any, str], Any]) -> None:
        self._meter = meter
        self._attribute = attribute

    def indent(self, text: Any, width: int = 4, first: bool = False, blank: bool = False) -> str:
        before = str(text)
        self._meter.check_size(len(before) + width * (before.count("\n") + 1))
        return do_indent(before, width, first, blank)

    def number(self, value: Any, default: int = 0, base: int = 10) -> int:
        if isinstance(value, str) and len(value) > LIMITS.number_digits:
            raise SecurityError(f"`int` is for texts of at most {LIMITS.number_digits} characters")
        return do_int(value, default, base)

    def join(self, items: Iterable[Any], between: str = "", attribute: str | None = None) -> str:
        values = list(items) if attribute is None else [self._attribute(item, attribute) for item in items]
        for value in values:
            if not isinstance(value, str | int | float | Undefined | None):
                raise SecurityError(f"`join` is for texts and numbers, not for {type(value).__name__}")
        texts = [str(value) for value in values]
        self._meter.check_size(sum(map(len, texts)) + len(between) * len(texts))
        return str(between).join(texts)

    def replace(self, text: Any, old: str, new: str, count: int = -1) -> str:
        before = str(text)
        self._meter.check_size(len(before) + before.count(old) * len(new))
        return before.replace(old, new, count)

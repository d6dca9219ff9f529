"""Render prompt templates in a sandbox with limits on time and memory.

Jinja's sandbox protects the interpreter, not its time and memory. Constructs that can grow without bound are
not allowed (macros, calls except `range`, blocks that capture text); the rest has limits on loop iterations,
values and the length of the text: filters count their output and stop at the limit.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from jinja2 import StrictUndefined, Template, TemplateError, Undefined, nodes
from jinja2.exceptions import SecurityError, TemplateAssertionError
from jinja2.filters import do_indent, do_int
from jinja2.sandbox import SandboxedEnvironment

from tideate_core.util.deadline import Deadline
from tideate_core.workflows.limits import LIMITS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from types import CodeType

RENDER_ERRORS = (
    *(TemplateError, ArithmeticError, AssertionError, AttributeError, LookupError, MemoryError),
    *(NameError, RuntimeError, SyntaxError, TypeError, ValueError),
)
"""All errors that an invalid template can raise."""

LEFT_OUT: Mapping[type[nodes.Node], str] = {
    nodes.AssignBlock: "a `set` block",
    nodes.Block: "`block`",
    nodes.CallBlock: "`call`",
    nodes.Extends: "`extends`",
    nodes.FilterBlock: "a `filter` block",
    nodes.FromImport: "`import`",
    nodes.Import: "`import`",
    nodes.Include: "`include`",
    nodes.Macro: "`macro`",
}


def render_template(source: str, values: Mapping[str, Any]) -> str:
    """Render a template.

    :raises RENDER_ERRORS: it is invalid, or takes too much time or space.
    """
    return render_in(source, values, Sandbox(largest_text(values)))


def largest_text(values: Mapping[str, Any]) -> int:
    """Return the maximum characters of a text made with these values."""
    # values within others are not counted: that takes long, and no model reads so much
    return LIMITS.text_characters + sum(len(text) for text in values.values() if isinstance(text, str))


def render_in(source: str, values: Mapping[str, Any], environment: Sandbox) -> str:
    """Render a template in an unused sandbox.

    :raises RENDER_ERRORS: it is invalid, or takes too much time or space.
    """
    code = environment.compiled(source)
    template = Template.from_code(environment, code, environment.make_globals(None))
    pieces: list[str] = []
    size = 0
    for piece in template.generate(values):
        size += len(piece)
        environment.check_size(size)
        pieces.append(piece)
    return "".join(pieces)


def check_length(source: str) -> None:
    """Reject a template that would take too long to parse."""
    if len(source) > LIMITS.template_characters:
        raise SecurityError(f"it is longer than {LIMITS.template_characters // 1024} KiB")


class Sandbox(SandboxedEnvironment):
    """Sandbox of one rendering, with a meter.

    :param largest: maximum characters of the text.
    """

    intercepted_binops = frozenset({"*", "**", "%", "+"})

    def __init__(self, largest: int) -> None:
        # unoptimized: constant folding of nested expressions takes long, and no limit stops it
        super().__init__(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, optimized=False)
        self._meter = Meter(largest, self.getattr)
        self.check_size = self._meter.check_size
        self.globals = {"range": self.globals["range"]}
        self.filters = self._meter.filters(self.filters)
        tests: dict[str, Any] = dict(self.tests)
        self.tests = {name: self._meter.metered(test) for name, test in tests.items()}

    @classmethod
    @lru_cache(maxsize=32)
    def compiled(cls, source: str) -> CodeType:
        """Return the compiled code of a template, without values or limits."""
        check_length(source)
        environment = cls(0)
        tree = environment.parse(source)
        restrict(tree, environment)
        return environment.compile(tree)

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        if isinstance(left, int | float) and isinstance(right, int | float):
            _check_number(operator, left, right)
        elif operator == "+" and isinstance(left, str | list | tuple) and isinstance(right, type(left)):
            self.check_size(len(left) + len(right))
        else:
            raise SecurityError(f"`{operator}` is only for numbers in a prompt")
        self._meter.check_time()
        return self._meter.made(super().call_binop(context, operator, left, right))


def _check_number(operator: str, left: float, right: float) -> None:
    bits = _bits(left) * (right if operator == "**" else 1) + _bits(right)
    if operator in {"*", "**"} and bits > LIMITS.number_bits:
        raise SecurityError(f"`{operator}` makes too large a number")


def _bits(number: float) -> int:
    return number.bit_length() if isinstance(number, int) else 64


def restrict(tree: nodes.Template, environment: Sandbox) -> None:
    """Reject disallowed constructs; route loops, comparisons, `~` and slices through counting filters."""
    for node in tree.find_all(nodes.Node):
        what = LEFT_OUT.get(type(node)) or _left_out(node)
        if what:
            raise TemplateAssertionError(f"{what} cannot be used in a prompt", node.lineno)
    for loop in list(tree.find_all(nodes.For)):
        loop.iter = _filtered(loop.iter, COUNTED)
    for compared in list(tree.find_all(nodes.Operand)):
        compared.expr = _filtered(compared.expr, COMPARED)
    # innermost first: a replacement keeps the nodes inside it
    for node in reversed(list(tree.find_all(nodes.Node))):
        for name, value in list(node.iter_fields()):
            if isinstance(value, nodes.Node):
                setattr(node, name, _replaced(value))
            elif isinstance(value, list):
                value[:] = [_replaced(item) if isinstance(item, nodes.Node) else item for item in value]
    tree.set_environment(environment)


def _left_out(node: nodes.Node) -> str:
    if isinstance(node, nodes.Call) and not (
        isinstance(node.node, nodes.Name) and node.node.name == "range" and not node.dyn_args
    ):
        return "a call of anything but `range`"
    # a list of lists of lists… is small, but its text is not
    if isinstance(node, nodes.List | nodes.Tuple) and getattr(node, "ctx", "load") == "load":
        return "" if all(isinstance(item, nodes.Const) for item in node.items) else "a list of variables"
    return "a dictionary" if isinstance(node, nodes.Dict) else ""


def _filtered(node: nodes.Node, name: str) -> nodes.Filter:
    return nodes.Filter(node, name, [], [], None, None, lineno=node.lineno)


def _replaced(node: nodes.Node) -> nodes.Node:
    """Replace `~` and slices by counting filters."""
    if isinstance(node, nodes.Concat):
        return _filtered(nodes.List(node.nodes, lineno=node.lineno), "join")
    if isinstance(node, nodes.Getitem) and isinstance(node.arg, nodes.Slice):
        part = node.arg
        bounds = [bound or nodes.Const(None) for bound in (part.start, part.stop, part.step)]
        return nodes.Filter(node.node, SLICED, bounds, [], None, None, lineno=node.lineno)
    return node


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
    """Limits of one rendering: texts, lists, loops and time; filters that check sizes first.

    :param largest: maximum characters of the rendered text and of each intermediate text.
    :param attribute: returns an attribute of a value, or rejects it.
    """

    def __init__(self, largest: int, attribute: Callable[[Any, str], Any]) -> None:
        self._largest = largest
        self._attribute = attribute
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
            raise SecurityError("it makes too many intermediate texts or lists")
        return value

    def counted(self, items: Iterable[Any]) -> Iterator[Any]:
        """Yield the items of a loop, counted."""
        for item in items:
            self._turns -= 1
            if self._turns < 0:
                raise SecurityError(f"its loops run more than {LIMITS.loop_turns} times")
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
            self.made((item,))
            self.check_time()
            yield item

    def filters(self, known: Mapping[str, Callable[..., Any]]) -> dict[str, Callable[..., Any]]:
        """Return all available filters.

        :param known: Jinja's filters.
        """
        found = {name: known[name] for name in NAMES}
        found |= {"indent": self.indent, "int": self.number, "join": self.join, "replace": self.replace}
        return {name: self.metered(function) for name, function in found.items()} | {
            COUNTED: self.counted,
            COMPARED: self.compared,
            SLICED: self.sliced,
        }

    def metered(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap a filter or test: it stops after the deadline, and its result is counted."""
        passed = getattr(function, "jinja_pass_arg", None)
        at = 0 if passed is None else 1  # after the environment or context

        def call(*arguments: Any, **options: Any) -> Any:
            self.check_time()
            result = function(*arguments, **options)
            given = arguments[at] if len(arguments) > at else None
            return result if result is given else self.made(result)

        if passed is not None:
            call.jinja_pass_arg = passed  # type: ignore[attr-defined]
        return call

    def indent(self, text: Any, width: int = 4, first: bool = False, blank: bool = False) -> str:
        before = str(text)
        self.check_size(len(before) + width * (before.count("\n") + 1))
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
        self.check_size(sum(map(len, texts)) + len(between) * len(texts))
        return str(between).join(texts)

    def replace(self, text: Any, old: str, new: str, count: int = -1) -> str:
        before = str(text)
        self.check_size(len(before) + before.count(old) * len(new))
        return before.replace(old, new, count)

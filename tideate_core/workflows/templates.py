"""Render prompt templates in a sandbox with limits on time and memory.

Jinja's sandbox protects the interpreter, not its time and memory. Constructs that can grow without bound are
not allowed (macros, calls except `range`, blocks that capture text); the rest has limits on loop iterations,
values and the length of the text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jinja2 import StrictUndefined, Template, TemplateError, nodes
from jinja2.exceptions import SecurityError, TemplateAssertionError
from jinja2.sandbox import SandboxedEnvironment

from tideate_core.workflows.limits import LIMITS
from tideate_core.workflows.template_filters import (
    COMPARED,
    COUNTED,
    SLICED,
    Meter,
    bounded_filters,
    with_meter,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "LARGEST",
    "MOST_TURNS",
    "RENDER_ERRORS",
    "Sandbox",
    "TemplateError",
    "check_length",
    "render_in",
    "render_template",
    "restrict",
]

LARGEST = LIMITS.text_characters
MOST_TURNS = LIMITS.loop_turns

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
    sandbox = Sandbox(LARGEST + sum(len(text) for text in values.values() if isinstance(text, str)))
    return render_in(source, values, sandbox)


def render_in(source: str, values: Mapping[str, Any], environment: Sandbox) -> str:
    """Render a template in an unused sandbox.

    :raises RENDER_ERRORS: it is invalid, or takes too much time or space.
    """
    check_length(source)
    tree = environment.parse(source)
    restrict(tree, environment)
    template = Template.from_code(environment, environment.compile(tree), environment.make_globals(None))
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
        self._meter = Meter(largest)
        self.check_size = self._meter.check_size
        self.globals = {"range": self.globals["range"]}
        self.filters = bounded_filters(self.filters, self._meter, self.getattr)
        tests: dict[str, Any] = dict(self.tests)
        self.tests = {name: with_meter(test, self._meter) for name, test in tests.items()}

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

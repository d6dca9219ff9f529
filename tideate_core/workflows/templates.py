"""Prompt templates, rendered so that no template can stall or fill up the process.

Jinja's sandbox keeps a template away from the interpreter, not from its time and memory. So what can grow
without end is left out of the language (macros, calls but `range`, blocks that capture text), and what
remains is bounded: how often loops turn, how large a value and the whole text may get.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from jinja2 import StrictUndefined, Template, TemplateError, Undefined, nodes
from jinja2.exceptions import SecurityError, TemplateAssertionError
from jinja2.filters import do_indent
from jinja2.sandbox import SandboxedEnvironment

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

__all__ = [
    "LARGEST",
    "MOST_TURNS",
    "RENDER_ERRORS",
    "Sandbox",
    "TemplateError",
    "render_template",
    "rendered",
    "restrict",
]

LARGEST = 1024 * 1024
"""Characters that a template may make out of what it is given, and add to it."""
MOST_TURNS = 100_000
"""Turns of all loops of a template together."""
MOST_SECONDS = 2.0
"""Of processor time, looked at once a turn."""
MOST_BITS = 256

RENDER_ERRORS = (
    *(TemplateError, ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError),
    *(SyntaxError, TypeError, ValueError),
)
"""All that a wrong template raises."""

FILTERS = frozenset(
    {
        *("capitalize", "count", "d", "default", "first", "indent", "int", "join", "last", "length", "list"),
        *("lower", "map", "reject", "rejectattr", "replace", "reverse", "select", "selectattr", "sort"),
        *("title", "trim", "truncate", "unique", "upper", "wordcount"),
    }
)
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
COUNTED = "_counted"


def render_template(source: str, values: Mapping[str, Any]) -> str:
    """Fill in a template.

    :raises RENDER_ERRORS: it is wrong, or takes too much time or room.
    """
    sandbox = Sandbox(LARGEST + sum(len(text) for text in values.values() if isinstance(text, str)))
    return rendered(source, values, sandbox)


def rendered(source: str, values: Mapping[str, Any], environment: Sandbox) -> str:
    """Fill in a template within a sandbox that nothing was rendered in before.

    :raises RENDER_ERRORS: it is wrong, or takes too much time or room.
    """
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


class Sandbox(SandboxedEnvironment):
    """For one rendering: it counts.

    :param largest: characters of the whole text.
    """

    intercepted_binops = frozenset({"*", "**", "%", "+"})

    def __init__(self, largest: int) -> None:
        super().__init__(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
        self._largest = largest
        self._turns = 0
        self._started = time.thread_time()
        self.globals = {"range": self.globals["range"]}
        self.filters = {name: self.filters[name] for name in FILTERS}
        self.filters |= {
            "indent": self._bounded_indent,
            "join": self._bounded_join,
            "replace": self._bounded_replace,
            COUNTED: self._counted,
        }

    def check_size(self, size: int) -> None:
        if size > self._largest:
            raise SecurityError(f"it makes a text of more than {LARGEST // 1024} KiB")

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        if isinstance(left, int | float) and isinstance(right, int | float):
            _check_number(operator, left, right)
        elif operator == "+" and isinstance(left, str | list | tuple) and isinstance(right, type(left)):
            self.check_size(len(left) + len(right))
        else:
            raise SecurityError(f"`{operator}` is only for numbers in a prompt")
        return super().call_binop(context, operator, left, right)

    def _counted(self, items: Iterable[Any]) -> Iterator[Any]:
        for item in items:
            self._turns += 1
            if self._turns > MOST_TURNS:
                raise SecurityError(f"its loops turn more than {MOST_TURNS} times")
            if time.thread_time() - self._started > MOST_SECONDS:
                raise SecurityError(f"it takes more than {MOST_SECONDS:.0f} s")
            yield item

    def _bounded_indent(self, text: Any, width: int = 4, first: bool = False, blank: bool = False) -> str:
        before = str(text)
        self.check_size(len(before) + width * (before.count("\n") + 1))
        return do_indent(before, width, first, blank)

    def _bounded_join(self, items: Iterable[Any], between: str = "", attribute: str | None = None) -> str:
        values = list(items) if attribute is None else [self.getattr(item, attribute) for item in items]
        for value in values:
            if not isinstance(value, str | int | float | Undefined | None):
                raise SecurityError(f"`join` is for texts and numbers, not for {type(value).__name__}")
        texts = [str(value) for value in values]
        self.check_size(sum(map(len, texts)) + len(between) * len(texts))
        return str(between).join(texts)

    def _bounded_replace(self, text: Any, old: str, new: str, count: int = -1) -> str:
        before = str(text)
        self.check_size(len(before) + before.count(old) * len(new))
        return before.replace(old, new, count)


def _check_number(operator: str, left: float, right: float) -> None:
    bits = _bits(left) * (right if operator == "**" else 1) + _bits(right)
    if operator in {"*", "**"} and bits > MOST_BITS:
        raise SecurityError(f"`{operator}` makes too large a number")


def _bits(number: float) -> int:
    return number.bit_length() if isinstance(number, int) else 64


def restrict(tree: nodes.Template, environment: Sandbox) -> None:
    """Refuse what is left out, and have loops and `~` go through what counts them."""
    for node in tree.find_all(nodes.Node):
        what = LEFT_OUT.get(type(node)) or _left_out(node)
        if what:
            raise TemplateAssertionError(f"{what} cannot be used in a prompt", node.lineno)
    for loop in list(tree.find_all(nodes.For)):
        loop.iter = _filtered(loop.iter, COUNTED)
    for node in list(tree.find_all(nodes.Node)):
        for name, value in list(node.iter_fields()):
            if isinstance(value, nodes.Concat):
                setattr(node, name, _joined(value))
            elif isinstance(value, list):
                value[:] = [_joined(item) if isinstance(item, nodes.Concat) else item for item in value]
    tree.set_environment(environment)


def _left_out(node: nodes.Node) -> str:
    if isinstance(node, nodes.Call) and not (
        isinstance(node.node, nodes.Name) and node.node.name == "range" and not node.dyn_args
    ):
        return "a call of anything but `range`"
    # a list of lists of lists… is small, and its text is not
    if isinstance(node, nodes.List | nodes.Tuple) and getattr(node, "ctx", "load") == "load":
        return "" if all(isinstance(item, nodes.Const) for item in node.items) else "a list of variables"
    return "a dictionary" if isinstance(node, nodes.Dict) else ""


def _filtered(node: nodes.Node, name: str) -> nodes.Filter:
    return nodes.Filter(node, name, [], [], None, None, lineno=node.lineno)


def _joined(node: nodes.Concat) -> nodes.Filter:
    return _filtered(nodes.List(node.nodes, lineno=node.lineno), "join")

"""References of templates and expressions: the names they use, found without rendering."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final

from jinja2 import meta, nodes
from jinja2.exceptions import TemplateSyntaxError

from tideate_core.errors import InvalidDefinition, did_you_mean
from tideate_core.workflows.expressions import ValueSandbox, error_words, parse_source
from tideate_core.workflows.parts import VALUE_NAMES
from tideate_core.workflows.templates import LARGEST, RENDER_ERRORS, Sandbox, restrict

if TYPE_CHECKING:
    from tideate_core.workflows.parts import WorkflowStep

PLAIN_OUTPUT: Final = re.compile(r"\{\{[ \t]*([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)[ \t]*\}\}", re.ASCII)
KEYWORDS: Final = frozenset(
    {"True", "False", "None", "true", "false", "none", "and", "else", "if", "in", "is", "not", "or", "range"}
)


@dataclass(frozen=True, slots=True)
class References:
    """The names used by a template or expression.

    :param fields: step id and field, such as `("plan", "result")`.
    :param names: names not in `VALUE_NAMES`.
    :param used: names in `VALUE_NAMES`.
    """

    steps: frozenset[str] = frozenset()
    inputs: frozenset[str] = frozenset()
    context: frozenset[str] = frozenset()
    fields: frozenset[tuple[str, str]] = frozenset()
    names: frozenset[str] = frozenset()
    used: frozenset[str] = frozenset()


def references(source: str, *, expression: bool = False) -> References:
    """Return the names used by a template or an expression.

    :raises InvalidDefinition: it cannot be parsed, or uses a construct that is not allowed.
    """
    plain = None if expression else _plain_references(source)
    return _full_references(source, expression) if plain is None else plain


def names_in_task(step: WorkflowStep) -> tuple[set[str], set[str]]:
    """Return the steps and context names used by a step's task and `for_each`; `*`: all of them."""
    texts = [(step.task or "", False)] if "{" in (step.task or "") else []
    if step.for_each is not None:
        texts.append((step.for_each.items, True))
    steps, context = set[str](), set[str]()
    for text, is_expression in texts:
        found = references(text, expression=is_expression)
        steps |= found.steps or ({"*"} if "steps" in found.used else set())
        context |= found.context or ({"*"} if "context" in found.used else set())
    return steps, context


def _plain_references(source: str) -> References | None:
    """Parse a template that has only `{{ a.b }}` outputs, as most do; None for any other.

    This is ten times as fast as Jinja's parser, and the editor parses a file at every change.
    """
    pieces = PLAIN_OUTPUT.split(source)
    if any("{" in text or "}" in text for text in pieces[::2]):
        return None
    free: set[str] = set()
    found = _References(free)
    for path in pieces[1::2]:
        first, *rest = path.split(".")
        if first in KEYWORDS:
            return None
        free.add(first)
        found.follow(first, rest)
    return found.done()


def _full_references(source: str, expression: bool) -> References:
    sandbox = _reading()
    try:
        tree = parse_source(sandbox, source, is_expression=expression)
        _check_calls(tree, sandbox)
        found = _References(_free_names(tree) - sandbox.globals.keys())
        for node in tree.find_all((nodes.Getattr, nodes.Getitem)):
            if isinstance(node, nodes.Getattr | nodes.Getitem):
                found.see(node)
        restrict(tree, sandbox)
    except RENDER_ERRORS as error:
        raise InvalidDefinition(error_words(error)) from error
    return found.done()


@cache
def _reading() -> ValueSandbox:
    """Return a sandbox used only to parse."""
    return ValueSandbox(LARGEST)


def _free_names(tree: nodes.Template) -> set[str]:
    if (
        next(tree.find_all((nodes.For, nodes.Assign, nodes.With, nodes.AssignBlock, nodes.Macro)), None)
        is None
    ):
        return {name.name for name in tree.find_all(nodes.Name)}
    return meta.find_undeclared_variables(tree)


def _check_calls(tree: nodes.Template, sandbox: Sandbox) -> None:
    """Check the names of filters and tests, which Jinja looks up only at compile time."""
    for node in tree.find_all((nodes.Filter, nodes.Test)):
        known = sandbox.filters if isinstance(node, nodes.Filter) else sandbox.tests
        if node.name not in known:
            kind = type(node).__name__.lower()
            there = sorted(name for name in known if name.isalpha())
            words = f"there is no {kind} {node.name!r}{did_you_mean(node.name, there)}"
            raise TemplateSyntaxError(words, node.lineno)


class _References:
    def __init__(self, free: set[str]) -> None:
        self._free = free
        self._named: dict[str, set[str]] = {"steps": set(), "inputs": set(), "context": set()}
        self._fields: set[tuple[str, str]] = set()

    def see(self, node: nodes.Getattr | nodes.Getitem) -> None:
        name = _constant_key(node)
        of = node.node
        if name is None:
            return
        if isinstance(of, nodes.Name) and of.name in self._named and of.name in self._free:
            self._named[of.name].add(name)
        elif isinstance(of, nodes.Getattr | nodes.Getitem) and isinstance(of.node, nodes.Name):
            step = _constant_key(of)
            if of.node.name == "steps" and "steps" in self._free and step is not None:
                self._fields.add((step, name))

    def follow(self, first: str, rest: list[str]) -> None:
        """Record `first.a.b`."""
        if first in self._named and rest:
            self._named[first].add(rest[0])
        if first == "steps" and len(rest) > 1:
            self._fields.add((rest[0], rest[1]))

    def done(self) -> References:
        return References(
            steps=frozenset(self._named["steps"]),
            inputs=frozenset(self._named["inputs"]),
            context=frozenset(self._named["context"]),
            fields=frozenset(self._fields),
            names=frozenset(self._free.difference(VALUE_NAMES)),
            used=frozenset(self._free.intersection(VALUE_NAMES)),
        )


def _constant_key(node: nodes.Getattr | nodes.Getitem) -> str | None:
    """Return the key of `.key` or `["key"]`, None if it is computed."""
    if isinstance(node, nodes.Getattr):
        return node.attr
    key = node.arg.value if isinstance(node.arg, nodes.Const) else None
    return key if isinstance(key, str) else None

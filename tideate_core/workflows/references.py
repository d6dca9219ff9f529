"""References of templates and expressions: the names they use, found without rendering."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final

from jinja2 import meta, nodes
from jinja2.exceptions import TemplateSyntaxError

from tideate_core.errors import InvalidDefinition, did_you_mean
from tideate_core.workflows.expressions import ValueSandbox, error_words, parse_source
from tideate_core.workflows.step_definition import VALUE_NAMES
from tideate_core.workflows.templates import RENDER_ERRORS, Sandbox, restrict

if TYPE_CHECKING:
    from tideate_core.workflows.step_definition import WorkflowStep

_MAPPINGS: Final = ("steps", "inputs", "context")


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
    sandbox = _reading()
    try:
        tree = parse_source(sandbox, source, is_expression=expression)
        _check_calls(tree, sandbox)
        free = _free_names(tree) - sandbox.globals.keys()
        paths = {path for node in tree.find_all((nodes.Getattr, nodes.Getitem)) if (path := _path(node))}
        restrict(tree, sandbox)
    except RENDER_ERRORS as error:
        raise InvalidDefinition(error_words(error)) from error
    paths = {path for path in paths if path[0] in free}
    return References(
        **{name: frozenset(path[1] for path in paths if path[0] == name) for name in _MAPPINGS},
        fields=frozenset((path[1], path[2]) for path in paths if path[0] == "steps" and len(path) > 2),
        names=frozenset(free.difference(VALUE_NAMES)),
        used=frozenset(free.intersection(VALUE_NAMES)),
    )


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


@cache
def _reading() -> ValueSandbox:
    """Return a sandbox used only to parse."""
    return ValueSandbox(0)


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


def _path(node: nodes.Node) -> tuple[str, ...]:
    """Return the names of `name.key["key"]`; empty after a computed key."""
    match node:
        case nodes.Name():
            return (node.name,)
        case nodes.Getattr(attr=key) | nodes.Getitem(arg=nodes.Const(value=key)):
            path = _path(node.node)
            return (*path, key) if path and isinstance(key, str) else ()
    return ()

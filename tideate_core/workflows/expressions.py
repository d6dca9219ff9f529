"""Render the templates of a step and evaluate its expressions on JSON values.

Both are Jinja, in the sandbox of `templates`. They see JSON values by name: `inputs`, `context`, `prompt`,
`steps.ID.result`, `.error` and `.status`, and within `for_each`, `item` and `index`. Any other name is an
error, never an empty text.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from jinja2 import StrictUndefined, Template, TemplateError, Undefined, nodes
from jinja2.exceptions import TemplateSyntaxError, UndefinedError

from tideate_core.errors import InvalidDefinition, did_you_mean
from tideate_core.workflows.limits import LIMITS
from tideate_core.workflows.step_definition import VALUE_NAMES
from tideate_core.workflows.templates import (
    RENDER_ERRORS,
    Sandbox,
    check_length,
    largest_text,
    render_in,
    restrict,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

_NO: Final = frozenset({"", "0", "false", "no", "none", "null", "off"})
"""Texts that count as false."""
RESULT: Final = "_result"
JSON_TYPES: Final = (str, int, float, dict, list, type(None))


def render_task(template: str, values: Mapping[str, Any]) -> str:
    """Render a step's text; lists, mappings, true, false and null are written as JSON.

    :raises InvalidDefinition: it is invalid, names an unknown value, or takes too much time or space.
    """
    if "{" not in template:
        return template
    try:
        return render_in(template, values, ValueSandbox(largest_text(values)))
    except RENDER_ERRORS as error:
        raise InvalidDefinition(
            f"the template {_short(template)} cannot be filled in: {error_words(error)}"
        ) from error


def evaluate(expression: str, values: Mapping[str, Any]) -> Any:
    """Return the JSON value of an expression.

    :raises InvalidDefinition: it is invalid, names an unknown value, or takes too much time or space.
    """
    sandbox = ValueSandbox(largest_text(values))
    given: list[Any] = []
    sandbox.filters[RESULT] = given.append
    try:
        check_length(expression)
        body = parse_source(sandbox, expression, is_expression=True)
        _run(sandbox, body, values)
        return _plain(given[0])
    except RENDER_ERRORS as error:
        words = f"the expression {_short(expression)} has no value: {error_words(error)}"
        raise InvalidDefinition(words) from error


def holds(value: Any) -> bool:
    """Return whether a value counts as true; texts such as `false`, `no` and `0` do not."""
    return bool(value) and not (isinstance(value, str) and value.strip().lower() in _NO)


class _Missing(StrictUndefined):
    """An undefined value; its error lists the known names."""

    __slots__ = ()

    @property
    def _undefined_message(self) -> str:
        if self._undefined_hint:
            return self._undefined_hint
        name = self._undefined_name
        if isinstance(self._undefined_obj, Mapping):
            known = [key for key in self._undefined_obj if isinstance(key, str)]
            there = ", ".join(known[:20]) or "nothing"
            return f"there is no {name!r}{did_you_mean(str(name), known)} (there is: {there})"
        if isinstance(self._undefined_obj, JSON_TYPES):
            kind = (
                "null"
                if self._undefined_obj is None
                else f"a value of type {type(self._undefined_obj).__name__}"
            )
            return f"{kind} has no {name!r}"
        return f"{name!r} is not known{did_you_mean(str(name), VALUE_NAMES)}"


class ValueSandbox(Sandbox):
    """Sandbox for JSON values: mappings have keys as attributes, no value has methods."""

    def __init__(self, largest: int) -> None:
        super().__init__(largest)
        self.undefined = _Missing
        self.finalize = _written

    def getattr(self, obj: Any, attribute: str) -> Any:
        if isinstance(obj, Mapping):
            return obj[attribute] if attribute in obj else self.undefined(obj=obj, name=attribute)
        if isinstance(obj, JSON_TYPES):
            return self.undefined(obj=obj, name=attribute)
        return super().getattr(obj, attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        if isinstance(argument, str) and isinstance(obj, Mapping | str | list):
            return self.getattr(obj, argument)
        return super().getitem(obj, argument)


def parse_source(sandbox: Sandbox, source: str, *, is_expression: bool) -> nodes.Template:
    """Parse a template; an expression becomes a template with that one output."""
    if not is_expression:
        return sandbox.parse(source)
    from jinja2.parser import Parser

    parser = Parser(sandbox, source, state="variable")
    value = parser.parse_expression()
    if not parser.stream.eos:
        raise TemplateSyntaxError(
            f"{str(parser.stream.current)!r} should not follow", parser.stream.current.lineno
        )
    output = nodes.Output([value], lineno=1)
    tree = nodes.Template([output], lineno=1)
    tree.set_environment(sandbox)
    return tree


def _run(sandbox: Sandbox, tree: nodes.Template, values: Mapping[str, Any]) -> None:
    restrict(tree, sandbox)
    for output in tree.find_all(nodes.Output):
        kept = [nodes.Filter(node, RESULT, [], [], None, None, lineno=1) for node in output.nodes]
        output.nodes = list(kept)
    tree.set_environment(sandbox)
    template = Template.from_code(sandbox, sandbox.compile(tree), sandbox.make_globals(None))
    for _ in template.generate(values):
        pass


def _plain(value: Any) -> Any:
    """Return a JSON value; ranges and iterators become lists."""
    if isinstance(value, Undefined):
        str(value)  # raises the undefined error
    if isinstance(value, list):
        for item in value:
            if isinstance(item, Undefined):
                str(item)
    if isinstance(value, JSON_TYPES):
        return value
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    items = list(islice(_iterator(value), LIMITS.loop_turns + 1))
    if len(items) > LIMITS.loop_turns:
        raise TemplateError(f"it gives a list of more than {LIMITS.loop_turns} items")
    return [_plain(item) for item in items]


def _iterator(value: Any) -> Iterator[Any]:
    if isinstance(value, tuple | range) or hasattr(value, "__next__"):
        return iter(value)
    raise TemplateError("it does not give a JSON value")


def _written(value: Any) -> Any:
    """Return the text of a value in a template; iterators are written as lists."""
    if isinstance(value, str | Undefined) or (isinstance(value, int | float) and not isinstance(value, bool)):
        return value
    return json.dumps(_plain(value), ensure_ascii=False)


def _short(source: str) -> str:
    line = " ".join(source.split())
    return repr(line if len(line) <= 60 else f"{line[:57]}…")


def error_words(error: Exception) -> str:
    """Return the message of one of `RENDER_ERRORS`."""
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    if isinstance(error, UndefinedError | TemplateError) and error.message:
        return error.message.rstrip(".").replace(" in a prompt", " here")
    return str(error) or type(error).__name__

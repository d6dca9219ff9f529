"""Check the templates and expressions of steps before a run."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from tideate_core.errors import InvalidDefinition
from tideate_core.workflows.mistakes import Finding
from tideate_core.workflows.step_definition import LONGEST_NAME, LONGEST_TEXT, STEP_FIELDS, VALUE_NAMES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tideate_core.util.deadline import Deadline
    from tideate_core.workflows.definitions import WorkflowDefinition
    from tideate_core.workflows.mistakes import Loc, Nearest
    from tideate_core.workflows.references import References

OF_THE_RUN: Final = ("filetype", "path", "selection", "text")
"""Keys of a run's `context` that describe its buffer."""


class _Text(NamedTuple):
    loc: Loc
    source: str
    is_expression: bool = False
    in_loop: bool = False
    """Rendered once for every item of `for_each`."""

    @property
    def what(self) -> str:
        return "expression" if self.is_expression else "template"


@dataclass(frozen=True, slots=True)
class RawStep:
    """A step's raw values, with keys in snake_case."""

    index: int
    values: Mapping[str, Any]

    @property
    def id(self) -> str:
        """Its id, empty if that is not a text."""
        found = self.values.get("id")
        return found if isinstance(found, str) else ""

    def at(self, *loc: str | int) -> Loc:
        return ("steps", self.index, *loc)

    def value(self, *path: str) -> Any:
        """Return the value at a path of keys, None without one."""
        value: Any = self.values
        for key in path:
            value = value.get(key) if isinstance(value, Mapping) else None
        return value

    def texts(self) -> Iterator[_Text]:
        """Yield the texts that are rendered or evaluated when the step runs."""
        for path in (("when",), ("confirm",), ("for_each",), ("for_each", "items")):
            if isinstance(text := self.value(*path), str):
                yield _Text(self.at(*path), text, is_expression=path != ("confirm",))
        in_loop = self.value("for_each") is not None
        for path in (("task",), ("workflow", "prompt"), ("workflow", "inputs"), ("tool", "arguments")):
            yield from _within(self.value(*path), self.at(*path), in_loop)


class TemplateChecks:
    """Checks of one workflow's templates.

    :param root: the definition, with keys in snake_case.
    :param numbers: numbers of the steps by id.
    :param before: by id, a bit mask of the steps that end before this one starts; none for steps in a cycle.
    :param deadline: no text is read after it.
    """

    def __init__(
        self,
        root: Mapping[str, Any],
        numbers: Mapping[str, int],
        before: Mapping[str, int],
        nearest: Nearest,
        deadline: Deadline,
    ) -> None:
        inputs, context = root.get("inputs"), root.get("context")
        self._inputs = inputs if isinstance(inputs, Mapping) else {}
        self._context = {*(context if isinstance(context, Mapping) else ()), *OF_THE_RUN}
        self._numbers = numbers
        self._before = before
        self._nearest = nearest
        self._deadline = deadline
        self._read: dict[tuple[str, bool], References | str] = {}

    def check(self, step: RawStep) -> Iterator[Finding]:
        """Yield the mistakes of one step's templates and expressions."""
        for text in step.texts():
            if self._deadline.is_over:
                return
            # a longer text is reported by its length, or when it is rendered
            if len(text.source) > LONGEST_TEXT or not (text.is_expression or "{" in text.source):
                continue
            found = self._references(text.source, text.is_expression)
            if isinstance(found, str):
                braces = text.is_expression and "{{" in text.source
                hint = "write an expression without `{{ }}`" if braces else ""
                yield Finding(text.loc, f"the {text.what} cannot be read: {found}", hint)
                continue
            yield from self._steps(step, text, found)
            yield from self._values(text, found)
            if text.loc[-1] in {"for_each", "items"} and text.is_expression:
                yield from self._no_list(text, found)

    def _references(self, source: str, is_expression: bool) -> References | str:
        """Return the names that a text uses, or its error; cached, since YAML aliases repeat texts."""
        # here, because a workflow without templates needs no Jinja
        from tideate_core.workflows.references import references

        key = source, is_expression
        if key not in self._read:
            try:
                self._read[key] = references(source, expression=is_expression)
            except InvalidDefinition as error:
                self._read[key] = str(error)
        return self._read[key]

    def _steps(self, step: RawStep, text: _Text, found: References) -> Iterator[Finding]:
        for name in sorted(found.steps):
            if name not in self._numbers:
                message = f"the {text.what} uses step {name!r}, which is not a step of this workflow"
                hint = self._nearest.hint(name, self._numbers)
                if longer := self._longer.get(name):
                    hint = f"write `steps[{longer!r}]`: an id with `-` or `.` needs brackets"
                yield Finding(text.loc, message, hint, needle=name)
            elif name == step.id:
                message = f"the {text.what} uses the result of its own step"
                yield Finding(text.loc, message, "use a step that ended before", needle=name)
            elif step.id in self._before and not self._before[step.id] >> self._numbers[name] & 1:
                late = f"which may not have ended before step {step.id!r} starts"
                message = f"the {text.what} uses step {name!r}, {late}"
                hint = f"add {name!r} to the dependencies of {step.id!r}"
                if self._before.get(name, 0) >> self._numbers[step.id] & 1:
                    hint = f"{name!r} waits for {step.id!r}, so its result cannot be used here"
                yield Finding(text.loc, message, hint, needle=name)
        for name, asked in sorted(found.fields):
            if name in self._numbers and asked not in STEP_FIELDS:
                message = f"a step has no {asked!r} (it has: {', '.join(STEP_FIELDS)})"
                hint = (
                    self._nearest.hint(asked, STEP_FIELDS)
                    or f"write `.result.{asked}` for a part of its result"
                )
                yield Finding(text.loc, message, hint, needle=asked)

    @cached_property
    def _longer(self) -> dict[str, str]:
        """Ids that Jinja parses as a subtraction, or as a step and its field, by their beginnings."""
        found = {
            one[: cut.start()]: one
            for one in reversed(list(self._numbers))
            if len(one) <= LONGEST_NAME
            for cut in re.finditer(r"[-.]", one)
        }
        return {name: longer for name, longer in found.items() if name not in self._numbers}

    def _values(self, text: _Text, found: References) -> Iterator[Finding]:
        for name in sorted(found.inputs.difference(self._inputs)):
            hint = self._nearest.hint(name, self._inputs) or f"declare {name!r} under `inputs`"
            yield Finding(text.loc, f"the input {name!r} is not declared", hint, needle=name)
        for name in sorted(found.context.difference(self._context)):
            hint = self._nearest.hint(name, self._context) or f"give {name!r} a value under `context`"
            yield Finding(text.loc, f"the context has no {name!r}", hint, "warning", needle=name)
        if self._longer.keys().isdisjoint(found.steps):
            for name in sorted(found.names):
                known = ", ".join(VALUE_NAMES)
                hint = self._nearest.hint(name, VALUE_NAMES) or f"known names: {known}"
                yield Finding(text.loc, f"{name!r} is not known here", hint, needle=name)
        for name in sorted(found.used & {"item", "index"}):
            if not text.in_loop:
                message = f"`{name}` is available only in the work of a step with `for_each`"
                yield Finding(text.loc, message, "remove it here", needle=name)

    def _no_list(self, text: _Text, found: References) -> Iterator[Finding]:
        """Check that a constant `for_each` expression gives a list."""
        from tideate_core.workflows.expressions import evaluate

        if found.names or found.used:
            return
        try:
            value = evaluate(text.source, {})
        except InvalidDefinition as error:
            yield Finding(text.loc, str(error))
            return
        if not isinstance(value, list):
            hint = "write an expression such as `inputs.files` or `['a', 'b']`"
            yield Finding(text.loc, "`for_each` needs a list, and this is not one", hint)


def _within(value: Any, loc: Loc, in_loop: bool) -> Iterator[_Text]:
    if isinstance(value, str):
        yield _Text(loc, value, in_loop=in_loop)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _within(item, (*loc, key), in_loop)
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from _within(item, (*loc, index), in_loop)


def use_of_prompt(definition: WorkflowDefinition) -> Literal["read", "given", "unread"]:
    """Return whether steps read the run's prompt, agents can get it as material, or it is unused."""
    from tideate_core.workflows.references import references

    for step in definition.steps:
        if step.kind in ("handler", "machine") or (step.workflow is not None and not step.workflow.prompt):
            return "read"
        values = step.model_dump(include={"when", "confirm", "for_each", "task", "workflow", "tool"})
        for text in RawStep(0, values).texts():
            if "prompt" not in text.source:
                continue
            if "prompt" in references(text.source, expression=text.is_expression).used:
                return "read"
    given = any(step.kind == "agent" and step.context == "auto" for step in definition.steps)
    return "given" if given else "unread"

"""Values that a run's templates and expressions see, and templates inside JSON values."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from tideate_core.errors import InvalidDefinition, InvalidInput, did_you_mean
from tideate_core.util.deadline import Deadline
from tideate_core.workflows import MISSING

if TYPE_CHECKING:
    from tideate_core.engine.driver import Settled
    from tideate_core.workflows import RunContext

__all__ = ["StateManager", "about", "render_value"]

_ONE_EXPRESSION: Final = re.compile(r"\{\{(?P<expression>(?:(?!\{\{|\}\}|\{%).)+)\}\}", re.DOTALL)


class _Steps(Mapping[str, dict[str, Any]]):
    """The steps that ended, each as `result`, `error` and `status`; a view, so that no step copies all."""

    def __init__(self, settled: Mapping[str, Settled]) -> None:
        self._settled = settled

    def __getitem__(self, step: str) -> dict[str, Any]:
        ended = self._settled[step]
        return {"result": ended.value, "error": ended.error, "status": ended.status}

    def __iter__(self) -> Iterator[str]:
        return iter(self._settled)

    def __len__(self) -> int:
        return len(self._settled)


class StateManager:
    """A run's inputs and context, and what its steps came to.

    :param inputs: checked against what the workflow declares.
    :param context: the workflow's own values.
    :param settled: how the steps ended; what is added to it later is seen, too.
    """

    def __init__(
        self,
        inputs: Mapping[str, Any],
        context: Mapping[str, Any],
        settled: Mapping[str, Settled],
        prompt: str = "",
    ) -> None:
        self._inputs = inputs
        self._context = dict(context)
        self._steps = _Steps(settled)
        self._prompt = prompt

    def values(self) -> dict[str, Any]:
        """Return what a template sees."""
        return {
            "inputs": self._inputs,
            "context": self._context,
            "steps": self._steps,
            "prompt": self._prompt,
        }

    def get_context(self) -> dict[str, Any]:
        """Return a copy of the workflow's own values as they are now."""
        return dict(self._context)

    def restore_context(self, values: Mapping[str, Any]) -> None:
        """Put values over the workflow's own, as an earlier process had set them."""
        self._context |= values

    def get(self, path: str, default: Any = None) -> Any:
        """Return a value.

        :param path: as a template writes it: `inputs.NAME`, `context.NAME`, `steps.ID.result`.
        """
        value: Any = self.values()
        for name in path.split("."):
            value = value.get(name, MISSING) if isinstance(value, Mapping) else MISSING
            if value is MISSING:
                return default
        return value

    def set(self, name: str, value: Any) -> None:
        """Give a name of the context another value.

        :raises InvalidInput: the workflow's `context` does not have the name, so that no template can see it.
        """
        if name not in self._context:
            near = did_you_mean(name, self._context)
            raise InvalidInput(f"the workflow's context has no {name!r}{near}; declare it with a first value")
        self._context[name] = value

    def snapshot(self) -> dict[str, Any]:
        """Return a copy of everything, as JSON."""
        values = {**self.values(), "inputs": dict(self._inputs), "steps": dict(self._steps)}
        return dict(json.loads(json.dumps(values)))


def about(context: RunContext) -> dict[str, Any]:
    """Return what a template may say of the text that a run was started on; empty without any.

    `text` is the whole of it and `selection` what of it was selected.
    """
    buffer, chosen = context.buffer, context.selection
    if buffer is None:
        return {}
    shape = {"path": buffer.path, "filetype": buffer.filetype, "text": buffer.text, "selection": ""}
    if chosen is not None:
        shape["selection"] = "\n".join(buffer.text.split("\n")[chosen.start - 1 : chosen.end])
    return shape


def render_value(value: Any, values: Mapping[str, Any]) -> Any:
    """Fill in all texts of a JSON value.

    A text that is one `{{ expression }}` and nothing else becomes what that gives, so that a number stays a
    number and a list a list.

    :param values: what templates see.
    :raises InvalidDefinition: a text is wrong, or they take too much time or room.
    """
    # here, because templates are slow to load and rarely needed
    from tideate_core.workflows import LIMITS

    return _rendered(value, values, Deadline(LIMITS.filling_all_seconds))


def _rendered(value: Any, values: Mapping[str, Any], deadline: Deadline) -> Any:
    if isinstance(value, str):
        from tideate_core.workflows import LIMITS, evaluate, render_task

        if deadline.is_over:
            raise InvalidDefinition(
                f"filling in all templates takes more than {LIMITS.filling_all_seconds:.0f} s; use fewer"
            )
        one = _ONE_EXPRESSION.fullmatch(value.strip())
        return evaluate(one["expression"].strip("-"), values) if one else render_task(value, values)
    if isinstance(value, Mapping):
        return {key: _rendered(item, values, deadline) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_rendered(item, values, deadline) for item in value]
    return value

"""Material that an agent step is given unasked: results of its dependencies, and the workflow's context."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from tideate_core.edits import fence_for
from tideate_core.engine.mentions import material_budget
from tideate_core.engine.state import about
from tideate_core.util.cutting import beginning
from tideate_core.util.tokens import CHARACTERS_PER_TOKEN
from tideate_core.workflows import names_in_task

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tideate_core.workflows import StepContext, WorkflowStep

__all__ = ["given_material"]

HEADLINE: Final = "What this task builds on. It is material, not a task."


def given_material(step: StepContext, definition: WorkflowStep, *, prompt: bool = False) -> str:
    """Return the material of a step's prompt; empty if there is none, or the step wants none.

    Results that the task or its `for_each` names stand where they are named, and not here. What is longer
    than the model's share of material is cut, with a notice.

    :param prompt: include the run's prompt.
    """
    if definition.context == "none":
        return ""
    parts = dict(_parts(step, definition))
    if prompt and step.prompt.strip():
        parts = {"The prompt of this run": step.prompt, **parts}
    if not parts:
        return ""
    lengths = _shares({name: len(text) for name, text in parts.items()}, material_budget(step))
    for name in (name for name, text in parts.items() if len(text) > lengths[name]):
        step.notice(
            f"{name} is too long for the prompt of {step.step!r} and was cut after {lengths[name]:,} "
            "characters; name what the task needs in its template, or set `context: none`",
            level="warn",
        )
    quoted = [_quoted(name, beginning(text, lengths[name])) for name, text in parts.items()]
    return "\n\n".join([HEADLINE, *quoted])


def _parts(step: StepContext, definition: WorkflowStep) -> Iterator[tuple[str, str]]:
    values = step.values()
    named_steps, named_context = names_in_task(definition)
    for dependency in definition.dependencies:
        ended = values["steps"].get(dependency)
        if ended is None or ended["status"] == "skipped" or dependency in named_steps or "*" in named_steps:
            continue
        if ended["status"] == "failed":
            yield f"The error of the step {dependency!r}", _text(ended["error"])
        elif ended["result"] is not None:
            yield f"The result of the step {dependency!r}", _text(ended["result"])
    if "*" in named_context:
        return
    of_buffer = about(step.context)
    for name, value in values["context"].items():
        if name not in named_context and (name not in of_buffer or of_buffer[name] != value):
            yield f"The workflow's context, {name!r}", _text(value)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)


def _quoted(name: str, text: str) -> str:
    fence = fence_for(text)
    return f"{name}:\n\n{fence}\n{text}\n{fence}"


def _shares(lengths: Mapping[str, int], tokens: int) -> dict[str, int]:
    """Return how many characters each part may have: short ones all, the rest in equal parts."""
    left, shares = tokens * CHARACTERS_PER_TOKEN, dict[str, int]()
    for place, (name, length) in enumerate(sorted(lengths.items(), key=lambda item: item[1])):
        shares[name] = min(length, left // (len(lengths) - place))
        left -= shares[name]
    return shares

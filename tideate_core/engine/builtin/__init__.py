"""The built-in workflows: their definitions beside what runs their steps (REQ-WORK-003)."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tideate_core.engine.task.definition import task_workflow
from tideate_core.workflows import WorkflowDefinition

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tideate_core.workflows import StepContext, StepHandler, WorkflowRegistry

__all__ = ["BUILTIN", "register_builtin"]

_chain = WorkflowDefinition.chain


def _later(module: str, name: str) -> StepHandler:
    """Return a handler whose module is loaded when it is called: what it needs is slow to load."""

    async def handler(step: StepContext) -> Any:
        return await getattr(import_module(f"{__name__}.{module}"), name)(step)

    return handler


BUILTIN: Mapping[str, tuple[WorkflowDefinition, Mapping[str, StepHandler]]] = {
    definition.name: (definition, handlers)
    for definition, handlers in (
        (
            _chain(
                "ask", ["query"], description="Ask a question, about the selection if any", needs=("prompt",)
            ),
            {"query": _later("texts", "query")},
        ),
        (
            _chain(
                "summarize",
                ["summarize"],
                description="Summarize the selection or the buffer",
                needs=("text",),
            ),
            {"summarize": _later("texts", "summarize")},
        ),
        (
            _chain(
                "refactor",
                ["analyze", "refactor"],
                description="Change the selected code, analysis first",
                needs=("prompt", "lines"),
            ),
            {"analyze": _later("lines", "analyze"), "refactor": _later("lines", "refactor")},
        ),
        (
            _chain(
                "generate",
                ["generate"],
                description="Write new code at the cursor",
                needs=("prompt", "place"),
            ),
            {"generate": _later("lines", "generate")},
        ),
        (
            _chain(
                "multi_file",
                ["plan", "confirm", "execute"],
                description="Plan and make changes in several files",
                needs=("prompt",),
            ),
            {
                "plan": _later("files", "plan"),
                "confirm": _later("files", "confirm"),
                "execute": _later("files", "execute"),
            },
        ),
    )
}


def register_builtin(registry: WorkflowRegistry) -> None:
    """Add the built-in workflows to a registry."""
    for definition, handlers in BUILTIN.values():
        registry.register(definition, handlers, source="builtin")
    registry.register(task_workflow(), {}, source="builtin")

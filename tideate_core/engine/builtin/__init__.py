"""The built-in workflows: their definitions beside what runs their steps (REQ-WORK-003)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.engine.builtin import files, lines, texts
from tideate_core.workflows import WorkflowDefinition

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tideate_core.workflows import StepHandler, WorkflowRegistry

__all__ = ["BUILTIN", "register_builtin"]

_chain = WorkflowDefinition.chain

BUILTIN: Mapping[str, tuple[WorkflowDefinition, Mapping[str, StepHandler]]] = {
    definition.name: (definition, handlers)
    for definition, handlers in (
        (
            _chain(
                "ask", ["query"], description="Ask a question, about the selection if any", needs=("prompt",)
            ),
            {"query": texts.query},
        ),
        (
            _chain(
                "summarize",
                ["summarize"],
                description="Summarize the selection or the buffer",
                needs=("text",),
            ),
            {"summarize": texts.summarize},
        ),
        (
            _chain(
                "refactor",
                ["analyze", "refactor"],
                description="Change the selected code, analysis first",
                needs=("prompt", "lines"),
            ),
            {"analyze": lines.analyze, "refactor": lines.refactor},
        ),
        (
            _chain(
                "generate",
                ["generate"],
                description="Write new code at the cursor",
                needs=("prompt", "place"),
            ),
            {"generate": lines.generate},
        ),
        (
            _chain(
                "multi_file",
                ["plan", "confirm", "execute"],
                description="Plan and make changes in several files",
                needs=("prompt",),
            ),
            {"plan": files.plan, "confirm": files.confirm, "execute": files.execute},
        ),
    )
}


def register_builtin(registry: WorkflowRegistry) -> None:
    """Add the built-in workflows to a registry."""
    for definition, handlers in BUILTIN.values():
        registry.register(definition, handlers, source="builtin")

"""The built-in workflows: their definitions beside what runs their steps (REQ-WORK-003)."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tideate_core.builtin.handoff import HANDOFF
from tideate_core.builtin.handoff.hooks import HandoffHooks
from tideate_core.builtin.task import TASK
from tideate_core.builtin.task.definition import task_workflow
from tideate_core.builtin.task.hooks import TaskHooks
from tideate_core.engine import register_driver_hooks
from tideate_core.workflows import WorkflowDefinition

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tideate_core.workflows import StepContext, StepHandler, WorkflowRegistry

__all__ = ["BUILTIN", "register_builtin"]

_chain = WorkflowDefinition.chain


def _later(module: str, name: str) -> StepHandler:
    """Return a handler whose module is loaded when it is called: what it needs is slow to load."""

    async def handler(step: StepContext) -> Any:
        return await getattr(import_module(module), name)(step)

    return handler


BUILTIN: Mapping[str, tuple[WorkflowDefinition, Mapping[str, StepHandler]]] = {
    definition.name: (definition, handlers)
    for definition, handlers in (
        (
            _chain(
                "ask", ["query"], description="Ask a question, about the selection if any", needs=("prompt",)
            ),
            {"query": _later("tideate_core.builtin.texts", "query")},
        ),
        (
            _chain(
                "summarize",
                ["summarize"],
                description="Summarize the selection or the buffer",
                needs=("text",),
            ),
            {"summarize": _later("tideate_core.builtin.texts", "summarize")},
        ),
        (
            _chain(
                "refactor",
                ["analyze", "refactor"],
                description="Change the selected code, analysis first",
                needs=("prompt", "lines"),
            ),
            {
                "analyze": _later("tideate_core.builtin.lines", "analyze"),
                "refactor": _later("tideate_core.builtin.lines", "refactor"),
            },
        ),
        (
            _chain(
                "generate",
                ["generate"],
                description="Write new code at the cursor",
                needs=("prompt", "place"),
            ),
            {"generate": _later("tideate_core.builtin.lines", "generate")},
        ),
        (
            _chain(
                "multi_file",
                ["plan", "confirm", "execute"],
                description="Plan and make changes in several files",
                needs=("prompt",),
            ),
            {
                "plan": _later("tideate_core.builtin.files", "plan"),
                "confirm": _later("tideate_core.builtin.files", "confirm"),
                "execute": _later("tideate_core.builtin.files", "execute"),
            },
        ),
    )
}
_HANDOFF: Mapping[str, StepHandler] = {
    name: _later("tideate_core.builtin.handoff", name) for name in ("plan", "edit", "manifest", "report")
}


def _handoff() -> WorkflowDefinition:
    """Return the chain of document 4: from a plan in a file to a commit and what the tests say of it."""
    names = ("plan", "status", "edit", "commit", "manifest", "tests", "report")
    tools = {
        "status": {"server": "git", "name": "git_status"},
        "commit": {
            "server": "git",
            "name": "git_commit",
            "arguments": {
                "agent": "coder",
                "scope": "handoff",
                "description": "{{ steps.plan.result.subject }}",
                "files": "{{ steps.edit.result.files }}",
                "branch": "{{ steps.plan.result.branch }}",
            },
        },
        "tests": {
            "server": "test",
            "name": "test_run",
            "arguments": {"files": "{{ steps.manifest.result.tests }}", "or_all": True},
        },
    }
    links = [
        {"id": name, "dependencies": names[i - 1 : i] if i else (), "tool": tools.get(name)}
        for i, name in enumerate(names)
    ]
    return WorkflowDefinition.model_validate(
        {
            "name": HANDOFF,
            "description": "Carry out a plan from a file, commit it on a branch of its own, test it",
            "inputs": {"plan": {"default": "", "description": "The plan's file, by default the planner's."}},
            "steps": links,
        }
    )


register_driver_hooks(TASK, "machine", TaskHooks())
register_driver_hooks(HANDOFF, "graph", HandoffHooks())


def register_builtin(registry: WorkflowRegistry) -> None:
    """Add the built-in workflows to a registry."""
    for definition, handlers in BUILTIN.values():
        registry.register(definition, handlers, source="builtin")
    registry.register(task_workflow(), {}, source="builtin")
    registry.register(_handoff(), _HANDOFF, source="builtin")

"""Registration of the built-in workflows: their definitions, handlers and driver hooks."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from tideate_core.builtin.handoff import HANDOFF
from tideate_core.builtin.handoff.definition import HandoffHooks, handoff_definition
from tideate_core.builtin.review import REVIEW, ReviewHooks
from tideate_core.builtin.task import TASK
from tideate_core.builtin.task.definition import TaskHooks, task_definition
from tideate_core.engine import register_driver_hooks
from tideate_core.workflows import WorkflowDefinition

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tideate_core.workflows import StepContext, StepHandler, WorkflowRegistry

ANSWER: Final = "answer"
LAND: Final = "land"
_chain = WorkflowDefinition.chain
_WORKFLOWS: Final[Sequence[tuple[WorkflowDefinition, str, Mapping[str, Any]]]] = (
    (
        _chain("ask", ["query"], description="Ask a question, about the selection if any", needs=("prompt",)),
        "buffer_workflows",
        {"continues": ("*",), "comparable": True},
    ),
    (
        _chain(
            "chat",
            ["reply"],
            description="Answer a message of a conversation, with edits if needed",
            needs=("prompt",),
        ),
        "chat",
        {"continues": ("*",), "reviewed": True},
    ),
    (
        _chain(
            "apply",
            ["place"],
            description="Put a code block into a file, after a review",
            inputs={
                "path": {"description": "The file."},
                "text": {"description": "The block: code, a diff, or a whole file."},
                "how": {
                    "default": "place",
                    "enum": ["place", "create", "replace"],
                    "description": "Put the block into the file, create the file without a review, or "
                    "replace the whole file.",
                },
            },
        ),
        "chat",
        {"reviewed": True},
    ),
    (
        _chain(
            "summarize", ["summarize"], description="Summarize the selection or the buffer", needs=("text",)
        ),
        "buffer_workflows",
        {"comparable": True},
    ),
    (
        _chain(
            "edit",
            ["edit"],
            description="Change the selected lines, or the cursor's line, with one request",
            needs=("prompt", "place"),
        ),
        "buffer_workflows",
        {"continues": ("edit",), "reviewed": True},
    ),
    (
        _chain(
            "refactor",
            ["analyze", "refactor"],
            description="Analyze the selected code, then change it",
            needs=("prompt", "lines"),
        ),
        "buffer_workflows",
        {"continues": ("refactor",), "comparable": True, "reviewed": True},
    ),
    (
        _chain(
            "generate", ["generate"], description="Write new code at the cursor", needs=("prompt", "place")
        ),
        "buffer_workflows",
        {"continues": ("generate",), "comparable": True, "reviewed": True},
    ),
    (
        _chain(
            "multi_file",
            ["plan", "confirm", "execute"],
            description="Plan and make changes in several files",
            needs=("prompt",),
        ),
        "multi_file",
        {
            "continues": ("ask", "edit", "refactor", "generate", "multi_file"),
            "comparable": True,
            "reviewed": True,
        },
    ),
    (
        _chain(
            "agent",
            ["work"],
            description="Let an agent do a task in a private copy, and review its changes",
            needs=("prompt",),
        ),
        "agent",
        {"continues": ("*",), "comparable": True, "reviewed": True},
    ),
    (
        _chain(
            REVIEW,
            ["find", "review"],
            description="Review changes by other tools, or a patch",
            inputs={
                "what": {
                    "default": "",
                    "description": "A folder, file, commit, branch, snapshot or patch file; by default the "
                    "last commit.",
                },
                "path": {"default": "", "description": "Only this folder or file."},
            },
        ),
        "review.steps",
        {"reviewed": True},
    ),
    (
        _chain(
            LAND,
            ["land", "update"],
            description="Review and land the changes of a guarded program",
            inputs={
                "session": {
                    "default": "",
                    "description": "The session, or the beginning of its id; by default the only one with "
                    "changes.",
                },
            },
        ),
        "landing",
        {"reviewed": True},
    ),
    (
        _chain(
            ANSWER,
            ["ask", "send"],
            description="Answer the question of a run that waits in a remote's inbox",
            inputs={
                "run": {"description": "The run, or the beginning of its id; see `tideate inbox`."},
                "remote": {"default": "origin", "description": "The remote that has the run."},
            },
        ),
        "answer",
        {"reviewed": True},
    ),
    (handoff_definition(), "handoff.steps", {}),
)
"""Definitions, each with the module that holds its step handlers under their ids, and its registration."""


def _lazy_handler(module: str, name: str) -> StepHandler:
    """Return a handler that imports its module, slow to load, on the first call."""

    async def handler(step: StepContext) -> Any:
        return await getattr(import_module(f"tideate_core.builtin.{module}"), name)(step)

    return handler


register_driver_hooks(TASK, "machine", TaskHooks())
register_driver_hooks(HANDOFF, "graph", HandoffHooks())
register_driver_hooks(REVIEW, "graph", ReviewHooks(REVIEW))
register_driver_hooks(ANSWER, "graph", ReviewHooks(ANSWER))
register_driver_hooks(LAND, "graph", ReviewHooks(LAND))


def register_builtin(registry: WorkflowRegistry) -> None:
    """Add the built-in workflows to a registry."""
    for definition, module, rest in _WORKFLOWS:
        handlers = {step.id: _lazy_handler(module, step.id) for step in definition.steps if not step.tool}
        registry.register(definition, handlers, source="builtin", **rest)
    registry.register(task_definition(), {}, source="builtin")

"""The gated task: a plan, its audit, the edits, their documentation and verification, all or nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["CORRECTING", "TASK", "corrections", "from_first_write", "of_a_task"]

TASK: Final = "task"
"""The workflow's name."""
CORRECTING: Final = "self_correcting"
"""The state in which what verification found is corrected; its steps are called so, with a number."""


WRITING: Final = "awaiting_execution_gate"
"""The first state in which files are written."""


def of_a_task(name: str, kind: str, source: str) -> bool:
    """Tell whether a workflow is the gated task: a file of that name is another one."""
    return (name, kind, source) == (TASK, "machine", "builtin")


def from_first_write(steps: Sequence[str]) -> Sequence[str]:
    """Return, of a task's steps in their order, the first that wrote to files and all after it."""
    for number, step in enumerate(steps):
        if step.partition("#")[0] == WRITING:
            return steps[number:]
    return ()


def corrections(results: Mapping[str, Any]) -> int:
    """Return how many corrections of a task were written, by its steps' results."""
    return sum(
        isinstance(value, dict) and value.get("event") == "correction_succeeded"
        for step, value in results.items()
        if step.partition("#")[0] == CORRECTING
    )

"""Result of a run, as callers and tools get it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tideate_core.adapters import Usage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import JsonValue

    from tideate_core.gates import TaskResult

__all__ = ["WorkflowResult", "leaves_unchanged", "usage_json"]


@dataclass(frozen=True, slots=True)
class WorkflowResult:
    """The end of a run: done, failed (`error`) or `cancelled`."""

    execution_id: str
    workflow: str
    ok: bool
    response: JsonValue = None
    """Of a machine's run that broke off: the last text that a model gave, None where there is none."""
    results: dict[str, JsonValue] = field(default_factory=dict)
    error: str | None = None
    error_code: str | None = None
    cancelled: bool = False
    reason: str | None = None
    """Of a cancelled run: `declined` or `cancelled`."""
    files: list[str] = field(default_factory=list)
    """Files and buffers that were changed."""
    executed: list[dict[str, str]] = field(default_factory=list)
    """Of `files` those that other tools run by themselves, each `path` and `reason`."""
    path: list[dict[str, str]] | None = None
    """The moves of a machine, each `from`, `to`, `when` and `by`; None of a graph."""
    usage: Usage = field(default_factory=Usage)
    duration_ms: int = 0
    rollback_performed: bool | None = None
    """All that it wrote was rolled back; None of a workflow that is not all or nothing."""
    attempts: int | None = None
    """Corrections that a task took; None of any other workflow."""
    task: str | None = None
    """What was to be done, as the person worded it; None of any other workflow."""
    result: TaskResult | None = None
    """Accepted files that a task's execution changed, even if they were rolled back, and its errors. None
    before the execution, and of any other workflow."""
    next_run: dict[str, Any] | None = None
    """The run that is proposed to follow; see `with_next_run`."""

    @property
    def unchanged(self) -> bool:
        """It ended well, and the answers of its models change nothing of what they were to change."""
        return self.ok and not self.files and leaves_unchanged(self.results)

    def as_json(self) -> dict[str, Any]:
        """Return the result as the Lua and JSON interfaces promise it: no key that says nothing."""
        shape: dict[str, Any] = {
            "ok": self.ok,
            "execution_id": self.execution_id,
            "workflow": self.workflow,
            "results": self.results,
            "files": self.files,
            "usage": usage_json(self.usage),
            "duration_ms": self.duration_ms,
        }
        if self.unchanged:
            shape["unchanged"] = True
        if self.executed:
            shape["executed"] = self.executed
        if self.ok or self.response is not None:
            shape["response"] = self.response
        optional = {
            "path": self.path,
            "rollback_performed": self.rollback_performed,
            "attempts": self.attempts,
            "task": self.task,
            "result": self.result.model_dump(mode="json") if self.result else None,
            "next": self.next_run,
        }
        shape |= {name: value for name, value in optional.items() if value is not None}
        if self.cancelled:
            shape |= {"cancelled": True, "reason": self.reason}
        elif not self.ok:
            shape |= {"error": self.error, "error_code": self.error_code}
        return shape


def leaves_unchanged(results: Mapping[str, Any]) -> bool:
    """Tell whether a step was to change something, and its answer changes nothing."""
    return any(isinstance(value, dict) and value.get("unchanged") is True for value in results.values())


def usage_json(usage: Usage) -> dict[str, Any]:
    """Return tokens, those that were cached if any were, and the cost in US dollars if it is known."""
    shape: dict[str, Any] = {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens}
    if usage.cached_tokens:
        shape["cached_tokens"] = usage.cached_tokens
    if usage.cost is not None:
        shape["cost"] = usage.cost
    return shape

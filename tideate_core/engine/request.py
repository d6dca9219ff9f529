"""Types of a run's request and result, and of its subject: the selected lines of a buffer."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from tideate_core.adapters import Usage
from tideate_core.edits import fence_for
from tideate_core.workflows import RunContext
from tideate_core.workspace import language_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tideate_core.gates import TaskResult
    from tideate_core.workflows import BufferContext


class RunRequest(BaseModel):
    """Request for a run, as the editor and the shell send it."""

    model_config = ConfigDict(extra="forbid")

    name: str
    prompt: str = ""
    context: RunContext = Field(default_factory=RunContext)
    inputs: dict[str, JsonValue] = Field(default_factory=dict)
    options: dict[str, JsonValue] = Field(default_factory=dict)
    adapter: str | None = None
    require_confirmation: bool | None = None
    """None: use the configuration or the workflow."""
    step: str | None = None
    """Run only this step of a graph and its dependencies; None: all steps."""
    obfuscate: bool = False
    """Hide the names of a machine's states."""
    memory: bool = True
    """Send the project's memory, unless the configuration turns it off."""
    continues: str | None = None
    """Run whose conversation this one continues: an id, its prefix, or `last` for the newest with one."""
    turn: int | None = None
    """Turn of that conversation to continue after; None: the last."""
    compared: dict[str, str] = Field(default_factory=dict)
    """For a run of a comparison: the models of all its runs, by run id."""
    opened: bool = False
    """The run came in a bundle: its own definition has no trust here."""
    execution_id: str = Field(default_factory=lambda: uuid.uuid4().hex, pattern=r"^[0-9a-f]{32}$")

    def inheriting(self, parent: RunRequest) -> RunRequest:
        """Return this request of a nested run, completed from the run around it."""
        open_keys = ("adapter", "require_confirmation")
        own = {key: getattr(parent, key) for key in open_keys if getattr(self, key) is None}
        return self.model_copy(
            update={**own, "memory": self.memory and parent.memory, "opened": parent.opened}
        )


@dataclass(frozen=True, slots=True)
class WorkflowResult:
    """Result of a run: done, failed (`error`) or `cancelled`."""

    execution_id: str
    workflow: str
    ok: bool
    response: JsonValue = None
    """For an unfinished run of a machine: the last text of a model; None without one."""
    results: dict[str, JsonValue] = field(default_factory=dict)
    error: str | None = None
    error_code: str | None = None
    cancelled: bool = False
    reason: str | None = None
    """For a cancelled run: `declined` or `cancelled`."""
    files: list[str] = field(default_factory=list)
    """Changed files and buffers."""
    executed: list[dict[str, str]] = field(default_factory=list)
    """Changed files that other tools execute by themselves, each `path` and `reason`."""
    path: list[dict[str, str]] | None = None
    """Moves of a machine, each `from`, `to`, `when` and `by`; None for a graph."""
    usage: Usage = field(default_factory=Usage)
    duration_ms: int = 0
    rollback_performed: bool | None = None
    """All changes were rolled back; None for workflows that are not all or nothing."""
    attempts: int | None = None
    """Corrections of a task; None for other workflows."""
    task: str | None = None
    """Description of a task in the person's words; None for other workflows."""
    result: TaskResult | None = None
    """Files changed by a task's execution, even if rolled back, and its errors; None before the execution and
    for other workflows."""
    next_run: dict[str, Any] | None = None
    """Proposed next run: `workflow`, `prompt`, `continues`, `asks` and `message`."""

    @property
    def unchanged(self) -> bool:
        """The run completed, but its models' answers change nothing."""
        return self.ok and not self.files and leaves_unchanged(self.results)

    def as_json(self) -> dict[str, Any]:
        """Return the result for Lua and JSON, without empty keys."""
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
    """Tell whether a step that should change something returned an unchanged answer."""
    return any(isinstance(value, dict) and value.get("unchanged") is True for value in results.values())


def usage_json(usage: Usage) -> dict[str, Any]:
    """Return tokens, cached tokens if any, and the cost in US dollars if known."""
    shape: dict[str, Any] = {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens}
    if usage.cached_tokens:
        shape["cached_tokens"] = usage.cached_tokens
    if usage.cost is not None:
        shape["cost"] = usage.cost
    return shape


NO_TEXT: Mapping[str, Any] = MappingProxyType(
    {"path": "", "language": "", "text": "", "fence": "```", "first": None, "last": None}
)
"""Variables of a prompt without a text."""


@dataclass(frozen=True, slots=True)
class Subject:
    """The selected lines of a buffer, or all of them; `start` is 0-based, `end` exclusive."""

    buffer: BufferContext
    lines: list[str]
    start: int
    end: int
    selected: bool
    path: str
    language: str

    @classmethod
    def of(cls, context: RunContext) -> Subject | None:
        """Return the text of a run's context; None if it has none."""
        buffer = context.buffer
        if buffer is None:
            return None
        lines = buffer.text.split("\n")
        selection = context.selection
        start, end = (selection.start - 1, selection.end) if selection else (0, len(lines))
        return cls(
            buffer,
            lines,
            start,
            end,
            selected=selection is not None,
            path=_shown(buffer.path, context.cwd),
            language=language_of(buffer.path, buffer.filetype),
        )

    @property
    def text(self) -> str:
        return "\n".join(line.removesuffix("\r") for line in self.lines[self.start : self.end])

    def around(self, count: int) -> dict[str, str]:
        """Return up to `count` lines on either side, for orientation."""
        return {
            "before": "\n".join(self.lines[max(0, self.start - count) : self.start]).strip("\n"),
            "after": "\n".join(self.lines[self.end : self.end + count]).strip("\n"),
        }

    def variables(self) -> dict[str, Any]:
        """Return the variables that any prompt about a text can use."""
        return {
            "path": self.path,
            "language": self.language,
            "text": self.text,
            "fence": fence_for(self.text),
            "first": self.start + 1 if self.selected else None,
            "last": self.end if self.selected else None,
        }


def _shown(path: str, cwd: str) -> str:
    if not path or not cwd:
        return path
    pure = PurePath(path)
    return pure.relative_to(cwd).as_posix() if pure.is_relative_to(cwd) else path

"""Turns of a scripted model, in words that every agent's tools are found for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.harness.model_rules import Gate

__all__ = ["Call", "Turn", "edit", "offered", "read", "shell", "write"]


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call: what it does, and its values by neutral names."""

    does: str
    values: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Turn:
    """One answer: a text, then tool calls; without calls the agent's work is done."""

    text: str
    calls: Sequence[Call] = ()
    gate: Gate | None = field(default=None, compare=False)
    """Held after the text."""


def shell(command: str, *, escalated: bool = False) -> Call:
    """Run a command.

    :param escalated: outside of codex's own sandbox, for which it needs a permission.
    """
    return Call("shell", {"command": command, **({"escalated": "yes"} if escalated else {})})


def _exec(values: Mapping[str, str]) -> dict[str, Any]:
    more = {"sandbox_permissions": "require_escalated", "justification": "May I?"}
    return {"cmd": values["command"], **(more if "escalated" in values else {})}


def read(path: object) -> Call:
    return Call("read", {"path": str(path)})


def write(path: object, text: str) -> Call:
    return Call("write", {"path": str(path), "text": text})


def edit(path: object, old: str, new: str) -> Call:
    """Replace whole lines; agents want a file read before."""
    return Call("edit", {"path": str(path), "old": old, "new": new})


def _patch(kind: str, path: str, *lines: str) -> dict[str, str]:
    return {"input": "\n".join(["*** Begin Patch", f"*** {kind} File: {path}", *lines, "*** End Patch", ""])}


def _marked(mark: str, text: str) -> list[str]:
    return [mark + line for line in text.splitlines()]


Arguments = Callable[[Mapping[str, str]], dict[str, Any]]

TOOLS: dict[str, dict[str, Arguments]] = {
    "shell": {
        "bash": lambda v: {"command": v["command"], "description": "a command"},
        "Bash": lambda v: {"command": v["command"], "description": "a command"},
        "run_shell_command": lambda v: {"command": v["command"], "description": "a command"},
        "exec_command": _exec,
        "shell_command": lambda v: {"command": v["command"]},
    },
    "read": {
        "read": lambda v: {"filePath": v["path"]},
        "Read": lambda v: {"file_path": v["path"]},
        "read_file": lambda v: {"file_path": v["path"]},
        "view": lambda v: {"path": v["path"]},
        "exec_command": lambda v: {"cmd": f"cat {v['path']}"},
        "shell_command": lambda v: {"command": f"cat {v['path']}"},
    },
    "write": {
        "write": lambda v: {"filePath": v["path"], "content": v["text"]},
        "Write": lambda v: {"file_path": v["path"], "content": v["text"]},
        "write_file": lambda v: {"file_path": v["path"], "content": v["text"]},
        "create": lambda v: {"path": v["path"], "file_text": v["text"]},
        "apply_patch": lambda v: _patch("Add", v["path"], *_marked("+", v["text"])),
    },
    "edit": {
        # of opencode and of copilot; both ignore the other's names
        "edit": lambda v: {
            "filePath": v["path"],
            "oldString": v["old"],
            "newString": v["new"],
            "path": v["path"],
            "old_str": v["old"],
            "new_str": v["new"],
        },
        "Edit": lambda v: {"file_path": v["path"], "old_string": v["old"], "new_string": v["new"]},
        "replace": lambda v: {
            "file_path": v["path"],
            "old_string": v["old"],
            "new_string": v["new"],
            "instruction": "replace the lines",
        },
        "apply_patch": lambda v: _patch(
            "Update", v["path"], "@@", *_marked("-", v["old"]), *_marked("+", v["new"])
        ),
    },
}
"""Of each kind of call: arguments by the name of an agent's tool."""


def offered(call: Call, tools: Sequence[str]) -> tuple[str, dict[str, Any]]:
    """Return the name and arguments of the offered tool that does this.

    :raises LookupError: none does.
    """
    for name, arguments in TOOLS[call.does].items():
        if name in tools:
            return name, arguments(call.values)
    raise LookupError(f"no tool to {call.does} with, only {sorted(tools)}")

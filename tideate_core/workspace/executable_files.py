"""Detection of changed files that other tools execute by themselves."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from tideate_core.errors import OutsideRoot
from tideate_core.workspace.executable_tables import EXECUTED_PARTS, EXECUTED_PATHS
from tideate_core.workspace.paths import plain_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tideate_core.workspace.changes import FileChange
    from tideate_core.workspace.executable_tables import ExecutedPart
    from tideate_core.workspace.workspace import Workspace

__all__ = ["ExecutableFile", "executable_changes", "executable_paths", "reason_by_path", "reason_of_change"]

_MOST_PARSED: Final = 1 << 20
"""Characters; a longer text counts as changed."""


@dataclass(frozen=True, slots=True)
class ExecutableFile:
    """A changed file that some tool executes by itself, and the reason."""

    path: str
    reason: str

    def as_json(self) -> dict[str, str]:
        return {"path": self.path, "reason": self.reason}

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


def _expression(pattern: str) -> str:
    if pattern.endswith("/**"):
        return re.escape(pattern[:-3]) + "/.+"
    return "[^/]*".join(map(re.escape, pattern.split("*")))


@cache
def _index() -> tuple[dict[str, str], list[tuple[re.Pattern[str], str]]]:
    """Return reasons by a file's plain name, and one expression for the patterns of each reason."""
    names: dict[str, str] = {}
    patterns: dict[str, list[str]] = defaultdict(list)
    for reason, words in EXECUTED_PATHS.items():
        for pattern in words.casefold().split():
            if "*" in pattern or "/" in pattern:
                patterns[reason].append(_expression(pattern))
            else:
                names[pattern] = reason
    return names, [
        (re.compile(rf"(?:.*/)?(?:{'|'.join(group)})"), reason) for reason, group in patterns.items()
    ]


def reason_by_path(path: str) -> str:
    """Return why a file is run, by its path alone; empty where it is not, or not by its path alone.

    :param path: relative to the project, links followed.
    """
    names, patterns = _index()
    plain = plain_path(path)
    if (reason := names.get(plain.rpartition("/")[2])) is not None:
        return reason
    return next((reason for expression, reason in patterns if expression.fullmatch(plain)), "")


def reason_of_change(path: str, before: str | None, after: str | None) -> str:
    """Return why a file is run that changes from one text to another; empty where it is not.

    :param path: relative to the project, links followed.
    :param before: None of a file that is new here.
    :param after: None of a file that goes away: then nothing of it is run.
    """
    if after is None:
        return ""
    if reason := reason_by_path(path):
        return reason
    part = EXECUTED_PARTS.get(plain_path(path).rpartition("/")[2])
    return part.reason if part is not None and _part_changes(part, before, after) else ""


async def executable_changes(workspace: Workspace, changes: Sequence[FileChange]) -> list[ExecutableFile]:
    """Return the changed files that other tools run, a link by what it leads to."""
    found: list[ExecutableFile] = []
    for change in changes:
        if change.action == "delete":
            continue
        name = change.move_to or change.path
        before = None if change.move_to else change.before
        # a moved file that is no text is as much run as any other
        after = change.after if change.action == "modify" else change.after or ""
        places = await _places(workspace, change, name)
        if reason := next((why for place in places if (why := reason_of_change(place, before, after))), ""):
            found.append(ExecutableFile(name or places[-1], reason))
    return found


def executable_paths(workspace: Workspace, paths: Iterable[str]) -> list[ExecutableFile]:
    """Return which paths are run whatever they hold; of others that depends on what is changed in them."""
    found = ((path, next(filter(None, map(reason_by_path, _named(workspace, path))), "")) for path in paths)
    return [ExecutableFile(path, reason) for path, reason in found if reason]


async def _places(workspace: Workspace, change: FileChange, name: str) -> list[str]:
    """Return the name that a file goes by and the one that it has."""
    if change.buffer is not None and not change.move_to and workspace.buffers is not None:
        # its path may be relative to another directory than the root
        buffer = await workspace.buffers.read(change.buffer)
        if buffer is not None and buffer.path:
            return [name, *_named(workspace, buffer.path)]
    return _named(workspace, name)


def _named(workspace: Workspace, path: str) -> list[str]:
    try:
        return [path, workspace.name_of(workspace.resolve(path))]
    except OutsideRoot:
        return [path]  # writing it is refused, or it is a file that the person opened


def _part_changes(part: ExecutedPart, before: str | None, after: str) -> bool:
    """Tell whether what is run becomes another; a text that cannot be parsed counts as changed."""
    if max(len(before or ""), len(after)) > _MOST_PARSED:
        return before != after
    try:
        old = {} if not (before or "").strip() else part.parse(before or "")
        new = part.parse(after) if after.strip() else {}
    except (ValueError, RecursionError):
        return before != after
    return any(_value_at(new, key) not in (None, _value_at(old, key)) for key in part.keys)


def _value_at(value: Any, key: tuple[str, ...]) -> Any:
    for name in key:
        value = value.get(name) if isinstance(value, dict) else None
    return value

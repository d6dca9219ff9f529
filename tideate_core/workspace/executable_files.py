"""Detection of changed files that other tools execute automatically."""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from tideate_core.errors import OutsideRoot
from tideate_core.workspace.paths import plain_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from tideate_core.workspace.changes import FileChange
    from tideate_core.workspace.workspace import Workspace

_T = TypeVar("_T")
_MOST_PARSED: Final = 1 << 20
"""Characters; a longer text counts as changed."""


@dataclass(frozen=True, slots=True)
class ExecutableFile:
    """Changed file that a tool executes automatically, with the reason."""

    path: str
    reason: str

    def as_json(self) -> dict[str, str]:
        return {"path": self.path, "reason": self.reason}

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


@dataclass(frozen=True, slots=True)
class _Part:
    """Executed part of a file: values of keys; `*` in a key matches any name."""

    reason: str
    parse: Callable[[str], Any]
    keys: tuple[tuple[str, ...], ...]
    inert: frozenset[tuple[str, ...]]


_Patterns: TypeAlias = "list[tuple[re.Pattern[str], _T]]"


@dataclass(frozen=True, slots=True)
class _Table:
    """Data of `executed_files.toml`: patterns of paths, each with a reason or an executed part."""

    files: _Patterns[str]
    kinds: _Patterns[str]
    inert: re.Pattern[str]
    parts: _Patterns[_Part]


@cache
def _table() -> _Table:
    data = tomllib.loads((Path(__file__).parent / "executed_files.toml").read_text("utf-8"))
    parts = []
    for one in data["parts"]:
        keys, others = ([tuple(key.split(".")) for key in one.get(name, ())] for name in ("keys", "except"))
        parse = {"json": json.loads, "toml": tomllib.loads}[one["format"]]
        part = _Part(one["reason"], parse, tuple(keys), frozenset(others))
        parts.append((_expression(one["names"]), part))
    files, kinds = (
        [(_expression(group["names"]), group["reason"]) for group in groups]
        for groups in (data["files"], data["kinds"])
    )
    return _Table(files, kinds, _expression(data["inert"]["names"]), parts)


def _expression(names: str) -> re.Pattern[str]:
    forms = names.casefold().split()
    rooted = [_alternative(form[1:]) for form in forms if form.startswith("/")]
    anywhere = "|".join(_alternative(form) for form in forms if not form.startswith("/"))
    return re.compile("|".join([f"(?:.*/)?(?:{anywhere})", *rooted]), re.DOTALL)


def _alternative(form: str) -> str:
    below = "/.+" if form.endswith("/**") else ""
    return "[^/]*".join(map(re.escape, form.removesuffix("/**").split("*"))) + below


def _find(patterns: _Patterns[_T], plain: str) -> _T | None:
    return next((found for expression, found in patterns if expression.fullmatch(plain)), None)


def reason_by_path(path: str) -> str:
    """Return why a path alone makes a file executed; empty if it does not.

    :param path: relative to the project, links followed.
    """
    table, plain = _table(), plain_path(path)
    if reason := _find(table.files, plain):
        return reason
    if _find(table.parts, plain) or table.inert.fullmatch(plain):
        return ""
    return _find(table.kinds, plain) or ""


def reason_of_change(path: str, before: str | None, after: str | None) -> str:
    """Return why a changed text is executed; empty if it is not.

    :param path: relative to the project, links followed.
    :param before: None for a new file.
    :param after: None for a deleted file, of which nothing is executed.
    """
    if after is None:
        return ""
    if reason := reason_by_path(path):
        return reason
    part = _find(_table().parts, plain_path(path))
    return part.reason if part is not None and _part_changes(part, before, after) else ""


async def executable_changes(workspace: Workspace, changes: Sequence[FileChange]) -> list[ExecutableFile]:
    """Return the changed files that other tools execute, with links resolved."""
    found: list[ExecutableFile] = []
    for change in changes:
        if change.action == "delete":
            continue
        name = change.move_to or change.path
        before = None if change.move_to else change.before
        # a moved file counts even if it is not text
        after = change.after if change.action == "modify" else change.after or ""
        places = await _places(workspace, change, name)
        if reason := next((why for place in places if (why := reason_of_change(place, before, after))), ""):
            found.append(ExecutableFile(name or places[-1], reason))
    return found


def executable_paths(workspace: Workspace, paths: Iterable[str]) -> list[ExecutableFile]:
    """Return the paths that are executed regardless of their content."""
    found = ((path, next(filter(None, map(reason_by_path, _named(workspace, path))), "")) for path in paths)
    return [ExecutableFile(path, reason) for path, reason in found if reason]


async def _places(workspace: Workspace, change: FileChange, name: str) -> list[str]:
    """Return the name of a file as given and as resolved."""
    if change.buffer is not None and not change.move_to and workspace.buffers is not None:
        # the buffer's path may be relative to another directory than the root
        buffer = await workspace.buffers.read(change.buffer)
        if buffer is not None and buffer.path:
            return [name, *_named(workspace, buffer.path)]
    return _named(workspace, name)


def _named(workspace: Workspace, path: str) -> list[str]:
    try:
        return [path, workspace.name_of(workspace.resolve(path))]
    except OutsideRoot:
        return [path]  # the write is rejected later, or the user opened this file


def _part_changes(part: _Part, before: str | None, after: str) -> bool:
    """Return whether the executed part changes; an unparsable text counts as changed."""
    if max(len(before or ""), len(after)) > _MOST_PARSED:
        return before != after
    try:
        old = {} if not (before or "").strip() else part.parse(before or "")
        new = part.parse(after) if after.strip() else {}
    except (ValueError, RecursionError):
        return before != after
    return any(
        name not in part.inert and value != _value_at(old, name)
        for key in part.keys
        for name, value in _values_at(new, key)
    )


def _values_at(value: Any, key: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield the values at a key, each with its own path; a final `*` matches all names."""
    if key[-1] == "*":
        inner = _value_at(value, key[:-1])
        for name in inner if isinstance(inner, dict) else ():
            yield (*key[:-1], name), inner[name]
    elif (found := _value_at(value, key)) is not None:
        yield key, found


def _value_at(value: Any, key: tuple[str, ...]) -> Any:
    for name in key:
        value = value.get(name) if isinstance(value, dict) else None
    return value

"""From wanted changes to single operations, each checked against what stands there now."""

from __future__ import annotations

import asyncio
import os
import secrets
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from tideate_core.errors import EditConflict, WorkspaceError
from tideate_core.workspace.buffers import BufferEdit
from tideate_core.workspace.documents import Document
from tideate_core.workspace.edits import apply_hunks, lines_of
from tideate_core.workspace.files import ABSENT, Snapshot, snapshot
from tideate_core.workspace.rebasing import rebase

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tideate_core.workspace.buffers import Buffers, BufferText
    from tideate_core.workspace.edits import FileChange, Hunk
    from tideate_core.workspace.paths import Root

__all__ = [
    "BufferOperation",
    "DirectoryOperation",
    "FileOperation",
    "ModeOperation",
    "Plan",
    "Stager",
    "onto",
]

_WRITE_BITS = 0o222


@dataclass(frozen=True, slots=True)
class FileOperation:
    """One path becomes something else."""

    name: str
    path: Path
    before: Snapshot
    after: Snapshot
    temp: Path
    new_mode: bool = False
    """The file is new: it gets the mode that new files get."""


@dataclass(frozen=True, slots=True)
class BufferOperation:
    """One buffer's text becomes another one."""

    change: FileChange
    path: str
    """Of the buffer, absolute; empty if it has no name."""
    edit: BufferEdit
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class DirectoryOperation:
    """One directory is made or removed."""

    path: Path
    mode: int


@dataclass(frozen=True, slots=True)
class ModeOperation:
    """One file or directory gets other permission bits."""

    path: Path
    before: int
    after: int


@dataclass(slots=True)
class Plan:
    """All operations of one apply, in the order in which they are done: directories are made, files written,
    directories removed, permissions set."""

    files: list[FileOperation] = field(default_factory=list)
    buffers: list[BufferOperation] = field(default_factory=list)
    moves: list[tuple[Path, Path]] = field(default_factory=list)
    """Files with a loaded buffer that the editor is to be told of."""
    made: list[DirectoryOperation] = field(default_factory=list)
    """Beside those that files need; outer ones first."""
    removed: list[DirectoryOperation] = field(default_factory=list)
    """Empty when the files are written; inner ones first."""
    modes: list[ModeOperation] = field(default_factory=list)
    """Of what stood there before and does afterwards, and of directories that are made."""

    @property
    def new_directories(self) -> list[Path]:
        """Directories that have to be made, outer ones first."""
        missing = {operation.path for operation in self.made if not os.path.lexists(operation.path)}
        for operation in self.files:
            if operation.after.state.kind != "absent":
                missing.update(parent for parent in operation.path.parents if not os.path.lexists(parent))
        return sorted(missing, key=lambda path: len(path.parts))


def onto(change: FileChange, current: BufferText) -> BufferOperation:
    """Make a buffer's edit against its text as it is now.

    :raises EditConflict: a line that the edit replaces is another one now.
    """
    hunks: list[Hunk] | None = change.hunks
    if current.text != change.before:
        hunks = rebase(change.hunks, change.before or "", current.text)
    if hunks is None:
        name = change.path or f"buffer {current.number}"
        raise EditConflict(f"{name} was changed where the edit goes; nothing was written. Run it again.")
    after = "\n".join(apply_hunks(lines_of(current.text), hunks))
    edit = BufferEdit(current.number, current.tick, tuple(hunks))
    return BufferOperation(change, current.path, edit, current.text, after)


class Stager:
    """Checks the changes of one apply and collects its operations."""

    def __init__(self, root: Root, buffers: Buffers | None) -> None:
        self._root = root
        self._buffers = buffers
        self._claimed: set[Path] = set()
        self._plan = Plan()

    async def stage(self, changes: Sequence[FileChange]) -> Plan:
        """Return the operations; nothing was written.

        :raises EditConflict: a file or buffer is not what a change was made for.
        :raises OutsideRoot: a path may not be written.
        """
        for change in changes:
            if change.action == "modify" and change.before == change.after:
                continue
            if change.action == "modify" and change.buffer is not None:
                await self._named_buffer(change)
            else:
                await self._by_path(change)
        return self._plan

    async def _named_buffer(self, change: FileChange) -> None:
        if self._buffers is None or change.buffer is None:
            raise WorkspaceError(f"{change.path or 'the buffer'}: there is no editor to change it in")
        current = await self._buffers.read(change.buffer)
        if current is None:
            name = change.path or f"buffer {change.buffer}"
            raise EditConflict(f"{name} was closed while the edit was made; nothing was written")
        self._buffer(change, current)

    async def _by_path(self, change: FileChange) -> None:
        if not change.path and change.action == "modify":
            raise EditConflict("the buffer without a name that the edit is for is gone; nothing was written")
        follow = change.action in {"create", "modify"}
        path = self._root.resolve(change.path) if follow else self._root.entry(change.path)
        self._claim(path, change.path)
        buffer = None if self._buffers is None else await self._buffers.find(path)
        found = await asyncio.to_thread(_read, path, change.path)
        if change.action == "create":
            self._create(change, path, found, buffer)
            return
        _refuse_odd(change.path, path, found)
        if change.action == "modify":
            self._modify(change, path, found, buffer)
        elif change.action == "delete":
            self._delete(change, path, found, buffer)
        else:
            await self._move(change, path, found, buffer)

    def _claim(self, path: Path, name: str) -> None:
        if path in self._claimed:
            raise WorkspaceError(f"{name} is named by two changes; nothing was written")
        self._claimed.add(path)

    def _create(self, change: FileChange, path: Path, found: Snapshot, buffer: BufferText | None) -> None:
        if found.state != ABSENT or (buffer is not None and buffer.text):
            raise EditConflict(f"{change.path} exists already; nothing was written")
        if buffer is not None:
            # a buffer always has a line, though its file has none yet
            self._buffer(replace(change, before=""), buffer)
            return
        after = Snapshot.of_file(Document().encode(change.after or ""), 0)
        self._file(change.path, path, found, after, new_mode=True)

    def _modify(self, change: FileChange, path: Path, found: Snapshot, buffer: BufferText | None) -> None:
        if buffer is not None:
            self._buffer(change, buffer)
            return
        document = _unchanged(change, found)
        after = Snapshot.of_file(document.encode(change.after or ""), found.state.mode)
        self._file(change.path, path, found, after)

    def _delete(self, change: FileChange, path: Path, found: Snapshot, buffer: BufferText | None) -> None:
        if buffer is not None and buffer.modified:
            raise EditConflict(f"{change.path} has unsaved changes in the editor; nothing was written")
        if found.state.kind == "file" and change.before is not None:
            _unchanged(change, found)
        self._file(change.path, path, found, Snapshot(ABSENT))

    async def _move(self, change: FileChange, path: Path, found: Snapshot, buffer: BufferText | None) -> None:
        if found.state.kind == "link":
            raise WorkspaceError(f"{change.path} is a symbolic link; move it by hand")
        new_name = change.move_to or ""
        target = self._root.resolve(new_name)
        self._claim(target, new_name)
        there = await asyncio.to_thread(_read, target, new_name)
        if there.state != ABSENT or (self._buffers is not None and await self._buffers.find(target)):
            raise EditConflict(f"{new_name} exists already; nothing was written")
        rewritten = change.after is not None and change.after != change.before
        data = found.data
        if buffer is not None:
            self._plan.moves.append((path, target))
            if rewritten:
                self._buffer(change, buffer)
        elif change.before is not None:
            document = _unchanged(change, found)
            data = document.encode(change.after) if rewritten else data
        self._file(new_name, target, there, Snapshot.of_file(data, found.state.mode))
        self._file(change.path, path, found, Snapshot(ABSENT))

    def _buffer(self, change: FileChange, current: BufferText) -> None:
        if any(operation.edit.number == current.number for operation in self._plan.buffers):
            name = change.path or "the buffer"
            raise WorkspaceError(f"{name} is named by two changes; nothing was written")
        self._plan.buffers.append(onto(change, current))

    def _file(
        self, name: str, path: Path, before: Snapshot, after: Snapshot, *, new_mode: bool = False
    ) -> None:
        temp = path.with_name(f".tideate-{secrets.token_hex(8)}.tmp")
        self._plan.files.append(FileOperation(name, path, before, after, temp, new_mode))


def _read(path: Path, name: str) -> Snapshot:
    try:
        return snapshot(path)
    except OSError as error:
        raise WorkspaceError(f"{name} cannot be read: {error.strerror}") from error


def _refuse_odd(name: str, path: Path, found: Snapshot) -> None:
    if found.state.kind == "absent":
        raise EditConflict(f"{name} does not exist any more; nothing was written")
    if found.state.kind == "other":
        raise EditConflict(f"{name} is a directory or no regular file; nothing was written")
    if found.state.kind == "file" and not (found.state.mode & _WRITE_BITS and os.access(path, os.W_OK)):
        raise EditConflict(f"{name} is read-only; nothing was written. Make it writable first.")


def _unchanged(change: FileChange, found: Snapshot) -> Document:
    document = Document.decode(found.data, change.path)
    if document.text != change.before:
        raise EditConflict(f"{change.path} changed on disk while the edit was made; nothing was written")
    return document

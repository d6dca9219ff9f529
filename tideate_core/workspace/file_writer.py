"""Byte-exact file writes, new directories and moves, journalled like a run's changes, all or nothing.

`Workspace.apply` changes texts and keeps their line ends; here the content is replaced as a whole.
"""

from __future__ import annotations

import asyncio
import os
import stat
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from tideate_core.errors import EditConflict, WorkspaceError
from tideate_core.project import make_project_state
from tideate_core.util.uncancelled import run_uncancelled
from tideate_core.workspace.file_images import ABSENT, FileImage
from tideate_core.workspace.journal import Journal
from tideate_core.workspace.paths import (
    PROTECTED,
    Root,
    holds_repository,
    refuse_in_repositories,
    refuse_new_repositories,
)
from tideate_core.workspace.staging import (
    DirectoryOperation,
    FileOperation,
    ModeOperation,
    WritePlan,
    current_image,
    is_writable,
)
from tideate_core.workspace.transaction import Committer

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

MOVED_FILES: Final = 2_000
MOVED_BYTES: Final = 64 << 20
"""Most bytes that are moved with a directory: the journal keeps all of them."""
_NEW: Final = 0o755


class FileWriter:
    """Changes files below a root; a rollback of the run restores them.

    :param root: of a project; its private directory holds the journal.
    """

    def __init__(self, root: Path) -> None:
        self._root = Root(root)
        self._given = root

    async def write(self, path: str, data: bytes, *, execution_id: str) -> str:
        """Write a file, creating missing directories.

        :returns: ``created``, ``replaced``, or ``unchanged`` if the content was the same.
        :raises OutsideRoot: the path may not be written.
        :raises EditConflict: a file cannot be there, or it changed meanwhile; nothing was written.
        :raises WorkspaceError: it cannot be written; everything was rolled back.
        """
        found = await asyncio.to_thread(self._for_writing, path)
        before = found[1]
        new = before.state == ABSENT
        after = FileImage.of_file(data, before.state.mode)
        if before.state.holds_same_as(after.state):
            return "unchanged"
        plan = WritePlan(
            files=[FileOperation(self._root.relative(found[0]), found[0], before, after, new_mode=new)]
        )
        await self._commit(plan, execution_id)
        return "created" if new else "replaced"

    async def make_directory(self, path: str, *, execution_id: str) -> bool:
        """Create a directory and its parents; return False if it exists.

        :raises OutsideRoot: the path may not be written.
        :raises EditConflict: another kind of file is there.
        :raises WorkspaceError: it cannot be created; everything was rolled back.
        """
        missing = await asyncio.to_thread(self._for_making, path)
        if missing:
            await self._commit(WritePlan(made=missing), execution_id)
        return bool(missing)

    async def move(self, source: str, target: str, *, execution_id: str) -> str:
        """Move a file or a whole directory without overwriting; return the new path.

        :raises OutsideRoot: one of the paths may not be written.
        :raises EditConflict: the source is missing, or the target exists.
        :raises WorkspaceError: the move could not be rolled back.
        """
        start, end = self._writable(source, follow=False), self._writable(target, follow=False)
        plan = await asyncio.to_thread(self._moving, start, end, source, target)
        await self._commit(plan, execution_id)
        return self._root.relative(end)

    async def _commit(self, plan: WritePlan, execution_id: str) -> None:
        journal = Journal(make_project_state(self._given))
        committer = Committer(self._root, None, journal, merges=True)
        await run_uncancelled(committer.commit(plan, execution_id), revert=committer.revert)

    def _writable(self, path: str, *, follow: bool = True) -> Path:
        place = self._root.resolve(path) if follow else self._root.entry(path)
        if place == self._root.path:
            raise EditConflict(f"{path} is the root itself; nothing was changed")
        refuse_in_repositories(place, self._root.path)
        if not os.path.lexists(place):
            refuse_new_repositories([place], self._root.path)
        return place

    def _for_writing(self, path: str) -> tuple[Path, FileImage]:
        place = self._writable(path)
        _refuse_large(place, path)
        found = current_image(place, path)
        if found.state.kind not in ("absent", "file"):
            raise EditConflict(f"{path} is not a regular file; nothing was written")
        if found.state.kind == "file":
            _refuse_read_only(place, found, path)
        _missing(place.parent, self._root.path)
        return place, found

    def _for_making(self, path: str) -> list[DirectoryOperation]:
        place = self._writable(path)
        if os.path.lexists(place) and not place.is_dir():
            raise EditConflict(f"{path} is a file; nothing was made")
        return _missing(place, self._root.path)

    def _moving(self, start: Path, end: Path, source: str, target: str) -> WritePlan:
        if not os.path.lexists(start):
            raise EditConflict(f"{source} does not exist; nothing was moved")
        if os.path.lexists(end):
            raise EditConflict(f"{target} exists already; nothing was moved")
        if start.is_symlink():
            raise WorkspaceError(f"{source} is a symbolic link; a person must move it")
        if end.is_relative_to(start):
            raise EditConflict(f"{target} is inside {source}; nothing was moved")
        if not start.is_dir():
            _refuse_large(start, source)
            return self._moving_files([(start, current_image(start, source))], lambda _: end)
        files, directories = _collect(start, source)
        plan = self._moving_files(files, lambda path: end / path.relative_to(start))
        plan.made = _missing(end, self._root.path)
        for one in directories:
            there = end / one.path.relative_to(start)
            plan.made.append(replace(one, path=there))
            plan.modes.append(ModeOperation(there, _NEW, one.mode))
        plan.modes.reverse()  # inner ones first: the mode of an outer directory may forbid access
        plan.removed = directories[::-1]
        return plan

    def _moving_files(self, files: list[tuple[Path, FileImage]], goal: Callable[[Path], Path]) -> WritePlan:
        plan = WritePlan()
        name = self._root.relative
        for path, found in files:
            if found.state.kind != "file":
                raise WorkspaceError(f"{name(path)} is a link or no regular file; a person must move it")
            _refuse_read_only(path, found, name(path))
            there = goal(path)
            plan.files.append(FileOperation(name(there), there, FileImage(ABSENT), found, moved_from=path))
        # write new paths before old ones are removed
        plan.files += [FileOperation(name(path), path, found, FileImage(ABSENT)) for path, found in files]
        return plan


def _refuse_large(path: Path, name: str) -> None:
    size = path.lstat().st_size if os.path.lexists(path) else 0
    if size > MOVED_BYTES:
        raise WorkspaceError(
            f"{name} has {size >> 20:,} MiB: all that is changed is kept for a rollback, and "
            f"at most {MOVED_BYTES >> 20} MiB at a time; a person must do it"
        )


def _refuse_read_only(path: Path, found: FileImage, name: str) -> None:
    if not is_writable(path, found.state.mode):
        raise EditConflict(f"{name} is read-only; nothing was written")


def _missing(directory: Path, root: Path | None) -> list[DirectoryOperation]:
    """Return the directories to create, outer ones first."""
    missing: list[DirectoryOperation] = []
    for path in (directory, *directory.parents):
        if path == root or os.path.lexists(path):
            if not path.is_dir():
                raise EditConflict(f"{path.name} is a file, so nothing can be below it; nothing was written")
            break
        missing.append(DirectoryOperation(path, _NEW))
    return missing[::-1]


def _collect(top: Path, name: str) -> tuple[list[tuple[Path, FileImage]], list[DirectoryOperation]]:
    """Return the files and, outer ones first, the directories of a directory.

    :raises WorkspaceError: it exceeds the limits, or cannot be moved.
    """
    files: list[tuple[Path, FileImage]] = []
    directories: list[DirectoryOperation] = []
    size, todo = 0, [top]
    while todo:
        directory = todo.pop()
        if holds_repository(directory):
            raise WorkspaceError(f"{name} has a git repository in it; a person must move it")
        directories.append(DirectoryOperation.removing(directory))
        for path in sorted(directory.iterdir()):
            status = path.lstat()
            if path.name.casefold() in PROTECTED:
                raise WorkspaceError(f"{name} has {path.name} in it; a person must move it")
            if stat.S_ISDIR(status.st_mode):
                todo.append(path)
                continue
            size += status.st_size
            if len(files) >= MOVED_FILES or size > MOVED_BYTES:
                raise WorkspaceError(
                    f"{name} has more than {MOVED_FILES} files, or {MOVED_BYTES >> 20} MiB: too much for "
                    "a rollback; a person must move it"
                )
            files.append((path, current_image(path, name)))
    return files, sorted(directories, key=lambda one: one.path)

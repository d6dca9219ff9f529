"""Turn requested changes into operations for one write, checked against files and buffers."""

from __future__ import annotations

import asyncio
import os
import stat
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from tideate_core.errors import EditConflict, OutsideRoot, WorkspaceError
from tideate_core.project import open_directory
from tideate_core.util.file_metadata import Metadata, read_metadata
from tideate_core.workspace.buffers import BufferEdit
from tideate_core.workspace.changes import apply_hunks, first_clash, lines_of, rebase
from tideate_core.workspace.documents import Document, text_of
from tideate_core.workspace.file_images import (
    ABSENT,
    FileImage,
    file_or_link,
    read_image_nofollow,
    temporary_beside,
)
from tideate_core.workspace.image_changes import image_to_write
from tideate_core.workspace.kind_changes import blocking_entries, non_directory_above
from tideate_core.workspace.paths import refuse_bad_new_name, refuse_in_repositories, refuse_new_repositories

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tideate_core.workspace.buffers import Buffers, BufferText
    from tideate_core.workspace.changes import FileChange, Hunk
    from tideate_core.workspace.paths import Root

_WRITE_BITS = 0o222
MOST_NAMED = 5
"""Missing characters that a message lists."""


@dataclass(frozen=True, slots=True)
class FileOperation:
    """Replacement of one path's content."""

    name: str
    path: Path
    before: FileImage
    after: FileImage
    temp: Path = Path()
    """Temporary file in the same directory, written first; an unused name if not given."""
    new_mode: bool = False
    """The file gets the mode of new files."""
    moved_from: Path | None = None
    """Path of another operation, the source of a move."""
    rebased: bool = False
    """The edit was moved over changes that the user made elsewhere."""

    def __post_init__(self) -> None:
        if not self.temp.name:
            object.__setattr__(self, "temp", temporary_beside(self.path))


@dataclass(frozen=True, slots=True)
class BufferOperation:
    """Replacement of one buffer's text."""

    change: FileChange
    path: str
    """Absolute path of the buffer; empty if unnamed."""
    edit: BufferEdit
    before: str
    after: str
    disk: FileImage | None
    """Image of its file; None if unknown."""
    modified: bool = False
    """The buffer had unsaved changes before."""
    saved: bytes | None = None
    """Bytes of its file after a save, if they are not the text as UTF-8; None if unknown."""


@dataclass(frozen=True, slots=True)
class DirectoryOperation:
    """Creation or removal of one directory."""

    path: Path
    mode: int
    metadata: Metadata | None = None
    """Of a removed or moved directory."""

    @classmethod
    def removing(cls, path: Path) -> DirectoryOperation:
        """Return the removal of a directory in its current state.

        :raises OSError: it cannot be read.
        """
        with open_directory(path) as handle:
            return cls(path, stat.S_IMODE(os.fstat(handle).st_mode), read_metadata(handle))


@dataclass(frozen=True, slots=True)
class ModeOperation:
    """New permission bits for one file or directory."""

    path: Path
    before: int
    after: int


@dataclass(slots=True)
class WritePlan:
    """All operations of one apply; `in_order` defines their order."""

    files: list[FileOperation] = field(default_factory=list)
    buffers: list[BufferOperation] = field(default_factory=list)
    moves: list[tuple[Path, Path]] = field(default_factory=list)
    """Moved files with a loaded buffer, reported to the editor."""
    made: list[DirectoryOperation] = field(default_factory=list)
    """Directories besides those that files need; outer ones first."""
    removed: list[DirectoryOperation] = field(default_factory=list)
    """Directories that are empty after the file removals; inner ones first."""
    modes: list[ModeOperation] = field(default_factory=list)
    """Of paths that exist before and after, and of created directories."""

    def __bool__(self) -> bool:
        operations = (self.files, self.buffers, self.moves, self.made, self.removed, self.modes)
        return any(operations)

    @property
    def new_directories(self) -> list[Path]:
        """Missing directories, outer ones first."""
        wanted = {operation.path for operation in self.made}
        for operation in self.files:
            if operation.after.state.kind != "absent":
                wanted.update(operation.path.parents)
        missing: list[Path] = []
        for path in sorted(wanted, key=lambda path: len(path.parts)):
            # a link replaced by a directory is removed first; the paths below it are elsewhere
            if path.parent in missing or path.is_symlink() or not path.is_dir():
                missing.append(path)
        return missing


def in_order(
    files: Iterable[FileOperation],
    made: Iterable[DirectoryOperation],
    removed: Iterable[DirectoryOperation],
) -> tuple[
    list[FileOperation],
    list[DirectoryOperation],
    list[DirectoryOperation],
    list[FileOperation],
    list[DirectoryOperation],
]:
    """Sort operations into execution order, for applies, rollbacks and restores alike.

    Files and links above or below a new path are removed first, then directories in its place.

    :param files: files and links to write or, with an absent image, to remove.
    :param made: directories, outer ones first.
    :param removed: directories, inner ones first.
    :returns: files and directories in the way, new directories, other files, other directories.
    """
    # a moved file is written at its new path before its old path is removed
    files = sorted(files, key=lambda file: file.after.state.kind == "absent")
    made, removed = list(made), list(removed)
    written = {file.path for file in files if file.after.state.kind != "absent"}
    directories = {directory.path for directory in made}
    directories.update(parent for path in (*written, *directories) for parent in path.parents)

    def is_in_the_way(path: Path) -> bool:
        return path in directories or path in written or not written.isdisjoint(path.parents)

    first = [file for file in files if file.path not in written and is_in_the_way(file.path)]
    emptied = [
        directory
        for directory in removed
        if directory.path in written or not written.isdisjoint(directory.path.parents)
    ]
    return (
        first,
        emptied,
        made,
        [file for file in files if file not in first],
        [directory for directory in removed if directory not in emptied],
    )


def buffer_operation(
    change: FileChange, current: BufferText, disk: FileImage | None = None
) -> BufferOperation:
    """Build a buffer's edit against its current text.

    :param disk: image of its file.
    :raises EditConflict: a replaced line changed.
    """
    hunks = _rebased(change, current.text, f"{change.path or f'buffer {current.number}'} was changed")
    after = "\n".join(apply_hunks(lines_of(current.text), hunks))
    edit = BufferEdit(current.number, current.tick, tuple(hunks))
    return BufferOperation(change, current.path, edit, current.text, after, disk, current.modified)


def _rebased(change: FileChange, text: str, changed: str) -> list[Hunk]:
    """Return the hunks of a change for the current text.

    :param changed: beginning of the message.
    :raises EditConflict: a replaced line changed.
    """
    if text == change.before:
        return change.hunks
    hunks = rebase(change.hunks, change.before or "", text)
    if hunks is None:
        raise EditConflict(
            f"{changed} where the edit goes; nothing was written. Run it again.",
            path=change.path,
            line=first_clash(change.hunks, change.before or "", text),
        )
    return hunks


async def refuse_missing_characters(buffers: Buffers, change: FileChange, current: BufferText) -> None:
    """Reject new text that the encoding of a buffer's file lacks.

    :raises EditConflict: the change adds a character that this encoding lacks.
    """
    new = "".join(line for hunk in change.hunks for line in hunk.new)
    if new.isascii():
        return
    missing, encoding = await buffers.missing_characters(current.number, new)
    if brought := [character for character in missing if character not in current.text]:
        some = ", ".join(f"{character!r} (U+{ord(character):04X})" for character in brought[:MOST_NAMED])
        raise EditConflict(
            f"{change.path or 'the buffer'}: its encoding {encoding} lacks {some}; nothing was written. "
            "Write it without, or `:set fileencoding=utf-8`",
            path=change.path,
        )


class Stager:
    """Checks the changes of one apply and collects its operations."""

    def __init__(self, root: Root, buffers: Buffers | None) -> None:
        self._root = root
        self._buffers = buffers
        self._claimed: set[Path] = set()
        self._going: frozenset[Path] = frozenset()
        """Files and links that are deleted or moved."""
        self._plan = WritePlan()

    async def stage(self, changes: Sequence[FileChange]) -> WritePlan:
        """Return the operations, without writing.

        :raises EditConflict: a file or buffer does not match its change.
        :raises OutsideRoot: a path may not be written.
        """
        self._going = frozenset(
            self._root.lexical(change.path) for change in changes if change.action in {"delete", "move"}
        )
        for change in changes:
            if not change.changes_something:
                continue
            if change.images is not None:
                await self._stage_images(change, change.images)
            elif change.exact:
                await self._stage_exact(change)
            elif change.action == "modify" and change.buffer is not None:
                await self._stage_numbered_buffer(change)
            else:
                await self._stage_path(change)
        new = [file.path for file in self._plan.files if file.before.state == ABSENT]
        await asyncio.to_thread(refuse_new_repositories, new, self._root.path)
        await asyncio.to_thread(self._remove_obstacles)
        return self._plan

    def _remove_obstacles(self) -> None:
        """Plan the removal of directories that files replace, and reject remaining obstacles."""
        going = {file.path for file in self._plan.files if file.after.state == ABSENT}
        for file in self._plan.files:
            if file.after.state == ABSENT or file.before.state != ABSENT:
                continue
            above = non_directory_above(file.path, self._root.path)
            if above is not None and above[0] not in going:
                raise EditConflict(
                    f"{self._root.relative(above[0])} is {above[1]}, so nothing can be below it; "
                    "nothing was written"
                )
            if above is None and file.path.is_dir() and not file.path.is_symlink():
                self._plan.removed += self._removals(file, going)

    def _removals(self, file: FileOperation, going: set[Path]) -> list[DirectoryOperation]:
        try:
            directories, stays = blocking_entries(file.path, going)
            if stays is None:
                return [DirectoryOperation.removing(path) for path in directories]
        except OSError as error:
            raise WorkspaceError(f"{file.name} cannot be read: {error.strerror}") from error
        raise EditConflict(
            f"{file.name} is a directory with {self._root.relative(stays)} in it; nothing was written"
        )

    def _target(self, name: str, *, follow: bool) -> Path:
        """Return the path to change; a link that is removed first is not followed."""
        place = self._root.lexical(name)
        above = non_directory_above(place, self._root.path)
        if above is not None and above[0] in self._going:
            return place
        return self._root.resolve(name) if follow else self._root.entry(name)

    def _is_emptied(self, found: FileImage, path: Path) -> bool:
        """Return whether a directory loses a file, so that a new file may replace it."""
        return found.state.kind == "directory" and any(path in going.parents for going in self._going)

    async def _stage_numbered_buffer(self, change: FileChange) -> None:
        if self._buffers is None or change.buffer is None:
            raise WorkspaceError(f"{change.path or 'the buffer'}: there is no editor to change it in")
        current = await self._buffers.read(change.buffer)
        if current is None:
            name = change.path or f"buffer {change.buffer}"
            raise EditConflict(f"{name} was closed while the edit was made; nothing was written")
        if change.path and not await asyncio.to_thread(self._belongs_to, current, change.path):
            await self._stage_path(change)  # the buffer was renamed: the change was meant for the file
            return
        if current.gone:
            raise EditConflict(f"{change.path or current.path} does not exist any more; nothing was written")
        await self._buffer(change, current, await asyncio.to_thread(self._file_of, current))

    def _belongs_to(self, buffer: BufferText, name: str) -> bool:
        """Return whether a buffer still belongs to a file; true for files outside of the project."""
        try:
            return Path(buffer.path).resolve() == self._root.resolve(name).resolve()
        except (OutsideRoot, OSError):
            return True

    def _file_of(self, buffer: BufferText) -> FileImage | None:
        try:
            return read_image_nofollow(self._root.resolve(buffer.path)) if buffer.path else None
        except (OutsideRoot, OSError):
            return None  # a rollback does not restore it

    async def _stage_path(self, change: FileChange) -> None:
        if not change.path and change.action == "modify":
            raise EditConflict("the unnamed buffer to edit no longer exists; nothing was written")
        follow = change.action in {"create", "modify"}
        path = await asyncio.to_thread(self._target, change.path, follow=follow)
        self._claim(path, change.path)
        buffer = None if self._buffers is None else await self._buffers.find(path)
        found = await self._current(path, change.path)
        if change.action == "create":
            refuse_bad_new_name(change.path)
            await self._create(change, path, found, buffer)
            return
        _refuse_irregular(change.path, path, found)
        if change.action == "modify" and buffer is not None:
            await self._buffer(change, buffer, found)
        elif change.action == "modify":
            self._edit(change, path, found)
        elif change.action == "delete":
            self._delete(change, path, found, buffer)
        else:
            await self._move(change, path, found, buffer)

    async def _stage_images(self, change: FileChange, images: tuple[FileImage, FileImage]) -> None:
        """Stage a byte-exact change; a link is changed itself, not its target."""
        before, after = images
        path = self._root.lexical(change.path)
        found = await self._on_disk(change.path, path)
        if change.is_of_mode:
            self._stage_mode(change, path, found, images)
            return
        self._claim(path, change.path)
        found = file_or_link(found)
        if not found.state.holds_same_as(before.state):
            raise EditConflict(f"{change.path} changed meanwhile; nothing was written")
        if found.state.kind == "file" and not is_writable(path, found.state.mode):
            raise EditConflict(f"{change.path} is read-only; nothing was written. Make it writable first.")
        target, there = path, found
        if change.move_to:
            target = self._root.lexical(change.move_to)
            self._claim(target, change.move_to)
            there = file_or_link(await self._on_disk(change.move_to, target))
            if there.state != ABSENT:
                raise EditConflict(f"{change.move_to} exists already; nothing was written")
            if self._buffers is not None and await self._buffers.find(path) is not None:
                self._plan.moves.append((path, target))
        name, source = change.move_to or change.path, path if change.move_to else None
        wanted, is_new = image_to_write(after, found, moved=bool(change.move_to))
        self._plan.files.append(
            FileOperation(name, target, there, wanted, new_mode=is_new, moved_from=source)
        )
        if change.move_to:
            self._plan.files.append(FileOperation(change.path, path, found, FileImage(ABSENT)))

    async def _current(self, path: Path, name: str) -> FileImage:
        """Return the image of a path.

        :raises EditConflict: it is in a repository's own directory.
        """
        await asyncio.to_thread(refuse_in_repositories, path.parent, self._root.path)
        return await asyncio.to_thread(current_image, path, name)

    async def _on_disk(self, name: str, path: Path) -> FileImage:
        """Return the image of a path without unsaved changes in the editor.

        :raises EditConflict: it has some.
        """
        buffer = None if self._buffers is None else await self._buffers.find(path)
        if buffer is not None and buffer.modified:
            raise EditConflict(f"{name} has unsaved changes in the editor; nothing was written")
        return await self._current(path, name)

    def _stage_mode(
        self, change: FileChange, path: Path, found: FileImage, images: tuple[FileImage, FileImage]
    ) -> None:
        """Stage a mode change; the content may have changed since."""
        before, after = (image.state.mode for image in images)
        if found.state.kind != "file" or found.state.mode not in (before, after):
            raise EditConflict(f"the permissions of {change.path} changed meanwhile; nothing was written")
        if found.state.mode != after:
            self._plan.modes.append(ModeOperation(path, before, after))

    async def _stage_exact(self, change: FileChange) -> None:
        """Stage hunks of a file's exact bytes, which a buffer does not hold."""
        path = self._root.lexical(change.path)
        self._claim(path, change.path)
        found = await self._on_disk(change.path, path)
        _refuse_irregular(change.path, path, found)
        self._edit(change, path, found)

    def _edit(self, change: FileChange, path: Path, found: FileImage) -> None:
        data, rebased = _edited(change, found)
        after = FileImage.of_file(data, found.state.mode)
        self._plan.files.append(FileOperation(change.path, path, found, after, rebased=rebased))

    def _claim(self, path: Path, name: str) -> None:
        if path in self._claimed:
            raise WorkspaceError(f"{name} is named by two changes; nothing was written")
        self._claimed.add(path)

    async def _create(
        self, change: FileChange, path: Path, found: FileImage, buffer: BufferText | None
    ) -> None:
        if self._is_emptied(found, path):
            found = FileImage(ABSENT)
        if found.state != ABSENT or (buffer is not None and buffer.text):
            raise EditConflict(f"{change.path} exists already; nothing was written")
        if buffer is not None:
            # a buffer always has a line, even without a file
            await self._buffer(replace(change, before=""), buffer, found)
            return
        after = FileImage.of_file(Document().encode(change.after or ""), 0)
        self._plan.files.append(FileOperation(change.path, path, found, after, new_mode=True))

    def _delete(self, change: FileChange, path: Path, found: FileImage, buffer: BufferText | None) -> None:
        if buffer is not None and buffer.modified:
            raise EditConflict(f"{change.path} has unsaved changes in the editor; nothing was written")
        if (
            found.state.kind == "file"
            and change.before is not None
            and Document.decode(found.data, change.path).text != change.before
        ):
            raise EditConflict(f"{change.path} changed on disk while the edit was made; nothing was written")
        self._plan.files.append(FileOperation(change.path, path, found, FileImage(ABSENT)))

    async def _move(
        self, change: FileChange, path: Path, found: FileImage, buffer: BufferText | None
    ) -> None:
        if found.state.kind == "link":
            raise WorkspaceError(f"{change.path} is a symbolic link; move it by hand")
        new_name = change.move_to or ""
        target = await asyncio.to_thread(self._target, new_name, follow=True)
        self._claim(target, new_name)
        refuse_bad_new_name(new_name)
        there = await self._current(target, new_name)
        if self._is_emptied(there, target):
            there = FileImage(ABSENT)
        if there.state != ABSENT or (self._buffers is not None and await self._buffers.find(target)):
            raise EditConflict(f"{new_name} exists already; nothing was written")
        rewritten = change.after is not None and change.after != change.before
        data, rebased = found.data, False
        if buffer is not None:
            self._plan.moves.append((path, target))
            if rewritten:
                await self._buffer(change, buffer, found)
        elif rewritten:
            data, rebased = _edited(change, found)
        after = FileImage.of_file(data, found.state.mode, found.metadata)
        self._plan.files.append(
            FileOperation(new_name, target, there, after, moved_from=path, rebased=rebased)
        )
        self._plan.files.append(FileOperation(change.path, path, found, FileImage(ABSENT)))

    async def _buffer(self, change: FileChange, current: BufferText, disk: FileImage | None) -> None:
        if any(operation.edit.number == current.number for operation in self._plan.buffers):
            name = change.path or "the buffer"
            raise WorkspaceError(f"{name} is named by two changes; nothing was written")
        if self._buffers is not None:
            await refuse_missing_characters(self._buffers, change, current)
        operation = buffer_operation(change, current, disk)
        self._plan.buffers.append(replace(operation, saved=await self._saved_bytes(operation)))

    async def _saved_bytes(self, operation: BufferOperation) -> bytes | None:
        """Return the bytes of a file after its buffer is saved, if they are not the text as UTF-8."""
        disk, before = operation.disk, operation.before
        if self._buffers is None or disk is None or disk.state.kind != "file" or operation.modified:
            return None
        if await asyncio.to_thread(text_of, disk.data) == before:
            return None
        images = await self._buffers.encoded(operation.edit.number, [before, operation.after])
        return images[1] if images and images[0] == disk.data else None


def current_image(path: Path, name: str) -> FileImage:
    """Read the image of a path.

    :param name: of the file, for error messages.
    :raises WorkspaceError: it cannot be read.
    """
    try:
        return read_image_nofollow(path)
    except OSError as error:
        raise WorkspaceError(f"{name} cannot be read: {error.strerror}") from error


def is_writable(path: Path, mode: int) -> bool:
    """Return whether permissions and process allow writing a file."""
    return bool(mode & _WRITE_BITS) and os.access(path, os.W_OK)


def _refuse_irregular(name: str, path: Path, found: FileImage) -> None:
    if found.state.kind == "absent":
        raise EditConflict(f"{name} does not exist any more; nothing was written")
    if found.state.kind in {"directory", "other"}:
        raise EditConflict(f"{name} is not a regular file; nothing was written")
    if found.state.kind == "file" and not is_writable(path, found.state.mode):
        raise EditConflict(f"{name} is read-only; nothing was written. Make it writable first.")


def _edited(change: FileChange, found: FileImage) -> tuple[bytes, bool]:
    """Return the new content, and whether the edit was moved over changes elsewhere in the file."""
    document = None if change.exact else Document.decode(found.data, change.path)
    try:
        text = found.data.decode() if document is None else document.text
    except UnicodeDecodeError as error:
        raise EditConflict(f"{change.path} changed meanwhile; nothing was written") from error
    hunks = _rebased(change, text, f"{change.path} changed on disk")
    new = "\n".join(apply_hunks(lines_of(text), hunks))
    return new.encode() if document is None else document.encode(new), text != change.before

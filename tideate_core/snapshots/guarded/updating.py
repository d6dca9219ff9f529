"""Update of a guarded copy: write the project's present state into it, as the new base.

The steps are recorded before the first one, so that any process can finish an update. A path that the program
changed after the review stays as it is, in the copy and in the base.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tideate_core.project import open_directory_fd
from tideate_core.snapshots.guarded.base import state_in_copy, state_of
from tideate_core.snapshots.guarded.record import Kept, Step
from tideate_core.snapshots.scratch.cloning import Cloner
from tideate_core.util.atomic_files import fsync_directory, fsync_file
from tideate_core.util.private_files import make_private_directory
from tideate_core.workspace import ABSENT, FileImage, FileState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from tideate_core.snapshots.guarded.base import Base
    from tideate_core.snapshots.guarded.difference import ScratchDifference
    from tideate_core.snapshots.guarded.mirror import Look
    from tideate_core.snapshots.scratch.laying import Content

CONTENTS: Final = "contents"
"""Directory for the contents of updated files."""
_BITS: Final = 0o7777
_OWN_WRITES: Final = 0o300
_NEW_FILE: Final = 0o644
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class Planning:
    """Steps that update a guarded copy to the project.

    :param look: the project, compared with the listing of the base.
    :param found: changes of the program.
    :param landed: the changes that were reviewed; None: all of them.
    :param stale: paths that earlier updates could not write.
    """

    def __init__(
        self,
        look: Look,
        base: Base,
        place: Path,
        found: ScratchDifference,
        landed: ScratchDifference | None,
        now: Mapping[str, FileState],
        stale: Iterable[str],
    ) -> None:
        self._look = look
        self._stale = stale
        self._base = base
        self._contents = place / CONTENTS
        self._found = found
        self._landed = landed
        self._now = now
        self._cloner = Cloner()
        make_private_directory(self._contents)

    def steps(self, files: Mapping[str, Content]) -> list[Step]:
        """Return the steps; the contents they need are on disk.

        :param files: unsaved contents.
        :raises OSError: a content cannot be read or written.
        """
        look = self._look
        gone = (path for path in look.gone() if not os.path.lexists(look.root / path))
        steps: list[Step] = []
        for path in sorted({*look.found.changed, *gone, *changed_paths(self._found), *files, *self._stale}):
            after = None if path in look.found.skipped else self._after(path, files)
            if after is None:
                continue
            step = Step(path, self._now.get(path) or self._base.state(path), after)
            if self._is_reviewed(path) and (
                path in self._now or self._base.state(path) != state_of(after, self._contents)
            ):
                steps.append(step)
            if path in files or not self._is_reviewed(path):
                look.failed[path] = "is not as on disk"  # the next update looks again
        for step in steps:
            if step.after.kind == "file":
                fsync_file(self._contents / step.after.content)
        fsync_directory(self._contents)
        return steps

    def _is_reviewed(self, path: str) -> bool:
        """Return whether the program did not change a path after the review."""
        now, landed = self._now.get(path), self._landed
        if now is None or landed is None:
            return True
        if path in landed.files:
            after = landed.files[path][1].state
            return now == after or now.kind == after.kind == "link"
        if path in landed.modes and now.kind != "directory":
            return now.mode == landed.modes[path][1] and now.holds_same_as(self._base.state(path))
        return path in landed.modes or path in landed.made or path in landed.removed

    def _after(self, path: str, files: Mapping[str, Content]) -> Kept | None:
        """Return the wanted state of a path; None if it cannot be read."""
        if path in files:
            return self._laid(path, files[path])
        source = self._look.root / path
        try:
            found = source.lstat()
        except (FileNotFoundError, NotADirectoryError):
            return Kept("absent")
        if stat.S_ISDIR(found.st_mode):
            return Kept("directory", stat.S_IMODE(found.st_mode))
        if stat.S_ISLNK(found.st_mode):
            return Kept("link", content=str(source.readlink()))
        name = secrets.token_hex(8)
        self._look.copy(path, str(self._contents / name), self._cloner)
        if path in self._look.failed:
            return None
        return Kept("file", stat.S_IMODE((self._contents / name).lstat().st_mode), name)

    def _laid(self, path: str, content: Content) -> Kept:
        if isinstance(content, FileImage):
            if content.state.kind == "link":
                return Kept("link", content=os.fsdecode(content.data))
            mode, data = content.state.mode, content.data
            if content.state.kind != "file":
                return Kept("absent")
        elif content is None:
            return Kept("absent")
        else:
            like = self._base.state(path)
            mode, data = like.mode if like.kind == "file" else _NEW_FILE, content
        name = secrets.token_hex(8)
        with os.fdopen(os.open(self._contents / name, _NEW, 0o600), "wb") as file:
            file.write(data)
            os.fchmod(file.fileno(), mode & _BITS)
        return Kept("file", mode & _BITS, name)


def changed_paths(found: ScratchDifference) -> Iterable[str]:
    """Return the files and directories that a program changed."""
    return (*found.files, *found.modes, *found.made, *found.removed)


class Applying:
    """Steps written into a copy, following no link.

    :param view: root of the copy as this process sees it.
    :param as_in_copy: returns the target of a link in the copy.
    """

    def __init__(self, view: Path, contents: Path, as_in_copy: Callable[[Path], Path]) -> None:
        self._view = view
        self._as_in_copy = as_in_copy
        self._contents = contents
        self._cloner = Cloner()

    def apply(self, steps: Iterable[Step]) -> dict[str, Kept]:
        """Apply the steps, and return the paths with their new state.

        A path is left out if it changed meanwhile, or if a directory still has files of the program.

        :raises OSError: the copy cannot be written.
        """
        by_path = sorted(steps, key=lambda step: step.path)
        done: dict[str, Kept] = {}
        for step in reversed(by_path):  # inner ones first
            if step.after.kind == "absent" or step.before.kind == "directory" != step.after.kind:
                self._take(step, done, remove=True)
        for step in by_path:
            if step.after.kind != "absent":
                self._take(step, done)
        return done

    def _take(self, step: Step, done: dict[str, Kept], *, remove: bool = False) -> None:
        *way, name = step.path.split("/")
        try:
            directory = open_directory_fd(self._view, way)
        except (FileNotFoundError, NotADirectoryError):
            if step.after.kind == "absent":
                done[step.path] = step.after
            return
        except PermissionError:  # the program's mode of a directory
            return
        try:
            now = state_in_copy(name, directory)
            if now == self._wanted(step.after):
                done[step.path] = step.after
            elif now == step.before or _is_half_done(now, step):
                with suppress(_NotEmpty), _writable(directory):
                    self._write(directory, name, now, step.after)
                    if not remove or step.after.kind == "absent":
                        done[step.path] = step.after
        finally:
            os.close(directory)

    def _wanted(self, after: Kept) -> FileState:
        if after.kind == "link":
            after = replace(after, content=str(self._as_in_copy(Path(after.content))))
        return state_of(after, self._contents)

    def _write(self, directory: int, name: str, now: FileState, after: Kept) -> None:
        if now.kind == "directory" != after.kind:
            _remove_directory(directory, name)
        elif after.kind == "absent" or (after.kind == "directory" != now.kind and now != ABSENT):
            os.unlink(name, dir_fd=directory)
        if after.kind == "directory":
            if now.kind != "directory":
                os.mkdir(name, 0o700, dir_fd=directory)
            os.chmod(name, after.mode, dir_fd=directory)
        elif after.kind != "absent":
            self._replace(directory, name, after)

    def _replace(self, directory: int, name: str, after: Kept) -> None:
        draft = f".tideate-{secrets.token_hex(8)}.tmp"
        if after.kind == "link":
            os.symlink(self._as_in_copy(Path(after.content)), draft, dir_fd=directory)
        else:
            read = os.open(self._contents / after.content, _READ)
            try:
                write = os.open(draft, _NEW, 0o600, dir_fd=directory)
                try:
                    self._cloner.copy_open(read, write)
                    os.fchmod(write, after.mode)
                finally:
                    os.close(write)
            finally:
                os.close(read)
        os.replace(draft, name, src_dir_fd=directory, dst_dir_fd=directory)


class _NotEmpty(Exception):
    """A directory still has files of the program."""


def _remove_directory(directory: int, name: str) -> None:
    try:
        os.rmdir(name, dir_fd=directory)
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.EBUSY):  # or a mount of an ignored directory
            raise _NotEmpty from error
        raise


def _is_half_done(now: FileState, step: Step) -> bool:
    """Return whether a path can have this state after an interrupted update."""
    if step.after.kind == "directory":
        return now == ABSENT or now.kind == "directory"
    return now == ABSENT and step.before.kind == "directory"


@contextmanager
def _writable(directory: int) -> Iterator[None]:
    """Let the user write in a directory."""
    mode = stat.S_IMODE(os.stat(directory).st_mode)
    if mode & _OWN_WRITES == _OWN_WRITES:
        yield
        return
    os.chmod(".", mode | _OWN_WRITES, dir_fd=directory)
    try:
        yield
    finally:
        os.chmod(".", mode, dir_fd=directory)

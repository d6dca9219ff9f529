"""Find a project's repository and reject a `.git` that links to another project.

The author of a project's files also wrote its `.git`, which may point to any repository on the machine. A
repository is accepted if all of it is inside the project, or if it names the project's directory as its own
worktree or submodule.
"""

from __future__ import annotations

import os
import time
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from tideate_core.errors import WorkspaceError
from tideate_core.git.program import (
    READ_BY_NAME,
    WAITS,
    Repository,
    is_pipe_or_device,
    run_git,
    without_repository,
)
from tideate_core.project import real_path
from tideate_core.util.regular_files import read_bounded

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_POINTER: Final = 4_096
"""Bytes of a file that holds a single path."""
_LONG: Final = 1 << 20
"""Bytes of a list of paths, or of a configuration."""
_DEEPEST: Final = 5
"""Levels of alternates that git follows."""
_PARTS: Final = ("objects", "refs", "reftable", "logs", "info")
"""Directories in which no entry may link out of the project."""
_SHARED: Final = frozenset({"hooks", "exclude"})
"""Entries that may be links: hooks do not run without trust, and exclude rules reveal nothing."""
_MOST_FOLDERS: Final = 100_000
_SETTLED_NS: Final = 2_000_000_000
"""Age after which every further change of a directory also changes its times."""
_TIMEOUT: Final = 10.0
"""Seconds until git times out."""
_NONE: Final = "git finds no repository here that it can read; `git status` tells why"
_LINKED: Final = "the repository here is linked to {what} outside {root}, so it is not read{hint}"
_NOT_ITS_OWN: Final = (
    "; if it belongs to this directory, run `git worktree repair` or `git config core.worktree DIRECTORY` in "
    "that repository"
)
_BORROWED: Final = "; `git repack -a -d` copies its objects, then remove .git/objects/info/alternates"
_ELSEWHERE: Final = "the repository's files are elsewhere (core.worktree), so it is not read"


def find_repository(place: Path, within: Path | None = None) -> Repository:
    """Return the repository of a directory; blocking.

    :param place: a path without links.
    :param within: a directory that must contain all of the repository; by default, a repository outside the
        work tree is accepted if it refers back to it.
    :raises WorkspaceError: there is no repository, or part of it belongs to another project.
    """
    try:
        return _Search(place, within).repository()
    except (OSError, ValueError) as error:
        why = (error.strerror if isinstance(error, OSError) else "") or "a name in it has a NUL"
        raise WorkspaceError(f"the repository cannot be read ({why})") from error


class _Search:
    def __init__(self, place: Path, within: Path | None) -> None:
        self._place = place
        self._within = within
        self._inside: tuple[Path, ...] = () if within is None else (within,)
        """Directories that may contain parts of the repository."""

    def repository(self) -> Repository:
        top = self._top()
        if self._within is None:
            self._inside = (top,)
        git_dir = self._git_dir(top)
        common = self._common(git_dir)
        apart = [part for part in (git_dir, common) if not self._is_inside(part)]
        if apart:
            if self._within is not None or not _refers_back(top, git_dir, common):
                raise self._linked("a directory", "" if self._within else _NOT_ITS_OWN)
            self._inside = (top, git_dir, common)
        elif self._within is None and any(
            real_path(git_dir / named) != top for named in _configured_worktrees(git_dir)
        ):
            raise WorkspaceError(_ELSEWHERE)
        if not (os.path.lexists(git_dir / "HEAD") and (common / "objects").is_dir()):
            raise WorkspaceError(_NONE)
        for folder in {git_dir, common}:
            self._refuse_links(folder)
            for name in _PARTS:
                self._refuse_links_below(folder / name)
        for name in READ_BY_NAME:
            if is_pipe_or_device(top / name):
                raise WorkspaceError(WAITS.format(name=name))
        self._refuse_alternates(common / "objects", _DEEPEST)
        return Repository(top, git_dir, common)

    def _top(self) -> Path:
        for directory in (self._place, *self._place.parents):
            if os.path.lexists(directory / ".git"):
                return directory
            # git would accept this directory as a bare repository
            if all(os.path.lexists(directory / name) for name in ("HEAD", "objects", "refs")):
                break
            if directory == self._within:
                break
        raise WorkspaceError(_NONE)

    def _git_dir(self, top: Path) -> Path:
        entry = top / ".git"
        if entry.is_file():
            word = _pointer(real_path(entry) if entry.is_symlink() else entry)
            if not word.startswith("gitdir: "):
                raise WorkspaceError(_NONE)
            entry = top / word.removeprefix("gitdir: ")
        directory = real_path(entry)
        if not directory.is_dir():
            # do not reveal whether a path outside the project exists
            raise WorkspaceError(_NONE) if self._is_inside(directory) else self._linked("a directory")
        return directory

    def _common(self, git_dir: Path) -> Path:
        pointer = git_dir / "commondir"
        return real_path(git_dir / _pointer(pointer)) if os.path.lexists(pointer) else git_dir

    def _refuse_links_below(self, folder: Path) -> None:
        folders = [folder]
        for count, one in enumerate(folders):
            if count > _MOST_FOLDERS:
                raise WorkspaceError(f"{folder} has more than {_MOST_FOLDERS:,} directories")
            folders += self._refuse_links(one)

    def _refuse_links(self, folder: Path) -> list[Path]:
        """Reject links out of the project and pipes in one directory; return its subdirectories."""
        if not self._is_inside(real_path(folder)):
            raise self._linked("a directory")
        try:
            found = folder.stat()
            times = (found.st_dev, found.st_ino, found.st_mtime_ns, found.st_ctime_ns)
            is_settled = time.time_ns() - max(times[2:]) > _SETTLED_NS
            look = _entries_of if is_settled else _entries_of.__wrapped__
            folders, links, odd = look(str(folder), times)
        except (FileNotFoundError, NotADirectoryError):
            return []
        if odd:
            from tideate_core.util.escaping import label  # here, because it takes milliseconds

            raise WorkspaceError(WAITS.format(name=label(f"{folder.name}/{odd}")))
        for link in links:
            is_shared = self._within is None and link in _SHARED
            if not is_shared and not self._is_inside(real_path(folder / link)):
                raise self._linked("a file")
        return [folder / name for name in folders]

    def _refuse_alternates(self, objects: Path, depth: int) -> None:
        file = objects / "info" / "alternates"
        if not os.path.lexists(file):
            return
        for line in _read_small(file, _LONG).split("\n"):
            if not line or line.startswith("#"):
                continue
            other = real_path(objects / line)
            # a quoted path would have to be unquoted as git does it
            if line.startswith('"') or not self._is_inside(other):
                raise self._linked("objects", "" if self._within else _BORROWED)
            if depth > 0:
                self._refuse_links_below(other)
                self._refuse_alternates(other, depth - 1)

    def _is_inside(self, path: Path) -> bool:
        return any(path.is_relative_to(one) for one in self._inside)

    def _linked(self, what: str, hint: str = "") -> WorkspaceError:
        if self._within is not None:
            hint = "; start the server with a root that holds all of it"
        root = "the project" if self._within is None else "the server's root"
        return WorkspaceError(_LINKED.format(what=what, root=root, hint=hint))


@lru_cache(maxsize=4_096)
def _entries_of(folder: str, _times: tuple[int, ...]) -> tuple[list[str], list[str], str]:
    """Return the names of subdirectories and links, and of one pipe or device if there is any.

    :param _times: identity and times of the directory, as the cache key.
    """
    folders, links, odd = [], [], ""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_symlink():
                links.append(entry.name)
            elif entry.is_dir():
                folders.append(entry.name)
            elif not entry.is_file() and is_pipe_or_device(entry.path):
                odd = entry.name
    return folders, links, odd


def _refers_back(top: Path, git_dir: Path, common: Path) -> bool:
    """Tell whether a repository elsewhere names this work tree as its own worktree or submodule."""
    back = git_dir / "gitdir"
    if os.path.lexists(back):
        entry = git_dir / _pointer(back)
        is_worktree = git_dir.parent == common / "worktrees"
        return is_worktree and entry.name == ".git" and real_path(entry.parent) == top
    return git_dir == common and any(
        real_path(git_dir / named) == top for named in _configured_worktrees(git_dir)
    )


def _configured_worktrees(git_dir: Path) -> Iterator[str]:
    """Yield each `core.worktree` of a repository's configuration, without included files."""
    for name in ("config", "config.worktree"):
        content = read_bounded(git_dir / name, _LONG)
        if content is None or b"worktree" not in content.lower():
            continue
        told = ("config", "--file", str(git_dir / name), "-z", "--get", "core.worktree")
        done = run_git(without_repository(git_dir), *told, cwd=git_dir, patience=_TIMEOUT)
        if done.status == 0:
            yield os.fsdecode(done.out.removesuffix(b"\0"))


def _pointer(file: Path) -> str:
    return _read_small(file, _POINTER).rstrip("\r\n")


def _read_small(file: Path, limit: int) -> str:
    content = read_bounded(file, limit)
    if content is None:  # a link, a pipe, or longer than any that git writes
        raise WorkspaceError(_NONE)
    if b"\0" in content:
        raise ValueError
    return os.fsdecode(content)

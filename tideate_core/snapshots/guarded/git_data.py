"""Git data of a guarded copy: its own metadata, objects of the project, and a program's commits."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from tideate_core.errors import WorkspaceError
from tideate_core.git import Repository, objects_only, quoted_path, run_git
from tideate_core.project import real_path
from tideate_core.snapshots.guarded.layers import copy_path, find_in_layers, finish_directory
from tideate_core.util.regular_files import read_bounded

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tideate_core.snapshots.scratch.cloning import Cloner

BORROWED: Final = "borrowed-objects"
"""Directory beside a copied repository's `objects` that shows the original objects."""
_OBJECTS: Final = "objects"
_STORES: Final = frozenset({"annex", "lfs"})
"""Directories of large files beside `objects`."""
_SETTINGS: Final = b"""
[core]
	checkStat = minimal
	trustCtime = false
	fsmonitor = false
[commit]
	gpgSign = false
[tag]
	gpgSign = false
[gc]
	auto = 0
[maintenance]
	auto = false
"""
"""Copied files have other inodes than the index knows, and programs in the copy have no keys."""
_ATTEMPTS: Final = 3
"""Maximum number of attempts to copy metadata that changes meanwhile."""
_LARGEST: Final = 64 << 20
"""Maximum bytes of a file to read."""
_MOST_COMMITS: Final = 100
_LINKS: Final = 5
"""Maximum length of a chain of symbolic references."""


class GitStores(NamedTuple):
    """Directories of a copied repository that are not copied, relative to it."""

    objects: list[str]
    """Parent directories of each `objects`."""
    stores: list[str]


def copy_git(source: Path, target: Path, cloner: Cloner) -> GitStores:
    """Copy a git directory without its objects; blocking.

    Locks, sockets and files that vanish meanwhile are left out.

    :param source: git directory, shared by its worktrees.
    :param target: directory to create.
    :raises OSError: the copy cannot be written.
    """
    copying = _Copying(str(source), str(target), cloner)
    copying.copy("")
    for _ in range(_ATTEMPTS):
        if not copying.copy_changed():
            break
    copying.finish()
    return copying.found


class _Copying:
    def __init__(self, source: str, target: str, cloner: Cloner) -> None:
        self.found = GitStores([], [])
        self._source = source
        self._target = target
        self._cloner = cloner
        self._copied: dict[str, os.stat_result] = {}
        self._directories: list[str] = []

    def copy(self, directory: str) -> None:
        pending = [directory]
        while pending:
            directory = pending.pop()
            try:
                with os.scandir(_join(self._source, directory)) as listed:
                    entries = sorted(listed, key=lambda entry: entry.name)
            except OSError:  # removed meanwhile, or unreadable: git cannot read it either
                continue
            os.mkdir(_join(self._target, directory), 0o700)  # noqa: PTH102 there are many
            self._directories.append(directory)
            names = {entry.name for entry in entries}
            is_git = {"HEAD", _OBJECTS} <= names
            for entry in entries:
                path = f"{directory}/{entry.name}" if directory else entry.name
                if entry.is_dir(follow_symlinks=False):
                    if is_git and entry.name == _OBJECTS:
                        self._borrow(directory)
                    elif is_git and entry.name in _STORES:
                        self.found.stores.append(path)
                        os.mkdir(_join(self._target, path), 0o700)  # noqa: PTH102 as above
                    elif entry.name != BORROWED:
                        pending.append(path)
                elif not entry.name.endswith(".lock"):
                    self._file(path)

    def copy_changed(self) -> bool:
        """Copy files that changed since they were copied; return whether there were any."""
        changed = [path for path, status in self._copied.items() if self._differs(path, status)]
        for path in changed:
            Path(_join(self._target, path)).unlink()
            del self._copied[path]
            self._file(path)
        return bool(changed)

    def finish(self) -> None:
        for directory in reversed(self._directories):
            settings = _join(self._target, f"{directory}/config" if directory else "config")
            if directory in self.found.objects and settings[len(self._target) + 1 :] in self._copied:
                with suppress(OSError), Path(settings).open("ab") as file:  # a link that leads nowhere
                    file.write(_SETTINGS)
            with suppress(OSError):  # removed meanwhile
                finish_directory(_join(self._source, directory), _join(self._target, directory))

    def _borrow(self, directory: str) -> None:
        self.found.objects.append(directory)
        target = Path(_join(self._target, directory))
        for name in (f"{_OBJECTS}/info", f"{_OBJECTS}/pack", BORROWED):
            (target / name).mkdir(parents=True)
        (target / _OBJECTS / "info/alternates").write_text(f"../{BORROWED}\n")

    def _file(self, path: str) -> None:
        try:
            status = copy_path(_join(self._source, path), _join(self._target, path), self._cloner)
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            return
        if status is not None:
            self._copied[path] = status

    def _differs(self, path: str, status: os.stat_result) -> bool:
        try:
            now = os.lstat(_join(self._source, path))
        except OSError:
            return False
        return (now.st_mtime_ns, now.st_ino, now.st_size) != (
            status.st_mtime_ns,
            status.st_ino,
            status.st_size,
        )


def _join(directory: str, path: str) -> str:
    return f"{directory}/{path}" if path else directory


class GitView(NamedTuple):
    """Git directory of a guarded copy.

    :param original: the project's own, shared by its worktrees.
    """

    original: Path
    base: Sequence[str]
    """Layers at the beginning, the uppermost first."""
    now: Sequence[str]
    common: str
    """Path of the shared git directory in the layers; empty for the layers themselves."""
    own: str
    """Path of the worktree's git directory in the layers."""


def own_directory(root: Path, common: Path) -> str:
    """Return the path of a project's git directory, relative to the one shared by worktrees."""
    named = (read_bounded(root / ".git", _LARGEST) or b"").partition(b"gitdir:")[2].strip()
    own = real_path(root / os.fsdecode(named)) if named and b"\0" not in named else common
    return str(own.relative_to(common)) if own.is_relative_to(common) and own != common else ""


def messages_of_commits(view: GitView) -> list[str]:
    """Return the messages of the commits that a program made, the newest last; blocking."""
    before, after = _head(view, view.base), _head(view, view.now)
    objects = find_in_layers(view.now[:1], _join(view.common, _OBJECTS).lstrip("/"))
    if not after or after == before or objects is None or stat.S_ISLNK(os.lstat(objects).st_mode):
        return []
    known = [f"^{one}" for one in {before, *_loose_and_packed(view)} if one]
    repository = Repository(Path(objects).parent, Path(objects).parent, Path(objects).parent)
    borrowed = {"GIT_ALTERNATE_OBJECT_DIRECTORIES": quoted_path(view.original / _OBJECTS)}
    with objects_only(repository, after) as alone:
        try:
            found = run_git(
                alone,
                "log",
                "--reverse",
                "-z",
                "--format=%B",
                f"--max-count={_MOST_COMMITS}",
                "--ignore-missing",
                "--stdin",
                cwd=alone.git_dir,
                given="\n".join([after, *known, ""]).encode(),
                variables=borrowed,
            )
        except WorkspaceError:
            return []
    return [text.strip() for text in found.out.decode(errors="replace").split("\0") if text.strip()]


def _head(view: GitView, layers: Sequence[str]) -> str:
    """Return the commit of HEAD; empty if there is none."""
    name = _join(view.own, "HEAD") if view.own else "HEAD"
    text = _text(layers, name)
    for _ in range(_LINKS):
        if not text.startswith("ref: "):
            return text if _is_id(text) else ""
        name = text.removeprefix("ref: ").strip()
        if ".." in name or name.startswith("/"):
            return ""
        path = _join(view.common, name) if view.common else name
        text = _text(layers, path) or _packed(view, layers).get(name, "")
    return ""


def _loose_and_packed(view: GitView) -> Iterator[str]:
    """Yield the commits of all references at the beginning."""
    yield from _packed(view, view.base).values()
    for layer in view.base:
        for directory, _, names in os.walk(f"{_join(layer, view.common)}/refs"):
            for name in names:
                text = (
                    (read_bounded(Path(directory, name), _LARGEST) or b"").decode("ascii", "replace").strip()
                )
                if _is_id(text):
                    yield text


def _packed(view: GitView, layers: Sequence[str]) -> dict[str, str]:
    path = _join(view.common, "packed-refs") if view.common else "packed-refs"
    pairs = (line.split(" ", 1) for line in _text(layers, path).splitlines() if " " in line)
    return {name: one for one, name in pairs if _is_id(one)}


def _text(layers: Sequence[str], path: str) -> str:
    where = find_in_layers(layers, path)
    return (
        "" if where is None else (read_bounded(Path(where), _LARGEST) or b"").decode(errors="replace").strip()
    )


def _is_id(text: str) -> bool:
    return len(text) in (40, 64) and set(text) <= set("0123456789abcdef")

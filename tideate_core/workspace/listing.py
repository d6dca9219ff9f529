"""List a project's files without git-ignored ones; find repositories nested in the project."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from tideate_core.errors import WorkspaceError
from tideate_core.git import EXCLUDE_PRIVATE, find_repository, run_git
from tideate_core.project import real_path
from tideate_core.util.escaping import visible
from tideate_core.util.regular_files import read_bounded
from tideate_core.workspace.paths import PROTECTED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from pathspec import GitIgnoreSpec

_LIST = ("ls-files", "--cached", "--others", "--exclude-standard", *EXCLUDE_PRIVATE, "-z")
_GIT_TIMEOUT = 10.0
"""Seconds; then the directory walk is used instead."""
_LARGEST_RULES = 1 << 20
"""Bytes of a `.gitignore` that are read."""
_SKIPPED = frozenset({".hg", ".svn", ".tox", ".venv", "__pycache__", "node_modules", "venv"}) | PROTECTED


def list_files(root: Path, notice: Callable[[str], None] | None = None) -> list[str]:
    """Return all regular files below the root, relative to it, sorted.

    Ignored files are left out, as git or the `.gitignore` files in the root decide. Files of nested
    repositories are included, by their own rules. Links are included only if they lead to a file inside.

    :param notice: called with the reason if git fails in a repository.
    """
    found: list[str] = []
    pending = [("", notice)]
    while pending:
        prefix, told = pending.pop()
        known = _from_git(root / prefix, told)
        names = _from_walk(root / prefix) if known is None else known
        for name in names:
            path = prefix + name
            if _is_shown(root, path):
                found.append(path)
            elif known is not None and _is_repository(root, path):
                pending.append((f"{path.rstrip('/')}/", None))
    return sorted(found)


def repositories_of(root: Path, files: Iterable[str]) -> dict[str, str]:
    """Return the folders that are nested repositories, with their kind; blocking.

    :param files: relative to the root.
    """
    folders: set[str] = set()
    for name in files:
        folder = name.rpartition("/")[0]
        while folder and folder not in folders:
            folders.add(folder)
            folder = folder.rpartition("/")[0]
    kinds = {}
    for folder in sorted(folders):
        entry = f"{root}/{folder}/.git"  # no Path: there may be many thousands
        if os.path.lexists(entry):
            is_file = os.path.isfile(entry)  # noqa: PTH113
            kinds[folder] = "a submodule or worktree" if is_file else "a git repository of its own"
    return kinds


def _from_git(root: Path, notice: Callable[[str], None] | None) -> list[str] | None:
    """Return the files that git lists; None if it lists none."""
    why = ""
    try:
        done = run_git(find_repository(real_path(root)), *_LIST, cwd=root, patience=_GIT_TIMEOUT)
    except WorkspaceError as error:
        why = str(error)
    else:
        if done.status:
            why = done.said.strip().partition("\n")[0]
        elif done.out:
            names = {os.fsdecode(name) for name in done.out.split(b"\0") if name}
            return sorted(name for name in names if not _is_protected(name))
    if why and notice and any((folder / ".git").exists() for folder in (root, *root.parents)):
        notice(f"git could not list the files ({visible(why)}); the .gitignore files were read instead")
    return None


def _is_protected(name: str) -> bool:
    # compare as text: a clone may have a hundred thousand names
    folded = name.casefold()
    return any(one in folded for one in PROTECTED) and not PROTECTED.isdisjoint(folded.split("/"))


def _from_walk(root: Path) -> Iterator[str]:
    """Walk depth first in sorted order, so that a limit always cuts at the same place."""
    rules = IgnoreRules(root)
    pending = [root]
    while pending:
        entry = pending.pop()
        is_directory = not entry.is_symlink() and entry.is_dir()
        if entry != root and rules.ignores(entry, is_directory):
            continue
        if is_directory:
            pending.extend(sorted(_children(entry), reverse=True))
        else:
            yield entry.relative_to(root).as_posix()


class IgnoreRules:
    """The `.gitignore` files of a project; the innermost rule for a path counts, as in git."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._specs: dict[Path, GitIgnoreSpec | None] = {}

    def ignores(self, path: Path, is_directory: bool) -> bool:
        """Return whether a path with unignored parents is ignored; reads each folder's file once."""
        folder = path.parent
        while True:
            if (spec := self._spec(folder)) is not None:
                name = path.relative_to(folder).as_posix() + ("/" if is_directory else "")
                if (ignored := spec.check_file(name).include) is not None:
                    return ignored
            if folder == self._root:
                return False
            folder = folder.parent

    def _spec(self, folder: Path) -> GitIgnoreSpec | None:
        if folder not in self._specs:
            content = read_bounded(folder / ".gitignore", _LARGEST_RULES) or b""
            lines = content.decode("utf-8", "replace").splitlines()
            self._specs[folder] = _spec_of(lines) if lines else None
        return self._specs[folder]


def _spec_of(lines: list[str]) -> GitIgnoreSpec:
    # imported here: few projects are listed without git
    from pathspec import GitIgnoreSpec

    def is_pattern(line: str) -> bool:
        try:
            GitIgnoreSpec.from_lines([line])
        except ValueError:
            return False
        return True

    # git skips invalid patterns, too
    return GitIgnoreSpec.from_lines(filter(is_pattern, lines))


def _children(directory: Path) -> Iterable[Path]:
    try:
        return [child for child in directory.iterdir() if child.name not in _SKIPPED]
    except OSError:  # unreadable or removed meanwhile
        return []


def _is_repository(root: Path, name: str) -> bool:
    """Return whether a listed name is a nested repository; git lists nothing below it."""
    place = f"{root}/{name}".rstrip("/")
    return os.path.isdir(place) and not os.path.islink(place) and os.path.lexists(f"{place}/.git")  # noqa: PTH112, PTH114


def _is_shown(root: Path, name: str) -> bool:
    if _is_protected(name):
        return False
    path = f"{root}/{name}"  # no Path: there may be many thousands
    try:
        name.encode("utf-8")
        mode = os.lstat(path).st_mode
    except (OSError, UnicodeEncodeError):
        return False
    if stat.S_ISLNK(mode):
        real = Path(os.path.realpath(path))
        return real.is_relative_to(root) and real.is_file()
    return stat.S_ISREG(mode)

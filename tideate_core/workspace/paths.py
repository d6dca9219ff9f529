"""Validation of paths that a run may write: inside the root, not protected, not in a repository's data."""

from __future__ import annotations

import os
import re
import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tideate_core.errors import EditConflict, OutsideRoot, WorkspaceError
from tideate_core.project import private_within, real_path

if TYPE_CHECKING:
    from collections.abc import Iterable

PROTECTED = frozenset({".git", ".tideate"})
"""Names that no component of a path may have, at any depth and in any spelling that a file system accepts."""
_LONGEST_NAME: Final = 255
_LONGEST_PATH: Final = 4000
"""Bytes, below Linux's limit, so that names of temporary files fit."""
_MOST_SHOWN: Final = 300

_RUN_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}")
_SHORT: Final = re.compile(r"(?P<stem>[a-z]{1,6})~\d+")
"""Short name that Windows assigns: `GIT~1` is `.git`."""
_OURS: Final = ("git", "tideat")
_HEAD: Final = "head"
_REPOSITORY_PARTS: Final = ({_HEAD, "objects", "refs"}, {_HEAD, "commondir"})
"""Names that make a directory a repository or a linked one, in lower case for case-insensitive file systems.
"""
_REPOSITORY_NAMES: Final = frozenset().union(*_REPOSITORY_PARTS)


def journal_directory(private: Path, run: str) -> Path:
    """Return the directory of a run's journal; it exists only if the run changed files.

    :raises WorkspaceError: the run id is malformed.
    """
    if not _RUN_ID.fullmatch(run):
        raise WorkspaceError(f"{run!r} is not the id of a run")
    return private / "journal" / run


class Root:
    """Directory that paths are resolved in; its path is None without a project."""

    def __init__(self, path: Path | None) -> None:
        self._given = None if path is None else Path(os.path.abspath(path))  # noqa: PTH100 keeps links
        self._real = None if path is None else real_path(path)
        self._private: tuple[Path, ...] | None = None

    @property
    def path(self) -> Path | None:
        """Root with links resolved."""
        return self._real

    def resolve(self, path: str | Path) -> Path:
        """Resolve a path, following all links. The file need not exist.

        :param path: relative to the root, or absolute inside it.
        :raises OutsideRoot: the path leaves the root or is protected.
        """
        wanted, root = self._joined(path)
        return self._checked(real_path(wanted), root, path)

    def entry(self, path: str | Path) -> Path:
        """Resolve a path without following its last component."""
        wanted, root = self._joined(path)
        if wanted.name in ("", ".."):
            return self._checked(real_path(wanted), root, path)
        return self._checked(real_path(wanted.parent) / wanted.name, root, path)

    def lexical(self, path: str | Path) -> Path:
        """Resolve a path without following any link below the root.

        The caller has to reject links on the path, unless they are removed first.
        """
        wanted, root = self._joined(path)
        return self._checked(Path(os.path.normpath(wanted)), root, path)

    def relative(self, path: Path) -> str:
        """Return a resolved path relative to the root, with ``/``."""
        if self._real is None:
            return path.as_posix()
        return path.relative_to(self._real).as_posix()

    def _joined(self, path: str | Path) -> tuple[Path, Path]:
        if self._real is None or self._given is None:
            raise OutsideRoot(f"{_shown(path)}: there is no project here, so no file can be read or written")
        if "\0" in str(path) or not str(path):
            raise OutsideRoot(f"{_shown(path)} is not a path")
        wanted = Path(path)
        _refuse_long(wanted, path)
        for root in (self._given, self._real):
            if wanted.is_absolute() and wanted.is_relative_to(root):
                wanted = wanted.relative_to(root)
        if wanted.is_absolute():
            # links on the path to the root are allowed
            return wanted, self._real
        _refuse_protected(wanted, path)
        return self._real / wanted, self._real

    def _checked(self, real: Path, root: Path, path: str | Path) -> Path:
        if not real.is_relative_to(root):
            raise OutsideRoot(f"{_shown(path)} is outside the project {root}")
        _refuse_protected(real.relative_to(root), path)
        if self._private is None:
            self._private = private_within(root)  # the project may be the home directory
        if any(real.is_relative_to(place) for place in self._private):
            raise OutsideRoot(
                f"{_shown(path)}: a workflow never touches tideate's own state and configuration"
            )
        return real


def _refuse_protected(relative: Path, path: str | Path) -> None:
    for part in relative.parts:
        if plain_name(part) in PROTECTED:
            raise OutsideRoot(f"{_shown(path)}: a workflow never touches {part}/")


def _refuse_long(wanted: Path, path: str | Path) -> None:
    try:
        longest = max((len(os.fsencode(part)) for part in wanted.parts), default=0)
    except UnicodeEncodeError as error:
        raise OutsideRoot(f"{_shown(path)} is not a path") from error
    if longest > _LONGEST_NAME or len(os.fsencode(wanted)) > _LONGEST_PATH:
        raise OutsideRoot(f"{_shown(path)} is too long for a path")


def _shown(path: str | Path) -> str:
    text = str(path)
    return repr(text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…")


def plain_name(name: str) -> str:
    """Normalize a name as some file systems do.

    Ignored are case, invisible marks (HFS+), composition (APFS), trailing blanks and dots, and a stream name
    after a colon (Windows).
    """
    if name.isascii():
        plain = name.casefold()
    else:
        seen = "".join(c for c in unicodedata.normalize("NFKC", name) if unicodedata.category(c) != "Cf")
        plain = unicodedata.normalize("NFKC", seen.casefold())
    plain = plain.partition(":")[0].rstrip(" .") or plain
    short = _SHORT.fullmatch(plain)
    if short is not None and short["stem"] in _OURS:
        return {"git": ".git", "tideat": ".tideate"}[short["stem"]]
    return plain


def plain_path(path: str) -> str:
    """Normalize each name of a path, joined by ``/``."""
    return "/".join(map(plain_name, path.replace("\\", "/").split("/")))


def name_problem(path: str) -> str:
    """Return why a path from a file of another person cannot name a file of a run; empty if it can."""
    parts = path.split("/")
    if not path or "\0" in path or any(part in ("", ".", "..") for part in parts):
        return "is not a path below the root"
    if any(plain_name(part) in PROTECTED for part in parts):
        return "is a path that no workflow touches"
    try:
        _refuse_long(Path(path), path)
    except OutsideRoot:
        return "is too long for a path"
    return ""


def refuse_bad_new_name(path: str) -> None:
    """Reject an unsuitable name for a new file.

    :raises WorkspaceError: the name is unsuitable.
    """
    if wrong := new_name_problem(path):
        raise WorkspaceError(f"{path!r} is not a name for a new file: {wrong}; nothing was written")


def new_name_problem(path: str) -> str:
    """Return the problem with a new file's name, empty if there is none."""
    parts = path.split("/")
    if not path.isprintable():
        return "it has invisible characters"
    if "\\" in path:
        return "it has a backslash; separate folders with /"
    if "://" in path:
        return "it is an address, not a file"
    if parts[0].startswith("~"):
        return "a shell expands ~"
    if dashed := next((part for part in parts if part.startswith("-")), ""):
        return f"programs take {dashed!r} for an option"
    if blank := next((part for part in parts if _is_blank_at_edge(part)), ""):
        return f"{blank!r} begins or ends with a blank, or ends with a dot"
    return ""


def _is_blank_at_edge(part: str) -> bool:
    return part != part.strip() or (part.endswith(".") and part not in (".", ".."))


def holds_repository(directory: Path) -> bool:
    """Return whether git would treat a directory as a repository."""
    return _makes_one({name for name in _REPOSITORY_NAMES if _has(directory, name)})


def refuse_in_repositories(place: Path, root: Path | None) -> None:
    """Reject a path inside a repository's own directory, such as a bare repository.

    :raises EditConflict: the path is inside one.
    """
    for directory in (place, *place.parents):
        if directory.is_dir() and holds_repository(directory):
            raise EditConflict(
                f"{directory.name} is a git repository's own directory; nothing is changed in it"
            )
        if directory == root:
            return


def refuse_new_repositories(places: Iterable[Path], root: Path | None) -> None:
    """Reject new paths that would turn a directory into a repository.

    :raises EditConflict: one would.
    """
    coming: dict[Path, set[str]] = {}
    for place in places:
        path = place
        while path != root and path != path.parent:
            if (name := path.name.casefold()) in _REPOSITORY_NAMES:
                coming.setdefault(path.parent, set()).add(name)
            path = path.parent
    for directory, names in coming.items():
        there = {name for name in _REPOSITORY_NAMES if _has(directory, name)}
        if _makes_one(there | names) and not _makes_one(there):
            raise EditConflict(
                f"with it {directory.name} would be a git repository, in which git runs what it configures; "
                "nothing was written. A person must make one, with `git init`"
            )


def _makes_one(names: set[str]) -> bool:
    return any(parts <= names for parts in _REPOSITORY_PARTS)


def _has(directory: Path, name: str) -> bool:
    return os.path.lexists(directory / (name.upper() if name == _HEAD else name))

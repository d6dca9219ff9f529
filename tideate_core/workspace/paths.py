"""Which paths a run may touch: those inside the root, links and ``..`` followed, and no private ones."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

from tideate_core.errors import OutsideRoot, WorkspaceError
from tideate_core.project import private_within
from tideate_core.workspace.plain_names import plain_name

__all__ = ["PROTECTED", "Root", "journal_of"]

PROTECTED = frozenset({".git", ".tideate"})
"""Names that no part of a path may have, at any depth and however a file system may let them be spelt."""
_LONGEST_NAME: Final = 255
_LONGEST_PATH: Final = 4000
"""Bytes, as Linux has them at most; a little is left for names that are written first."""
_MOST_SHOWN: Final = 300

_RUN_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}")


def journal_of(private: Path, run: str) -> Path:
    """Return the directory of a run's journal, which is there only if the run changed something.

    :raises WorkspaceError: that is not the id of a run.
    """
    if not _RUN_ID.fullmatch(run):
        raise WorkspaceError(f"{run!r} is not the id of a run")
    return private / "journal" / run


class Root:
    """The directory that paths are resolved in; None where there is no project."""

    def __init__(self, path: Path | None) -> None:
        self._given = None if path is None else Path(os.path.abspath(path))  # noqa: PTH100 keeps links
        self._real = None if path is None else Path(os.path.realpath(path))
        self._private: tuple[Path, ...] | None = None

    @property
    def path(self) -> Path | None:
        """The root without links."""
        return self._real

    def resolve(self, path: str | Path) -> Path:
        """Return the absolute path of what `path` names, all links followed. It need not exist.

        :param path: relative to the root, or absolute inside it.
        :raises OutsideRoot: it leaves the root or is protected.
        """
        wanted, root = self._joined(path)
        return self._checked(Path(os.path.realpath(wanted)), root, path)

    def entry(self, path: str | Path) -> Path:
        """Like `resolve`, without following the last name: the link itself where it is a link."""
        wanted, root = self._joined(path)
        if wanted.name in ("", ".."):
            return self._checked(Path(os.path.realpath(wanted)), root, path)
        return self._checked(Path(os.path.realpath(wanted.parent)) / wanted.name, root, path)

    def relative(self, path: Path) -> str:
        """Name a resolved path as a person would, with ``/``."""
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
            # the way to it may have links of its own
            return wanted, self._real
        _refuse_protected(wanted, path)
        return self._real / wanted, self._real

    def _checked(self, real: Path, root: Path, path: str | Path) -> Path:
        if not real.is_relative_to(root):
            raise OutsideRoot(f"{_shown(path)} is outside the project {root}")
        _refuse_protected(real.relative_to(root), path)
        if self._private is None:
            self._private = private_within(root)  # of a home directory that is a project
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

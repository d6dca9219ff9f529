"""Crash-safe opening of a bundle: its files are staged, swapped in, or reverted after a crash.

``PRIVATE/portable/opening/RUN/`` exists from before the first write until after the rows are in the store::

    state.json      the runs, and the last event, which tells whether the rows are in the store
    journal/RUN/    journal of the write to the project's files, for a revert
    new/            journals and drafts of the runs, until they are swapped in
    old/            the replaced journals and drafts
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from tideate_core.engine import draft_folder
from tideate_core.errors import RunNotFound, WorkspaceError
from tideate_core.util.atomic_files import fsync_directory, write_atomic
from tideate_core.util.file_locks import take_lock
from tideate_core.util.private_files import make_private_directory
from tideate_core.util.regular_files import read_regular
from tideate_core.workspace import Journal, Rollback, Root, journal_directory

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from tideate_core.store import Reader
    from tideate_core.workspace import Workspace

FOLDER: Final = "portable"
STATE: Final = "state.json"


def openings(private: Path) -> list[Path]:
    """Return the directories of unfinished openings; blocking."""
    folder = private / FOLDER / "opening"
    return sorted(folder.iterdir()) if folder.is_dir() else []


def lock_openings(private: Path) -> int | None:
    """Lock the openings; return the descriptor to close, or None if another process has the lock.

    :raises WorkspaceError: the lock cannot be created.
    """
    try:
        make_private_directory(private / FOLDER)
        return take_lock(private / FOLDER / "lock")
    except OSError as error:
        raise WorkspaceError(f"{private / FOLDER} cannot be written: {error.strerror}") from error


@dataclass(frozen=True, slots=True)
class Opening:
    """Files of one opening.

    :param private: private state of the project.
    """

    private: Path
    run: str

    @property
    def place(self) -> Path:
        return self.private / FOLDER / "opening" / self.run

    @property
    def journal(self) -> Journal:
        """Journal of the write of the project's files."""
        return Journal(self.place)

    @property
    def staged(self) -> Path:
        """Private state in which new journals and drafts are staged."""
        return self.place / "new"

    def begin(
        self, root: Path | None, runs: Sequence[str], mark: tuple[int, str, int] | None, *, known: bool
    ) -> None:
        """Create the directory durably; blocking.

        :param root: directory of the project's files; None outside of a project.
        :param runs: all runs of the bundle, and the runs here that they replace.
        :param mark: number, name and time of the last event in the bundle.
        :param known: the run is in the store already.
        """
        had = {run: [os.path.lexists(path) for path in _swapped(self.private, run)] for run in runs}
        make_private_directory(self.staged)
        make_private_directory(self.place / "old")
        state = {"root": _named(root), "had": had, "mark": mark, "known": known}
        write_atomic(self.place / STATE, json.dumps(state).encode())
        for path in (self.place.parent, self.place.parent.parent, self.private):
            fsync_directory(path)

    def swap(self) -> None:
        """Replace the journals and drafts of the runs by the staged ones; blocking."""
        for run in self._had():
            for number, path in enumerate(_swapped(self.private, run)):
                if os.path.lexists(path):
                    path.rename(self._old(run, number))
                new = _swapped(self.staged, run)[number]
                if new.is_dir():
                    make_private_directory(path.parent)
                    new.rename(path)
                    fsync_directory(path.parent)
        fsync_directory(self.place / "old")

    async def revert(self, workspace: Workspace) -> None:
        """Restore files, journals and drafts as they were before; may be repeated after a crash.

        :raises WorkspaceError: a file cannot be restored.
        """
        if not (self.place / STATE).is_file():
            self.end()  # nothing was written yet
            return
        rollback = Rollback(Root(workspace.root), workspace.buffers, self.journal)
        await rollback.rollback_best_effort(self.run)
        await asyncio.to_thread(self._swap_back)

    def _swap_back(self) -> None:
        for run, had in self._had().items():
            for number, path in enumerate(_swapped(self.private, run)):
                old = self._old(run, number)
                if os.path.lexists(path) and (os.path.lexists(old) or not had[number]):
                    shutil.rmtree(path)
                if os.path.lexists(old):
                    old.rename(path)
                    fsync_directory(path.parent)
        self.end()

    def is_of(self, root: Path | None) -> bool:
        """Tell whether it belongs to this directory; directories outside of projects share one state."""
        return not (self.place / STATE).is_file() or self._state()["root"] == _named(root)

    def is_done(self, reader: Reader) -> bool:
        """Tell whether the rows of the bundle are in the store; blocking."""
        if not (self.place / STATE).is_file():
            return False
        state = self._state()
        try:
            reader.run(self.run)
        except RunNotFound:
            return False
        if not state["known"] or state["mark"] is None:
            return True
        number, name, at = state["mark"]
        found = reader.events(self.run, after=number - 1, limit=1)
        return [(one.name, one.at) for one in found] == [(name, at)]

    def end(self) -> None:
        """Remove the directory; blocking."""
        (self.place / STATE).unlink(missing_ok=True)
        shutil.rmtree(self.place, ignore_errors=True)

    def _old(self, run: str, number: int) -> Path:
        return self.place / "old" / f"{run}.{number}"

    def _had(self) -> Mapping[str, list[bool]]:
        had: dict[str, list[bool]] = self._state()["had"]
        return had

    def _state(self) -> dict[str, Any]:
        try:
            state: dict[str, Any] = json.loads(read_regular(self.place / STATE))
        except (OSError, ValueError) as error:
            raise WorkspaceError(f"{self.place / STATE} cannot be read: {error}") from error
        return state


def _named(root: Path | None) -> str | None:
    return None if root is None else os.fsencode(root).hex()


def _swapped(private: Path, run: str) -> tuple[Path, Path]:
    return journal_directory(private, run), draft_folder(private, run)


async def finish_openings(private: Path, reader: Reader, workspace: Workspace) -> list[str]:
    """Revert interrupted openings, or finish committed ones.

    The caller holds the lock.

    :returns: the runs of the reverted openings.
    :raises WorkspaceError: a file cannot be restored.
    """
    reverted = []
    for place in openings(private):
        opening = Opening(private, place.name)
        if not opening.is_of(workspace.root):
            continue
        if opening.is_done(reader):
            opening.end()
        else:
            await opening.revert(workspace)
            reverted.append(opening.run)
    return reverted

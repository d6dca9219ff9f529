"""Files, directories and permissions written back by a rollback."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from typing import TYPE_CHECKING

from tideate_core.errors import EditConflict, OutsideRoot
from tideate_core.project import open_directory
from tideate_core.util.file_metadata import give_metadata
from tideate_core.workspace.files import remove_directory, set_mode, write_image
from tideate_core.workspace.journal import entries_of
from tideate_core.workspace.journal_manifest import FileEntry, ModeEntry, MoveEntry
from tideate_core.workspace.kind_changes import in_order

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tideate_core.workspace.journal import JournalPlaces, Record
    from tideate_core.workspace.rollback_state import DirectoryRollback, FileRollback, RollbackPlan

__all__ = ["roll_back_files"]


def roll_back_files(places: JournalPlaces, records: Sequence[Record], plan: RollbackPlan) -> None:
    """Write what was planned; directories and permissions go back, too, and nothing is left beside.

    One file that cannot be restored keeps no other from it, but for what was moved and for removals: what
    stands there may be the only copy of what could not be written. Only what is in the way goes first.

    :raises OSError: something cannot be restored; doing it again goes on with what is left.
    :raises EditConflict: a file was changed in the last moment.
    """
    _restore_modes(places, records)  # a directory may have to be written into again
    _remove_leftovers(places)
    # a text stands at its old place before it goes from the new one
    ordered = sorted(plan.files, key=_is_removal)
    in_the_way, emptied, made, files, removed = in_order(ordered, plan.made, plan.removed)
    for file in in_the_way:
        _write(file)
    for directory in emptied:
        _remove_empty(directory.path)
    for directory in made:
        _remake(directory)
    failure: OSError | EditConflict | None = None
    moved = _moved_paths(places, records)
    for file in files:
        if failure is not None and (_is_removal(file) or file.path in moved):
            continue
        try:
            _write(file)
        except (OSError, EditConflict) as error:
            failure = failure or error
    if failure is not None:
        raise failure
    for directory in removed:
        _remove_empty(directory.path)
    _restore_modes(places, records)  # of files that were written just now


def _write(file: FileRollback) -> None:
    write_image(file.path, file.after, expected=file.expected, temp=file.temp)


def _remake(wanted: DirectoryRollback) -> None:
    """Make a directory again that was removed, unless something else is there now."""
    with contextlib.suppress(NotADirectoryError, FileExistsError):
        is_there = wanted.path.is_dir()
        with open_directory(wanted.path, make=True) as directory:
            # also one that was made just before a kill
            give_metadata(directory, None if is_there else wanted.metadata, wanted.mode)


def _is_removal(file: FileRollback) -> bool:
    return file.after.state.kind == "absent"


def _moved_paths(places: JournalPlaces, records: Sequence[Record]) -> set[Path]:
    names = {name for move in entries_of(records, MoveEntry) for name in (move.old, move.new)}
    for entry in entries_of(records, FileEntry):
        if entry.moved_from is not None:
            names |= {entry.path, entry.moved_from}
    found: set[Path] = set()
    for name in names:
        with contextlib.suppress(OutsideRoot):
            found.add(places.of(name))
    return found


def _restore_modes(places: JournalPlaces, records: Sequence[Record]) -> None:
    """Give permissions back where they are still the ones that were set."""
    for entry in reversed(entries_of(records, ModeEntry)):
        with contextlib.suppress(OutsideRoot, FileNotFoundError, NotADirectoryError):
            path = places.of(entry.path)
            if stat.S_IMODE(path.lstat().st_mode) in (entry.after, entry.before | entry.after):
                set_mode(path, entry.before)


def _remove_leftovers(places: JournalPlaces) -> None:
    """Remove what an interrupted apply left beside the files."""
    for path in places.temporaries:
        with (
            contextlib.suppress(FileNotFoundError, NotADirectoryError),
            open_directory(path.parent) as directory,
        ):
            os.unlink(path.name, dir_fd=directory)


def _remove_empty(directory: Path) -> None:
    try:
        remove_directory(directory)
    except OSError as error:
        if error.errno not in {errno.ENOTEMPTY, errno.ENOENT, errno.ENOTDIR, errno.EEXIST}:
            raise

"""Restoration of files, directories and permissions in a rollback."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from typing import TYPE_CHECKING

from tideate_core.errors import EditConflict, OutsideRoot
from tideate_core.project import open_directory
from tideate_core.util.file_metadata import give_metadata
from tideate_core.workspace.file_images import remove_directory, set_mode, write_image
from tideate_core.workspace.journal import FileEntry, ModeEntry, MoveEntry, entries_of
from tideate_core.workspace.kind_changes import in_order

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tideate_core.workspace.journal import JournalPlaces, Record
    from tideate_core.workspace.rollback_plan import RollbackPlan
    from tideate_core.workspace.staging import DirectoryOperation, FileOperation


def roll_back_files(places: JournalPlaces, records: Sequence[Record], plan: RollbackPlan) -> None:
    """Write a plan's files, directories and permissions, and remove temporary files.

    A failed file does not prevent the others, except for moves and removals: a file to be removed may hold
    the only copy of one that could not be written. Only files in the way are removed first.

    :raises OSError: a file cannot be restored; a second attempt continues with the rest.
    :raises EditConflict: a file changed at the last moment.
    """
    _restore_modes(places, records)  # directories may have to be writable again
    _remove_leftovers(places)
    in_the_way, emptied, made, files, removed = in_order(plan.files, plan.made, plan.removed)
    for file in in_the_way:
        _write(file)
    for directory in emptied:
        _remove_empty(directory.path)
    for directory in made:
        _remake(directory)
    failure: OSError | EditConflict | None = None
    moved = _moved_paths(places, records)
    for file in files:
        if failure is not None and (file.after.state.kind == "absent" or file.path in moved):
            continue
        try:
            _write(file)
        except (OSError, EditConflict) as error:
            failure = failure or error
    if failure is not None:
        raise failure
    for directory in removed:
        _remove_empty(directory.path)
    _restore_modes(places, records)  # for the files just written


def _write(file: FileOperation) -> None:
    write_image(file.path, file.after, expected=file.before.state, temp=file.temp)


def _remake(wanted: DirectoryOperation) -> None:
    """Create a removed directory again, unless another file is there."""
    with contextlib.suppress(NotADirectoryError, FileExistsError):
        is_there = wanted.path.is_dir()
        with open_directory(wanted.path, make=True) as directory:
            # also a directory created just before a kill
            give_metadata(directory, None if is_there else wanted.metadata, wanted.mode)


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
    """Restore permissions that still have the value the run set."""
    for entry in reversed(entries_of(records, ModeEntry)):
        with contextlib.suppress(OutsideRoot, FileNotFoundError, NotADirectoryError):
            path = places.of(entry.path)
            if stat.S_IMODE(path.lstat().st_mode) in (entry.after, entry.before | entry.after):
                set_mode(path, entry.before)


def _remove_leftovers(places: JournalPlaces) -> None:
    """Remove temporary files of an interrupted apply."""
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

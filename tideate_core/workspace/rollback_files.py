"""Files, directories and permissions written back by a rollback."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from typing import TYPE_CHECKING

from tideate_core.errors import EditConflict, OutsideRoot
from tideate_core.project import open_directory
from tideate_core.workspace.files import remove_directory, set_mode, write_image
from tideate_core.workspace.journal import entries_of
from tideate_core.workspace.journal_manifest import (
    DirectoryEntry,
    FileEntry,
    ModeEntry,
    MoveEntry,
    RemovedEntry,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from tideate_core.workspace.journal import Record
    from tideate_core.workspace.paths import Root
    from tideate_core.workspace.rollback_state import FileRollback

__all__ = ["roll_back_files"]


def roll_back_files(root: Root, records: Sequence[Record], files: Iterable[FileRollback]) -> None:
    """Write what was planned; directories and permissions go back, too, and nothing is left beside.

    One file that cannot be restored keeps no other from it, but for what was moved and for removals: what
    stands there may be the only copy of what could not be written.

    :raises OSError: something cannot be restored; doing it again goes on with what is left.
    :raises EditConflict: a file was changed in the last moment.
    """
    _restore_modes(root, records)  # a directory may have to be written into again
    _remake_directories(root, records)
    failure: OSError | EditConflict | None = None
    moved = _moved_paths(root, records)
    # a text stands at its old place before it goes from the new one
    for file in sorted(files, key=_is_removal):
        if failure is not None and (_is_removal(file) or file.path in moved):
            continue
        try:
            write_image(file.path, file.wanted, expected=file.expected, temp=file.temp)
        except (OSError, EditConflict) as error:
            failure = failure or error
    if failure is not None:
        raise failure
    _remove_leftovers(root, records)
    _restore_modes(root, records)  # of files that were written just now


def _is_removal(file: FileRollback) -> bool:
    return file.wanted.state.kind == "absent"


def _moved_paths(root: Root, records: Sequence[Record]) -> set[Path]:
    names = {name for move in entries_of(records, MoveEntry) for name in (move.old, move.new)}
    for entry in entries_of(records, FileEntry):
        if entry.moved_from is not None:
            names |= {entry.path, entry.moved_from}
    found: set[Path] = set()
    for name in names:
        with contextlib.suppress(OutsideRoot):
            found.add(root.entry(name))
    return found


def _restore_modes(root: Root, records: Sequence[Record]) -> None:
    """Give permissions back where they are still the ones that were set."""
    for entry in reversed(entries_of(records, ModeEntry)):
        with contextlib.suppress(OutsideRoot, FileNotFoundError, NotADirectoryError):
            path = root.entry(entry.path)
            if stat.S_IMODE(path.lstat().st_mode) in (entry.after, entry.before | entry.after):
                set_mode(path, entry.before)


def _remake_directories(root: Root, records: Sequence[Record]) -> None:
    """Make directories again that were removed, outer ones first."""
    for entry in reversed(entries_of(records, RemovedEntry)):
        with contextlib.suppress(OutsideRoot, FileExistsError):
            path = root.entry(entry.path)
            with open_directory(path, make=True) as directory:
                os.fchmod(directory, entry.mode)  # also of one that was made just before a kill


def _remove_leftovers(root: Root, records: Sequence[Record]) -> None:
    """Remove what an interrupted apply left beside the files, and the directories it made, if empty."""
    for record in reversed(records):
        for entry in reversed(record.manifest.entries):
            with contextlib.suppress(OutsideRoot, FileNotFoundError, NotADirectoryError):
                if isinstance(entry, FileEntry):
                    with open_directory(root.entry(entry.path).parent) as directory:
                        os.unlink(entry.temp, dir_fd=directory)
                elif isinstance(entry, DirectoryEntry):
                    _remove_empty(root.entry(entry.path))


def _remove_empty(directory: Path) -> None:
    try:
        remove_directory(directory)
    except OSError as error:
        if error.errno not in {errno.ENOTEMPTY, errno.ENOENT, errno.ENOTDIR, errno.EEXIST}:
            raise

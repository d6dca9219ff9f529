"""Notes stored beside the journal: states of files and buffers after each rolled-back record.

A note is durable beside each manifest before the first file is restored. It says that some content lacks a
record's changes, which stays true whatever happens later.

After a rollback, a marker beside the last manifest of a run lists unrestored names; a later apply has no
marker.
"""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from tideate_core.errors import WorkspaceError
from tideate_core.util.atomic_files import write_atomic
from tideate_core.util.regular_files import read_regular
from tideate_core.workspace.documents import text_of
from tideate_core.workspace.file_images import text_digest

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tideate_core.workspace.file_images import FileImage
    from tideate_core.workspace.journal import Record

_FILE: Final = "undone.json"
_MARKER: Final = "rolled_back.json"

log = logging.getLogger(__name__)


def text_state(text: str) -> str:
    """Return the key of a text, in a buffer or, in any encoding, in a file."""
    return f"text {text_digest(text)}"


def states_of(found: FileImage) -> tuple[str, ...]:
    """Return the keys of a file's state."""
    states = [f"{found.state.kind} {found.state.digest}"]
    if found.state.kind == "file" and (text := text_of(found.data)) is not None:
        states.append(text_state(text))
    return tuple(states)


@dataclass(frozen=True, slots=True)
class RollbackNote:
    """States of a file or buffer after a record is rolled back in it."""

    record: Record
    key: str
    states: tuple[str, ...]
    merged: bool


class RollbackNotes:
    """Notes of several records, read on demand."""

    def __init__(self) -> None:
        self._read: dict[Path, dict[str, Any]] = {}

    def merged(self, record: Record, key: str, states: Sequence[str]) -> bool | None:
        """Return whether the rollback of a record merged changes; None if it was not rolled back."""
        if record.directory not in self._read:
            self._read[record.directory] = _load(record.directory / _FILE)
        note = self._read[record.directory].get(key)
        if note is None or not any(state in note["states"] for state in states):
            return None
        return bool(note["merged"])


def has_rollback_notes(journal: Path) -> bool:
    """Return whether a rollback of a run began, by its journal directory."""
    return any(journal.glob(f"*/{_FILE}"))


def mark_rolled_back(records: Sequence[Record], restored: Sequence[str], left: Sequence[str]) -> None:
    """Mark runs as rolled back, so that a list of runs need not plan the rollback again.

    :param records: all applies of the runs, the oldest first.
    :param left: names that were not restored.
    """
    content = json.dumps({"restored": [*restored], "left": [*left]}, separators=(",", ":")).encode()
    for directory in {record.directory.parent: record.directory for record in records}.values():
        try:
            write_atomic(directory / _MARKER, content)
        except OSError as error:
            log.warning("%s cannot be written, so this rollback is looked at again: %s", directory, error)


def rolled_back_all(apply: Path) -> bool | None:
    """Return whether a run was rolled back completely; None if unknown.

    :param apply: the directory of its last apply.
    """
    path = apply / _MARKER
    try:
        left = json.loads(read_regular(path))["left"]
        if not isinstance(left, list):
            raise TypeError(f"{left!r} is no list")
    except FileNotFoundError:
        return None
    except (OSError, ValueError, LookupError, TypeError, RecursionError) as error:
        log.warning("%s cannot be read, so this rollback is looked at again: %s", path, error)
        return None
    return not left


def write_notes(notes: Sequence[RollbackNote]) -> None:
    """Write the notes of a planned rollback.

    :raises WorkspaceError: they cannot be written.
    """
    of_records: dict[Path, list[RollbackNote]] = {}
    for note in notes:
        of_records.setdefault(note.record.directory, []).append(note)
    for directory, of_one in of_records.items():
        known = _load(directory / _FILE)
        for note in of_one:
            earlier = known.get(note.key, {"states": []})["states"]
            states = list(dict.fromkeys([*earlier, *note.states]))
            known[note.key] = {"states": states, "merged": note.merged}
        try:
            write_atomic(directory / _FILE, json.dumps(known, separators=(",", ":")).encode())
        except OSError as error:
            raise WorkspaceError(
                f"{directory} cannot be written ({error.strerror}); nothing was restored"
            ) from error


def _load(path: Path) -> dict[str, Any]:
    try:
        notes = json.loads(read_regular(path))
        return {
            str(key): {"states": [str(state) for state in note["states"]], "merged": bool(note["merged"])}
            for key, note in notes.items()
        }
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        log.warning("%s cannot be read, so a merge may be taken for a change: %s", path, error)
        return {}

"""Notes of rollbacks beside the journal: a merged file's text alone does not tell of its rollback.

A note beside each manifest, durable before the first file is restored. It only ever says of a content that a
record's changes are not in it, so it stays true whatever happens afterwards.
Beside the last manifest of a run a marker says once a rollback has ended what it left; an apply that follows
has none.
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
from tideate_core.workspace.files import text_digest

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tideate_core.workspace.files import FileImage
    from tideate_core.workspace.journal import Record

__all__ = [
    "RollbackNote",
    "RollbackNotes",
    "has_rollback_notes",
    "mark_rolled_back",
    "rolled_back_all",
    "states_of",
    "text_state",
    "write_notes",
]

_FILE: Final = "undone.json"
_MARKER: Final = "rolled_back.json"

log = logging.getLogger(__name__)


def text_state(text: str) -> str:
    """Return what a text is recognised by, in a buffer or, however encoded, in a file."""
    return f"text {text_digest(text)}"


def states_of(found: FileImage) -> tuple[str, ...]:
    """Return what a file is recognised by."""
    states = [f"{found.state.kind} {found.state.digest}"]
    if found.state.kind == "file" and (text := text_of(found.data)) is not None:
        states.append(text_state(text))
    return tuple(states)


@dataclass(frozen=True, slots=True)
class RollbackNote:
    """A file or buffer will be in one of these states once a record is rolled back in it."""

    record: Record
    key: str
    states: tuple[str, ...]
    merged: bool


class RollbackNotes:
    """The notes of several records, read when they are needed."""

    def __init__(self) -> None:
        self._read: dict[Path, dict[str, Any]] = {}

    def merged(self, record: Record, key: str, states: Sequence[str]) -> bool | None:
        """Tell whether something was merged when the record was rolled back; None where it was not."""
        if record.directory not in self._read:
            self._read[record.directory] = _load(record.directory / _FILE)
        note = self._read[record.directory].get(key)
        if note is None or not any(state in note["states"] for state in states):
            return None
        return bool(note["merged"])


def has_rollback_notes(journal: Path) -> bool:
    """Tell whether a rollback of a run began, by the directory of its journal."""
    return any(journal.glob(f"*/{_FILE}"))


def mark_rolled_back(records: Sequence[Record], restored: Sequence[str], left: Sequence[str]) -> None:
    """Write down that a rollback of runs has ended; without it a list of runs has to plan it again.

    :param records: of all their applies, the oldest first.
    :param left: names of what is as the runs left it, or was changed since.
    """
    content = json.dumps({"restored": [*restored], "left": [*left]}, separators=(",", ":")).encode()
    for directory in {record.directory.parent: record.directory for record in records}.values():
        try:
            write_atomic(directory / _MARKER, content)
        except OSError as error:
            log.warning("%s cannot be written, so this rollback is looked at again: %s", directory, error)


def rolled_back_all(apply: Path) -> bool | None:
    """Tell whether nothing was left when a run was rolled back; None where nothing is known.

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
    """Write down what is about to be restored.

    :raises WorkspaceError: it cannot be written.
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

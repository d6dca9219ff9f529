"""Manifest of a snapshot on disk: ``{id}.json``; a list needs only its first line."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass, field, replace
from itertools import repeat
from typing import TYPE_CHECKING, Any, Final

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import from_json

from tideate_core.errors import SnapshotNotFound, WorkspaceError
from tideate_core.snapshots.entries import Entry
from tideate_core.snapshots.packs import digest
from tideate_core.util.atomic_files import atomic_writer
from tideate_core.util.regular_files import open_regular, read_regular

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

ID: Final = re.compile(r"[0-9a-f]{16}")
SUFFIX: Final = ".json"
LONGEST_HEADER: Final = 1024 * 1024
_OPEN: Final = ',"tree":\n'
"""Separates the header from the rest."""
_TYPES: Final = (str, str, int, int, str, str, str)
VERSION: Final = 3


@dataclass(frozen=True, slots=True)
class Snapshot:
    """State of a project at one moment."""

    id: str
    name: str
    timestamp: int
    """Creation time in milliseconds since the epoch."""
    count: int
    """Number of files and links."""
    size: int
    """Of the files, in bytes."""
    skipped_count: int = 0
    """Number of paths left out."""
    pinned: tuple[str, ...] = ()
    """Ids of the runs that protect it from eviction."""
    series: str = ""
    """`watch` for a snapshot of `tideate watch`, else empty."""
    files: tuple[Entry, ...] = ()
    """Files, links and directories; only if one snapshot was requested."""
    skipped: dict[str, str] = field(default_factory=dict)
    """Paths left out with everything below them, and the reason; only if one snapshot was requested."""
    ignored: tuple[str, ...] = ()
    """Ignored directories that were not entered; only if one snapshot was requested."""


class CaptureFilter(BaseModel):
    """Limits that selected the files of a snapshot."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    max_file: int
    max_total: int
    max_files: int
    ignored_directories: bool
    left_out: tuple[str, ...]


class Header(BaseModel):
    """First line of a manifest."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    version: int = VERSION
    id: str
    number: int
    """Increases with each snapshot; the clock may go back."""
    name: str
    timestamp: int
    count: int
    size: int
    skipped: int
    clock: int
    """Time of the file system just before the scan, in nanoseconds."""
    packs: tuple[str, ...]
    """Packs of its contents; a pack that no snapshot names can be deleted."""
    digest: str
    """Digest of the rest of the manifest."""
    pinned: tuple[str, ...] = ()
    series: str = ""
    """Series with its own retention; empty for snapshots of a person or a run."""
    filter: CaptureFilter | None = None

    def snapshot(self) -> Snapshot:
        """Return the snapshot as lists show it."""
        return Snapshot(
            self.id,
            self.name,
            self.timestamp,
            self.count,
            self.size,
            self.skipped,
            self.pinned,
            self.series,
        )


@dataclass(frozen=True, slots=True)
class Manifest:
    """Snapshot without the file contents."""

    header: Header
    entries: dict[str, Entry]
    skipped: dict[str, str]
    ignored: tuple[str, ...]
    rest: bytes = b""
    """Bytes after the header, as written."""

    def snapshot(self) -> Snapshot:
        """Return the snapshot with all its entries."""
        files = tuple(self.entries.values())
        return replace(self.header.snapshot(), files=files, skipped=dict(self.skipped), ignored=self.ignored)


def save_manifest(
    directory: Path,
    header: Header,
    entries: dict[str, Entry],
    skipped: dict[str, str],
    ignored: Sequence[str],
) -> Header:
    """Write a manifest durably and return its header.

    :param header: its digest is filled in here.
    :raises OSError: it cannot be written.
    """
    dump = json.JSONEncoder(separators=(",", ":")).encode
    rows = ",\n".join(map(dump, entries.values()))
    rest = f'{{"ignored":{dump(ignored)},"skipped":{dump(skipped)},"entries":[\n{rows}\n]}}}}\n'.encode()
    header = header.model_copy(update={"digest": digest(rest)})
    write_manifest(directory, header, rest)
    return header


def write_manifest(directory: Path, header: Header, rest: bytes) -> None:
    """Write a header and the bytes after it.

    :raises OSError: they cannot be written.
    """
    first = json.dumps(header.model_dump(), separators=(",", ":")).removesuffix("}") + _OPEN
    with atomic_writer(directory / f"{header.id}{SUFFIX}") as file:
        file.write(first.encode())
        file.write(rest)


def find_manifest(directory: Path, wanted: str) -> Path:
    """Return the manifest file of a snapshot.

    :raises SnapshotNotFound: no snapshot has this id.
    """
    path = directory / f"{wanted}{SUFFIX}"
    if not ID.fullmatch(wanted) or not path.is_file():
        raise SnapshotNotFound(f"no snapshot has the id {wanted!r}; `tideate snapshot list` names them")
    return path


def load_manifest(path: Path) -> Manifest:
    """Read a manifest.

    :raises SnapshotNotFound: it was deleted.
    :raises WorkspaceError: it is damaged.
    """
    header, rest = read_parts(path)
    try:
        shape = _parsed(rest.removesuffix(b"}\n"))
        entries = {entry[0]: entry for entry in _entries(shape["entries"])}
        skipped, ignored = shape["skipped"], tuple(map(str, shape["ignored"]))
        if not isinstance(skipped, dict) or not all(isinstance(why, str) for why in skipped.values()):
            raise ValueError("what was left out cannot be read")
        return Manifest(header, entries, skipped, ignored, rest)
    except (ValueError, TypeError, KeyError) as error:
        raise _damaged(path, error) from error


def read_headers(directory: Path) -> tuple[list[Header], list[str]]:
    """Return the headers of all snapshots, the oldest first, and the reasons for unreadable ones."""
    found: list[Header] = []
    damaged: list[str] = []
    for path in directory.glob(f"*{SUFFIX}"):
        if not ID.fullmatch(path.stem):
            continue
        try:
            found.append(read_header(path))
        except SnapshotNotFound:
            continue
        except WorkspaceError as error:
            damaged.append(str(error))
    return sorted(found, key=lambda header: (header.number, header.id)), damaged


def read_header(path: Path) -> Header:
    """Read the header of a manifest.

    :raises SnapshotNotFound: it was deleted.
    :raises WorkspaceError: it is damaged.
    """
    try:
        with os.fdopen(open_regular(path), "rb") as file:
            return _header(file.readline(LONGEST_HEADER), path)
    except FileNotFoundError as error:
        raise _deleted(path) from error
    except (OSError, ValueError) as error:
        raise _damaged(path, error) from error


def read_parts(path: Path) -> tuple[Header, bytes]:
    """Return the header of a manifest and the bytes after it.

    :raises SnapshotNotFound: it was deleted.
    :raises WorkspaceError: it is damaged.
    """
    try:
        first, _, rest = read_regular(path).partition(b"\n")
        header = _header(first, path)
        if digest(rest) != header.digest:
            raise ValueError("it does not match its digest")
    except FileNotFoundError as error:
        raise _deleted(path) from error
    except (OSError, ValueError) as error:
        raise _damaged(path, error) from error
    return header, rest


def _header(line: bytes, path: Path) -> Header:
    text = line.decode().rstrip("\n")
    if not text.endswith(_OPEN.rstrip("\n")):
        raise ValueError("its first line is cut off")
    header = Header.model_validate(json.loads(text.removesuffix(_OPEN.rstrip("\n")) + "}"))
    if header.version != VERSION:
        raise ValueError(f"this tideate cannot read its version {header.version}")
    if header.id != path.stem:
        raise ValueError(f"it is of the snapshot {header.id}")
    return header


def _parsed(data: bytes) -> Any:
    try:
        return from_json(data, cache_strings="keys")  # half the time of `json`
    except ValueError:
        return json.loads(data)  # only `json` reads names that are not UTF-8


def _entries(rows: Any) -> list[Entry]:
    if not set(map(len, rows)) <= {len(_TYPES)}:
        raise ValueError("an entry is cut off")
    for kind, column in zip(_TYPES, zip(*rows, strict=True), strict=False):
        if set(map(type, column)) != {kind}:
            raise ValueError("an entry has a wrong type")
    # twice as fast as `Entry._make`, for many entries
    return list(map(tuple.__new__, repeat(Entry), rows))


def _deleted(path: Path) -> SnapshotNotFound:
    return SnapshotNotFound(f"snapshot {path.stem} was deleted meanwhile")


def _damaged(path: Path, error: Exception) -> WorkspaceError:
    why = "its first line has wrong values" if isinstance(error, ValidationError) else error
    return WorkspaceError(f"{path} is damaged ({why}); `tideate snapshot delete {path.stem}` removes it")

"""Comparison of a snapshot with the current files: paths, diffs, and images of both sides."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from pydantic import ValidationError

from tideate_core.errors import NotText, WorkspaceError
from tideate_core.snapshots.entries import Below, above
from tideate_core.snapshots.limits import MIB
from tideate_core.workspace import (
    ABSENT,
    Action,
    Document,
    FileChange,
    FileImage,
    KeptMetadata,
    OutsideChanges,
    file_or_link,
    read_image,
    unified_diff,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from tideate_core.snapshots.entries import Entry
    from tideate_core.snapshots.manifest import Manifest
    from tideate_core.snapshots.packs import Packs

_LARGEST_SHOWN: Final = MIB
"""Largest text with a shown diff, in bytes."""

_Images: TypeAlias = "tuple[FileImage, FileImage]"


@dataclass(frozen=True, slots=True)
class FileDiff:
    """Path that differs from a snapshot."""

    path: str
    """A directory ends with ``/``."""
    status: Literal["added", "modified", "deleted"]
    """Kind of change since the snapshot."""
    changes: str = ""
    """Readable form: a unified diff of texts, or a description of the difference."""


@dataclass(frozen=True, slots=True)
class Tree:
    """Current files, read."""

    entries: dict[str, Entry]
    skipped: Mapping[str, str]
    ignored: frozenset[str]
    ignored_files: frozenset[str] = frozenset()


@dataclass(slots=True)
class Comparison:
    """Paths by their change since a snapshot."""

    modified: list[tuple[Entry, Entry]] = field(default_factory=list)
    """Entry before and now."""
    deleted: list[Entry] = field(default_factory=list)
    added: list[Entry] = field(default_factory=list)
    left: dict[str, str] = field(default_factory=dict)
    """Paths that cannot be compared, with the reason."""


@dataclass(frozen=True, slots=True)
class ChangesSince(OutsideChanges):
    """Changes since a snapshot, without paths that git ignores."""

    diffs: list[FileDiff] = field(default_factory=list)


def compare(then: Manifest, now: Tree) -> Comparison:
    """Compare path by path.

    Paths that one side left out are unknown: they count neither as added nor as deleted. The same holds for
    directories not entered at that time because git ignored them.
    """
    found = Comparison()
    unseen_now, unseen_then = Below(now.skipped), Below((*then.skipped, *then.ignored))
    for path, was in then.entries.items():
        current = now.entries.get(path)
        if current is None:
            hidden = unseen_now.find(path)
            if hidden is None:
                found.deleted.append(was)
            else:
                found.left[path] = (
                    now.skipped[hidden] if hidden == path else f"{hidden} {now.skipped[hidden]}"
                )
        elif current is was:
            continue
        elif not current.holds_same_as(was) or current.mode != was.mode:
            found.modified.append((was, current))
    found.added = [
        entry for path, entry in now.entries.items() if path not in then.entries and path not in unseen_then
    ]
    return found


def file_diffs(root: Path, found: Comparison, packs: Packs | None) -> list[FileDiff]:
    """Return the differences sorted by path. A directory with changed content is not listed itself.

    :param packs: contents of the snapshot; None omits the text diffs.
    """
    diffs = [
        *(_diff(root, None, now, packs) for now in _without_filled(found.added)),
        *(_diff(root, was, None, packs) for was in _without_filled(found.deleted)),
        *(_diff(root, was, now, packs) for was, now in found.modified),
    ]
    return sorted(diffs, key=lambda diff: diff.path)


def _without_filled(entries: list[Entry]) -> Iterator[Entry]:
    filled = {directory for entry in entries for directory in above(entry.path)}
    return (entry for entry in entries if entry.kind != "directory" or entry.path not in filled)


def _diff(root: Path, was: Entry | None, now: Entry | None, packs: Packs | None) -> FileDiff:
    entry = now or was
    assert entry is not None  # noqa: S101 one of both is given
    path = entry.path + "/" if entry.kind == "directory" else entry.path
    words = [_described(was, now)] if was and now else []
    if packs is not None:
        words += _content(root, was, now, packs)
    changes = "\n".join(filter(None, words))
    return FileDiff(path, "added" if was is None else "deleted" if now is None else "modified", changes)


def _content(root: Path, was: Entry | None, now: Entry | None, packs: Packs) -> Iterable[str]:
    files = [entry for entry in (was, now) if entry is not None]
    if any(entry.kind != "file" for entry in files) or len({entry.hash for entry in files}) == len(files) - 1:
        return []
    if any(entry.size > _LARGEST_SHOWN for entry in files):
        return [f"over {_LARGEST_SHOWN // MIB} MiB, not shown"]
    try:
        before = None if was is None else Document.decode(packs.read(was.hash)).text
        after = None if now is None else Document.decode(read_image(root / now.path).data).text
    except (NotText, WorkspaceError, OSError) as error:
        return ["binary" if isinstance(error, NotText) else f"cannot be shown: {error}"]
    if before == after:
        return ["line ends or a byte order mark differ"]
    action: Action = "create" if before is None else "delete" if after is None else "modify"
    return [unified_diff(FileChange(files[0].path, action, before, after))]


def _described(was: Entry, now: Entry) -> str:
    """Describe the difference between two entries, except for file contents."""
    if was.kind != now.kind:
        return f"{was.kind} → {now.kind}"
    words = [f"link to {was.target} → {now.target}"] if was.target != now.target else []
    if was.mode != now.mode:
        words.append(f"mode {was.mode:04o} → {now.mode:04o}")
    return ", ".join(words)


def changes_since(root: Path, found: Comparison, now: Tree, packs: Packs) -> ChangesSince:
    """Read both sides of all differences.

    :raises OSError: a file cannot be read.
    :raises WorkspaceError: the content of the snapshot is damaged.
    """
    seen = [entry for entry in found.added if not _is_ignored(entry.path, now)]
    pairs: list[tuple[Entry | None, Entry | None]] = [
        *((None, entry) for entry in seen),
        *((entry, None) for entry in found.deleted),
        *((was, entry) for was, entry in found.modified if not _is_ignored(entry.path, now)),
    ]
    paths = {entry.path for pair in pairs for entry in pair if entry is not None}
    files: dict[str, _Images] = {}
    for was, current in pairs:
        kinds = {entry.kind for entry in (was, current) if entry is not None}
        if kinds != {"directory"} and _changes(was, current):
            path = next(entry.path for entry in (was, current) if entry is not None)
            now_there = FileImage(ABSENT) if current is None else read_image(root / path)
            files[path] = (_then(was, packs), file_or_link(now_there))
    return ChangesSince(
        dict(sorted(files.items())),
        {
            was.path: (was.mode, current.mode)
            for was, current in found.modified
            if was.kind == current.kind != "link" and was.mode != current.mode and was.path in paths
        },
        sorted(entry.path for was, entry in pairs if entry is not None and _is_new_directory(was, entry)),
        dict(
            sorted(
                (entry.path, entry.mode)
                for entry, after in pairs
                if entry and _is_new_directory(after, entry)
            )
        ),
        [diff for diff in file_diffs(root, found, packs) if diff.path.rstrip("/") in paths],
    )


def _is_ignored(path: str, now: Tree) -> bool:
    return path in now.ignored_files or path in now.ignored


def _is_new_directory(other: Entry | None, entry: Entry) -> bool:
    """Return whether a path is a directory on one side only."""
    return entry.kind == "directory" and (other is None or other.kind != "directory")


def _changes(was: Entry | None, now: Entry | None) -> bool:
    return was is None or now is None or not now.holds_same_as(was)


def _then(was: Entry | None, packs: Packs) -> FileImage:
    if was is None or was.kind == "directory":
        return FileImage(ABSENT)
    if was.kind == "link":
        return FileImage.of_link(os.fsencode(was.target))
    return image_of(was, packs)


def image_of(entry: Entry, packs: Packs) -> FileImage:
    """Return the image of a file, with its owner and attributes.

    :raises WorkspaceError: its content or metadata is damaged.
    """
    metadata = None
    if entry.metadata:
        try:
            metadata = KeptMetadata.model_validate_json(entry.metadata).metadata()
        except ValidationError as error:
            raise WorkspaceError(f"the snapshot's attributes of {entry.path} are damaged") from error
    return FileImage.of_file(packs.read(entry.hash), entry.mode, metadata)

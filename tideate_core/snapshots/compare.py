"""Comparison of a snapshot with the current files: paths, diffs, and images of both sides."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

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
    from collections.abc import Collection, Iterable, Iterator, Mapping
    from pathlib import Path

    from tideate_core.snapshots.entries import Entry
    from tideate_core.snapshots.manifest import Manifest
    from tideate_core.snapshots.packs import Packs

_LARGEST_SHOWN: Final = MIB
"""Largest text with a shown diff, in bytes."""


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


def limited_to(found: Comparison, paths: Collection[str]) -> Comparison:
    """Return the part of a comparison at or below some paths, including their deleted parent directories."""
    below = Below(paths)
    around = {directory for was in found.deleted if was.path in below for directory in above(was.path)}
    return Comparison(
        [pair for pair in found.modified if pair[0].path in below],
        [was for was in found.deleted if was.path in below or was.path in around],
        [now for now in found.added if now.path in below],
        {path: why for path, why in found.left.items() if path in below},
    )


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
    pairs: dict[str, tuple[Entry | None, Entry | None]] = {
        **{entry.path: (None, entry) for entry in found.added},
        **{entry.path: (entry, None) for entry in found.deleted},
        **{entry.path: (was, entry) for was, entry in found.modified},
    }
    since = ChangesSince()
    for path, (was, current) in sorted(pairs.items()):
        if current is not None and (path in now.ignored_files or path in now.ignored):
            continue
        before, after = was and was.kind, current and current.kind
        if after == "directory" != before:
            since.made.append(path)
        if was is not None and before == "directory" != after:
            since.removed[path] = was.mode
        if was is not None and current is not None and before == after:
            if before != "link" and was.mode != current.mode:
                since.modes[path] = (was.mode, current.mode)
            if current.holds_same_as(was):
                continue
        if {before, after} - {None, "directory"}:
            there = FileImage(ABSENT) if current is None else read_image(root / path)
            since.files[path] = (_then(was, packs), file_or_link(there))
    seen = {*since.files, *since.modes, *since.made, *since.removed}
    since.diffs.extend(diff for diff in file_diffs(root, found, packs) if diff.path.rstrip("/") in seen)
    return since


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

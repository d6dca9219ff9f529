"""Differences as people read them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tideate_core.errors import NotText, WorkspaceError
from tideate_core.snapshots.comparing import FileDiff, described
from tideate_core.snapshots.entries import above
from tideate_core.snapshots.limits import MIB
from tideate_core.workspace import Action, Document, FileChange, read_image, unified_diff

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from tideate_core.snapshots.comparing import Comparison
    from tideate_core.snapshots.entries import Entry
    from tideate_core.snapshots.packs import Packs

__all__ = ["file_diffs"]

LARGEST: Final = MIB
"""Bytes of a text whose differences are shown."""


def file_diffs(root: Path, found: Comparison, packs: Packs | None) -> list[FileDiff]:
    """Return what differs, sorted by path. Directories that have something in them are told by that.

    :param packs: where contents are; None leaves texts out.
    """
    told = [
        *(_diff(root, None, now, packs) for now in _telling(found.added)),
        *(_diff(root, was, None, packs) for was in _telling(found.deleted)),
        *(_diff(root, was, now, packs) for was, now in found.modified),
    ]
    return sorted(told, key=lambda diff: diff.path)


def _telling(entries: list[Entry]) -> Iterator[Entry]:
    filled = {directory for entry in entries for directory in above(entry.path)}
    return (entry for entry in entries if entry.kind != "directory" or entry.path not in filled)


def _diff(root: Path, was: Entry | None, now: Entry | None, packs: Packs | None) -> FileDiff:
    entry = now or was
    assert entry is not None  # noqa: S101 one of both is given
    path = entry.path + "/" if entry.kind == "directory" else entry.path
    words = [described(was, now)] if was and now else []
    if packs is not None:
        words += _content(root, was, now, packs)
    changes = "\n".join(filter(None, words))
    return FileDiff(path, "added" if was is None else "deleted" if now is None else "modified", changes)


def _content(root: Path, was: Entry | None, now: Entry | None, packs: Packs) -> Iterable[str]:
    files = [entry for entry in (was, now) if entry is not None]
    if any(entry.kind != "file" for entry in files) or len({entry.hash for entry in files}) == len(files) - 1:
        return []
    if any(entry.size > LARGEST for entry in files):
        return [f"over {LARGEST // MIB} MiB, not shown"]
    try:
        before = None if was is None else Document.decode(packs.read(was.hash)).text
        after = None if now is None else Document.decode(read_image(root / now.path).data).text
    except (NotText, WorkspaceError, OSError) as error:
        return ["binary" if isinstance(error, NotText) else f"cannot be shown: {error}"]
    if before == after:
        return ["line ends or a byte order mark differ"]
    action: Action = "create" if before is None else "delete" if after is None else "modify"
    return [unified_diff(FileChange(files[0].path, action, before, after))]

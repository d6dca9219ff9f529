"""Retention of snapshots: pins, eviction, unused contents; manifest copies in the project."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from tideate_core.errors import UnusableFile, WorkspaceError
from tideate_core.project import remove_document, write_document
from tideate_core.snapshots.manifest import (
    find_manifest,
    load_manifest,
    read_headers,
    read_parts,
    write_manifest,
)
from tideate_core.snapshots.packs import SUFFIX, Frame, Packs, PackWriter, compress_contents
from tideate_core.util.atomic_files import DRAFT_SUFFIX, fsync_directory
from tideate_core.util.regular_files import read_regular

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from tideate_core.snapshots.manifest import Header
    from tideate_core.snapshots.packs import Pack

MOST_PACKS: Final = 24
"""Above this number, packs are merged."""
FEW_PACKS: Final = 8

log = logging.getLogger(__name__)


def pin_snapshot(directory: Path, snapshot_id: str, by: str) -> None:
    """Pin a snapshot for a run. The caller holds the lock.

    :raises SnapshotNotFound: no snapshot has this id.
    :raises WorkspaceError: it is damaged.
    :raises OSError: it cannot be written.
    """
    header, rest = read_parts(find_manifest(directory, snapshot_id))
    if by not in header.pinned:
        write_manifest(directory, header.model_copy(update={"pinned": (*header.pinned, by)}), rest)


def release_pins(directory: Path, by: str) -> None:
    """Remove a run from the pins of all snapshots. The caller holds the lock.

    :raises WorkspaceError: one is damaged.
    :raises OSError: one cannot be written.
    """
    for found in read_headers(directory)[0]:
        if by in found.pinned:
            header, rest = read_parts(find_manifest(directory, found.id))
            others = tuple(one for one in header.pinned if one != by)
            write_manifest(directory, header.model_copy(update={"pinned": others}), rest)


def evict(directory: Path, keep: int, spare: str, series: str = "") -> list[str]:
    """Delete the oldest snapshots of a series; return their ids.

    A named series is thinned out instead: the older its snapshots are, the farther apart they are kept.

    :param keep: number of unpinned snapshots that stay; pinned ones always stay.
    :param spare: a snapshot that always stays.
    """
    found, _ = read_headers(directory)
    loose = [header for header in found if not header.pinned and header.series == series]
    gone: list[str] = []
    while len(loose) > keep:
        out = loose.pop(_closest(loose) if series else 0)
        if out.id != spare:
            find_manifest(directory, out.id).unlink()
            gone.append(out.id)
    return gone


def _closest(headers: list[Header]) -> int:
    """Return the index of the snapshot with the smallest gap around it, relative to its age."""
    if len(headers) < 3:
        return 0
    newest = headers[-1].timestamp

    def gap(at: int) -> float:
        around = headers[at + 1].timestamp - headers[at - 1].timestamp
        return around / max(newest - headers[at].timestamp, 1)

    return min(range(1, len(headers) - 1), key=gap)


def drop_equal(directory: Path, header: Header) -> Header:
    """Delete a new snapshot that equals the one before it in its series; return the one that stays."""
    series = [one for one in read_headers(directory)[0] if one.series == header.series]
    if len(series) < 2 or series[-2].digest != header.digest:
        return header
    find_manifest(directory, header.id).unlink()
    return series[-2]


def shrink(directory: Path, max_bytes: int, series: str) -> None:
    """Bound the bytes of the packs that only one series needs. The caller holds the lock.

    Mostly unneeded packs are rewritten first. If that is not enough, snapshots are deleted, at most all but
    the newest.

    :raises OSError: a file cannot be written or deleted.
    """
    while True:
        found, damaged = read_headers(directory)
        own = [header for header in found if header.series == series]
        if damaged or _stored(directory, found, series) <= max_bytes:
            return
        if _merge(directory, found, _half_empty):
            continue
        old = [header for header in own[:-1] if not header.pinned]
        if not old:
            return
        find_manifest(directory, old[_closest([*old, own[-1]])].id).unlink()
        remove_unneeded(directory)


def _stored(directory: Path, found: list[Header], series: str) -> int:
    """Return the bytes of the packs that only one series needs."""
    others = {pack for header in found if header.series != series for pack in header.packs}
    return sum(
        path.stat().st_size
        for path in (directory / "packs").glob(f"*{SUFFIX}")
        if path.name.removesuffix(SUFFIX) not in others
    )


def remove_unneeded(directory: Path) -> None:
    """Delete unused packs and drafts. The caller holds the lock.

    While a snapshot is unreadable, all packs stay: it could need any.

    :raises OSError: a file cannot be written or deleted.
    """
    packs = directory / "packs"
    for unfinished in (*directory.glob(f"*{DRAFT_SUFFIX}"), *packs.glob(f"*{DRAFT_SUFFIX}")):
        unfinished.unlink()
    found, damaged = read_headers(directory)
    if damaged:
        return
    _drop(packs, {name for header in found for name in header.packs})
    if sum(1 for _ in packs.glob(f"*{SUFFIX}")) > MOST_PACKS:
        _merge(directory, found, _smallest)


def _drop(packs: Path, needed: Iterable[str]) -> None:
    for path in packs.glob(f"*{SUFFIX}"):
        if path.name.removesuffix(SUFFIX) not in needed:
            path.unlink()
    fsync_directory(packs)


def _smallest(packs: Packs, needed: Mapping[str, int]) -> list[Pack]:
    return sorted(packs, key=lambda pack: needed[pack.id])[: len(needed) - FEW_PACKS]


def _half_empty(packs: Packs, needed: Mapping[str, int]) -> list[Pack]:
    return [pack for pack in packs if 2 * needed[pack.id] < sum(whole for _, _, whole in pack.frames)]


def _merge(
    directory: Path, found: list[Header], choose: Callable[[Packs, Mapping[str, int]], list[Pack]]
) -> bool:
    """Merge chosen packs without the unneeded contents; a kill can leave duplicate contents for some time.

    :param choose: takes the packs and the needed bytes of each.
    :returns: whether there were any.
    """
    packs = Packs(directory / "packs")
    try:
        live = {
            entry.hash
            for header in found
            for entry in load_manifest(find_manifest(directory, header.id)).entries.values()
            if entry.kind == "file"
        }
    except WorkspaceError:
        return False  # a damaged snapshot could need any pack
    needed = {pack.id: sum(pack.place(name).length for name in pack.hashes & live) for pack in packs}
    chosen = choose(packs, needed)
    writer = PackWriter(directory / "packs")
    try:
        for pack in chosen:
            _copy(pack, live, writer)
        made = {writer.id} if writer.close() else set()
    except BaseException:
        writer.abort()
        raise
    gone = {pack.id for pack in chosen}
    for header in found:
        if gone.intersection(header.packs):
            head, rest = read_parts(find_manifest(directory, header.id))
            names = tuple(sorted((set(head.packs) - gone) | made))
            write_manifest(directory, head.model_copy(update={"packs": names}), rest)
    _drop(directory / "packs", {pack.id for pack in packs} - gone | made)
    return bool(gone)


def _copy(pack: Pack, live: set[str], writer: PackWriter) -> None:
    """Copy the needed contents of a pack once: a whole frame, or recompress its smaller part."""
    of_frame: dict[int, list[tuple[str, int, int]]] = {}
    for name in pack.hashes:
        if name in live:
            place = pack.place(name)
            of_frame.setdefault(place.frame, []).append((name, place.offset, place.length))
    for number, blobs in sorted(of_frame.items()):
        whole = pack.frames[number][2]
        if 2 * sum(length for _, _, length in blobs) > whole:
            writer.add(Frame(pack.compressed(number), whole, tuple(blobs)))
        else:
            writer.add(compress_contents((name, pack.read(name)) for name, _, _ in blobs))
        live.difference_update(name for name, _, _ in blobs)


def write_copy(root: Path, directory: Path, snapshot_id: str) -> None:
    """Copy the manifest of a snapshot to `.tideate/snapshots/ID.json`; blocking.

    A failure is only logged.

    :param directory: of the snapshots.
    """
    try:
        write_document(root, _copy_name(snapshot_id), read_regular(find_manifest(directory, snapshot_id)))
    except (UnusableFile, OSError) as error:
        log.warning("the snapshot %s has no record in the project: %s", snapshot_id, error)


def remove_copies(root: Path, snapshot_ids: Iterable[str]) -> None:
    """Remove the copies of deleted snapshots; blocking."""
    for snapshot_id in snapshot_ids:
        remove_document(root, _copy_name(snapshot_id))


def _copy_name(snapshot_id: str) -> str:
    return f".tideate/snapshots/{snapshot_id}.json"

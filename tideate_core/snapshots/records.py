"""Records of snapshots in the project, for people and other tools; tideate itself never reads them."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from tideate_core.errors import UnusableFile
from tideate_core.project import remove_document, write_document
from tideate_core.snapshots.manifest import find

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

__all__ = ["remove_records", "write_record"]

log = logging.getLogger(__name__)


def write_record(root: Path, directory: Path, snapshot_id: str) -> None:
    """Write what a snapshot consists of to `.tideate/snapshots/ID.json`; blocking.

    Where that cannot be done the snapshot is made all the same.

    :param directory: where snapshots are kept.
    """
    if directory == _place(root):
        return
    try:
        write_document(root, _name(snapshot_id), find(directory, snapshot_id).read_bytes())
    except (UnusableFile, OSError) as error:
        log.warning("the snapshot %s has no record in the project: %s", snapshot_id, error)


def remove_records(root: Path, directory: Path, snapshot_ids: Iterable[str]) -> None:
    """Remove the records of snapshots that are not kept any more; blocking."""
    if directory == _place(root):
        return
    for snapshot_id in snapshot_ids:
        remove_document(root, _name(snapshot_id))


def _place(root: Path) -> Path:
    return root / ".tideate" / "snapshots"


def _name(snapshot_id: str) -> str:
    return f".tideate/snapshots/{snapshot_id}.json"

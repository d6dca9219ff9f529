"""Manifests are JSON for other tools; damaged ones are reported."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.snapshots.trees import manifest_of
from tideate_core.errors import SnapshotNotFound, WorkspaceError
from tideate_core.snapshots.packs import digest

if TYPE_CHECKING:
    from pathlib import Path

    from tideate_core.snapshots import SnapshotManager


async def test_the_manifest_is_json_that_other_tools_can_read(root: Path, snapshots: SnapshotManager) -> None:
    made = await snapshots.create("one")
    shape = json.loads(manifest_of(root, made).read_text())
    assert (shape["id"], shape["name"], shape["count"]) == (made, "one", 7)
    (row,) = [row for row in shape["tree"]["entries"] if row[0] == "run.sh"]
    assert row == ["run.sh", "file", 0o751, 10, digest(b"#!/bin/sh\n"), "", ""]


@pytest.mark.parametrize("wanted", ["../../etc/passwd", "", "0123456789ABCDEF", "0" * 17])
async def test_an_id_that_is_none_finds_nothing(snapshots: SnapshotManager, wanted: str) -> None:
    await snapshots.create("one")
    with pytest.raises(SnapshotNotFound):
        await snapshots.restore(wanted)


async def test_a_damaged_snapshot_is_said_deleted_and_holds_up_nothing(
    root: Path, snapshots: SnapshotManager
) -> None:
    made = await snapshots.create("one")
    text = manifest_of(root, made).read_bytes()
    manifest_of(root, made).write_bytes(text.replace(b"run.sh", b"ran.sh"))
    with pytest.raises(WorkspaceError, match=rf"is damaged .* snapshot delete {made}"):
        await snapshots.restore(made)
    manifest_of(root, made).write_bytes(text[:30])
    assert await snapshots.list() == []
    (said,) = await snapshots.damaged()
    assert made in said
    await snapshots.create("two")
    await snapshots.delete(made)
    assert await snapshots.damaged() == []

"""Differences from a snapshot, for people and for tools."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.project import project_state

if TYPE_CHECKING:
    from pathlib import Path

    from tideate_core.snapshots import FileDiff, SnapshotManager


async def one(snapshots: SnapshotManager, made: str) -> FileDiff:
    (diff,) = await snapshots.diff(made)
    return diff


async def test_each_status_is_told_by_path(root: Path, snapshots: SnapshotManager) -> None:
    made = await snapshots.create("one")
    (root / "src/one.py").write_bytes(b"a = 1\nb = 3\n")
    (root / "logo.png").unlink()
    (root / "new").mkdir()
    (root / "new/file").write_text("n\n")
    (root / "bare").mkdir()
    found = {diff.path: (diff.status, diff.changes) for diff in await snapshots.diff(made, changes=False)}
    assert found == {
        "bare/": ("added", ""),
        "logo.png": ("deleted", ""),
        "new/file": ("added", ""),
        "src/one.py": ("modified", ""),
    }


async def test_texts_are_told_line_by_line(root: Path, snapshots: SnapshotManager) -> None:
    made = await snapshots.create("one")
    (root / "src/one.py").write_bytes(b"a = 1\nb = 3\n")
    (root / "new.txt").write_text("new line\n")
    (root / "run.sh").unlink()
    added, deleted, modified = await snapshots.diff(made)
    assert "+new line" in added.changes
    assert "-#!/bin/sh" in deleted.changes
    assert "-b = 2\n+b = 3\n" in modified.changes
    assert "--- a/src/one.py\n+++ b/src/one.py\n" in modified.changes


async def test_other_changes_are_told_in_words(root: Path, snapshots: SnapshotManager) -> None:
    made = await snapshots.create("one")
    (root / "run.sh").chmod(0o600)
    for name in ("latest", "gone"):
        (root / name).unlink()
    (root / "latest").symlink_to("run.sh")
    (root / "gone").write_text("a file now")
    (root / "logo.png").write_bytes(b"\x89PNG\x00\x02")
    (root / "src/deep/dos.txt").write_bytes(b"one\ntwo\n")
    assert {diff.path: diff.changes for diff in await snapshots.diff(made)} == {
        "gone": "link → file",
        "latest": "link to src/one.py → run.sh",
        "logo.png": "binary",
        "run.sh": "mode 0751 → 0600",
        "src/deep/dos.txt": "line ends or a byte order mark differ",
    }


async def test_a_large_text_is_not_shown(root: Path, snapshots: SnapshotManager) -> None:
    (root / "large.txt").write_text("line\n" * 300_000)
    made = await snapshots.create("one")
    (root / "large.txt").write_text("other\n" * 300_000)
    assert (await one(snapshots, made)).changes == "over 1 MiB, not shown"


async def test_a_diff_stores_nothing(root: Path, snapshots: SnapshotManager) -> None:
    made = await snapshots.create("one")
    (root / "new.bin").write_bytes(bytes(1000))
    place = project_state(root) / "snapshots"
    before = sorted(path.name for path in place.rglob("*"))
    await snapshots.diff(made)
    assert sorted(path.name for path in place.rglob("*")) == before

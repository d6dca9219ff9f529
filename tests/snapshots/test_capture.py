"""Files are read at one moment, and again only if they may have changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.snapshots.trees import settled
from tideate_core.project import project_state
from tideate_core.snapshots import SnapshotManager, listing, scan
from tideate_core.snapshots.manifest import find_manifest, load_manifest, save_manifest

if TYPE_CHECKING:
    from pathlib import Path


async def test_untouched_files_are_not_read_again(
    root: Path, snapshots: SnapshotManager, opened: list[str]
) -> None:
    await settled(root, snapshots)
    opened.clear()
    (root / "run.sh").write_text("#!/bin/sh\necho changed\n")
    await snapshots.create("warm")
    assert opened == ["run.sh"]


@pytest.mark.parametrize(("later", "again"), [(0, ["run.sh"]), (1, [])])
async def test_what_was_written_in_the_moment_of_a_snapshot_is_read_again(
    root: Path, opened: list[str], monkeypatch: pytest.MonkeyPatch, later: int, again: list[str]
) -> None:
    """Size, times and inode may be equal although the content differs: the clock has ticks."""
    await settled(root, SnapshotManager(root))
    (root / "run.sh").write_bytes(b"#!/bin/fi\n")
    changed = (root / "run.sh").stat().st_ctime_ns
    monkeypatch.setattr(listing, "file_system_time", lambda *_: changed + later)
    await SnapshotManager(root).create("in the same moment, or in the next one")
    opened.clear()
    made = await SnapshotManager(root).create("after it")
    assert opened == again
    assert await SnapshotManager(root).diff(made) == []


@pytest.mark.parametrize("restored", [False, True])
async def test_a_last_snapshot_that_makes_no_sense_holds_up_nothing(
    root: Path, snapshots: SnapshotManager, *, restored: bool
) -> None:
    """Only a forged digest leads to this state."""
    first = await snapshots.create("first")
    (root / "run.sh").write_bytes(b"second\n")
    await settled(root, snapshots)
    last = await snapshots.get_latest()
    assert last is not None
    place = project_state(root) / "snapshots"
    manifest = load_manifest(find_manifest(place, last.id))
    odd = {path: entry._replace(size="much") for path, entry in manifest.entries.items()}  # type: ignore[arg-type]
    header = save_manifest(place, manifest.header, odd, {}, manifest.ignored)
    listing = place / "listing"
    listing.write_bytes(listing.read_bytes().replace(manifest.header.digest.encode(), header.digest.encode()))
    (root / "logo.png").unlink()
    snapshots = SnapshotManager(root)
    if restored:
        await snapshots.restore(first)
        assert (root / "logo.png").exists()
    else:
        made = await snapshots.get(await snapshots.create("two"))
        assert {"run.sh", "src/one.py"} <= {entry.path for entry in made.files}
        assert "logo.png" not in {entry.path for entry in made.files}


async def test_what_git_no_longer_ignores_is_taken_in_and_the_other_way_round(repository: Path) -> None:
    snapshots = SnapshotManager(repository)
    await settled(repository, snapshots)
    rules = (repository / ".gitignore").read_text()
    (repository / ".gitignore").write_text("src/\n")
    turned = await snapshots.get(await snapshots.create("turned"))
    paths = {entry.path for entry in turned.files}
    assert {"node_modules", "node_modules/left/pad.js"} <= paths
    assert not any(path == "src" or path.startswith("src/") for path in paths)
    assert "src" in turned.ignored
    (repository / ".gitignore").write_text(rules)
    back = {entry.path for entry in (await snapshots.get(await snapshots.create("back"))).files}
    assert {"src", "src/one.py", "src/deep/dos.txt"} <= back
    assert "node_modules" not in back


async def test_a_file_that_vanishes_while_it_is_looked_for_is_no_part_of_it(
    root: Path, snapshots: SnapshotManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = scan._file

    def vanishing(path: str, mode: int, size: int) -> Any:
        if path == "run.sh":
            (root / path).unlink()
        return real(path, mode, size)

    monkeypatch.setattr(scan, "_file", vanishing)
    made = await snapshots.get(await snapshots.create("one"))
    assert made.skipped == {}
    assert "run.sh" not in {entry.path for entry in made.files}

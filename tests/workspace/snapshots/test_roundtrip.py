"""Whatever a project looks like and becomes, its snapshot brings back every byte, mode and link."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from hypothesis import given, settings

from tests.workspace.snapshots.trees import TREES, Node, git, lay_out, looked_at
from tideate_core.workspace import SnapshotManager


@given(TREES, TREES)
@settings(max_examples=60)
def test_a_project_that_became_any_other_is_restored_and_that_is_undone(
    then: dict[bytes, Node], later: dict[bytes, Node]
) -> None:
    with tempfile.TemporaryDirectory() as place:
        asyncio.run(_there_and_back(Path(place) / "p", then, later))


async def _there_and_back(root: Path, then: dict[bytes, Node], later: dict[bytes, Node]) -> None:
    lay_out(root, then)
    snapshots = SnapshotManager(root)
    before = looked_at(root)
    known = await snapshots.create("then")
    assert await snapshots.diff(known) == []
    lay_out(root, later)
    after = looked_at(root)
    assert bool(await snapshots.diff(known)) == (before != after)
    restored = await snapshots.restore(known, delete_added=True)
    assert (looked_at(root), restored.left) == (before, {})
    assert await snapshots.diff(known) == []
    if restored.before is None:
        assert before == after
    else:
        await snapshots.restore(restored.before, delete_added=True)
        assert looked_at(root) == after


@given(TREES, TREES)
@settings(max_examples=30)
def test_without_deleting_all_is_restored_that_nothing_new_stands_in_the_way_of(
    then: dict[bytes, Node], later: dict[bytes, Node]
) -> None:
    with tempfile.TemporaryDirectory() as place:
        root = Path(place) / "p"
        root.mkdir()
        git(root, "init", "--quiet")
        asyncio.run(_kept(root, then, later))


async def _kept(root: Path, then: dict[bytes, Node], later: dict[bytes, Node]) -> None:
    snapshots = SnapshotManager(root)
    lay_out(root, then)
    before = looked_at(root)
    known = await snapshots.create("then")
    lay_out(root, later)
    after = looked_at(root)
    restored = await snapshots.restore(known)
    now = looked_at(root)
    left = {path.encode("utf-8", "surrogateescape") for path in restored.left}
    for path, node in before.items():
        if not any(path == one or path.startswith(one + b"/") for one in left):
            assert now[path] == node
    for path, node in after.items():
        if path not in before and node[0] != "directory" and now.get(path) != node:
            raise AssertionError(f"{path!r} was made since, and is gone")

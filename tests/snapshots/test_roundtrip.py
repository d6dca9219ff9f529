"""Snapshots of random projects restore every byte, mode and link."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from tests.harness.project import git
from tests.snapshots.trees import TREES, Node, lay_out, looked_at, over, tick
from tideate_core.snapshots import SnapshotLimits, SnapshotManager

pytestmark = pytest.mark.slow


@given(TREES, TREES)
@settings(max_examples=60)
def test_a_project_that_became_any_other_is_restored_and_that_is_reverted(
    then: dict[bytes, Node], later: dict[bytes, Node]
) -> None:
    with tempfile.TemporaryDirectory() as place:
        asyncio.run(_there_and_back(Path(place) / "p", then, later))


async def _there_and_back(root: Path, then: dict[bytes, Node], later: dict[bytes, Node]) -> None:
    lay_out(root, then)
    snapshots = SnapshotManager(root)
    before = looked_at(root)
    tick(root.parent)  # the next scan can rely on times
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
    tick(root.parent)
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


@given(st.lists(TREES, min_size=2, max_size=4), st.lists(TREES, max_size=2))
@settings(max_examples=40)
def test_each_of_several_snapshots_has_what_stood_there_then(
    trees: list[dict[bytes, Node]], again: list[dict[bytes, Node]]
) -> None:
    with tempfile.TemporaryDirectory() as place:
        asyncio.run(_one_after_the_other(Path(place) / "p", [*trees, trees[0], *again]))


async def _one_after_the_other(root: Path, trees: list[dict[bytes, Node]]) -> None:
    """Create two snapshots of each tree, merged into mostly unchanged files."""
    snapshots = SnapshotManager(root, limits=SnapshotLimits(keep=100))
    made: list[tuple[str, dict[bytes, Node]]] = []
    lay_out(root, {b"kept%d" % number: ("file", 0o644, b"k") for number in range(3)})
    for tree in trees:
        over(root, tree)
        tick(root.parent)
        looked = looked_at(root)
        made += [(await snapshots.create("one"), looked), (await snapshots.create("same"), looked)]
    for one, looked in reversed(made):
        await snapshots.restore(one, delete_added=True)
        assert looked_at(root) == looked

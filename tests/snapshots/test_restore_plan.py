"""A restore is planned path by path before the first write."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tideate_core.errors import EditConflict, OutsideRoot
from tideate_core.snapshots.compare import Comparison, Tree
from tideate_core.snapshots.entries import Entry
from tideate_core.snapshots.packs import digest
from tideate_core.snapshots.restore import plan_removal, plan_restore

if TYPE_CHECKING:
    from pathlib import Path


def file(path: str, data: bytes = b"") -> Entry:
    return Entry(path, "file", 0o644, len(data), digest(data), "")


def directory(path: str) -> Entry:
    return Entry(path, "directory", 0o755, 0, "", "")


def tree(*entries: Entry, ignored: tuple[str, ...] = (), ignored_files: tuple[str, ...] = ()) -> Tree:
    named = {entry.path: entry for entry in entries}
    return Tree(named, {}, frozenset(ignored), frozenset(ignored_files))


def test_what_was_made_since_stays_unless_it_is_to_be_deleted() -> None:
    found = Comparison(added=[directory("new"), file("new/a")])
    kept = plan_restore(found, tree(*found.added), delete_added=False)
    assert (kept.added, kept.deleted) == (["new/a", "new/"], [])
    assert not kept
    gone = plan_restore(found, tree(*found.added), delete_added=True)
    assert [entry.path for entry in gone.deleted] == ["new/a", "new"]


def test_what_git_ignores_is_never_deleted_nor_is_its_directory() -> None:
    added = [directory("logs"), file("logs/a.log"), file("logs/b.txt")]
    plan = plan_restore(
        Comparison(added=added), tree(*added, ignored_files=("logs/a.log",)), delete_added=True
    )
    assert [entry.path for entry in plan.deleted] == ["logs/b.txt"]
    assert plan.left == {"logs/a.log": "git ignores it, so it was not deleted"}
    assert plan.added == ["logs/"]


def test_a_directory_with_new_files_keeps_the_place_of_a_file() -> None:
    new = file("place/new")
    found = Comparison(modified=[(file("place"), directory("place"))], added=[new])
    plan = plan_restore(found, tree(directory("place"), new), delete_added=False)
    assert plan.left == {"place": "a directory is there now, with files made since"}
    assert plan.written == []


def test_a_path_that_is_never_written_stops_the_whole_plan() -> None:
    with pytest.raises(OutsideRoot):
        plan_restore(Comparison(deleted=[file("../x")]), tree(), delete_added=False)


def test_only_what_will_hold_something_else_is_touched() -> None:
    was, mode_only = file("a", b"1"), file("b")
    found = Comparison(modified=[(was, file("a", b"2")), (mode_only, mode_only._replace(mode=0o600))])
    assert plan_restore(found, tree(), delete_added=False).touched == ["a"]


def test_inner_directories_go_before_outer_ones_and_a_file_that_changed_stops_it(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "c").write_bytes(b"new")
    added = [directory("a"), directory("a/b"), file("a/b/c", b"new")]
    plan = plan_restore(Comparison(added=added), tree(*added), delete_added=True)
    removal = plan_removal(tmp_path, plan)
    assert [operation.path.name for operation in removal.removed] == ["b", "a"]
    assert [operation.name for operation in removal.files] == ["a/b/c"]
    (tmp_path / "a" / "b" / "c").write_bytes(b"newer")
    with pytest.raises(EditConflict, match="changed just now"):
        plan_removal(tmp_path, plan)

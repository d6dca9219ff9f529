"""Saved buffers that a run changed: buffer and file are rolled back together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.workspace.project import (
    BY_HAND,
    LONG,
    NAME,
    WANTED,
    TextFile,
    apply_changes,
    creating,
    edit,
    moving,
    run,
    tree,
    types,
)
from tideate_core.errors import RollbackConflict, WorkspaceError
from tideate_core.workspace import Journal, Rollback, RollbackResult, Root, Workspace

if TYPE_CHECKING:
    from pathlib import Path

    from tests.harness.buffers import Buffers


TYPED = ("line 10", "mine")


@pytest.mark.parametrize("loaded", [True, False], ids=["loaded", "closed"])
async def test_a_saved_buffer_goes_back_with_its_file_byte_for_byte(
    root: Path, edited: Workspace, editor: Buffers, number: int, loaded: bool
) -> None:
    before = tree(root)
    await run(edited, number)
    await edited.save([NAME])
    if not loaded:
        del editor.buffers[number]
    assert await edited.rollback_best_effort("run") == RollbackResult([NAME], [], [])
    assert tree(root) == before
    if loaded:
        assert (editor.text(number), editor.buffers[number].modified) == (LONG, False)
    assert await edited.rollback_best_effort("run") == RollbackResult([NAME], [], [])
    assert tree(root) == before


async def test_the_plan_tells_a_change_of_an_open_file_once_as_the_buffers(
    root: Path, private: Path, edited: Workspace, editor: Buffers, number: int
) -> None:
    await run(edited, number)
    await edited.save([NAME])
    types(editor, number, *TYPED)
    plan = await Rollback(Root(root), editor, Journal(private)).plan(["run"])
    (change,) = plan.changes()
    assert (change.path, change.buffer) == (NAME, number)
    assert (change.before, change.after) == (editor.text(number), LONG.replace(*TYPED))


async def test_a_buffer_that_was_not_saved_leaves_its_file_alone(
    root: Path, edited: Workspace, editor: Buffers, number: int
) -> None:
    before = tree(root)
    types(editor, number, *TYPED)
    await run(edited, number)
    await edited.rollback("run")
    assert tree(root) == before
    assert (editor.text(number), editor.buffers[number].modified) == (LONG.replace(*TYPED), True)


@pytest.mark.parametrize("saved", [True, False])
async def test_what_is_typed_after_the_save_stays(
    edited: Workspace, editor: Buffers, number: int, unended: TextFile, saved: bool
) -> None:
    await run(edited, number)
    await edited.save([NAME])
    types(editor, number, *TYPED)
    types(editor, number, "line 20", "line 20\nmine, too")
    if saved:
        editor.saves(number)
    assert await edited.rollback_best_effort("run") == RollbackResult([], [NAME], [])
    assert editor.text(number) == BY_HAND[:-1]
    assert unended.text == BY_HAND
    assert await edited.rollback_best_effort("run") == RollbackResult([], [NAME], [])
    assert (editor.text(number), unended.text) == (BY_HAND[:-1], BY_HAND)


async def test_what_was_typed_before_the_run_and_saved_with_it_stays_saved(
    edited: Workspace, editor: Buffers, number: int, unended: TextFile
) -> None:
    types(editor, number, *TYPED)
    await run(edited, number)
    await edited.save([NAME])
    assert (await edited.rollback_best_effort("run")).left == []
    assert (editor.text(number), unended.text) == (LONG.replace(*TYPED), LONG.replace(*TYPED) + "\n")


@pytest.mark.parametrize("saved", [True, False])
async def test_what_is_typed_where_the_run_wrote_leaves_buffer_and_file(
    root: Path, edited: Workspace, editor: Buffers, number: int, saved: bool
) -> None:
    await run(edited, number)
    await edited.save([NAME])
    types(editor, number, "five", "5")
    if saved:
        editor.saves(number)
    before = tree(root)
    with pytest.raises(RollbackConflict, match=r"src/long\.py \(changed where the run wrote\)"):
        await edited.rollback("run")
    assert await edited.rollback_best_effort("run") == RollbackResult([], [], [NAME])
    assert (tree(root), editor.text(number)) == (before, WANTED.replace("five", "5"))


async def test_a_file_made_through_a_buffer_goes_when_it_was_saved(
    root: Path, edited: Workspace, editor: Buffers
) -> None:
    before = tree(root)
    number = editor.load(root / "new.py", "")
    await apply_changes(edited, creating("new.py", "a\nb"))
    assert not (root / "new.py").exists()
    await edited.save(["new.py"])
    assert (root / "new.py").exists()
    await edited.rollback_best_effort("run")
    assert (tree(root), editor.text(number)) == (before, "")


async def test_a_moved_edited_and_saved_buffer_goes_back_whole(
    root: Path, edited: Workspace, editor: Buffers, number: int, unended: TextFile
) -> None:
    before = tree(root)
    move = moving(NAME, "lib/long.py", LONG, WANTED)
    await apply_changes(edited, move)
    await edited.save(["lib/long.py"])
    assert (root / "lib/long.py").read_text() == WANTED + "\n"
    assert (await edited.rollback_best_effort("run")).left == []
    assert tree(root) == before
    assert (editor.buffers[number].path, editor.text(number)) == (str(unended.path), LONG)


@pytest.mark.parametrize("saved", [True, False])
async def test_a_file_written_on_disk_and_then_in_its_buffer_goes_back_through_both(
    root: Path, edited: Workspace, editor: Buffers, unended: TextFile, saved: bool
) -> None:
    before = tree(root)
    await run(edited)
    number = editor.load(unended.path, WANTED)
    again = WANTED.replace("line 18", "eighteen")
    await apply_changes(edited, edit(NAME, WANTED, again))
    assert editor.text(number) == again
    if saved:
        await edited.save([NAME])
    assert await edited.rollback_best_effort("run") == RollbackResult([NAME], [], [])
    assert (tree(root), editor.text(number)) == (before, LONG)


async def test_a_buffer_that_was_closed_after_it_was_typed_in_is_merged_on_disk(
    edited: Workspace, editor: Buffers, number: int, unended: TextFile
) -> None:
    await run(edited, number)
    types(editor, number, *TYPED)
    await edited.save([NAME])
    del editor.buffers[number]
    assert await edited.rollback_best_effort("run") == RollbackResult([], [NAME], [])
    assert unended.text == LONG.replace(*TYPED) + "\n"


async def test_a_buffer_that_cannot_be_saved_is_said_and_the_next_try_goes_on(
    root: Path, edited: Workspace, editor: Buffers, number: int
) -> None:
    before = tree(root)
    await run(edited, number)
    await edited.save([NAME])
    editor.unwritable.add(number)
    with pytest.raises(WorkspaceError, match=r"not saved: .*E45"):
        await edited.rollback_best_effort("run")
    editor.unwritable.clear()
    assert await edited.rollback_best_effort("run") == RollbackResult([NAME], [], [])
    assert tree(root) == before


async def test_a_file_that_got_the_runs_text_behind_an_unmodified_buffer_goes_back(
    root: Path, edited: Workspace, editor: Buffers, number: int, unended: TextFile
) -> None:
    before = tree(root)
    await run(edited, number)
    editor.types(number, LONG)
    editor.saves(number)
    unended.write(WANTED + "\n")
    assert await edited.rollback_best_effort("run") == RollbackResult([NAME], [], [])
    assert (tree(root), editor.text(number)) == (before, LONG)


async def test_a_person_who_types_while_it_is_restored_loses_nothing(
    edited: Workspace, editor: Buffers, number: int, unended: TextFile
) -> None:
    await run(edited, number)
    await edited.save([NAME])
    times = iter(range(2))

    def type_on() -> None:
        if next(times, None) is not None:
            editor.types(number, editor.text(number) + "\nmore")

    editor.before_replace = type_on
    assert await edited.rollback_best_effort("run") == RollbackResult([], [NAME], [])
    assert (editor.text(number), unended.text) == (LONG + "\nmore\nmore", LONG + "\nmore\nmore\n")

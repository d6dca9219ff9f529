"""An interrupted step can start again: its writes are rolled back first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.workspace.project import apply_changes, creating, edit, tree
from tests.workspace.test_transaction import EVERYTHING
from tideate_core.errors import EditConflict, RollbackConflict
from tideate_core.workspace import FileChange, Workspace

if TYPE_CHECKING:
    from pathlib import Path

    from tests.harness.buffers import Buffers
    from tests.workspace.killed import Killed

ONE = "src/one.py"


def change(before: str, after: str, *, buffer: int | None = None) -> FileChange:
    return FileChange(path=ONE, action="modify", before=before, after=after, buffer=buffer)


@pytest.mark.slow
async def test_an_apply_killed_at_any_moment_is_whole_once_its_step_ran_again(
    root: Path, private: Path, killed: Killed
) -> None:
    before = tree(root)
    half_done = 0
    for _ in killed.ever_later("apply as a step", step=9):
        half_done += tree(root) != before
        again = Workspace(root, private=private)
        await again.rollback_unfinished_steps("run", [])
        assert tree(root) == before
        await apply_changes(again.of_step("write"), *EVERYTHING)
        after = tree(root)
        await again.rollback("run")
        assert tree(root) == before
    assert half_done > 2
    assert tree(root) == after


@pytest.mark.slow
async def test_a_rollback_killed_at_any_moment_goes_on_where_it_stopped(
    root: Path, workspace: Workspace, killed: Killed
) -> None:
    before = tree(root)
    await apply_changes(workspace.of_step("write"), *EVERYTHING)
    for _ in killed.ever_later("roll back unfinished steps", step=13):
        await workspace.rollback_unfinished_steps("run", [])
        assert tree(root) == before
        await apply_changes(workspace.of_step("write"), *EVERYTHING)
    assert tree(root) == before


async def test_what_finished_steps_and_others_wrote_stays(root: Path, workspace: Workspace) -> None:
    await apply_changes(workspace.of_step("first"), change("a = 1\nb = 2\nc = 3", "a = 2"))
    await apply_changes(workspace, creating("new.txt", "kept"))
    await apply_changes(workspace.of_step("second"), change("a = 2", "a = 3"))
    assert await workspace.rollback_unfinished_steps("other", []) == []
    assert await workspace.rollback_unfinished_steps("run", {"first"}) == [ONE]
    assert (root / ONE).read_text() == "a = 2\n"
    assert (root / "new.txt").exists()


async def test_items_of_a_step_are_rolled_back_each_for_itself(root: Path, workspace: Workspace) -> None:
    for step in ("each[0]", "each[1]", "whole[0]", "other"):
        change_of = creating(f"{step}.txt", step)
        await apply_changes(workspace.of_step(step), change_of)
    names = await workspace.rollback_unfinished_steps("run", {"each[0]", "whole"}, only="each")
    assert names == ["each[1].txt"]
    assert await workspace.rollback_unfinished_steps("run", {"each[0]", "whole"}) == ["other.txt"]
    assert (root / "each[0].txt").exists()
    assert (root / "whole[0].txt").exists()


async def test_what_a_finished_step_wrote_over_is_left_and_still_rolled_back(
    root: Path, workspace: Workspace
) -> None:
    before = tree(root)
    both = [change("a = 1\nb = 2\nc = 3", "a = 2"), creating("new.txt", "new")]
    await apply_changes(workspace.of_step("first"), *both)
    await apply_changes(workspace.of_step("second"), change("a = 2", "a = 3"))
    left: list[str] = []
    names = await workspace.rollback_unfinished_steps("run", {"second"}, on_left=left.append)
    assert (left, names) == ([ONE], ["new.txt"])
    assert (root / ONE).read_text() == "a = 3\n"
    await apply_changes(workspace.of_step("first"), change("a = 3", "a = 4"))
    await workspace.rollback("run")
    assert tree(root) == before


async def test_what_was_rolled_back_is_no_part_of_the_run_any_more(root: Path, workspace: Workspace) -> None:
    """Otherwise a later rollback would treat the user's changes as conflicts."""
    await apply_changes(workspace.of_step("write"), change("a = 1\nb = 2\nc = 3", "a = 2"))
    await workspace.rollback_unfinished_steps("run", [])
    (root / ONE).write_text("the person's\n")
    await apply_changes(workspace.of_step("write"), change("the person's", "ours"))
    assert await workspace.rollback("run") == [ONE]
    assert (root / ONE).read_text() == "the person's\n"


async def test_what_the_person_changed_since_is_not_touched_and_told(
    root: Path, workspace: Workspace
) -> None:
    wanted = [change("a = 1\nb = 2\nc = 3", "a = 2"), creating("new.txt", "new")]
    await apply_changes(workspace.of_step("write"), *wanted)
    (root / ONE).write_text("the person's\n")
    with pytest.raises(RollbackConflict, match=r"unfinished step write .*src/one\.py.*tideate cancel run"):
        await workspace.rollback_unfinished_steps("run", [])
    assert (root / ONE).read_text() == "the person's\n"
    assert (root / "new.txt").exists()


async def test_a_buffer_of_an_editor_that_lives_is_rolled_back(
    root: Path, edited: Workspace, editor: Buffers
) -> None:
    number = editor.load(root / ONE, "a = 1")
    await apply_changes(edited.of_step("write"), change("a = 1", "a = 2", buffer=number))
    await edited.rollback_unfinished_steps("run", [])
    assert editor.text(number) == "a = 1"


async def test_another_buffer_without_a_name_is_left_alone(edited: Workspace, editor: Buffers) -> None:
    """A restarted editor may give the number to another buffer."""
    number = editor.load(None, "old")
    unnamed = FileChange("", "modify", "old", "new", buffer=number)
    await apply_changes(edited.of_step("write"), unnamed)
    editor.types(number, "what the person writes now")
    assert await edited.rollback_unfinished_steps("run", []) == []
    assert editor.text(number) == "what the person writes now"


async def test_a_buffer_is_found_again_by_its_path(root: Path, edited: Workspace, editor: Buffers) -> None:
    editor.load(None, "")
    number = editor.load(root / ONE, "anything")
    assert await edited.find_again(str(root / ONE), 1, "a = 1") == (number, 1)
    assert await edited.find_again(str(root / "other.py"), number, "") is None


async def test_a_buffer_without_a_name_is_found_again_by_its_text(edited: Workspace, editor: Buffers) -> None:
    number = editor.load(None, "a draft")
    assert await edited.find_again("", number, "a draft") == (number, 1)
    assert await edited.find_again("", number, "another draft") is None
    assert await edited.find_again("", None, "a draft") is None


async def test_an_edit_of_a_nameless_buffer_that_is_gone_says_so(workspace: Workspace) -> None:
    with pytest.raises(EditConflict, match="the unnamed buffer"):
        await apply_changes(workspace, edit("", "a", "b"))

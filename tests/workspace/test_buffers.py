"""Editor buffers: written instead of files, rebased, rolled back."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests.workspace.project import TextFile, apply_changes, creating, deleting, edit, moving, tree
from tests.workspace.test_transaction import ONE
from tideate_core.errors import EditConflict, FrontEndGone, NotText, RollbackConflict, WorkspaceError
from tideate_core.workspace import FileChange, Workspace

if TYPE_CHECKING:
    from pathlib import Path

    from tests.harness.buffers import Buffers

WANTED = "a = 1\nb = 20\nc = 3"
LATE_FAILURE = creating("late/x", "x")


@pytest.fixture
def one(root: Path, editor: Buffers) -> TextFile:
    """File that is open in the editor's first buffer."""
    file = TextFile(root / "src/one.py")
    editor.load(file.path, ONE)
    return file


def change(number: int | None = 1) -> FileChange:
    return FileChange("src/one.py", "modify", ONE, WANTED, buffer=number, tick=None if number is None else 1)


@pytest.mark.parametrize("number", [1, None], ids=["known", "opened since"])
async def test_a_loaded_file_is_changed_in_its_buffer_only(
    root: Path, one: TextFile, edited: Workspace, editor: Buffers, number: int | None
) -> None:
    before = tree(root)
    applied = await apply_changes(edited, change(number))
    assert editor.text(1) == WANTED
    assert applied.paths == ("src/one.py",)
    assert applied.rebased == ()
    assert tree(root) == before


async def test_what_is_typed_elsewhere_at_any_time_stays(
    one: TextFile, edited: Workspace, editor: Buffers
) -> None:
    editor.types(1, "typed\n" + ONE)
    times = iter(range(3))

    def type_more() -> None:
        if next(times, None) is not None:
            editor.types(1, editor.text(1) + "\nmore")

    editor.before_replace = type_more
    applied = await apply_changes(edited, change())
    assert editor.text(1) == f"typed\n{WANTED}\nmore\nmore\nmore"
    assert applied.rebased == ("src/one.py",)
    assert await edited.rollback("run") == ["src/one.py"]
    assert editor.text(1) == f"typed\n{ONE}\nmore\nmore\nmore"


async def test_what_is_typed_where_the_edit_goes_stops_everything(
    root: Path, one: TextFile, private: Path, edited: Workspace, editor: Buffers
) -> None:
    before = tree(root)
    editor.before_replace = lambda: editor.types(1, "a = 1\nb = 99\nc = 3")
    with pytest.raises(EditConflict, match=r"src/one.py was changed where the edit goes") as refused:
        await apply_changes(edited, creating("new", "x"), change())
    assert (refused.value.path, refused.value.line) == ("src/one.py", 2)
    assert editor.text(1) == "a = 1\nb = 99\nc = 3"
    assert tree(root) == before
    assert "journal/run/0001" not in tree(private)


async def test_a_buffer_that_never_rests_is_given_up(
    one: TextFile, edited: Workspace, editor: Buffers
) -> None:
    editor.before_replace = lambda: editor.types(1, editor.text(1) + "!")
    with pytest.raises(EditConflict):
        await apply_changes(edited, change())
    assert "b = 2\n" in editor.text(1)


async def test_a_closed_buffer_stops_everything(edited: Workspace) -> None:
    with pytest.raises(EditConflict, match="was closed"):
        await apply_changes(edited, change(7))


async def test_one_buffer_in_two_changes_is_refused(
    one: TextFile, edited: Workspace, editor: Buffers
) -> None:
    with pytest.raises(WorkspaceError, match="named by two changes"):
        await apply_changes(edited, change(), change(None))
    assert editor.text(1) == ONE


async def test_an_error_on_disk_puts_the_buffers_back_and_keeps_what_was_typed(
    root: Path, one: TextFile, edited: Workspace, editor: Buffers
) -> None:
    before = tree(root)
    editor.before_disk_check = lambda: (_ for _ in ()).throw(FrontEndGone("gone"))
    replaced = 0

    def type_after_the_edit() -> None:
        nonlocal replaced
        replaced += 1
        (root / "late").write_text("a file is in the way by now")
        if replaced == 2:
            editor.types(1, "typed\n" + editor.text(1))

    editor.before_replace = type_after_the_edit
    with pytest.raises(WorkspaceError, match=r"late/x cannot be written"):
        await apply_changes(edited, change(), LATE_FAILURE)
    (root / "late").unlink()
    assert editor.text(1) == f"typed\n{ONE}"
    assert tree(root) == before


async def test_a_file_with_unsaved_changes_is_not_deleted(
    root: Path, edited: Workspace, editor: Buffers
) -> None:
    editor.load(root / "src/one.py", ONE, modified=True)
    with pytest.raises(EditConflict, match="unsaved"):
        await apply_changes(edited, deleting("src/one.py", ONE))
    assert (root / "src/one.py").exists()


async def test_a_moved_file_takes_its_buffer_with_what_is_unsaved_in_it(
    root: Path, edited: Workspace, editor: Buffers
) -> None:
    before = tree(root)
    old, new = root / "src/one.py", root / "lib/two.py"
    editor.load(old, "typed\n" + ONE, modified=True)
    move = moving("src/one.py", "lib/two.py", ONE, WANTED)
    await apply_changes(edited, move)
    assert editor.buffers[1].path == str(new)
    assert editor.text(1) == f"typed\n{WANTED}"
    assert new.read_text() == ONE + "\n"
    await edited.rollback("run")
    assert editor.buffers[1].path == str(old)
    assert editor.text(1) == f"typed\n{ONE}"
    assert tree(root) == before


async def test_the_editor_is_told_which_files_to_look_at(
    root: Path, edited: Workspace, editor: Buffers
) -> None:
    await apply_changes(edited, deleting("logo.png"))
    assert editor.disk_checks == [root / "logo.png"]
    await edited.rollback("run")
    assert editor.disk_checks == [root / "logo.png"] * 2


async def test_buffers_without_a_name_and_outside_the_project_can_be_changed(
    tmp_path: Path, edited: Workspace, editor: Buffers
) -> None:
    editor.load(None, "a\nb")
    editor.load(tmp_path / "elsewhere.txt", "x")
    changes = [
        FileChange("", "modify", "a\nb", "a\nc", buffer=1, tick=1),
        FileChange(str(tmp_path / "elsewhere.txt"), "modify", "x", "y", buffer=2, tick=1),
    ]
    await apply_changes(edited, *changes)
    assert (editor.text(1), editor.text(2)) == ("a\nc", "y")
    await edited.rollback("run")
    assert (editor.text(1), editor.text(2)) == ("a\nb", "x")


async def test_unsaved_changes_of_a_file_that_was_written_on_disk_stay_in_its_buffer_and_are_saved(
    root: Path, edited: Workspace, editor: Buffers
) -> None:
    """Otherwise the next `:write` would restore the run's text in the file."""
    await apply_changes(edited, change(None))
    editor.load(root / "src/one.py", WANTED + "\nd = 4", modified=True)
    assert await edited.rollback("run") == ["src/one.py"]
    assert editor.text(1) == ONE + "\nd = 4"
    assert (root / "src/one.py").read_text() == ONE + "\nd = 4\n"


async def test_unsaved_changes_where_the_run_wrote_on_disk_stop_the_rollback(
    root: Path, edited: Workspace, editor: Buffers
) -> None:
    await apply_changes(edited, change(None))
    editor.load(root / "src/one.py", "mine", modified=True)
    with pytest.raises(RollbackConflict, match=r"src/one.py \(changed where the run wrote\)$"):
        await edited.rollback("run")
    assert (editor.text(1), (root / "src/one.py").read_text()) == ("mine", WANTED + "\n")


@pytest.mark.parametrize("saved", [True, False])
async def test_a_closed_buffer_is_rolled_back_on_disk_if_it_was_saved(
    root: Path, one: TextFile, private: Path, edited: Workspace, editor: Buffers, saved: bool
) -> None:
    before = tree(root)
    await apply_changes(edited, change())
    if saved:
        one.write(WANTED + "\n")
    restored = await Workspace(root, private=private).rollback("run")
    assert restored == (["src/one.py"] if saved else [])
    assert tree(root) == before


async def test_revert_keeps_what_was_typed_elsewhere_and_skips_a_deleted_buffer(
    root: Path, one: TextFile, edited: Workspace, editor: Buffers
) -> None:
    editor.load(root / "run.sh", "echo")
    other = FileChange("run.sh", "modify", "echo", "echo bye", buffer=2, tick=1)
    applied = await apply_changes(edited, change(), other)
    editor.types(1, f"{WANTED}\ntyped")
    del editor.buffers[2]
    await edited.revert(applied)
    assert editor.text(1) == f"{ONE}\ntyped"


async def test_text_that_a_files_encoding_lacks_is_refused_with_the_character_and_the_encoding(
    one: TextFile, edited: Workspace, editor: Buffers
) -> None:
    editor.lacking[1] = "€я"
    wanted = FileChange("src/one.py", "modify", ONE, "a = '€'\nb = 'é'\nc = 'я'", buffer=1, tick=1)
    for refuse in (edited.stage([wanted]), edited.refuse_unwritable(wanted)):
        with pytest.raises(EditConflict, match=r"latin1 lacks '€' \(U\+20AC\), 'я' \(U\+044F\); nothing"):
            await refuse
    assert editor.text(1) == ONE


async def test_text_that_stands_in_a_buffer_already_is_no_reason_to_refuse(
    one: TextFile, edited: Workspace, editor: Buffers
) -> None:
    editor.types(1, f"€\n{ONE}")
    editor.lacking[1] = "€"
    await apply_changes(
        edited, FileChange("src/one.py", "modify", f"€\n{ONE}", f"€ 2\n{ONE}", buffer=1, tick=2)
    )
    assert editor.text(1) == f"€ 2\n{ONE}"


async def test_half_a_character_is_refused_for_a_file_that_is_not_open(workspace: Workspace) -> None:
    with pytest.raises(NotText, match="half a character"):
        await workspace.refuse_unwritable(edit("src/one.py", ONE, "a = '\ud83d'"))


async def test_a_file_that_is_gone_behind_its_buffer_is_refused(
    one: TextFile, edited: Workspace, editor: Buffers
) -> None:
    one.path.unlink()
    editor.buffers[1] = replace(editor.buffers[1], gone=True)
    with pytest.raises(EditConflict, match=r"src/one\.py does not exist any more; nothing was written"):
        await edited.stage([change()])


async def test_a_folder_that_became_a_link_out_of_the_project_is_named_as_not_saved(
    root: Path, one: TextFile, edited: Workspace, editor: Buffers, tmp_path: Path
) -> None:
    await apply_changes(edited, change())
    (root / "src").rename(tmp_path / "elsewhere")
    (root / "src").symlink_to(tmp_path / "elsewhere")
    done = await edited.save(["src/one.py"])
    assert done.saved == ()
    assert done.unsaved == {"src/one.py": "a link leads out of the project there"}
    assert (tmp_path / "elsewhere/one.py").read_text() == f"{ONE}\n"


async def test_a_buffer_that_was_renamed_meanwhile_takes_no_edit_of_its_old_file(
    root: Path, one: TextFile, edited: Workspace, editor: Buffers
) -> None:
    editor.buffers[1] = replace(editor.buffers[1], path=str(root / "src/other.py"))
    wanted = change()
    await apply_changes(edited, wanted)
    assert editor.text(1) == ONE
    assert one.text == f"{wanted.after}\n"

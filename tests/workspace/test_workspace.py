"""Reading files and buffers, and saving."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.workspace.project import LONG, NAME, WANTED, creating, deleting, edit, run, types
from tideate_core.errors import EditConflict, NotText, OutsideRoot, WorkspaceError
from tideate_core.workspace import FileChange, SavedFiles, Workspace

if TYPE_CHECKING:
    from pathlib import Path

    from tests.harness.buffers import Buffers
from tests.workspace.project import TextFile


@pytest.mark.parametrize(
    ("path", "error", "message"),
    [
        ("missing.py", WorkspaceError, "missing.py does not exist"),
        ("src", WorkspaceError, "src is not a regular file"),
        ("src/one.py/x", WorkspaceError, "cannot be read"),
        ("logo.png", NotText, "logo.png is binary"),
        ("x" * 300, WorkspaceError, "too long for a path"),
    ],
)
async def test_what_cannot_be_read_is_said_by_name(
    workspace: Workspace, path: str, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        await workspace.read(path)


async def test_a_file_over_the_limit_is_not_read(root: Path, private: Path) -> None:
    (root / "big.txt").write_bytes(b"x" * 3000)
    with pytest.raises(WorkspaceError, match=r"big.txt has 2 KiB"):
        await Workspace(root, private=private, max_bytes=2048).read("big.txt")


async def test_an_unsaved_buffer_is_read_instead_of_its_file(
    root: Path, edited: Workspace, editor: Buffers
) -> None:
    number = editor.load(root / "src/one.py", "typed", modified=True)
    source = await edited.read("src/one.py")
    assert (source.text, source.buffer, source.tick, source.modified) == ("typed", number, 1, True)


async def test_only_the_named_buffers_that_have_changes_are_saved(
    root: Path, edited: Workspace, editor: Buffers, number: int, unended: TextFile
) -> None:
    other = editor.load(root / "run.sh", "typed", modified=True)
    editor.load(root / "src/one.py", "not this one", modified=False)
    await run(edited, number)
    assert await edited.unsaved_files() == ["run.sh", NAME]
    assert await edited.save([NAME, "src/one.py", "nowhere.txt"]) == SavedFiles((NAME,))
    assert unended.text == WANTED + "\n"
    assert (editor.buffers[other].modified, await edited.unsaved_files()) == (True, ["run.sh"])


async def test_what_only_a_run_left_unsaved_is_told_from_what_a_person_did(
    edited: Workspace, editor: Buffers, number: int, unended: TextFile
) -> None:
    assert await edited.unsaved_of("run") == {}
    await run(edited, number)
    assert await edited.unsaved_of("run") == {NAME: True}
    assert await edited.unsaved_of("another") == {}
    types(editor, number, "five", "5")
    assert await edited.unsaved_of("run") == {NAME: False}
    types(editor, number, "5", "five")
    unended.write("written by somebody else")
    assert await edited.unsaved_of("run") == {NAME: False}
    unended.write(LONG)
    await edited.save([NAME])
    assert await edited.unsaved_of("run") == {}


async def test_a_buffer_that_had_unsaved_changes_before_a_run_has_others_than_the_runs(
    edited: Workspace, number: int, unended: TextFile
) -> None:
    unended.write(LONG.replace("line 10", "saved"))
    await run(edited, number)
    assert await edited.unsaved_of("run") == {NAME: False}


async def test_without_an_editor_nothing_is_unsaved(workspace: Workspace) -> None:
    assert await workspace.save(["src/one.py"]) == SavedFiles()
    assert await workspace.unsaved_files() == []


async def test_what_cannot_be_saved_is_said(edited: Workspace, editor: Buffers, number: int) -> None:
    await run(edited, number)
    editor.unwritable.add(number)
    done = await edited.save([NAME])
    assert done.saved == ()
    assert done.unsaved_words.startswith(f"1 file is changed in its buffer and not saved: {NAME} (E45")
    outside = await edited.save(["../other"])
    assert list(outside.unsaved.values()) == ["a link leads out of the project there"]


async def test_changes_get_the_buffers_that_have_their_files(
    edited: Workspace, workspace: Workspace, editor: Buffers, number: int
) -> None:
    changes = [
        edit(NAME, LONG, WANTED),
        deleting("run.sh", "x"),
        creating(NAME, "x"),
        FileChange("", "modify", "a", "b", buffer=9),
    ]
    assert [change.buffer for change in await edited.attach(changes)] == [number, None, None, 9]
    assert (await edited.attach(changes))[0].tick == editor.buffers[number].tick
    assert await workspace.attach(changes) == changes


async def test_changes_are_staged_without_writing_and_shown_as_one_patch_set(
    workspace: Workspace, root: Path
) -> None:
    old = (await workspace.read("src/one.py")).text
    same = edit("src/one.py", old, old)
    new = creating("src/new.py", "value = 1\n")
    changed = edit("src/one.py", old, f"{old}\nmore = 2")
    assert await workspace.stage([same, new]) == [new]
    assert not (root / "src/new.py").exists()
    patch = workspace.diff([new, changed])
    assert "+++ b/src/new.py" in patch
    assert "+more = 2\n" in patch


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (creating("../out.py", "x\n"), OutsideRoot),
        (creating(".git/config", "x\n"), OutsideRoot),
        (edit("src/one.py", "what it never was", "x"), EditConflict),
        (creating("src/one.py", "x"), WorkspaceError),
    ],
)
async def test_what_could_not_be_written_is_refused_when_it_is_staged(
    workspace: Workspace, change: FileChange, error: type[Exception]
) -> None:
    with pytest.raises(error):
        await workspace.stage([change])

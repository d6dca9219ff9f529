"""Edits of a file that the user changed on disk after it was read."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from tests.workspace.project import (
    BY_HAND,
    LONG,
    NAME,
    WANTED,
    TextFile,
    apply_changes,
    change_by_hand,
    creating,
    deleting,
    edit,
    moving,
    tree,
)
from tideate_core.errors import EditConflict
from tideate_core.workspace import RollbackResult, Workspace, transaction

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tideate_core.workspace.staging import FileOperation

BOTH = BY_HAND.replace("line 5", "five").replace("line 15\n", "")


async def test_what_was_saved_elsewhere_before_the_write_stays_and_is_told(
    workspace: Workspace, long: TextFile
) -> None:
    change_by_hand(long)
    applied = await apply_changes(workspace, edit(NAME, LONG, WANTED))
    assert (long.text, applied.rebased, applied.paths) == (BOTH, (NAME,), (NAME,))
    assert await workspace.rollback_best_effort("run") == RollbackResult([NAME], [], [])
    assert long.text == BY_HAND


async def test_a_files_own_style_is_kept(root: Path, workspace: Workspace) -> None:
    dos = TextFile(root / "dos.txt")
    dos.write("\ufeff" + LONG.replace("\n", "\r\n").replace("line 20", "mine"))
    await apply_changes(workspace, edit("dos.txt", LONG, WANTED))
    assert dos.text == "\ufeff" + WANTED.replace("\n", "\r\n").replace("line 20", "mine")


async def test_what_was_saved_in_the_last_moment_stays_too(
    root: Path, private: Path, workspace: Workspace, long: TextFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, times = transaction._write_files, iter(range(2))

    def saved_meanwhile(operations: Sequence[FileOperation], begun: set[Path]) -> None:
        if (number := next(times, None)) is not None:
            long.change("line 10" if number == 0 else "line 20", f"mine {number}")
        real(operations, begun)

    monkeypatch.setattr(transaction, "_write_files", saved_meanwhile)
    changes = [creating("new.txt", "x"), edit(NAME, LONG, WANTED)]
    applied = await apply_changes(workspace, *changes)
    assert long.text == WANTED.replace("line 10", "mine 0").replace("line 20", "mine 1") + "\n"
    assert (applied.rebased, (root / "new.txt").read_text()) == ((NAME,), "x\n")
    assert sum(name.endswith("manifest.json") for name in tree(private)) == 1


async def test_a_file_that_never_rests_is_given_up_and_all_is_reverted(
    root: Path, workspace: Workspace, long: TextFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = transaction._write_files

    def saved_again(operations: Sequence[FileOperation], begun: set[Path]) -> None:
        long.write(long.text + "more\n")
        real(operations, begun)

    monkeypatch.setattr(transaction, "_write_files", saved_again)
    changes = [creating("new.txt", "x"), edit(NAME, LONG, WANTED)]
    with pytest.raises(EditConflict, match="changed on disk meanwhile; nothing was written"):
        await apply_changes(workspace, *changes)
    assert set(long.text.removeprefix(LONG).split()) == {"more"}
    assert not (root / "new.txt").exists()


async def test_what_was_saved_where_the_edit_goes_stops_everything(
    root: Path, workspace: Workspace, long: TextFile
) -> None:
    long.change("line 5", "mine")
    before = tree(root)
    changes = [creating("new.txt", "x"), edit(NAME, LONG, WANTED)]
    with pytest.raises(EditConflict, match=r"src/long\.py changed on disk where the edit goes") as refused:
        await apply_changes(workspace, *changes)
    assert refused.value.path == "src/long.py"
    assert refused.value.line == LONG.split("\n").index("line 5") + 1
    assert tree(root) == before


@pytest.mark.parametrize(("after", "wanted"), [(LONG, BY_HAND), (WANTED, BOTH)], ids=["as it is", "edited"])
async def test_a_file_that_was_changed_elsewhere_is_moved_with_that(
    root: Path, workspace: Workspace, long: TextFile, after: str, wanted: str
) -> None:
    change_by_hand(long)
    before = tree(root)
    move = moving(NAME, "lib/long.py", LONG, after)
    await apply_changes(workspace, move)
    assert TextFile(root / "lib/long.py").text == wanted
    assert (await workspace.rollback_best_effort("run")).left == []
    assert tree(root) == before


async def test_a_file_that_was_changed_is_not_deleted(workspace: Workspace, long: TextFile) -> None:
    change_by_hand(long)
    with pytest.raises(EditConflict, match="changed on disk"):
        await apply_changes(workspace, deleting(NAME, LONG))
    assert long.text == BY_HAND


async def test_of_two_runs_that_write_at_once_none_loses_its_edit(
    workspace: Workspace, long: TextFile
) -> None:
    wanted = [LONG.replace(f"line {number}\n", f"run {number}\n") for number in (1, 4, 7, 10, 13)]
    await asyncio.gather(
        *(
            workspace.apply([edit(NAME, LONG, text)], execution_id=f"run{number}")
            for number, text in enumerate(wanted)
        )
    )
    assert [line for line in long.text.split("\n") if line.startswith("run")] == [
        f"run {number}" for number in (1, 4, 7, 10, 13)
    ]

"""File transactions: all or nothing."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.harness.modes import new_mode
from tests.workspace.project import apply_changes, creating, deleting, edit, moving, tree
from tideate_core.errors import ConfigError, EditConflict, OutsideRoot, RollbackConflict, WorkspaceError
from tideate_core.project import project_state
from tideate_core.workspace import (
    ABSENT,
    FileChange,
    FileImage,
    OutsideChanges,
    Workspace,
    file_images,
    read_image,
    transaction,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.harness.buffers import Buffers
    from tideate_core.workspace.staging import FileOperation


ONE = "a = 1\nb = 2\nc = 3"
GOOD = edit("src/one.py", ONE, "a = 1\nb = 20\nc = 3")
EVERYTHING = (
    GOOD,
    creating("deep/er/new.py", "x = 1\ny = 2"),
    deleting("logo.png"),
    moving("run.sh", "bin/run", "#!/bin/sh\necho hello", "#!/bin/sh\necho bye"),
)


async def test_one_apply_creates_modifies_deletes_and_moves(root: Path, workspace: Workspace) -> None:
    applied = await apply_changes(workspace, *EVERYTHING)
    assert applied.paths == ("src/one.py", "deep/er/new.py", "logo.png", "bin/run")
    found = {name: content for name, (kind, _, content) in tree(root).items() if kind == "file"}
    assert found == {
        "src/one.py": b"a = 1\nb = 20\nc = 3\n",
        "src/dos.txt": b"\xef\xbb\xbfone\r\ntwo\r\nthree",
        "deep/er/new.py": b"x = 1\ny = 2\n",
        "bin/run": b"#!/bin/sh\necho bye\n",
    }


async def test_a_files_mode_is_kept_and_a_new_one_gets_the_usual(root: Path, workspace: Workspace) -> None:
    (root / "usual").write_text("")
    await apply_changes(workspace, *EVERYTHING)
    assert tree(root)["bin/run"][1] == 0o751
    assert tree(root)["deep/er/new.py"][1] == tree(root)["usual"][1]


async def test_a_link_inside_the_project_stays_and_its_file_is_written(
    root: Path, workspace: Workspace
) -> None:
    (root / "alias.py").symlink_to("src/one.py")
    change = edit("alias.py", ONE, "z = 1")
    await apply_changes(workspace, change)
    assert (root / "alias.py").is_symlink()
    assert (root / "src/one.py").read_text() == "z = 1\n"


async def test_deleting_a_link_leaves_what_it_points_to(root: Path, workspace: Workspace) -> None:
    (root / "alias.py").symlink_to("src/one.py")
    await apply_changes(workspace, deleting("alias.py", ONE))
    assert "alias.py" not in tree(root)
    assert (root / "src/one.py").exists()


async def test_a_change_of_nothing_writes_nothing(root: Path, private: Path, workspace: Workspace) -> None:
    stat = (root / "src/one.py").stat()
    applied = await apply_changes(workspace, edit("src/one.py", ONE, ONE))
    assert applied.paths == ()
    assert (root / "src/one.py").stat() == stat
    assert tree(private) == {}


def make_directory(root: Path) -> None:
    (root / "src/one.py").unlink()
    (root / "src/one.py").mkdir()


BAD: dict[str, tuple[FileChange, Callable[[Path], object], str]] = {
    "changed since": (GOOD, lambda root: (root / "src/one.py").write_text("typed"), "changed on disk"),
    "gone": (GOOD, lambda root: (root / "src/one.py").unlink(), "does not exist any more"),
    "a directory": (GOOD, make_directory, "not a regular file"),
    "a pipe": (edit("p", "a", "b"), lambda root: os.mkfifo(root / "p"), "not a regular file"),
    "read-only": (GOOD, lambda root: (root / "src/one.py").chmod(0o444), "is read-only"),
    "binary": (edit("logo.png", "a", "b"), lambda _: None, "is binary"),
    "exists": (creating("logo.png", "x"), lambda _: None, "exists already"),
    "target exists": (
        moving("run.sh", "logo.png"),
        lambda _: None,
        "logo.png exists already",
    ),
    "a link moved": (
        moving("l", "m"),
        lambda root: (root / "l").symlink_to("run.sh"),
        "symbolic link",
    ),
    "deleted while changed": (
        deleting("src/one.py", "other"),
        lambda _: None,
        "changed on disk",
    ),
    "named twice": (creating("extra", "again"), lambda _: None, "named by two changes"),
    "unwritable text": (creating("s", "\ud800"), lambda _: None, "surrogate"),
}


@pytest.mark.parametrize(("change", "spoil", "message"), BAD.values(), ids=BAD.keys())
async def test_one_impossible_change_stops_all_before_the_first_write(
    root: Path,
    private: Path,
    workspace: Workspace,
    change: FileChange,
    spoil: Callable[[Path], object],
    message: str,
) -> None:
    spoil(root)
    before = tree(root)
    first = creating("extra", "x")
    with pytest.raises(WorkspaceError, match=message):
        await apply_changes(workspace, first, change)
    assert tree(root) == before
    assert tree(private) == {}


async def test_an_error_in_the_middle_puts_everything_back(
    root: Path, private: Path, workspace: Workspace
) -> None:
    before = tree(root)
    under_a_file = creating("deep/er/new.py/x", "x")
    with pytest.raises(WorkspaceError, match=r"new.py/x cannot be written: .*everything was rolled back"):
        await apply_changes(workspace, *EVERYTHING, under_a_file)
    assert tree(root) == before
    assert "journal/run/0001" not in tree(private)


async def test_a_file_saved_in_the_last_moment_is_not_overwritten(
    root: Path, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = transaction._write_files

    def saved_meanwhile(operations: Sequence[FileOperation], begun: set[Path]) -> None:
        (root / "src/one.py").write_text("saved")
        real(operations, begun)

    monkeypatch.setattr(transaction, "_write_files", saved_meanwhile)
    before = tree(root)
    with pytest.raises(EditConflict, match=r"src/one.py: it changed on disk"):
        await apply_changes(workspace, EVERYTHING[1], GOOD)
    assert tree(root) == before | {"src/one.py": ("file", new_mode(), b"saved")}


@pytest.mark.slow
@pytest.mark.parametrize("call", ["fsync", "fchmod", "unlink", "replace", "mkdir", "open"])
async def test_any_failing_system_call_leaves_all_or_nothing(
    root: Path, private: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    before = tree(root)
    real = getattr(os, call)
    failing = 0
    while True:
        failing += 1
        left = failing

        def sometimes(*args: object, **named: object) -> object:
            nonlocal left
            left -= 1
            if left == 0:
                raise OSError(28, "No space left on device")
            return real(*args, **named)

        workspace = Workspace(root, private=private)
        with monkeypatch.context() as patch:
            patch.setattr(os, call, sometimes)
            try:
                await apply_changes(workspace, *EVERYTHING)
            except (ConfigError, WorkspaceError) as error:
                assert "No space left" in str(error)
                failed = True
            else:
                failed = False
        if not failed:
            assert tree(root) != before
            await workspace.rollback("run")
        assert tree(root) == before
        if left > 0:
            break
    assert failing > 1


async def test_a_cancelled_write_is_reverted_before_the_cancellation_goes_on(
    root: Path, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = tree(root)
    loop = asyncio.get_running_loop()
    real = file_images.write_image
    task: asyncio.Task[object]

    def cancel_while_writing(*args: object, **named: object) -> None:
        loop.call_soon_threadsafe(task.cancel)
        real(*args, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(transaction, "write_image", cancel_while_writing)
    task = asyncio.ensure_future(apply_changes(workspace, *EVERYTHING))
    with pytest.raises(asyncio.CancelledError):
        await task
    assert tree(root) == before
    assert await workspace.rollback("run") == []


async def test_exactly_one_apply_is_reverted(root: Path, workspace: Workspace) -> None:
    await apply_changes(workspace, EVERYTHING[1])
    between = tree(root)
    applied = await apply_changes(workspace, GOOD, EVERYTHING[2], EVERYTHING[3])
    await workspace.revert(applied)
    assert tree(root) == between


async def test_revert_leaves_what_was_changed_since_and_reverts_the_rest(
    root: Path, workspace: Workspace
) -> None:
    applied = await apply_changes(workspace, *EVERYTHING)
    (root / "src/one.py").write_text("mine")
    with pytest.raises(RollbackConflict, match=r"src/one.py"):
        await workspace.revert(applied)
    assert (root / "src/one.py").read_text() == "mine"
    assert (root / "run.sh").exists()
    assert not (root / "deep").exists()


@pytest.mark.parametrize("run", ["", "../x", "a/b", ".", "-x", "x" * 200])
async def test_a_run_id_that_is_no_name_writes_nowhere(root: Path, workspace: Workspace, run: str) -> None:
    before = tree(root.parent)
    with pytest.raises(WorkspaceError, match="not the id of a run"):
        await workspace.apply([GOOD], execution_id=run)
    assert tree(root.parent) == before


async def test_the_journal_is_durable_before_the_first_write_and_each_write_after_it(
    root: Path, private: Path, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    log: list[str] = []
    fsync, put = os.fsync, file_images.write_image

    def logged_fsync(handle: int) -> None:
        fsync(handle)
        log.append(str(Path(f"/proc/self/fd/{handle}").readlink()))

    def logged_put(path: Path, *args: object, **named: object) -> None:
        log.append("write")
        put(path, *args, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "fsync", logged_fsync)
    monkeypatch.setattr(transaction, "write_image", logged_put)
    await apply_changes(workspace, GOOD)
    apply = private / "journal/run/0001"
    made = [apply / "before", apply / "manifest.json.new", apply, *list(apply.parents)[:3]]
    first = log.index("write")
    assert set(map(str, made)) <= set(log[:first])
    assert [name.startswith(f"{root}/src/.tideate-") for name in log[first + 1 :]] == [True, False]
    assert log[-1] == f"{root}/src"


async def test_without_a_journal_nothing_is_written(root: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    before = tree(root)
    with pytest.raises(WorkspaceError, match="nothing was changed"):
        await apply_changes(Workspace(root, private=tmp_path / "file"), GOOD)
    assert tree(root) == before


async def test_the_journal_is_the_persons_alone(private: Path, workspace: Workspace) -> None:
    await apply_changes(workspace, GOOD)
    assert tree(private)["journal"][1] == 0o700


async def test_by_default_the_journal_is_in_the_projects_private_directory(root: Path) -> None:
    await apply_changes(Workspace(root), GOOD)
    assert (project_state(root) / "journal/run").is_dir()
    assert await Workspace(root).rollback("run") == ["src/one.py"]


async def test_files_that_would_make_a_repository_are_not_written(root: Path, workspace: Workspace) -> None:
    names = ("b/HEAD", "b/objects/x", "b/refs/x", "b/config")
    changes = [creating(name, "x") for name in names]
    with pytest.raises(EditConflict, match="b would be a git repository"):
        await apply_changes(workspace, *changes)
    assert not (root / "b").exists()
    await apply_changes(workspace, *changes[1:])
    assert (root / "b/config").exists()


async def test_outside_changes_of_every_kind_are_rolled_back(
    root: Path, edited: Workspace, editor: Buffers
) -> None:
    (root / "empty").mkdir()
    (root / "empty").chmod(0o750)
    before, was = tree(root), read_image(root / "src/one.py")
    (root / "src/one.py").write_bytes(b"by a formatter\n")
    (root / "made").mkdir()
    (root / "made/new").write_bytes(b"\0new")
    (root / "empty").rmdir()
    (root / "run.sh").chmod(0o700)
    changes = OutsideChanges(
        files={
            "src/one.py": (was, read_image(root / "src/one.py")),
            "made/new": (FileImage(ABSENT), read_image(root / "made/new")),
        },
        modes={"run.sh": (0o751, 0o700)},
        made=["made"],
        removed={"empty": 0o750},
    )
    assert await edited.record_outside_changes(changes, execution_id="run") == ["src/one.py", "made/new"]
    assert editor.disk_checks == [root / "src/one.py", root / "made/new"]
    await edited.rollback("run")
    assert tree(root) == before


async def test_a_path_that_no_workflow_touches_is_not_counted(
    root: Path, private: Path, workspace: Workspace
) -> None:
    image = FileImage.of_file(b"x", 0o644)
    changes = OutsideChanges(files={".git/config": (FileImage(ABSENT), image)})
    with pytest.raises(OutsideRoot):
        await workspace.record_outside_changes(changes, execution_id="run")
    assert not workspace.has_journal("run")
    assert tree(private) == {}


async def test_changes_of_nothing_leave_no_journal(private: Path, workspace: Workspace) -> None:
    assert await workspace.record_outside_changes(OutsideChanges(), execution_id="run") == []
    assert tree(private) == {}


async def test_what_steps_wrote_is_told_by_step(workspace: Workspace) -> None:
    await apply_changes(workspace.of_step("one"), creating("a", "1"))
    await apply_changes(workspace.of_step("two[0]"), creating("b", "1"))
    assert await workspace.written_by("run", ["one"]) == ["a"]
    assert await workspace.written_by("run", ["one", "two"]) == ["a", "b"]
    assert await workspace.written_by("run", []) == []
    assert await workspace.written_by("other", ["one"]) == []

"""Projects that have private state: listed, moved, forgotten, and recognised when they were moved."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from tests.harness.project import git
from tideate_core.app import forget_project, list_projects, move_project, moved_from, open_store
from tideate_core.app.projects import note_use
from tideate_core.errors import ConfigError
from tideate_core.project import make_project_state, project_state
from tideate_core.snapshots import (
    GuardedCopy,
    GuardEvent,
    GuardSession,
    change_session,
    create_session,
    find_session,
    owning,
)
from tideate_core.snapshots.guard_sessions import sessions_directory

if TYPE_CHECKING:
    from pathlib import Path


def fill(root: Path, *names: str) -> Path:
    root.mkdir(exist_ok=True)
    for name in names:
        (root / name).write_text("")
    return root


def commit(root: Path, text: str = "one") -> None:
    git(root, "init", "-q")
    git(root, "commit", "-q", "--allow-empty", "-m", text)


def test_projects_are_listed_with_size_and_what_is_gone(root: Path, tmp_path: Path) -> None:
    open_store(root).close()
    (view,) = list_projects()
    assert (view.path, view.gone, view.unfinished) == (root, False, 0)
    assert view.size > 1000
    root.rename(tmp_path / "away")
    assert list_projects()[0].gone


def test_a_moved_project_is_recognised_by_its_first_commit(root: Path, tmp_path: Path) -> None:
    commit(root)
    open_store(root).close()
    new = root.rename(tmp_path / "new")
    assert [one.path for one in moved_from(new)] == [root]
    other = fill(tmp_path / "other")
    commit(other, "another")
    assert moved_from(other) == []


def test_without_git_it_is_recognised_by_its_files(root: Path, tmp_path: Path) -> None:
    fill(root, "a", "b", "c")
    open_store(root).close()
    new = root.rename(tmp_path / "new")
    assert [one.path for one in moved_from(new)] == [root]
    (new / "d").write_text("")
    assert moved_from(new) == []


def test_few_files_say_nothing(root: Path, tmp_path: Path) -> None:
    fill(root, "a", "b")
    open_store(root).close()
    assert moved_from(root.rename(tmp_path / "new")) == []


def test_a_project_that_is_still_there_was_not_moved(root: Path, tmp_path: Path) -> None:
    commit(root)
    open_store(root).close()
    git(tmp_path, "clone", "-q", str(root), "clone")
    assert moved_from(tmp_path / "clone") == []


def test_state_is_given_to_the_new_path(root: Path, tmp_path: Path) -> None:
    (root / ".git").mkdir()
    open_store(root).close()
    new = root.rename(tmp_path / "new")
    assert move_project(str(root), str(new)) == new
    assert (project_state(new) / "tideate.db").exists()
    assert [one.path for one in list_projects()] == [new]


async def test_a_guarded_session_moves_along_and_lands_at_the_new_path(root: Path, tmp_path: Path) -> None:
    (root / ".git").mkdir()
    (root / "a.txt").write_text("one\n")
    open_store(root).close()
    copy = await GuardedCopy.prepare(root)
    create_session(copy.place, GuardSession(id=copy.id, argv=("sh",), created=1))
    new = await asyncio.to_thread(root.rename, tmp_path / "new")
    move_project(str(root), str(new))
    assert find_session(new, None).id == copy.id
    moved = GuardedCopy.attach(new, copy.id)
    assert moved.project == new
    await moved.update()
    assert not await moved.difference()


def test_the_state_of_a_running_guarded_program_stays(root: Path) -> None:
    (root / ".git").mkdir()
    open_store(root).close()
    session = GuardSession(id="ab12", argv=("sh",), created=1)
    create_session(sessions_directory(root) / session.id, session)
    with owning(root, session):
        change_session(root, session.id, GuardEvent.START)
        with pytest.raises(ConfigError, match=r"guarded program sh of .* is running"):
            forget_project(str(root))
    forget_project(str(root))


def test_only_a_directory_can_get_state(root: Path, tmp_path: Path) -> None:
    make_project_state(root)
    with pytest.raises(ConfigError, match="is not a directory"):
        move_project(str(root), str(tmp_path / "nowhere"))


def test_forgetting_removes_the_state_and_no_file(root: Path) -> None:
    fill(root, "a.py")
    open_store(root).close()
    assert forget_project(str(root)) == root
    assert not project_state(root).exists()
    assert (root / "a.py").exists()
    with pytest.raises(ConfigError, match="there is no state of"):
        forget_project(str(root))


def test_what_was_noted_lately_is_not_asked_again(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(root, "a", "b", "c")
    note_use(root)
    monkeypatch.setattr("tideate_core.app.projects._identity", lambda _root: pytest.fail("asked again"))
    note_use(root)

"""Private state of projects: where it is, who may use it, moving it."""

from __future__ import annotations

import json
import os
import stat
from typing import TYPE_CHECKING

import pytest

from tideate_core.errors import ConfigError
from tideate_core.project import Trust, make_project_state, project_state, state_dir
from tideate_core.project.state import known_projects, move_project_state, note_identity

if TYPE_CHECKING:
    from pathlib import Path


def configure(home: Path, text: str) -> None:
    (home / "config/tideate").mkdir(parents=True)
    (home / "config/tideate/config.toml").write_text(text)


# the directory of all state


def test_it_follows_xdg(home: Path) -> None:
    assert state_dir() == home / "state/tideate"


@pytest.mark.parametrize("value", ["", "relative/path"])
def test_an_unusable_xdg_value_is_ignored(home: Path, monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", value)
    assert state_dir() == home / ".local/state/tideate"


def test_the_variable_comes_before_the_configuration(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    configure(home, '[state]\ndirectory = "/configured"\n')
    assert str(state_dir()) == "/configured"
    monkeypatch.setenv("TIDEATE_STATE", "~/named")
    assert state_dir() == home / "named"


def test_a_relative_directory_is_refused(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIDEATE_STATE", "here")
    with pytest.raises(ConfigError, match="TIDEATE_STATE is 'here', which is no absolute path"):
        state_dir()
    monkeypatch.delenv("TIDEATE_STATE")
    configure(home, '[state]\ndirectory = "there"\n')
    with pytest.raises(ConfigError, match=r"config\.toml: state\.directory"):
        state_dir()


def test_a_configuration_that_cannot_be_read_is_not_passed_over(home: Path) -> None:
    configure(home, "[state\n")
    with pytest.raises(ConfigError, match="not valid TOML"):
        state_dir()


# a project's


def test_it_is_outside_of_the_project_and_private(root: Path) -> None:
    directory = make_project_state(root)
    assert not directory.is_relative_to(root)
    assert directory.parent == state_dir() / "projects"
    assert directory.name.startswith("project-")
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert json.loads((directory / "project.json").read_text())["path"] == str(root)
    assert list(root.iterdir()) == []


def test_looking_for_it_makes_nothing(home: Path, root: Path) -> None:
    assert not project_state(root).exists()
    assert not (home / "state").exists()


def test_two_projects_of_one_name_are_apart(home: Path, root: Path) -> None:
    other = home / "other/project"
    other.mkdir(parents=True)
    assert project_state(other) != project_state(root)


def test_a_link_to_a_project_has_the_state_of_what_it_leads_to(home: Path, root: Path) -> None:
    (home / "link").symlink_to(root)
    assert project_state(home / "link") == project_state(root)


def test_a_name_that_is_no_utf8_has_state(home: Path) -> None:
    root = home / os.fsdecode(b"a\xffb")
    root.mkdir()
    make_project_state(root)
    assert [one.path for one in known_projects()] == [root]


def test_outside_of_a_project_it_is_the_persons() -> None:
    assert make_project_state(None) == state_dir()
    assert state_dir().is_dir()


@pytest.mark.parametrize("level", ["tideate", "tideate/projects"])
def test_a_directory_that_others_may_write_to_is_refused(home: Path, root: Path, level: str) -> None:
    make_project_state(root)
    (home / "state" / level).chmod(0o777)
    with pytest.raises(ConfigError, match="others may write to"):
        make_project_state(root)


def test_state_below_the_projects_own_directory_is_refused(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIDEATE_STATE", str(root / ".tideate/state"))
    with pytest.raises(ConfigError, match="where a clone could bring its own"):
        make_project_state(root)
    assert list(root.iterdir()) == []


def test_a_file_in_its_place_is_explained(home: Path, root: Path) -> None:
    (home / "state").write_text("")
    with pytest.raises(ConfigError, match="cannot be used for private state"):
        make_project_state(root)


# known projects


def test_known_projects_are_listed_the_last_used_first(home: Path, root: Path) -> None:
    other = home / "other"
    other.mkdir()
    make_project_state(other)
    make_project_state(root)
    note_identity(root, first_commit="abc", files=None)
    known = known_projects()
    assert {one.path for one in known} == {root, other}
    assert known[0].path == root
    assert known[0].first_commit == "abc"
    assert not known[0].is_gone
    root.rmdir()
    assert known_projects()[0].is_gone


def test_a_damaged_note_is_passed_over(root: Path) -> None:
    (make_project_state(root) / "project.json").write_text("{")
    assert known_projects() == []


def test_state_moves_to_a_new_path_without_trust(home: Path, root: Path) -> None:
    state = make_project_state(root)
    (state / "kept").write_text("x")
    Trust(root).trust(".tideate/config.toml", b"one")
    new = root.rename(home / "new")
    moved = move_project_state(root, new)
    assert moved == project_state(new)
    assert (moved / "kept").read_text() == "x"
    assert [one.path for one in known_projects()] == [new]
    assert not Trust(new).is_trusted(".tideate/config.toml", b"one")


def test_state_of_the_new_path_is_never_replaced(home: Path, root: Path) -> None:
    make_project_state(root)
    new = home / "new"
    new.mkdir()
    make_project_state(new)
    with pytest.raises(ConfigError, match="has state of its own"):
        move_project_state(root, new)


def test_what_has_no_state_cannot_be_moved(home: Path, root: Path) -> None:
    with pytest.raises(ConfigError, match="there is no state of"):
        move_project_state(home / "never", root)

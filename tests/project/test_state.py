"""Private state of projects: location, permissions, moving."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.harness.modes import UMASKS, umask, wider_than_private
from tideate_core.errors import ConfigError, OutsideRoot, StateError
from tideate_core.project import (
    Trust,
    config_dir,
    make_project_state,
    private_within,
    project_state,
    state_dir,
)
from tideate_core.project.state import (
    known_project,
    known_projects,
    move_project_state,
    note_identity,
    state_directory_name,
)
from tideate_core.workspace.paths import Root

if TYPE_CHECKING:
    from collections.abc import Callable


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
    with pytest.raises(ConfigError, match="TIDEATE_STATE is 'here', which is not an absolute path"):
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


@pytest.mark.parametrize("mask", UMASKS)
def test_it_is_private_whatever_the_umask(root: Path, mask: int) -> None:
    with umask(mask):
        make_project_state(root)
    assert wider_than_private(state_dir()) == []


@pytest.mark.parametrize("level", ["tideate", "tideate/projects", "tideate/projects/*"])
def test_what_others_may_write_to_is_taken_from_them_when_something_is_written(
    home: Path, root: Path, level: str
) -> None:
    state = make_project_state(root)
    (state / "journal").mkdir()
    (state / "journal/text").touch()
    (state / "journal/text").chmod(0o664)
    (wide,) = (home / "state").glob(level)
    wide.chmod(0o775)
    assert project_state(root) == state
    assert stat.S_IMODE(wide.stat().st_mode) == 0o775, "looking changed it"
    make_project_state(root)
    assert wider_than_private(state_dir()) == []


@pytest.mark.parametrize("level", ["tideate", "tideate/projects", "tideate/projects/*"])
@pytest.mark.parametrize("uses", [project_state, make_project_state])
def test_what_another_user_put_there_is_refused(
    home: Path,
    root: Path,
    level: str,
    uses: Callable[[Path], Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    state = make_project_state(root)
    planted = state / "journal"
    planted.mkdir()
    (wide,) = (home / "state").glob(level)
    wide.chmod(0o777)
    as_of_another(planted, monkeypatch)
    for _ in range(2):
        with pytest.raises(StateError, match=f"{planted} belongs to another user; remove what is not yours"):
            uses(root)
    assert stat.S_IMODE(wide.stat().st_mode) == 0o777
    monkeypatch.undo()
    monkeypatch.setenv("XDG_STATE_HOME", str(home / "state"))
    make_project_state(root)
    assert stat.S_IMODE(wide.stat().st_mode) == 0o700


def as_of_another(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a file look like another user's."""
    lstat = Path.lstat

    def foreign(one: Path) -> os.stat_result:
        found = lstat(one)
        fields = list(found)
        fields[stat.ST_UID] = found.st_uid + 1
        return os.stat_result(fields) if one == path else found

    monkeypatch.setattr(Path, "lstat", foreign)


def test_a_directory_of_other_programs_keeps_its_modes(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A home directory named as state directory stays usable by others."""
    (home / "public").mkdir()
    (home / "public").chmod(0o755)
    home.chmod(0o755)
    monkeypatch.setenv("TIDEATE_STATE", str(home))
    make_project_state(None)
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (home, home / "public")]
    assert modes == [0o755, 0o755]
    home.chmod(0o777)
    with pytest.raises(StateError, match="has files of other programs"):
        make_project_state(None)


@pytest.mark.parametrize(
    "place", ["{root}/.tideate/state", "{root}/st", "{root}", "{link}/.tideate/s", "{link}"]
)
def test_state_in_the_project_is_not_even_read(
    home: Path, root: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """A cloned trust store at a configured path is not trusted."""
    link = home / "link"
    link.symlink_to(root)
    named = Path(place.format(root=root, link=link))
    forged = named / "projects" / state_directory_name(root) / "trust.json"
    forged.parent.mkdir(parents=True)
    digest = hashlib.sha256(b"a = 1").hexdigest()
    forged.write_text(json.dumps({"files": {".tideate/config.toml": digest}, "allowed": {}}))
    monkeypatch.setenv("TIDEATE_STATE", str(named))
    for looks in (
        lambda: Trust(root).is_trusted(".tideate/config.toml", b"a = 1"),
        lambda: project_state(root),
    ):
        with pytest.raises(StateError, match="where a clone could bring its own"):
            looks()


def test_a_home_directory_that_is_a_project_keeps_its_state(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(root))
    monkeypatch.setenv("XDG_STATE_HOME", str(root / ".local/state"))
    made = make_project_state(root)
    assert made.is_relative_to(root / ".local/state/tideate")
    assert private_within(root)[0] == root / ".local/state/tideate"
    for private in (made / "trust.json", config_dir() / "config.toml"):
        if private.is_relative_to(root):
            with pytest.raises(OutsideRoot, match="own state"):
                Root(root).resolve(private)


@pytest.mark.parametrize("section", ["directry = 'x'", "directory = 5", "directory = 'relative'"])
def test_a_wrong_state_section_is_refused(section: str) -> None:
    path = config_dir() / "config.toml"
    path.parent.mkdir(parents=True)
    path.write_text(f"[state]\n{section}\n")
    with pytest.raises(ConfigError, match="state"):
        state_dir()


def test_a_moved_project_that_was_only_trusted_gets_its_runs_and_keeps_its_trust(
    home: Path, root: Path
) -> None:
    (make_project_state(root) / "tideate.db").write_text("runs")
    Trust(root).trust(".tideate/config.toml", b"old")
    moved = root.rename(home / "moved")
    Trust(moved).trust(".tideate/config.toml", b"new")
    state = move_project_state(root, moved)
    assert (state / "tideate.db").read_text() == "runs"
    assert Trust(moved).is_trusted(".tideate/config.toml", b"new")
    assert Trust(moved).last_trusted(".tideate/config.toml") == b"new"
    assert known_project(moved) is not None


def test_a_file_in_its_place_is_explained(home: Path, root: Path) -> None:
    (home / "state").write_text("")
    with pytest.raises(ConfigError, match="cannot be used for private state"):
        make_project_state(root)


@pytest.mark.parametrize("name", ["tideate", "tideate/projects"])
def test_another_kind_of_file_in_its_place_is_not_taken_for_no_state(
    home: Path, root: Path, name: str
) -> None:
    path = home / "state" / name
    path.parent.mkdir(parents=True)
    os.mkfifo(path)
    with pytest.raises(StateError, match=f"{path} is not a directory"):
        project_state(root)
    path.unlink()
    path.symlink_to(path)
    with pytest.raises(StateError, match=f"{path} cannot be used for private state"):
        project_state(root)


@pytest.mark.parametrize("level", ["tideate", "tideate/projects", "tideate/projects/*"])
def test_what_a_link_leads_to_is_taken_from_others(home: Path, root: Path, level: str) -> None:
    make_project_state(root)
    (link,) = (home / "state").glob(level)
    wide = link.rename(home / "elsewhere")
    link.symlink_to(wide)
    wide.chmod(0o775)
    make_project_state(root)
    assert stat.S_IMODE(wide.stat().st_mode) == 0o700


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
    (make_project_state(new) / "tideate.db").write_text("runs")
    with pytest.raises(ConfigError, match="has state of its own"):
        move_project_state(root, new)


def test_what_has_no_state_cannot_be_moved(home: Path, root: Path) -> None:
    with pytest.raises(ConfigError, match="there is no state of"):
        move_project_state(home / "never", root)

"""Where a project begins, what stays private, and what is trusted."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from tideate_core.errors import ConfigError
from tideate_core.project import Trust, config_dir, find_root, private_dir, state_dir

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_STATE_HOME", str(home / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "config"))
    return home


def make(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    return path


# the root


@pytest.mark.parametrize("marker", [".tideate/x", ".git/HEAD", "pyproject.toml", "package.json", "go.mod"])
def test_the_nearest_ancestor_with_a_marker_is_the_root(home: Path, marker: str) -> None:
    make(home / "outer/.git/HEAD")
    make(home / "outer/inner" / marker)
    file = make(home / "outer/inner/src/deep/file.py")
    assert find_root(file) == home / "outer/inner"
    assert find_root(file.parent) == home / "outer/inner"
    assert find_root(home / "outer/other.py") == home / "outer"


def test_a_git_worktree_is_a_root(home: Path) -> None:
    make(home / "tree/.git").write_text("gitdir: elsewhere\n")
    assert find_root(home / "tree/a/b") == home / "tree"


def test_a_file_that_does_not_exist_yet_has_a_root(home: Path) -> None:
    make(home / "project/Cargo.toml")
    assert find_root(home / "project/new/dir/file.rs") == home / "project"


def test_outside_of_any_project_there_is_no_root(home: Path) -> None:
    assert find_root(home / "notes/today.txt") is None


def test_a_stray_project_file_does_not_make_the_home_directory_a_project(home: Path) -> None:
    make(home / "package.json")
    assert find_root(home / "notes/today.txt") is None
    make(home / ".git/HEAD")
    assert find_root(home / "notes/today.txt") == home


def test_a_link_into_a_project_belongs_to_it(home: Path) -> None:
    make(home / "project/pyproject.toml")
    target = make(home / "project/src/a.py")
    (home / "elsewhere").mkdir()
    (home / "elsewhere/a.py").symlink_to(target)
    assert find_root(home / "elsewhere/a.py") == home / "project"


# directories


def test_directories_follow_xdg(home: Path) -> None:
    assert state_dir() == home / "state/tideate"
    assert config_dir() == home / "config/tideate"


@pytest.mark.parametrize("value", ["", "relative/path"])
def test_an_unusable_xdg_value_is_ignored(home: Path, monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", value)
    assert state_dir() == home / ".local/state/tideate"


def test_private_files_outside_of_a_project_are_in_the_state_directory() -> None:
    assert private_dir(None) == state_dir()
    assert state_dir().is_dir()


def test_git_sees_only_what_belongs_to_the_team(home: Path) -> None:
    root = home / "project"
    root.mkdir()
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    private = private_dir(root)
    team = ["config.toml", "context.json", "workflow.schema.json", "workflows/a.yaml", "agents/b.md"]
    team.append("prompts/deep/c.md")
    for name in [*team, "tideate.db", "snapshots/1/x", "journal/config.toml"]:
        make(private / name)
    listed = subprocess.run(
        ["git", "-C", str(root), "ls-files", "-o", "--exclude-standard"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert sorted(listed.stdout.split()) == sorted(f".tideate/{name}" for name in team)


def test_a_persons_gitignore_is_left_alone(home: Path) -> None:
    own = make(home / "project/.tideate/.gitignore")
    own.write_text("mine\n")
    private_dir(home / "project")
    assert own.read_text() == "mine\n"


def test_a_private_directory_that_leads_elsewhere_is_refused(home: Path) -> None:
    (home / "secret").mkdir()
    (home / "project").mkdir()
    (home / "project/.tideate").symlink_to(home / "secret")
    with pytest.raises(ConfigError, match="link out of the project"):
        private_dir(home / "project")
    assert list((home / "secret").iterdir()) == []


def test_a_file_in_the_place_of_the_private_directory_is_explained(home: Path) -> None:
    make(home / "project/.tideate")
    with pytest.raises(ConfigError, match="cannot be used"):
        private_dir(home / "project")


# trust


@pytest.fixture
def config(home: Path) -> Path:
    path = make(home / "project/.tideate/config.toml")
    path.write_bytes(b"one")
    return path


def test_nothing_is_trusted_at_first(config: Path) -> None:
    assert not Trust().is_trusted(config, b"one")


def test_trust_is_kept(config: Path) -> None:
    Trust().trust(config)
    assert Trust().is_trusted(config, b"one")
    assert Trust().paths() == [config]


def test_a_changed_content_is_not_trusted(config: Path) -> None:
    Trust().trust(config)
    assert not Trust().is_trusted(config, b"two")


def test_the_same_content_elsewhere_is_not_trusted(config: Path) -> None:
    Trust().trust(config)
    assert not Trust().is_trusted(config.with_name("other.toml"), b"one")


def test_trust_can_be_taken_back(config: Path) -> None:
    Trust().trust(config)
    assert Trust().revoke(config)
    assert not Trust().is_trusted(config, b"one")
    assert not Trust().revoke(config)


def test_a_definition_is_kept_of_one_file_until_that_is_trusted_no_longer(config: Path) -> None:
    other = config.with_name("other.yaml")
    for definition in ("one", "two"):
        Trust().keep_definition(config, definition)
    Trust().keep_definition(other, "one")
    assert all(Trust().knows_definition(config, definition) for definition in ("one", "two"))
    assert not Trust().knows_definition(other, "two")
    assert Trust().paths() == []
    assert Trust().revoke(config)
    assert not Trust().knows_definition(config, "one")
    assert Trust().knows_definition(other, "one")
    assert not Trust().revoke(config)


def test_a_definition_that_is_known_is_not_written_again(config: Path) -> None:
    Trust().keep_definition(config, "one")
    (store,) = state_dir().iterdir()
    before = store.stat().st_ino
    Trust().keep_definition(config, "one")
    assert store.stat().st_ino == before


def test_a_missing_file_cannot_be_trusted(home: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        Trust().trust(home / "absent")


@pytest.mark.parametrize("content", ["{", "[]", '{"a": 1}'])
def test_a_damaged_store_trusts_nothing_and_says_so(config: Path, content: str) -> None:
    make(state_dir() / "trust.json").write_text(content)
    with pytest.raises(ConfigError, match=r"trust\.json"):
        Trust().is_trusted(config, b"one")

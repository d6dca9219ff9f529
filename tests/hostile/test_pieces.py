"""Parts of the generator: placed attacks, coverage, checks."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from cyclopts import App

from tests.hostile.bad_commands import BY_NAME, CAUGHT
from tests.hostile.cases import Tree, assign, chosen_for_editor
from tests.hostile.malices import TARGETS, Pool, Soil, Target, hostilities, plant
from tests.hostile.place import changes, marks, remove
from tests.hostile.runner import planned_trees
from tests.hostile.shell_commands import commands, words_of_apps
from tests.hostile.started import Programs

if TYPE_CHECKING:
    from pathlib import Path

TREES = planned_trees()
LINES = [command.text for command in commands()]


@pytest.mark.slow
def test_every_command_meets_every_path_and_every_malice() -> None:
    met: dict[int, set[str]] = {command: set() for command in range(len(LINES))}
    for tree, chosen in zip(TREES, assign(TREES, LINES), strict=True):
        for command in chosen:
            met[command] |= {one.target.name for one in tree.malices} | {one.malice for one in tree.malices}
    everything = {one.target.name for tree in TREES for one in tree.malices}
    everything |= {one.malice for tree in TREES for one in tree.malices}
    assert [LINES[command] for command, marks_of in met.items() if marks_of != everything] == []


@pytest.mark.slow
def test_there_are_at_least_a_thousand_cases() -> None:
    assert sum(map(len, assign(TREES, LINES))) >= 1000


def test_each_malice_is_in_a_tree_at_each_path() -> None:
    planted = {(one.target.name, one.kind) for tree in TREES for one in tree.malices}
    assert {target.name for target in TARGETS} == {name for name, _ in planted}
    assert ("config.toml", "link to a trusted project") in planted
    assert ("snapshots/journal", "link to a directory") in planted
    assert ("mcp/filesystem/under_way", "forged:run") in planted


def test_neovim_meets_every_path_and_every_forgery() -> None:
    def met(trees: list[Tree]) -> set[str]:
        every = [one for tree in trees for one in tree.malices]
        return {one.target.name for one in every} | {one.kind for one in every}

    assert met([TREES[number] for number in chosen_for_editor(TREES)]) == met(TREES)


def test_a_new_command_is_tried_without_being_told() -> None:
    app = App(name="tideate")
    below = App(name="box")
    app.command(below)

    @below.command
    def open_it(run: str, /, *, yes: bool | None = None) -> None: ...

    assert [words for words, _ in words_of_apps(app)] == [("box", "open-it")]


def test_the_commands_of_the_shell_are_there() -> None:
    firsts = {line.split()[0] for line in LINES}
    assert {"run", "show", "resume", "rollback", "snapshot", "mcp", "trust", "doctor", "machine"} <= firsts
    assert "rollback --no" in LINES


@pytest.mark.parametrize("target", [Target("a/b.json"), Target("a", is_directory=True, suffix=".json")])
def test_what_is_planted_is_there(tmp_path: Path, target: Target) -> None:
    home, sibling, pool = (tmp_path / name for name in ("home", "sibling", "pool"))
    pool.mkdir()
    (pool / "crowd.json").mkdir()  # a smaller directory
    forged = {"a/b.json": {"x": b"{}"}}
    soil = Soil(tmp_path / ".tideate", home, sibling, forged, Pool(pool))
    seen = set()
    for hostility in hostilities(target, forged):
        remove(soil.tree)
        (soil.tree / "a").mkdir(parents=True)
        plant(hostility, soil)
        at = (soil.tree / target.name).lstat() if hostility.malice != "odd name" else None
        seen.add(stat.S_IFMT(at.st_mode) if at else hostility.malice)
        soil.pool.take_back()
    assert {stat.S_IFLNK, stat.S_IFIFO, stat.S_IFSOCK, stat.S_IFREG, stat.S_IFDIR, "odd name"} <= seen


def test_a_change_of_content_mode_time_or_name_is_seen(tmp_path: Path) -> None:
    for name in ("content", "mode", "time", "gone"):
        (tmp_path / name).write_text("x")
    (tmp_path / "link").symlink_to("a")
    before = marks(tmp_path)
    times = ((tmp_path / "content").stat().st_atime_ns, (tmp_path / "content").stat().st_mtime_ns)
    (tmp_path / "content").write_text("y")
    os.utime(tmp_path / "content", ns=times)
    (tmp_path / "mode").chmod(0o755)
    os.utime(tmp_path / "time", (1, 1))
    (tmp_path / "gone").rename(tmp_path / "new")
    (tmp_path / "link").unlink()
    (tmp_path / "link").symlink_to("b")
    assert changes(before, marks(tmp_path)) == [
        "content changed",
        "gone removed",
        "link changed",
        "mode changed",
        "new made",
        "time changed",
    ]


PYTHON = sys.executable
LOG = f"""\
11 execve("/usr/bin/env", ["env"], 0x7ffe /* 3 vars */) = -1 ENOENT (No such file or directory)
12 execve("/bin/sh", ["sh", "./evil.sh"], 0x7ffe /* 3 vars */ <unfinished ...>
13 execve("{PYTHON}", ["python", "-m", "tideate_core.cli"], 0x7ffe /* 3 vars */) = 0
12 <... execve resumed>) = 0
14 execve("{PYTHON}", ["python", "./evil.py"], 0x7ffe /* 3 vars */) = 0
15 execve("./evil.sh", ["e\\"vil"], 0x7ffe /* 3 vars */ <unfinished ...>
15 <... execve resumed>) = -1 EACCES (Permission denied)
16 execveat(AT_FDCWD, "/bin/true", ["true"], 0x7ffe /* 3 vars */, 0) = 0
"""


def test_programs_are_read_off_what_strace_says(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text(LOG)
    assert sorted(Programs(log).foreign()) == ["python ./evil.py", "sh ./evil.sh", "true"]


def test_git_may_be_started(tmp_path: Path) -> None:
    git = subprocess.run(["which", "git"], capture_output=True, text=True, check=True).stdout.strip()
    log = tmp_path / "log"
    log.write_text(f'7 execve("{git}", ["git", "status"], 0x7ffe /* 3 vars */) = 0\n')
    assert Programs(log).foreign() == []


def test_of_each_bad_command_it_is_known_what_has_to_be_told() -> None:
    assert BY_NAME.keys() == CAUGHT.keys()

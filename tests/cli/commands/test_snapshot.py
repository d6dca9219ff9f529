"""`tideate snapshot`: create, list, compare, restore and delete."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.snapshots.trees import looked_at

if TYPE_CHECKING:
    from tests.harness.shell import Shell

pytestmark = pytest.mark.slow


@pytest.fixture
def made(shell: Shell) -> str:
    """Id of a snapshot, with a changed, a deleted and a new file since."""
    shell.write("a.py", "a = 1\n")
    shell.write("b.py", "b = 1\n")
    done = shell.ok("snapshot", "create", "before it")
    assert "3 files, 0.0 MiB" in done.stderr
    shell.write("a.py", "a = 2\n")
    shell.write("new.py", "n = 1\n")
    (shell.project / "b.py").unlink()
    return done.stdout.strip()


def test_snapshots_are_listed_with_the_newest_first_and_completed(shell: Shell, made: str) -> None:
    for words in (["after\nit"], ["before", "the", "move"], []):
        shell.ok("snapshot", "create", *words)
    listed = shell.json("snapshot", "list")["snapshots"]
    names = [one["name"] for one in listed]
    assert names == ["by hand", "before the move", "after\nit", "before it"]
    assert (listed[-1]["id"], listed[-1]["files"]) == (made, 3)
    shown = shell.run("snapshot", "list").stdout
    assert shown.index(r"after\nit") < shown.index("before it")
    assert made[:8] in shown
    assert made[:8] in shell.run("__complete", "snapshot", "restore", made[:2]).stdout


def test_differences_are_listed_without_control_characters(shell: Shell, made: str) -> None:
    assert shell.run("snapshot", "diff").stdout == "M a.py\nD b.py\nA new.py\n"
    assert "-a = 1\n+a = 2\n" in shell.run("snapshot", "diff", made[:6], "--changes").stdout
    files = shell.json("snapshot", "diff")["files"]
    assert [(file["path"], file["status"]) for file in files] == [
        ("a.py", "modified"),
        ("b.py", "deleted"),
        ("new.py", "added"),
    ]
    assert "+a = 2" in files[0]["changes"]
    (shell.project / os.fsdecode(b"odd\x1b[2J\xff\nname")).write_text("x")
    assert "A odd\\x1b[2J\\xff\\nname\n" in shell.run("snapshot", "diff", made).stdout


def test_a_restore_names_the_files_and_its_own_restore(shell: Shell, made: str) -> None:
    after = looked_at(shell.project)
    done = shell.ok("snapshot", "restore", made[:8], "--yes")
    assert "restored: a.py\nrestored: b.py\nleft, made since: new.py\n" in done.stderr
    assert "2 written" not in done.stderr
    assert ": 2 written: a.py, b.py" in (shell.home / "state" / "tideate" / "shell.log").read_text()
    assert shell.read("a.py") == "a = 1\n"
    undo = done.stderr.split("before: tideate ")[1].split()
    shell.ok(*undo, "--yes")
    assert looked_at(shell.project) == after


def test_what_was_made_since_is_deleted_on_demand(shell: Shell, made: str) -> None:
    done = shell.json("snapshot", "restore", made, "--delete-added", "--yes")
    assert (done["written"], done["deleted"]) == (["a.py", "b.py"], ["new.py"])
    assert not (shell.project / "new.py").exists()
    assert "everything is as in" in shell.run("snapshot", "diff", made).stderr


@pytest.mark.parametrize("answer", [(), ("--no",)])
def test_without_a_terminal_a_restore_is_declined(shell: Shell, made: str, answer: tuple[str, ...]) -> None:
    before = looked_at(shell.project)
    done = shell.run("snapshot", "restore", made, *answer)
    assert (done.returncode, looked_at(shell.project)) == (3, before)
    assert "declined; nothing was changed" in done.stderr


def test_a_person_is_shown_what_a_restore_does_and_asked(shell: Shell, made: str) -> None:
    before = looked_at(shell.project)
    terminal = shell.open("snapshot", "restore", made)
    terminal.answer(
        "D b.py", "Files added since (A) are kept", (f"Restore snapshot {made[:8]}? [y/N]", "n"), "declined"
    )
    assert terminal.process.wait(60) == 3
    assert looked_at(shell.project) == before
    terminal = shell.open("snapshot", "restore", made)
    terminal.answer(("[y/N]", "y"), "restored: b.py")
    assert terminal.process.wait(60) == 0
    assert (shell.project / "b.py").exists()


def test_deleted_snapshots_are_gone(shell: Shell, made: str) -> None:
    other = shell.run("snapshot", "create").stdout.strip()
    shell.ok("snapshot", "delete", made[:8], other, "--yes")
    assert shell.json("snapshot", "list")["snapshots"] == []


def test_a_damaged_snapshot_is_said_and_can_be_deleted(shell: Shell, made: str) -> None:
    path = shell.state / "snapshots" / f"{made}.json"
    path.write_text("{")
    listed = shell.run("snapshot", "list")
    assert "is damaged" in listed.stderr
    shell.fails(3, "--yes deletes", "snapshot", "delete", made)
    assert made in shell.run("snapshot", "list", "--json").stdout
    shell.ok("snapshot", "delete", made, "--yes")
    assert not path.exists()


def test_omitted_files_are_named_and_the_configured_number_of_snapshots_is_kept(shell: Shell) -> None:
    shell.configure("[snapshots]\nmax_file_mib = 1\nkeep = 2\n")
    (shell.project / "large.bin").write_bytes(bytes(2 * 2**20))
    done = [shell.ok("snapshot", "create") for _ in range(3)]
    assert "1 left out" in done[0].stderr
    assert "left out: large.bin: has 2.0 MiB, over the limit of 1.0 MiB for a file" in done[0].stderr
    listed = [one["id"] for one in shell.json("snapshot", "list")["snapshots"]]
    assert listed == [one.stdout.strip() for one in done[:0:-1]]


def test_unknown_snapshots_are_wrong_usage(shell: Shell) -> None:
    for command in (("restore", "abc"), ("diff", "abc"), ("delete", "abc"), ("diff",)):
        done = shell.run("snapshot", *command)
        assert (done.returncode, "snapshot list" in done.stderr or "create" in done.stderr) == (2, True), (
            command
        )
    assert shell.run("snapshot", "delete").returncode == 2
    assert not (shell.project / ".tideate").exists()


def test_outside_of_a_project_there_are_none(shell: Shell) -> None:
    (shell.project / "pyproject.toml").unlink()
    shell.fails(2, "there is no project here", "snapshot", "create")

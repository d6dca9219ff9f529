"""`tideate snapshot`: the project's files as they stood, kept, listed, compared and brought back."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.cli.interrupted import object_of
from tests.snapshots.trees import looked_at

if TYPE_CHECKING:
    from tests.cli.conftest import Shell

pytestmark = pytest.mark.slow


@pytest.fixture
def made(shell: Shell) -> str:
    """The id of a snapshot of two files, one of which was changed since, and one is new."""
    shell.write("a.py", "a = 1\n")
    shell.write("b.py", "b = 1\n")
    done = shell.run("snapshot", "create", "before it")
    assert done.returncode == 0, done.stderr
    assert "3 files, 0.0 MiB" in done.stderr
    shell.write("a.py", "a = 2\n")
    shell.write("new.py", "n = 1\n")
    (shell.project / "b.py").unlink()
    return done.stdout.strip()


def test_snapshots_are_listed_with_the_newest_first(shell: Shell, made: str) -> None:
    shell.run("snapshot", "create", "after\nit")
    newest, oldest = object_of(shell.run("snapshot", "list", "--json"))["snapshots"]
    assert (oldest["id"], oldest["name"], oldest["files"]) == (made, "before it", 3)
    assert newest["name"] == "after\nit"
    shown = shell.run("snapshot", "list").stdout
    assert shown.index(r"after\nit") < shown.index("before it")
    assert made[:8] in shown


def test_a_name_may_have_several_words_and_need_not_be_given(shell: Shell) -> None:
    for words in (["before", "the", "move"], ["--json", "one word"], []):
        assert shell.run("snapshot", "create", *words).returncode == 0
    names = [one["name"] for one in object_of(shell.run("snapshot", "list", "--json"))["snapshots"]]
    assert names == ["by hand", "one word", "before the move"]


def test_what_differs_is_told(shell: Shell, made: str) -> None:
    assert shell.run("snapshot", "diff").stdout == "M a.py\nD b.py\nA new.py\n"
    told = shell.run("snapshot", "diff", made[:6], "--changes").stdout
    assert "-a = 1\n+a = 2\n" in told
    files = object_of(shell.run("snapshot", "diff", "--json"))["files"]
    assert [(file["path"], file["status"]) for file in files] == [
        ("a.py", "modified"),
        ("b.py", "deleted"),
        ("new.py", "added"),
    ]
    assert "+a = 2" in files[0]["changes"]


def test_a_restore_brings_files_back_and_says_how_to_undo_it(shell: Shell, made: str) -> None:
    after = looked_at(shell.project)
    done = shell.run("snapshot", "restore", made[:8], "--yes")
    assert done.returncode == 0, done.stderr
    assert "restored: a.py\nrestored: b.py\nleft, made since: new.py\n" in done.stderr
    assert "2 written" not in done.stderr
    assert ": 2 written: a.py, b.py" in (shell.home / "state" / "tideate" / "shell.log").read_text()
    assert (shell.project / "a.py").read_text() == "a = 1\n"
    undo = done.stderr.split("before: tideate ")[1].split()
    assert shell.run(*undo, "--yes").returncode == 0
    assert looked_at(shell.project) == after


def test_what_was_made_since_is_deleted_on_demand(shell: Shell, made: str) -> None:
    done = object_of(shell.run("snapshot", "restore", made, "--delete-added", "--yes", "--json"))
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
    terminal.wait_for("D b.py")
    terminal.wait_for("Files added since (A) are kept")
    terminal.wait_for(f"Restore snapshot {made[:8]}? [y/N]")
    terminal.type("n\n")
    terminal.wait_for("declined")
    assert terminal.process.wait(60) == 3
    assert looked_at(shell.project) == before
    terminal = shell.open("snapshot", "restore", made)
    terminal.wait_for("[y/N]")
    terminal.type("y\n")
    terminal.wait_for("restored: b.py")
    assert terminal.process.wait(60) == 0
    assert (shell.project / "b.py").exists()


def test_deleted_snapshots_are_gone(shell: Shell, made: str) -> None:
    other = shell.run("snapshot", "create").stdout.strip()
    assert shell.run("snapshot", "delete", made[:8], other, "--yes").returncode == 0
    assert object_of(shell.run("snapshot", "list", "--json"))["snapshots"] == []


def test_a_damaged_snapshot_is_said_and_can_be_deleted(shell: Shell, made: str) -> None:
    path = shell.state / "snapshots" / f"{made}.json"
    path.write_text("{")
    listed = shell.run("snapshot", "list")
    assert "is damaged" in listed.stderr
    declined = shell.run("snapshot", "delete", made)
    assert (declined.returncode, "--yes deletes" in declined.stderr) == (3, True)
    assert made in shell.run("snapshot", "list", "--json").stdout
    assert shell.run("snapshot", "delete", made, "--yes").returncode == 0
    assert not path.exists()


def test_what_is_left_out_is_said(shell: Shell) -> None:
    shell.configure("[snapshots]\nmax_file_mib = 1\n")
    (shell.project / "large.bin").write_bytes(bytes(2 * 2**20))
    done = shell.run("snapshot", "create")
    assert "1 left out" in done.stderr
    assert "left out: large.bin: has 2.0 MiB, over the limit of 1.0 MiB for a file" in done.stderr


def test_as_many_are_kept_as_the_configuration_says(shell: Shell) -> None:
    shell.configure("[snapshots]\nkeep = 2\n")
    made = [shell.run("snapshot", "create").stdout.strip() for _ in range(3)]
    listed = object_of(shell.run("snapshot", "list", "--json"))["snapshots"]
    assert [one["id"] for one in listed] == made[:0:-1]


def test_names_that_steer_a_terminal_are_shown_harmless(shell: Shell, made: str) -> None:
    (shell.project / os.fsdecode(b"odd\x1b[2J\xff\nname")).write_text("x")
    told = shell.run("snapshot", "diff", made).stdout
    assert "A odd\\x1b[2J\\xff\\nname\n" in told


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
    done = shell.run("snapshot", "create")
    assert done.returncode == 2
    assert "there is no project here" in done.stderr


def test_ids_are_completed(shell: Shell, made: str) -> None:
    assert made[:8] in shell.run("__complete", "snapshot", "restore", made[:2]).stdout

"""What came with a project, or was made under another state directory, is shown and not gone on with."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from tests.cli.interrupted import LOOP, SHORT, asked, killed, object_of, refactored

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Shell
    from tests.support.model_server import ModelServer

pytestmark = pytest.mark.crash


def forget(shell: Shell) -> None:
    """Make the shell another person's: one whose tideate has made nothing yet."""
    shutil.rmtree(shell.home / "state")


@pytest.fixture
def foreign(shell: Shell, answering: ModelServer) -> str:
    """The id of an unfinished run that another person's tideate made."""
    run = str(killed(shell, answering)["execution_id"])
    forget(shell)
    return run


def checkpoint(shell: Shell) -> str:
    return str(object_of(shell.run("checkpoint", "list", "--json"))["checkpoints"][0]["checkpoint_id"])


def test_nothing_goes_on_with_a_foreign_run(shell: Shell, answering: ModelServer, foreign: str) -> None:
    before = (shell.project / ".tideate" / "tideate.db").read_bytes()
    refused = (
        ["resume", foreign, "--yes", "--json"],
        ["resume", "--yes", "--json"],
        ["checkpoint", "restore", checkpoint(shell), "--json"],
        ["checkpoint", "create", foreign, "--json"],
        ["cancel", foreign, "--json"],
        ["pause", foreign, "--json"],
        ["history", "--prune", "--json"],
        ["run", "ask", "anything", "--yes", "--json"],
    )
    for arguments in refused:
        done = shell.run(*arguments)
        assert (done.returncode, object_of(done)["error_code"]) == (1, "StoreIsForeign"), arguments
        assert "tideate trust" in object_of(done)["error"]
    assert asked(answering, "Rewrite these lines") == 1
    assert (shell.project / ".tideate" / "tideate.db").read_bytes() == before
    assert (shell.project / "a.py").read_text() == LOOP


def test_a_foreign_run_is_shown_and_said_to_be_one(shell: Shell, foreign: str) -> None:
    for arguments in (["history"], ["show", foreign], ["checkpoint", "list"]):
        done = shell.run(*arguments)
        assert (done.returncode, foreign[:8] in done.stdout) == (0, True), done.stderr
        assert "was not made by your tideate" in done.stderr
        assert f"tideate resume {foreign[:8]}" not in done.stderr
    assert "was not made by your tideate" in shell.run("checkpoint", "show", checkpoint(shell)).stderr
    listed = shell.run("list")
    assert "was not made by your tideate" in listed.stderr
    assert object_of(shell.run("history", "--json"))["foreign"] is True
    assert object_of(shell.run("show", foreign, "--json"))["foreign"] is True


def test_once_trusted_a_run_goes_on(shell: Shell, answering: ModelServer, foreign: str) -> None:
    database = str(shell.project / ".tideate" / "tideate.db")
    done = shell.run("trust", database)
    assert done.returncode == 0, done.stderr
    said = " ".join(done.stderr.split())
    assert f"{foreign[:8]} refactor, interrupted, steps done: 1/2, answers kept: 1, 'shorten'" in said
    assert "1 interrupted" in done.stderr
    assert shell.run("resume", foreign, "--yes").returncode == 0
    assert (shell.project / "a.py").read_text() == SHORT
    assert "trusted already" in shell.run("trust", database).stderr
    assert "no longer trusted" in shell.run("trust", "--revoke", database).stderr
    assert "was not made by your tideate" in shell.run("history").stderr


def test_at_a_terminal_the_person_is_asked_whether_to_trust(shell: Shell, foreign: str) -> None:
    database = str(shell.project / ".tideate" / "tideate.db")
    terminal = shell.open("trust", database)
    terminal.wait_for("Trust it? [y/N]")
    terminal.type("\n")
    assert terminal.wait_exit() == 0
    assert object_of(shell.run("history", "--json"))["foreign"] is True
    again = shell.open("trust", database)
    again.wait_for("Trust it? [y/N]")
    again.type("y\n")
    assert again.wait_exit() == 0
    assert object_of(shell.run("history", "--json"))["foreign"] is False


def test_a_project_that_was_moved_keeps_its_runs(shell: Shell, answering: ModelServer) -> None:
    run = str(killed(shell, answering)["execution_id"])
    shell.project = shell.project.rename(shell.home / "elsewhere")
    assert shell.run("history").stderr.count("not made") == 0
    done = shell.run("resume", run, "--yes")
    assert (done.returncode, (shell.project / "a.py").read_text()) == (0, SHORT), done.stderr
    assert shell.run("rollback", run).returncode == 0
    assert (shell.project / "a.py").read_text() == LOOP


def test_a_foreign_journal_writes_nothing(shell: Shell, answering: ModelServer) -> None:
    run = refactored(shell, answering)
    forget(shell)
    (listed,) = object_of(shell.run("rollback", "--json"))["runs"]
    assert (listed["files"], "not made by your tideate" in listed["error"]) == ([], True)
    done = shell.run("rollback", run, "--json")
    assert (done.returncode, object_of(done)["error_code"]) == (1, "StoreIsForeign")
    assert (shell.project / "a.py").read_text() == SHORT
    shell.run("trust", str(shell.project / ".tideate" / "tideate.db"))
    assert shell.run("rollback", run).returncode == 0
    assert (shell.project / "a.py").read_text() == LOOP


@pytest.mark.parametrize("database", ["its own", "none"])
def test_a_journal_that_came_without_a_database_writes_nothing(
    shell: Shell, answering: ModelServer, database: str
) -> None:
    run = refactored(shell, answering)
    forget(shell)
    for file in (shell.project / ".tideate").glob("tideate.db*"):
        file.unlink()
    if database == "its own":
        answering.answers("anything", "something")
        assert shell.run("run", "ask", "anything", "--yes").returncode == 0
    done = shell.run("rollback", run, "--json")
    assert (done.returncode, object_of(done)["error_code"]) == (1, "StoreIsForeign")
    assert "came with the project" in object_of(done)["error"]
    assert (shell.project / "a.py").read_text() == SHORT


def test_a_forged_record_of_a_run_that_the_database_forgot_writes_nothing(
    shell: Shell, answering: ModelServer
) -> None:
    run = refactored(shell, answering)
    manifest = forged(shell.project / ".tideate" / "journal" / run)
    with closing(sqlite3.connect(shell.project / ".tideate" / "tideate.db")) as connection, connection:
        connection.execute("DELETE FROM workflow_executions")
    done = shell.run("rollback", run, "--json")
    assert (done.returncode, object_of(done)["error_code"]) == (1, "StoreIsForeign")
    assert (shell.project / "a.py").read_text() == SHORT
    manifest.write_text(manifest.read_text().replace('"step":"forged"', '"step":"refactor"'))
    journal = shell.project / ".tideate" / "journal"
    shutil.copytree(journal / run, journal / ("f" * 32))
    copied = shell.run("rollback", "f" * 32, "--json")
    assert (copied.returncode, object_of(copied)["error_code"]) == (1, "StoreIsForeign")
    assert shell.run("rollback", run).returncode == 0
    assert (shell.project / "a.py").read_text() == LOOP


def forged(journal: Path) -> Path:
    """Change a record of a journal; what is not sealed would be taken as it is."""
    (manifest,) = journal.glob("*/manifest.json")
    shape = json.loads(manifest.read_text())
    assert (shape["step"], len(shape["seal"])) == ("refactor", 64)
    manifest.write_text(manifest.read_text().replace('"step":"refactor"', '"step":"forged"'))
    return manifest

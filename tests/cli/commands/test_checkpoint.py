"""`tideate checkpoint`: create, list, show, restore and export."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import tree_sitter_powershell
from tree_sitter import Language, Parser

from tests.cli.interrupted import SHORT, count_requests, refactored

if TYPE_CHECKING:
    from tests.harness.model_server import ModelServer
    from tests.harness.shell import Shell

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).parents[3] / "scripts" / "workflow" / "run-checkpoint.ps1"


def test_a_run_is_taken_up_from_a_checkpoint(shell: Shell, answering: ModelServer) -> None:
    run = refactored(shell, answering)
    listed = shell.json("checkpoint", "list", run[:6])["checkpoints"]
    first = next(point["checkpoint_id"] for point in listed if point["step"] == "analyze")
    brief = first.replace(run, run[:8])
    assert brief == f"{run[:8]}.1"
    assert brief in shell.run("checkpoint", "list").stdout
    shell.ok("rollback", "--yes", run)
    restored = shell.run("checkpoint", "restore", brief)
    new = restored.stdout.strip()
    assert f"`tideate resume {new[:8]}` resumes it" in restored.stderr
    (paused,) = shell.json("history", "--status", "paused")["runs"]
    assert (paused["execution_id"], paused["restored_from"], paused["completed_steps"]) == (new, first, 1)
    shell.ok("resume", new, "--yes")
    assert count_requests(answering, "what does the code do") == 1
    assert shell.read("a.py") == SHORT
    assert f"from the checkpoint {brief}\n" in shell.run("show", new).stdout
    shell.ok("history", "--prune", "--keep", "1", "--changes", "--yes")
    assert f"from the checkpoint {brief}, which no longer exists" in " ".join(
        shell.run("show", new).stdout.split()
    )


def test_a_checkpoint_is_made_shown_and_exported(shell: Shell, answering: ModelServer) -> None:
    run = refactored(shell, answering)
    made = shell.run("checkpoint", "create", run[:8]).stdout.strip()
    shown = shell.json("checkpoint", "show", made)["checkpoint"]
    assert (shown["workflowId"], shown["state"]["completedSteps"]) == (run, ["analyze", "refactor"])
    assert "analyze, refactor" in shell.run("checkpoint", "show", made[:10]).stdout
    path = Path(shell.run("checkpoint", "export", made).stdout.strip())
    assert path.parent == shell.project / ".tideate" / "checkpoints"
    assert json.loads(path.read_text())["checkpointId"] == made
    listed = shell.json("checkpoint", "list")["checkpoints"]
    assert [point["manual"] for point in listed if point["checkpoint_id"] == made] == [True]


def test_half_an_id_is_of_no_checkpoint(shell: Shell, answering: ModelServer) -> None:
    run = refactored(shell, answering)
    for wanted in (".2", f"{run[:8]}.", "."):
        done = shell.run("checkpoint", "show", wanted)
        assert (done.returncode, f"no checkpoint has the id {wanted!r}" in done.stderr) == (2, True), wanted


def test_unknown_checkpoints_are_told_and_make_no_store(shell: Shell) -> None:
    for command in ("show", "restore", "export"):
        done = shell.run("checkpoint", command, "abc")
        assert (done.returncode, "no checkpoint has the id 'abc'" in done.stderr) == (2, True), command
    assert shell.run("checkpoint", "create", "abc").returncode == 2
    assert not (shell.project / ".tideate").exists()


def test_the_script_is_powershell_that_hands_its_arguments_and_its_exit_code_on() -> None:
    """It was not run in a PowerShell; a grammar of the language parses it."""
    text = SCRIPT.read_bytes()
    assert b"was not run in a PowerShell" in text
    parser = Parser(Language(tree_sitter_powershell.language()))
    assert parser.parse(b"tideate checkpoint @args }").root_node.has_error, "the grammar sees mistakes"
    root = parser.parse(text).root_node
    assert not root.has_error
    statements = [node.text for part in root.children if part.type != "comment" for node in part.children]
    assert statements == [
        b"$ErrorActionPreference = 'Stop'",
        b"tideate checkpoint @args",
        b"exit $LASTEXITCODE",
    ]
    assert [node.type for part in root.children for node in part.children][1:] == [
        "pipeline",
        "flow_control_statement",
    ]

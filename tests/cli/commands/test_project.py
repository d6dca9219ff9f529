"""`tideate project`, and the private state of moved, linked, read-only and nested projects."""

from __future__ import annotations

import os
import signal
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.cli.interrupted import LOOP, SHORT, killed, object_of, only_run, refactored
from tests.harness.project import git

if TYPE_CHECKING:
    from tests.harness.model_server import ModelServer
    from tests.harness.shell import Shell

pytestmark = pytest.mark.slow


def test_projects_are_listed(shell: Shell, answering: ModelServer) -> None:
    assert "no project has private state yet" in shell.run("project", "list").stderr
    refactored(shell, answering)
    assert str(shell.project) in shell.run("project", "list").stdout
    (one,) = shell.json("project", "list")["projects"]
    assert (one["path"], one["gone"], one["unfinished_runs"]) == (str(shell.project), False, 0)


def test_a_project_that_is_moved_while_a_run_is_interrupted_goes_on_there(
    shell: Shell, answering: ModelServer
) -> None:
    run = str(killed(shell, answering)["execution_id"])
    old = shell.project
    shell.root = old.rename(shell.home / "elsewhere")
    assert "no run" in shell.run("resume", run, "--yes").stderr
    moved = shell.ok("project", "move", str(old), str(shell.project))
    assert "trust its files again" in moved.stderr
    done = shell.run("resume", run, "--yes")
    assert (done.returncode, shell.read("a.py")) == (0, SHORT), done.stderr
    shell.ok("rollback", "--yes", run)
    assert shell.read("a.py") == LOOP


def test_state_is_forgotten_only_after_a_yes(shell: Shell, answering: ModelServer) -> None:
    refactored(shell, answering)
    declined = shell.run("project", "forget", str(shell.project))
    assert (declined.returncode, shell.state.exists()) == (3, True)
    done = shell.run("project", "forget", str(shell.project), "--yes")
    assert (done.returncode, shell.state.exists()) == (0, False), done.stderr
    assert shell.read("a.py") == SHORT
    assert "no runs yet" in shell.run("history").stderr


def test_two_worktrees_have_separate_state_and_a_link_to_a_project_has_its_state(
    shell: Shell, answering: ModelServer
) -> None:
    git(shell.project, "init", "-q")
    git(shell.project, "add", ".")
    git(shell.project, "commit", "-q", "-m", "one")
    tree = shell.home / "tree"
    git(shell.project, "worktree", "add", "-q", str(tree))
    refactored(shell, answering)
    assert "no runs yet" in shell.run("history", cwd=tree).stderr
    (shell.home / "link").symlink_to(shell.project)
    assert shell.json("history", "--root", str(shell.home / "link"))["runs"]


def test_a_read_only_project_answers_and_says_what_it_cannot_write(
    shell: Shell, answering: ModelServer
) -> None:
    answering.answers("", "fine")
    (shell.project / ".tideate").write_text("in the way")
    done = shell.run("run", "ask", "hello")
    assert (done.returncode, done.stdout) == (0, "fine\n"), done.stderr
    assert len(shell.json("history")["runs"]) == 1
    assert shell.read(".tideate") == "in the way"


def test_state_can_be_elsewhere(shell: Shell, answering: ModelServer) -> None:
    shell.env["TIDEATE_STATE"] = str(shell.home / "volume")
    refactored(shell, answering)
    assert list((shell.home / "volume/projects").iterdir())
    assert not (shell.home / "state/tideate/projects").exists()
    shell.env["TIDEATE_STATE"] = "relative"
    shell.fails(2, "not an absolute path", "history")


def test_a_projects_configuration_does_not_say_where_state_is(shell: Shell, answering: ModelServer) -> None:
    shell.write(".tideate/config.toml", '[state]\ndirectory = "/nowhere/at/all"\n')
    shell.run("trust", "--yes")
    refactored(shell, answering)
    assert (shell.state / "tideate.db").exists()
    assert "ignored state: only your own configuration can set it" in shell.run("doctor").stdout


def test_state_on_another_file_system_than_the_project(shell: Shell, answering: ModelServer) -> None:
    place = f"/dev/shm/tideate-test-{os.getpid()}"
    assert os.stat("/dev/shm").st_dev != os.stat(shell.project).st_dev  # noqa: PTH116
    shell.env["TIDEATE_STATE"] = place
    try:
        run = refactored(shell, answering)
        made = shell.run("snapshot", "create").stdout.strip()
        (shell.project / "a.py").write_text("changed\n")
        shell.ok("snapshot", "restore", made, "--yes")
        assert shell.read("a.py") == SHORT
        shell.ok("rollback", run, "--yes")
        assert shell.read("a.py") == LOOP
    finally:
        subprocess.run(["rm", "-rf", place], check=True)


def test_the_state_of_a_living_project_moves_only_with_a_yes(shell: Shell, answering: ModelServer) -> None:
    refactored(shell, answering)
    other = shell.home / "other"
    (other / ".git").mkdir(parents=True)
    shell.fails(2, "is still there", "project", "move", str(shell.project), str(other))
    (other / "sub").mkdir()
    shell.fails(
        2, "is not the root of a project", "project", "move", str(shell.project), str(other / "sub"), "--yes"
    )
    shell.ok("project", "move", str(shell.project), str(other), "--yes")
    assert "no runs yet" in shell.run("history").stderr


def test_a_paused_run_is_left_by_its_process_and_goes_on_where_the_project_is_now(
    shell: Shell, answering: ModelServer
) -> None:
    for name in ("a.py", "b.py", "c.py"):  # by which it is recognised where it is now
        shell.write(name, LOOP)
    gate = answering.holds("what does the code do", text="- it adds up")
    answering.answers("Rewrite these lines", f"```python\n{SHORT}```")
    process = shell.start("run", "refactor", "shorten", "--file", "a.py", "--yes", forked=False)
    gate.wait_started()
    run = only_run(shell)["execution_id"]
    shell.run("pause", run, "--wait", "0")
    gate.release()
    assert shell.json("pause", run)["state"] == "paused"
    old = shell.project
    shell.root = old.rename(shell.home / "place two")
    refused = shell.run("project", "move", str(old), str(shell.project))
    assert f"`kill -HUP {process.pid}` leaves the run paused" in refused.stderr
    process.send_signal(signal.SIGHUP)
    process.communicate(timeout=60)
    for words in (["history"], ["resume", run, "--yes"], ["show", run]):
        hinted = shell.run(*words)
        assert f"`tideate project move {old} '{shell.project}'`" in hinted.stderr
    shell.ok("project", "move", str(old), str(shell.project))
    done = shell.run("resume", run, "--yes")
    assert (done.returncode, shell.read("a.py")) == (0, SHORT), done.stderr


def test_trust_with_json_declines_like_other_commands(shell: Shell) -> None:
    shell.write(".tideate/prompts/ask.md", "Say {{ prompt }}")
    declined = shell.run("trust", "--json")
    answer = object_of(declined)
    assert (declined.returncode, answer["error_code"]) == (3, "Declined")
    terminal = shell.open("trust", "--json")
    terminal.answer("change what models are asked", ("Trust this, as it is now?", "n"))
    assert terminal.wait_exit() == 3

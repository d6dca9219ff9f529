"""`tideate project`, and projects that were moved, are worktrees, read-only, or have no room."""

from __future__ import annotations

import os
import signal
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.cli.interrupted import LOOP, SHORT, killed, object_of, only_run, refactored

if TYPE_CHECKING:
    from tests.cli.conftest import Shell
    from tests.support.model_server import ModelServer


@pytest.mark.slow
def test_projects_are_listed(shell: Shell, answering: ModelServer) -> None:
    assert "no project has private state yet" in shell.run("project", "list").stderr
    refactored(shell, answering)
    assert str(shell.project) in shell.run("project", "list").stdout
    (one,) = object_of(shell.run("project", "list", "--json"))["projects"]
    assert (one["path"], one["gone"], one["unfinished_runs"]) == (str(shell.project), False, 0)


@pytest.mark.slow
def test_a_project_that_is_moved_while_a_run_is_interrupted_goes_on_there(
    shell: Shell, answering: ModelServer
) -> None:
    run = str(killed(shell, answering)["execution_id"])
    old = shell.project
    shell.project = old.rename(shell.home / "elsewhere")
    assert "no run" in shell.run("resume", run, "--yes").stderr
    moved = shell.run("project", "move", str(old), str(shell.project))
    assert moved.returncode == 0, moved.stderr
    assert "have to be trusted again" in moved.stderr
    done = shell.run("resume", run, "--yes")
    assert (done.returncode, (shell.project / "a.py").read_text()) == (0, SHORT), done.stderr
    assert shell.run("rollback", "--yes", run).returncode == 0
    assert (shell.project / "a.py").read_text() == LOOP


@pytest.mark.slow
def test_state_is_forgotten_only_after_a_yes(shell: Shell, answering: ModelServer) -> None:
    refactored(shell, answering)
    declined = shell.run("project", "forget", str(shell.project))
    assert (declined.returncode, shell.state.exists()) == (3, True)
    done = shell.run("project", "forget", str(shell.project), "--yes")
    assert (done.returncode, shell.state.exists()) == (0, False), done.stderr
    assert (shell.project / "a.py").read_text() == SHORT
    assert "no runs yet" in shell.run("history").stderr


@pytest.mark.slow
def test_a_rollback_without_a_terminal_needs_a_yes(shell: Shell, answering: ModelServer) -> None:
    run = refactored(shell, answering)
    declined = shell.run("rollback", run)
    assert (declined.returncode, (shell.project / "a.py").read_text()) == (3, SHORT)
    assert "would be restored: a.py" in declined.stderr
    assert "--yes rolls back" in declined.stderr
    assert shell.run("rollback", run, "--yes").returncode == 0
    assert (shell.project / "a.py").read_text() == LOOP


@pytest.mark.slow
def test_two_worktrees_have_state_of_their_own(shell: Shell, answering: ModelServer) -> None:
    git = ["git", "-C", str(shell.project), "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "one"], check=True)
    tree = shell.home / "tree"
    subprocess.run([*git, "worktree", "add", "-q", str(tree)], check=True)
    refactored(shell, answering)
    assert "no runs yet" in shell.run("history", cwd=tree).stderr
    assert object_of(shell.run("history", "--json"))["runs"]


@pytest.mark.slow
def test_a_project_reached_by_a_link_has_the_same_runs(shell: Shell, answering: ModelServer) -> None:
    refactored(shell, answering)
    (shell.home / "link").symlink_to(shell.project)
    assert object_of(shell.run("history", "--json", "--root", str(shell.home / "link")))["runs"]


@pytest.mark.slow
def test_a_read_only_project_answers_and_says_what_it_cannot_write(
    shell: Shell, answering: ModelServer
) -> None:
    answering.answers("", "fine")
    (shell.project / ".tideate").write_text("in the way")
    done = shell.run("run", "ask", "hello")
    assert (done.returncode, done.stdout) == (0, "fine\n"), done.stderr
    assert len(object_of(shell.run("history", "--json"))["runs"]) == 1
    assert (shell.project / ".tideate").read_text() == "in the way"


@pytest.mark.slow
def test_a_home_that_cannot_be_written_is_said_before_anything_is_asked(
    shell: Shell, answering: ModelServer
) -> None:
    (shell.home / "state").write_text("in the way")
    done = shell.run("run", "ask", "hello")
    assert done.returncode != 0
    assert "TIDEATE_STATE" in done.stderr or "XDG_STATE_HOME" in done.stderr
    assert answering.requests == []


@pytest.mark.slow
def test_state_can_be_elsewhere(shell: Shell, answering: ModelServer) -> None:
    shell.env["TIDEATE_STATE"] = str(shell.home / "volume")
    refactored(shell, answering)
    assert list((shell.home / "volume/projects").iterdir())
    assert not (shell.home / "state/tideate/projects").exists()
    shell.env["TIDEATE_STATE"] = "relative"
    done = shell.run("history")
    assert (done.returncode, "not an absolute path" in done.stderr) == (2, True)


@pytest.mark.slow
def test_a_projects_configuration_does_not_say_where_state_is(shell: Shell, answering: ModelServer) -> None:
    shell.write(".tideate/config.toml", '[state]\ndirectory = "/nowhere/at/all"\n')
    shell.run("trust", "--yes")
    refactored(shell, answering)
    assert (shell.state / "tideate.db").exists()
    assert "only your own configuration says where state is kept" in shell.run("doctor").stdout


@pytest.mark.slow
def test_state_on_another_file_system_than_the_project(shell: Shell, answering: ModelServer) -> None:
    place = f"/dev/shm/tideate-test-{os.getpid()}"
    assert os.stat("/dev/shm").st_dev != os.stat(shell.project).st_dev  # noqa: PTH116
    shell.env["TIDEATE_STATE"] = place
    try:
        run = refactored(shell, answering)
        made = shell.run("snapshot", "create").stdout.strip()
        (shell.project / "a.py").write_text("changed\n")
        assert shell.run("snapshot", "restore", made, "--yes").returncode == 0
        assert (shell.project / "a.py").read_text() == SHORT
        assert shell.run("rollback", run, "--yes").returncode == 0
        assert (shell.project / "a.py").read_text() == LOOP
    finally:
        subprocess.run(["rm", "-rf", place], check=True)


@pytest.mark.slow
def test_the_state_of_a_living_project_moves_only_with_a_yes(shell: Shell, answering: ModelServer) -> None:
    refactored(shell, answering)
    other = shell.home / "other"
    (other / ".git").mkdir(parents=True)
    declined = shell.run("project", "move", str(shell.project), str(other))
    assert (declined.returncode, "is still there" in declined.stderr) == (2, True), declined.stderr
    (other / "sub").mkdir()
    inside = shell.run("project", "move", str(shell.project), str(other / "sub"), "--yes")
    assert (inside.returncode, "is not the root of a project" in inside.stderr) == (2, True), inside.stderr
    done = shell.run("project", "move", str(shell.project), str(other), "--yes")
    assert done.returncode == 0, done.stderr
    assert "no runs yet" in shell.run("history").stderr


@pytest.mark.slow
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
    assert object_of(shell.run("pause", run, "--json"))["state"] == "paused"
    old = shell.project
    shell.project = old.rename(shell.home / "place two")
    refused = shell.run("project", "move", str(old), str(shell.project))
    assert f"`kill -HUP {process.pid}` leaves the run paused" in refused.stderr
    process.send_signal(signal.SIGHUP)
    process.communicate(timeout=60)
    for words in (["history"], ["resume", run, "--yes"], ["show", run]):
        hinted = shell.run(*words)
        assert f"`tideate project move {old} '{shell.project}'`" in hinted.stderr
    moved = shell.run("project", "move", str(old), str(shell.project))
    assert moved.returncode == 0, moved.stderr
    done = shell.run("resume", run, "--yes")
    assert (done.returncode, (shell.project / "a.py").read_text()) == (0, SHORT), done.stderr


@pytest.mark.slow
def test_trust_with_json_declines_like_other_commands(shell: Shell) -> None:
    shell.write(".tideate/prompts/ask.md", "Say {{ prompt }}")
    declined = shell.run("trust", "--json")
    answer = object_of(declined)
    assert (declined.returncode, answer["error_code"]) == (3, "Declined")
    terminal = shell.open("trust", "--json")
    terminal.wait_for("change what models are asked")
    terminal.wait_for("Trust this, as it is now?")
    terminal.type("n\n")
    assert terminal.wait_exit() == 3

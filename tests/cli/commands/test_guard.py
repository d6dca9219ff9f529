"""`tideate guard`: a program works in a private copy, and only what is accepted reaches the project."""

from __future__ import annotations

import json
import os
import signal
from typing import TYPE_CHECKING

import pytest

from tests.harness.project import git

if TYPE_CHECKING:
    from tests.harness.shell import Shell

pytestmark = pytest.mark.slow

EDIT = "sed -i 's/one/ONE/' a.txt; rm gone.txt; echo new > new.txt"
LINES = "one\n2\n3\n4\n5\n6\n7\n8\n9\n"


@pytest.fixture
def project(shell: Shell) -> Shell:
    git(shell.project, "init", "--quiet")
    shell.write("a.txt", LINES)
    shell.write("gone.txt", "here\n")
    git(shell.project, "add", ".")
    git(shell.project, "commit", "--quiet", "-m", "one")
    return shell


def test_with_yes_everything_lands_and_rolls_back(project: Shell) -> None:
    before = project.fingerprint()
    done = project.run("guard", "--yes", "sh", "-c", f"{EDIT}; exit 7")
    assert done.returncode == 7, done.stderr
    assert project.read("a.txt") == LINES.replace("one", "ONE")
    assert project.read("new.txt") == "new\n"
    assert not (project.project / "gone.txt").exists()
    assert project.json("guard", "list")["sessions"] == []
    project.ok("rollback", "last", "--yes")
    assert project.fingerprint() == before


def test_many_paths_that_are_left_are_counted(project: Shell) -> None:
    project.fails(3, "wait", "guard", "sh", "-c", "for i in $(seq 10 60); do mkfifo pipe$i; done; echo > new")
    shown = project.ok("guard", "show").stdout.splitlines()
    assert "changed: new" in shown
    assert len([line for line in shown if line.startswith("left: ")]) == 21
    assert (shown[-2:], len(shown) < 35) == (
        [
            "… and 31 more are left; the last one:",
            "left: pipe60: is neither a file nor a link nor a directory",
        ],
        True,
    )


def test_after_many_changes_even_a_short_program_makes_the_next_start_fast(project: Shell) -> None:
    project.ok("guard", "true")
    mirrors = next(project.home.rglob("guard/mirror"))
    project.write("few.txt", "1\n")
    project.ok("guard", "true")
    assert [path.name for path in mirrors.iterdir()] == ["1"]
    for number in range(300):
        project.write(f"many/{number}.txt", "1\n")
    project.ok("guard", "true")
    assert [path.name for path in mirrors.iterdir()] == ["2"]


def test_a_damaged_session_is_named_and_can_be_discarded(project: Shell) -> None:
    project.fails(3, "wait", "guard", "sh", "-c", EDIT)
    (base,) = project.home.rglob("guard/sessions/*/base.json")
    for damage in (lambda: base.write_text("{"), base.unlink, base.mkdir):
        damage()
        (session,) = project.json("guard", "list")["sessions"]
        assert (session["state"], session["argv"][0]) == ("damaged", "sh")
        project.fails(1, "`tideate guard discard`", "guard", "show")
        project.fails(1, "`tideate guard discard`", "guard", "land", "--yes")
        assert project.json("guard", "discard")["error_code"] == "Declined"
    terminal = project.open("guard", "discard")
    terminal.answer(("cannot be shown", "y"))
    assert terminal.wait_exit() == 0
    assert project.json("guard", "list")["sessions"] == []
    project.ok("guard", "--yes", "sh", "-c", EDIT)


def test_a_session_whose_record_is_no_file_can_be_discarded(project: Shell) -> None:
    project.fails(3, "wait", "guard", "sh", "-c", EDIT)
    (record,) = project.home.rglob("guard/sessions/*/session.json")
    record.unlink()
    record.mkdir()
    assert "(damaged record)" in project.ok("guard", "list").stdout
    project.ok("guard", "discard", "--yes")
    assert project.json("guard", "list")["sessions"] == []


def test_changes_that_a_power_loss_may_have_torn_are_announced(project: Shell) -> None:
    project.fails(3, "wait", "guard", "sh", "-c", EDIT)
    (record,) = project.home.rglob("guard/sessions/*/session.json")
    shape = json.loads(record.read_text())
    assert shape["boot"] == ""  # they are durable
    record.write_text(json.dumps({**shape, "boot": "another"}))
    assert "look for cut or empty files" in project.ok("guard", "land", "--yes").stderr


def test_with_no_nothing_lands_and_the_session_keeps_the_changes(project: Shell) -> None:
    before = project.fingerprint()
    project.fails(3, "keeps its changes", "guard", "--no", "sh", "-c", EDIT)
    assert project.fingerprint() == before
    (session,) = project.json("guard", "list")["sessions"]
    shown = project.json("guard", "show", session["id"][:6])
    assert shown["files"] == ["a.txt", "gone.txt", "new.txt"]
    assert shown["session"]["status"] == 0
    project.ok("guard", "land", "--yes")
    assert project.read("new.txt") == "new\n"


def test_without_a_terminal_the_changes_wait_with_the_status_of_the_program(project: Shell) -> None:
    before = project.fingerprint()
    done = project.fails(
        5, "`:Workflow land` in Neovim, or `tideate guard land", "guard", "sh", "-c", f"{EDIT}; exit 5"
    )
    assert project.fingerprint() == before
    assert "wait in session" in done.stderr
    project.fails(3, "nothing was discarded", "guard", "discard")
    assert project.json("guard", "discard")["error_code"] == "Declined"
    assert len(project.json("guard", "list")["sessions"]) == 1
    project.ok("guard", "discard", "--yes")
    assert project.json("guard", "list")["sessions"] == []
    assert project.fingerprint() == before


def test_a_project_with_our_own_state_is_refused_with_advice(project: Shell) -> None:
    project.fails(1, "guard a project below it", "guard", "--root", str(project.home), "true")


def test_a_program_that_changes_nothing_leaves_no_session(project: Shell) -> None:
    done = project.run("guard", "sh", "-c", "cat a.txt; exit 4")
    assert (done.returncode, done.stdout) == (4, LINES)
    assert "changed no file" in done.stderr
    assert project.json("guard", "list")["sessions"] == []


def test_a_missing_program_is_named_before_anything_is_copied(project: Shell) -> None:
    project.fails(2, "did you mean `tideate guard list`?", "guard", "lst")
    assert project.json("guard", "list")["sessions"] == []


def test_a_program_in_a_hidden_place_is_refused_with_the_option_that_shows_it(project: Shell) -> None:
    program = project.home / "hidden" / "agent"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho seen > seen\n")
    program.chmod(0o755)
    project.configure('[agents.agent]\nhidden = ["~/hidden"]\n')
    refused = project.fails(2, "`visible` under [agents.NAME]", "guard", str(program))
    assert f"{program} does not exist" in refused.stderr
    assert project.json("guard", "list")["sessions"] == []


def test_an_agent_behind_another_program_is_found_or_named(project: Shell) -> None:
    project.fails(3, "wait", "guard", "env", "X=1", "sh", "-c", EDIT)
    project.fails(3, "wait", "guard", "--agent", "claude", "sh", "-c", EDIT)
    project.fails(2, "did you mean 'claude'?", "guard", "--agent", "cloude", "sh", "-c", EDIT)
    agents = [session["agent"] for session in project.json("guard", "list")["sessions"]]
    assert agents == ["claude", None]


def test_the_program_sees_the_project_at_its_own_path_and_runs_in_our_folder(project: Shell) -> None:
    project.write("sub/b.txt", "b\n")
    done = project.run("guard", "sh", "-c", "pwd; cat b.txt", cwd=project.project / "sub")
    assert done.stdout == f"{project.project}/sub\nb\n"


def test_a_person_reviews_at_the_terminal(project: Shell) -> None:
    before = project.fingerprint()
    terminal = project.open("guard", "sh", "-c", f"{EDIT}; exit 6")
    terminal.answer(("[y/N/p", "n"))
    assert terminal.wait_exit() == 3
    assert project.fingerprint() == before
    terminal = project.open("guard", "land")
    terminal.answer(("[y/N/p", "y"))
    assert terminal.wait_exit() == 0
    assert project.read("a.txt") == LINES.replace("one", "ONE")


def test_my_edit_of_other_lines_of_the_same_file_is_kept(project: Shell) -> None:
    project.fails(3, "wait in session", "guard", "sh", "-c", EDIT)
    project.write("a.txt", LINES.replace("9", "nine"))
    project.ok("guard", "land", "--yes")
    assert project.read("a.txt") == LINES.replace("9", "nine").replace("one", "ONE")


def test_commits_and_resets_of_the_program_stay_in_its_copy(project: Shell) -> None:
    head = git(project.project, "rev-parse", "HEAD")
    project.write("mine.txt", "not committed\n")
    commit = "git -c user.name=x -c user.email=x@y commit -qm theirs"
    script = f"git add -A && {commit} && git clean -fdxq && git stash -q; true"
    project.run("guard", "--yes", "sh", "-c", f"echo x > theirs.txt; {script}")
    assert git(project.project, "rev-parse", "HEAD") == head
    assert project.read("mine.txt") == "not committed\n"
    assert project.read("theirs.txt") == "x\n"


def test_changes_land_while_the_program_runs_and_it_goes_on(project: Shell) -> None:
    terminal = project.open(
        "guard",
        "--yes",
        "sh",
        "-c",
        "echo 1 > first.txt; echo waits; read x; cat mine.txt; echo 2 > second.txt",
    )
    terminal.wait_for("waits")
    (session,) = project.json("guard", "list")["sessions"]
    assert session["state"] == "running"
    project.fails(1, "still running", "guard", "discard", "--yes")
    project.write("mine.txt", "of the person\n")
    project.ok("guard", "land", "--yes")
    assert project.read("first.txt") == "1\n"
    terminal.type("\n")
    terminal.wait_for("of the person")
    assert terminal.wait_exit() == 0
    assert project.read("second.txt") == "2\n"


def test_after_a_kill_the_session_is_reviewed_or_goes_on(project: Shell) -> None:
    terminal = project.open("guard", "sh", "-c", "echo 1 > first.txt; echo waits; read x")
    terminal.wait_for("waits")
    os.kill(terminal.process.pid, signal.SIGKILL)
    terminal.wait_exit()
    (session,) = project.json("guard", "list")["sessions"]
    assert session["state"] == "interrupted"
    script = "cat first.txt; echo 2 > second.txt"
    done = project.run("guard", "resume", "--later", session["id"][:6], "--", "sh", "-c", script)
    assert (done.returncode, done.stdout) == (0, "1\n"), done.stderr
    project.ok("guard", "resume", session["id"][:6], "--yes")
    assert (project.read("first.txt"), project.read("second.txt")) == ("1\n", "2\n")


def test_json_has_the_status_of_the_program_and_what_is_left(project: Shell) -> None:
    done = project.run("guard", "--yes", "--json", "sh", "-c", f"{EDIT}; exit 7")
    shape = json.loads(done.stdout)
    assert (done.returncode, shape["ok"], shape["status"], shape["session"]) == (7, True, 7, None)
    done = project.run("guard", "--no", "--json", "sh", "-c", "echo more > more.txt; exit 7")
    shape = json.loads(done.stdout)
    assert (done.returncode, shape["ok"], shape["status"]) == (3, False, 7)
    assert shape["session"]["state"] == "waiting"
    shape = project.json("guard", "land", "--yes")
    assert (shape["ok"], shape["status"], shape["session"]) == (True, 7, None)


def test_with_yes_a_conflict_is_left_and_the_status_tells_it(project: Shell) -> None:
    mine = project.project / "a.txt"
    script = "sed -i 's/one/ONE/' a.txt; echo waits; read x; exit $0"
    for status, expected in ((0, 3), (7, 7)):
        mine.write_text(LINES)
        terminal = project.open("guard", "--yes", "sh", "-c", script, str(status))
        terminal.wait_for("waits")
        mine.write_text(LINES.replace("one", "mine"))
        terminal.type("\n")
        assert terminal.wait_exit() == expected
        assert project.read("a.txt") == LINES.replace("one", "mine")
        project.ok("guard", "discard", "--yes")


def test_a_closed_terminal_ends_the_program_and_keeps_its_changes(project: Shell) -> None:
    script = "trap 'exit 0' HUP; echo 1 > first.txt; echo waits; while :; do sleep 0.1; done"
    terminal = project.open("guard", "--yes", "sh", "-c", script)
    terminal.wait_for("waits")
    os.kill(terminal.process.pid, signal.SIGHUP)
    assert terminal.wait_exit() == 129
    (session,) = project.json("guard", "list")["sessions"]
    assert (session["state"], session["status"]) == ("waiting", 129)
    assert not (project.project / "first.txt").exists()


def test_ctrl_c_is_of_the_program(project: Shell) -> None:
    terminal = project.open(
        "guard", "sh", "-c", "trap 'echo caught; exit 9' INT; echo waits; while :; do sleep 0.1; done"
    )
    terminal.wait_for("waits")
    terminal.type("\x03")
    terminal.wait_for("caught")
    assert terminal.wait_exit() == 9
    assert terminal.process.returncode == 9


def test_the_size_of_the_terminal_is_that_of_the_program(project: Shell) -> None:
    terminal = project.open("guard", "sh", "-c", "tty; stty size", rows=31, columns=97)
    terminal.answer("/dev/pts/", "31 97")
    assert terminal.wait_exit() == 0


def test_sessions_are_completed(project: Shell) -> None:
    project.run("guard", "sh", "-c", EDIT)
    (session,) = project.json("guard", "list")["sessions"]
    assert session["id"][:8] in project.run("__complete", "guard", "land", session["id"][:2]).stdout

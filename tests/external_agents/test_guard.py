"""Each agent under `tideate guard`: nothing reaches the project before it is landed, however it ends."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.external_agents.rig import LIMIT
from tests.external_agents.turns import Turn, edit, read, shell
from tests.harness.model_rules import Gate
from tests.harness.project import git
from tests.harness.shell import COMMAND

if TYPE_CHECKING:
    from collections.abc import Callable

    from scripts.terminal import Terminal
    from tests.external_agents.rig import Rig

pytestmark = [pytest.mark.slow, pytest.mark.bulk]

DECLINED = 3
LANDED = {"a.txt": b"one\nzwei\nthree\n", "b.txt": b"b\nmore\n", "new.txt": b"new\n"}


def sessions(rig: Rig) -> list[dict[str, Any]]:
    done = rig.tideate("guard", "list", "--json")
    assert done.returncode == 0, done.stderr
    listed: list[dict[str, Any]] = json.loads(done.stdout)["sessions"]
    return listed


def land(rig: Rig) -> None:
    done = rig.tideate("guard", "land", "--yes")
    assert done.returncode == 0, done.stderr


def test_changes_reach_the_project_when_they_are_landed_and_roll_back(rig: Rig) -> None:
    rig.provider.plays(*rig.work())
    before, history = rig.fingerprint(), git(rig.root, "rev-parse", "HEAD")
    done = rig.tideate("guard", "--no", "env", "X=1", *rig.agent.once, "change the files")
    assert done.returncode == DECLINED, done.stderr
    assert rig.provider.failures == []
    assert rig.provider.left == 0
    assert rig.fingerprint() == before
    land(rig)
    assert rig.files() == LANDED
    assert git(rig.root, "rev-parse", "HEAD") == history
    run = json.loads(rig.tideate("history", "--json").stdout)["runs"][0]["execution_id"]
    rolled = rig.tideate("rollback", run, "--yes")
    assert rolled.returncode == 0, rolled.stderr
    assert rig.fingerprint() == before
    assert sessions(rig) == []


def test_an_agent_keeps_its_own_files_and_nothing_else_of_the_home(rig: Rig) -> None:
    before = Path(rig.home, ".claude.json").read_bytes() if rig.agent.name == "claude" else b""
    rig.provider.plays(Turn("Hello.", [shell("sh -c 'touch ~/.bashrc'")]), Turn("Done."))
    done = rig.tideate("guard", *rig.agent.once, "hello")
    assert done.returncode == 0, done.stderr
    own = tuple(str(rig.home / name) for name in (*rig.agent.own, ".config/tideate", ".local/state/tideate"))
    found = [str(path) for path in rig.home.rglob("*") if path.is_file()]
    assert [path for path in found if not path.startswith((*own, str(rig.home / ".npmrc")))] == []
    assert f"{rig.home}/.bashrc" in done.stderr
    if rig.agent.name == "claude":
        after = Path(rig.home, ".claude.json").read_bytes()
        assert after != before
        assert json.loads(after)["projects"][str(rig.root)]["hasTrustDialogAccepted"]


def test_an_agent_at_a_terminal_goes_on_after_a_landing(rig: Rig) -> None:
    rig.provider.plays(*rig.work(), Turn("I look.", [read(rig.root / "a.txt")]), Turn("Good."))
    rig.allow_daemons()
    terminal = rig.open_agent(*COMMAND, "guard")
    ask(terminal, "change the files", "Finished.")
    assert rig.read("a.txt") == "one\ntwo\nthree\n"
    assert not [*rig.home.glob(".codex/app-server-*/*")]
    land(rig)
    assert rig.files() == LANDED
    rig.write("a.txt", "one\nzwei\nthree\nby the person\n")
    rig.write("b.txt", "b\nmore\n")
    land_nothing = rig.tideate("guard", "land", "--yes")
    assert land_nothing.returncode == 0, land_nothing.stderr
    ask(terminal, "look again", "Good.")
    assert rig.provider.heard("by the person")


def ask(terminal: Terminal, prompt: str, answer: str) -> None:
    terminal.type(prompt)
    terminal.wait_for(prompt)
    terminal.type("\r")
    terminal.wait_for(answer)


def test_the_reason_of_a_rejection_reaches_the_agent(rig: Rig) -> None:
    rig.provider.plays(
        Turn("I look.", [read(rig.root / "a.txt")]),
        Turn("I edit.", [edit(rig.root / "a.txt", "two", "zwei")]),
        Turn("Finished."),
        Turn("I see.", [shell("cat .tideate/feedback.md")]),
        Turn("Better."),
    )
    terminal = rig.open_agent(*COMMAND, "guard")
    ask(terminal, "change the files", "Finished.")
    review = rig.open(*COMMAND, "guard", "land")
    for question, key in (
        ("Apply the change to a.txt", "p"),
        ("Accept hunk 1/1 of a.txt?", "b"),
        ("ecause", "I wanted drei"),
    ):
        review.wait_for(question)
        review.type(f"{key}\n")
    review.wait_for("rejected")
    assert rig.read("a.txt") == "one\ntwo\nthree\n"
    ask(terminal, "read my reasons in .tideate/feedback.md", "Better.")
    assert rig.provider.heard("I wanted drei")


def test_an_agents_own_permissions_and_its_cancel_key_work(rig: Rig) -> None:
    gate = Gate()
    rig.asks = True
    rig.provider.plays(
        Turn("I run.", [shell("touch made", escalated=True)]),
        Turn("Finished."),
        Turn("I wait.", [shell("touch late", escalated=True)], gate),
        Turn("Here I am."),
    )
    terminal = rig.open(*COMMAND, "guard", *rig.agent.careful)
    terminal.wait_for(rig.agent.ready)
    ask(terminal, "make it", rig.agent.question)
    terminal.type("\r")
    terminal.wait_for("Finished.")
    terminal.type("wait")
    terminal.wait_for("wait")
    terminal.type("\r")
    terminal.read_until(gate.has_started)
    for key in rig.agent.cancel:
        terminal.type(key)
        terminal.read_until(drawn(terminal))
    terminal.read_until(lambda: gate.disconnected)
    ask(terminal, "now go on", "Here I am.")
    land(rig)
    assert rig.files().keys() == {"a.txt", "b.txt", "c.txt", "made"}


def drawn(terminal: Terminal) -> Callable[[], bool]:
    """Return a condition that holds when the screen has changed since now."""
    before = terminal.rows()
    return lambda: terminal.rows() != before


def test_what_a_killed_agent_did_can_be_landed(rig: Rig) -> None:
    gate = rig.stall()
    guard = rig.guarded("change the files")
    gate.wait_started()
    for pid in rig.agent_pids():
        os.kill(pid, signal.SIGKILL)
    output, _ = guard.communicate(timeout=LIMIT)
    assert guard.returncode == 128 + signal.SIGKILL, output
    assert rig.brood.gone(10), rig.brood.commands()
    assert rig.read("a.txt") == "one\ntwo\nthree\n"
    land(rig)
    assert rig.read("a.txt") == "one\nzwei\nthree\n"


def test_what_was_done_before_the_guard_is_killed_can_be_landed(rig: Rig) -> None:
    gate = rig.stall()
    guard = rig.guarded("change the files")
    gate.wait_started()
    guard.kill()
    guard.communicate(timeout=LIMIT)
    assert rig.brood.gone(10), rig.brood.commands()
    assert rig.read("a.txt") == "one\ntwo\nthree\n"
    land(rig)
    assert rig.read("a.txt") == "one\nzwei\nthree\n"

"""Each agent over ACP in the workflow `agent`: its whole turn is reviewed before it reaches the project."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from typing import TYPE_CHECKING

import pytest

from tests.external_agents.rig import LIMIT, START
from tests.external_agents.turns import Turn, edit, read, shell
from tests.harness.model_rules import Gate
from tests.harness.project import git
from tests.harness.shell import COMMAND

if TYPE_CHECKING:
    from tests.external_agents.rig import Rig

pytestmark = [pytest.mark.slow, pytest.mark.bulk]

DECLINED, INTERRUPTED = 3, 130
LANDED = {"a.txt": b"one\nzwei\nthree\n", "b.txt": b"b\nmore\n", "new.txt": b"new\n"}


def command(rig: Rig, prompt: str, *options: str) -> list[str]:
    if not rig.asks:
        rig.start_as_installed()
    return [*COMMAND, "run", "agent", prompt, "--adapter", f"acp:{rig.agent.name}", *options]


def small_edit(rig: Rig) -> list[Turn]:
    return [
        Turn("I look.", [read(rig.root / "a.txt")]),
        Turn("I edit.", [edit(rig.root / "a.txt", "two", "zwei")]),
        Turn("Finished."),
    ]


def stalled(rig: Rig) -> tuple[subprocess.Popen[str], Gate]:
    """Start a turn with an edit and a program in the background, whose answer does not come."""
    gate = Gate()
    *edits, _ = small_edit(rig)
    rig.provider.plays(
        *edits, Turn("I run.", [shell("nohup sleep 1000 >/dev/null 2>&1 &")]), Turn("I wait.", gate=gate)
    )
    process = start(rig)
    gate.wait_started()
    return process, gate


def start(rig: Rig) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command(rig, "change the files"),
        cwd=rig.root,
        env=rig.environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def test_a_turn_lands_as_one_change_and_its_commit_stays_behind(rig: Rig) -> None:
    rig.provider.plays(*rig.work())
    history = git(rig.root, "rev-parse", "HEAD")
    done = rig.run(*command(rig, "change the files", "--yes"))
    assert done.returncode == 0, done.stderr
    assert rig.provider.failures == []
    assert rig.provider.left == 0
    assert rig.files() == LANDED
    assert git(rig.root, "rev-parse", "HEAD") == history
    assert "Finished." in done.stdout


def test_a_declined_turn_changes_nothing(rig: Rig) -> None:
    rig.provider.plays(*rig.work())
    before = rig.fingerprint()
    done = rig.run(*command(rig, "change the files", "--no"))
    assert done.returncode == DECLINED, done.stderr
    assert rig.provider.left == 0
    assert rig.fingerprint() == before


def test_a_follow_up_continues_the_conversation(rig: Rig) -> None:
    rig.provider.plays(*small_edit(rig), Turn("It was two."))
    done = rig.run(*command(rig, "change the files", "--yes"))
    assert done.returncode == 0, done.stderr
    done = rig.run(*command(rig, "what was it before?", "--yes", "--continue", "last"))
    assert done.returncode == 0, done.stderr
    assert rig.provider.heard("change the files", "Finished.", "what was it before?")


def test_the_reason_of_a_rejection_is_the_next_prompt(rig: Rig) -> None:
    rig.provider.plays(*small_edit(rig), Turn("I see."))
    terminal = rig.open(*command(rig, "change the files"))
    for question, key in (
        ("Apply the change to a.txt", "p"),
        ("Accept hunk 1/1 of a.txt?", "b"),
        ("Because?", "I wanted drei"),
    ):
        terminal.wait_for(question)
        terminal.type(f"{key}\n")
    rig.provider.wait_for(lambda: rig.provider.heard("I wanted drei"), "the reason")
    assert rig.read("a.txt") == "one\ntwo\nthree\n"


def test_a_cancelled_run_ends_the_agent(rig: Rig) -> None:
    process, gate = stalled(rig)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=LIMIT)
    assert process.returncode == INTERRUPTED, output
    gate.wait_disconnected()
    assert rig.brood.gone(10), rig.brood.commands()
    assert rig.read("a.txt") == "one\ntwo\nthree\n"


def test_a_run_cancelled_in_a_long_command_ends_it(rig: Rig) -> None:
    rig.provider.plays(Turn("I run.", [shell("touch started; sleep 1000 & sleep 1000")]), Turn("Never."))
    process = start(rig)
    while not list(rig.home.glob(".local/state/tideate/**/upper/started")):
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=LIMIT)
    assert process.returncode == INTERRUPTED, output
    assert rig.brood.gone(10), rig.brood.commands()
    assert rig.files() == {name: text.encode() for name, text in START.items()}
    # the work so far waits for a review
    assert len(list(rig.home.glob(".local/state/tideate/**/upper/started"))) == 1
    assert "tideate guard land" in output


def test_a_killed_agent_fails_the_run(rig: Rig) -> None:
    process, _ = stalled(rig)
    for pid in rig.agent_pids():
        os.kill(pid, signal.SIGKILL)
    output, _ = process.communicate(timeout=LIMIT)
    assert process.returncode == 1, output
    assert rig.brood.gone(10), rig.brood.commands()
    assert rig.read("a.txt") == "one\ntwo\nthree\n"


def test_a_killed_host_takes_the_agent_with_it(rig: Rig) -> None:
    process, _ = stalled(rig)
    process.kill()
    process.communicate(timeout=LIMIT)
    assert rig.brood.gone(10), rig.brood.commands()
    assert rig.read("a.txt") == "one\ntwo\nthree\n"


@pytest.mark.parametrize(("answer", "text"), [("--yes", "one\nzwei\nthree\n"), ("--no", "one\ntwo\nthree\n")])
def test_an_agents_permissions_may_be_asked_of_the_person(rig: Rig, answer: str, text: str) -> None:
    rig.asks = True
    rig.configure(f'[agents.{rig.agent.name}]\npermissions = "ask"\n')
    rig.provider.plays(*small_edit(rig))
    done = rig.run(*command(rig, "change the files", answer))
    assert f"may acp:{rig.agent.name} do this in its copy" in done.stderr
    assert done.returncode in (0, DECLINED), done.stderr
    assert rig.read("a.txt") == text

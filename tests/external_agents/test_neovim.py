"""Each agent in Neovim: reviewed, landed, rolled back and compared; after a kill its work can be landed."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from tests.external_agents.agents import AGENTS
from tests.external_agents.turns import Turn, shell
from tests.harness.editor import REPOSITORY, find_nvim
from tests.harness.model_rules import Gate
from tests.harness.project import write_files

if TYPE_CHECKING:
    from scripts.terminal import Terminal
    from tests.external_agents.rig import Rig

pytestmark = [pytest.mark.slow, pytest.mark.bulk]

START = "one\ntwo\nthree\n"


@pytest.fixture
def neovim(rig: Rig) -> Terminal:
    """A Neovim at a terminal in the rig's project, with the agent as the default adapter."""
    others = AGENTS["codex"].variables(rig.provider.address) | AGENTS["opencode"].variables("")
    rig.more = {"TIDEATE_PYTHON": sys.executable, **others}
    rig.configure(f'adapter = "acp:{rig.agent.name}"\n')
    own = ["--cmd", f"set runtimepath^={REPOSITORY} shortmess+=I noruler"]
    terminal = rig.open(find_nvim(), "-u", "NORC", "-i", "NONE", "-n", *own, "a.txt", rows=40)
    terminal.wait_for("three")
    return terminal


def test_what_a_guarded_agent_did_outlives_neovim(rig: Rig, neovim: Terminal) -> None:
    gate = rig.stall()
    neovim.type(f":Workflow guard {' '.join(rig.agent.screen)}\r")
    neovim.wait_for(rig.agent.ready)
    neovim.type("change the files")
    neovim.wait_for("change the files")
    neovim.type("\r")
    neovim.read_until(gate.has_started)
    neovim.kill()
    assert rig.brood.gone(10), rig.brood.commands()
    assert rig.read("a.txt") == START
    landed = rig.tideate("guard", "land", "--yes")
    assert landed.returncode == 0, landed.stderr
    assert rig.read("a.txt") == "one\nzwei\nthree\n"


def test_an_agents_turn_ends_with_neovim(rig: Rig, neovim: Terminal) -> None:
    gate = rig.stall()
    neovim.type(":Workflow agent change the files\r")
    neovim.read_until(gate.has_started)
    neovim.kill()
    assert rig.brood.gone(10), rig.brood.commands()
    assert rig.read("a.txt") == START


def test_a_guarded_agent_is_reviewed_landed_and_rolled_back(rig: Rig, neovim: Terminal) -> None:
    rig.provider.plays(
        Turn("I run.", [shell("sed -i s/two/zwei/ a.txt; echo more >> b.txt; rm c.txt")]),
        Turn("Finished."),
    )
    before = rig.files()
    neovim.type(f":Workflow guard {' '.join(rig.agent.screen)}\r")
    neovim.wait_for(rig.agent.ready)
    neovim.type("change the files")
    neovim.wait_for("change the files")
    neovim.type("\r")
    neovim.wait_for("Finished.")
    neovim.type("\x1c\x0e:Workflow land\r")
    neovim.wait_for("file 1/3")
    neovim.wait_for("gr reject")
    # the deletion comes first; it is rejected with a reason
    neovim.type("gb")
    neovim.wait_for("Reject, because:")
    neovim.type("keep it\r")
    neovim.wait_for("2 open")
    neovim.type("gA")
    neovim.wait_for("g<CR> sends 1 comment")
    neovim.type("g\r")
    neovim.wait_for("your decisions for the next prompt are in")
    assert rig.files() == {**before, "a.txt": b"one\nzwei\nthree\n", "b.txt": b"b\nmore\n"}
    neovim.type(":Workflow rollback\r")
    neovim.wait_for("Roll back 2 files")
    neovim.type("y")
    neovim.wait_for("rolled back: a.txt, b.txt")
    assert rig.files() == before


def test_two_agents_are_compared_and_one_is_taken(rig: Rig, neovim: Terminal) -> None:
    other = AGENTS["codex" if rig.agent.name != "codex" else "opencode"]
    write_files(rig.home, other.files(rig.provider.address, rig.root))
    gates = [Gate(), Gate()]
    rig.provider.plays(
        *(Turn("I run.", [shell("sed -i s/two/zwei/ a.txt; echo more >> b.txt")], gate=one) for one in gates),
        Turn("Finished."),
        Turn("Finished."),
    )
    neovim.type(f":Workflow compare --agents={rig.agent.name},{other.name} change the files\r")
    for gate in gates:  # each agent gets one of the turns
        neovim.read_until(gate.has_started)
    for gate in gates:
        gate.release()
    neovim.wait_for("Take which of 2 answers?")
    assert sum("+2 -1 lines in 2 files" in row for row in neovim.rows()) == 2
    neovim.type("2")
    neovim.wait_for("gr reject")
    neovim.type("gr")
    neovim.wait_for("1 open")
    neovim.type("ga")
    neovim.wait_for("0 open")
    neovim.type("g\r")
    neovim.read_until(lambda: rig.read("b.txt") == "b\nmore\n")
    assert rig.read("a.txt") == START

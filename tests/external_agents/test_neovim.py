"""Each agent started from a Neovim that is killed: what it did can be landed, and nothing lives on."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from tests.external_agents.turns import Turn, edit, read, shell
from tests.harness.editor import REPOSITORY, find_nvim
from tests.harness.model_rules import Gate

if TYPE_CHECKING:
    from scripts.terminal import Terminal
    from tests.external_agents.rig import Rig

pytestmark = [pytest.mark.slow, pytest.mark.bulk]

START = "one\ntwo\nthree\n"


@pytest.fixture
def neovim(rig: Rig) -> Terminal:
    """A Neovim at a terminal in the rig's project, with the agent as the default adapter."""
    rig.more = {"TIDEATE_PYTHON": sys.executable}
    rig.configure(f'adapter = "acp:{rig.agent.name}"\n')
    own = ["--cmd", f"set runtimepath^={REPOSITORY} shortmess+=I noruler"]
    terminal = rig.open(find_nvim(), "-u", "NORC", "-i", "NONE", "-n", *own, "a.txt", rows=40)
    terminal.wait_for("three")
    return terminal


def script(rig: Rig) -> Gate:
    gate = Gate()
    rig.provider.plays(
        Turn("I look.", [read(rig.root / "a.txt")]),
        Turn("I edit.", [edit(rig.root / "a.txt", "two", "zwei")]),
        Turn("I run.", [shell("nohup sleep 1000 >/dev/null 2>&1 &")]),
        Turn("I wait.", gate=gate),
    )
    return gate


def test_what_a_guarded_agent_did_outlives_neovim(rig: Rig, neovim: Terminal) -> None:
    gate = script(rig)
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
    gate = script(rig)
    neovim.type(":Workflow agent change the files\r")
    neovim.read_until(gate.has_started)
    neovim.kill()
    assert rig.brood.gone(10), rig.brood.commands()
    assert rig.read("a.txt") == START

"""Each agent in a plain project plays the provider's script with its own tools, however it is started."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from tests.external_agents.turns import Turn, edit, read, shell
from tests.harness.model_rules import Gate
from tests.harness.project import git

if TYPE_CHECKING:
    from tests.external_agents.rig import Rig

pytestmark = [pytest.mark.slow, pytest.mark.bulk]


def assert_worked(rig: Rig) -> None:
    assert rig.provider.failures == []
    assert rig.provider.unknown == []
    assert rig.provider.left == 0
    assert rig.read("a.txt") == "one\nzwei\nthree\n"
    assert rig.read("new.txt") == "new\n"
    assert rig.read("b.txt") == "b\nmore\n"
    assert not (rig.root / "c.txt").exists()
    assert git(rig.root, "log", "-1", "--format=%s").strip() == "by the agent"
    assert git(rig.root, "status", "--short") == ""


def test_an_agent_works_without_a_terminal(rig: Rig) -> None:
    rig.provider.plays(*rig.work())
    done = rig.run(*rig.agent.once, "change the files")
    assert done.returncode == 0, done.stderr
    assert "Finished." in done.stdout
    assert_worked(rig)


def test_an_agent_works_at_a_terminal(rig: Rig) -> None:
    rig.provider.plays(*rig.work())
    terminal = rig.open_agent()
    terminal.type("change the files")
    terminal.wait_for("change the files")
    terminal.type("\r")
    terminal.wait_for("Finished.")
    assert_worked(rig)


async def test_an_agent_works_over_the_protocol(rig: Rig) -> None:
    rig.provider.plays(*rig.work())
    async with rig.converse() as conversation:
        answer = await conversation.ask("change the files")
        assert answer.stop_reason == "end_turn"
        assert "Finished." in conversation.text
        assert conversation.tools
    assert_worked(rig)


async def test_a_refused_permission_keeps_the_file(rig: Rig) -> None:
    rig.asks = True
    rig.provider.plays(
        Turn("I look.", [read(rig.root / "a.txt")]),
        Turn("I edit.", [edit(rig.root / "a.txt", "two", "zwei")]),
        Turn("Finished."),
    )
    async with rig.converse(allows=False) as conversation:
        await conversation.ask("change the files")
        assert conversation.permissions
    assert rig.read("a.txt") == "one\ntwo\nthree\n"


async def test_a_cancelled_prompt_ends_and_the_session_goes_on(rig: Rig) -> None:
    gate = Gate()
    rig.provider.plays(Turn("I wait.", [shell("touch late")], gate), Turn("Here I am."))
    async with rig.converse() as conversation:
        asked = asyncio.create_task(conversation.ask("wait"))
        await asyncio.to_thread(gate.wait_started)
        await conversation.cancel()
        assert (await asked).stop_reason == "cancelled"
        await asyncio.to_thread(gate.wait_disconnected)
        await conversation.ask("are you there?")
        assert "Here I am." in conversation.text
        assert rig.provider.heard("are you there?")
    assert not (rig.root / "late").exists()


async def test_a_follow_up_comes_with_what_was_said_before(rig: Rig) -> None:
    rig.provider.plays(Turn("It is blue."), Turn("I said so."))
    async with rig.converse() as conversation:
        await conversation.ask("which colour?")
        await conversation.ask("rejected: I wanted green")
    assert rig.provider.heard("which colour?", "It is blue.", "rejected: I wanted green")


async def test_a_session_is_resumed_by_another_process(rig: Rig) -> None:
    rig.provider.plays(Turn("It is blue."), Turn("I said so."))
    async with rig.converse() as conversation:
        await conversation.ask("which colour?")
        session = conversation.session
    rig.age_sessions()
    async with rig.converse() as conversation:
        await conversation.resume(session)
        await conversation.ask("are you sure?")
    assert rig.provider.heard("which colour?", "It is blue.", "are you sure?")

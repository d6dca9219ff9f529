"""Adapter for an agent that speaks ACP; each prompt runs in a copy of the project, which is discarded."""

from __future__ import annotations

import asyncio
import json
import os
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tideate_core.adapters.acp.pipes import AgentPipes
from tideate_core.adapters.acp.session import AgentSession, allow
from tideate_core.adapters.acp.updates import SaidText
from tideate_core.adapters.base import Reply, Usage
from tideate_core.adapters.libraries import IN_NEOVIM, PIP
from tideate_core.edits import fenced_blocks
from tideate_core.errors import AdapterUnavailable, CommandError, InvalidReply
from tideate_core.process import (
    agent_named,
    check_argv,
    enclosure_for,
    environment_for,
    find_agent,
    find_program,
)
from tideate_core.util.uncancelled import wait_uncancelled

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    from pydantic import BaseModel

    from tideate_core.adapters.acp.session import Permit
    from tideate_core.adapters.acp.turn import OnUpdate, TurnEnd
    from tideate_core.adapters.acp.updates import AgentUpdate
    from tideate_core.adapters.base import OnText, Prompt, Schema
    from tideate_core.config import Config
    from tideate_core.snapshots import GuardedCopy, ScratchDifference

INSTALL: Final = {
    "claude": "npm install -g @agentclientprotocol/claude-agent-acp",
    "codex": "npm install -g @agentclientprotocol/codex-acp",
    "copilot": "npm install -g @github/copilot",
    "gemini": "npm install -g @google/gemini-cli",
    "opencode": "npm install -g opencode-ai",
}
"""Commands that install known agents."""
SILENCE: Final = 1800.0
"""Seconds that an agent may be silent; its tools may take long."""
TYPED: Final = (
    "Answer with one JSON value in a fenced code block, and nothing else. It must match this JSON Schema:\n\n"
    "```json\n{schema}\n```"
)
AGAIN: Final = "That answer cannot be used: {why}. Answer again, with the whole JSON value only."


class AcpAgent:
    """Adapter of an agent that speaks ACP.

    :param name: name of the adapter.
    :param command: program and arguments.
    :param root: the project; without one, the agent cannot be asked.
    :param config: the configuration, with the agent's limits in `[agents]`.
    :param settings: values of the session's options.
    :param silence: see `AgentSession`.
    :param attempts: maximum number of answers until one matches the schema.
    """

    demonstration = False
    context_tokens = None

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        root: Path | None,
        config: Config,
        *,
        settings: Mapping[str, str | bool] | None = None,
        silence: float = SILENCE,
        attempts: int = 3,
    ) -> None:
        self.name = name
        self.command = tuple(command)
        self._root = root
        self._config = config
        self._settings = settings or {}
        self._silence = silence
        self._attempts = attempts

    async def ask(self, prompt: Prompt, *, on_token: OnText = None, schema: Schema = None) -> Reply:
        text = written_prompt(prompt)
        if schema is not None:
            text += "\n\n" + TYPED.format(schema=json.dumps(schema.model_json_schema()))

        def show(update: AgentUpdate) -> None:
            if on_token is not None and isinstance(update, SaidText) and not update.is_thought:
                on_token(update.text)

        async with self._thrown_away() as copy:
            async with self.converse(copy) as session:
                reply = await self._answer(session, text, show, schema)
            await copy.close()
            return replace(reply, notice=self._lost(await copy.difference()))

    async def _answer(self, session: AgentSession, text: str, show: OnUpdate, schema: Schema) -> Reply:
        usage = Usage()
        for left in reversed(range(self._attempts)):
            end = await session.prompt(text, show)
            usage += end.usage
            self.check_end(end)
            try:
                parsed = None if schema is None else parsed_answer(end.text, schema)
            except ValueError as error:
                if not left:
                    raise InvalidReply(f"the agent {self.name!r} gave no usable answer: {error}") from error
                text = AGAIN.format(why=error)
                continue
            return Reply(end.text, session.description or self.name, parsed, usage, end.truncated)
        raise AssertionError("an attempt returns or raises")

    def _lost(self, difference: ScratchDifference) -> str:
        """Return a notice about discarded changes; empty if there are none."""
        count = len(difference.files)
        if not count:
            return ""
        files = f"{count} file{'' if count == 1 else 's'}"
        return f"{self.name} changed {files} in a copy that is discarded; use `agent` to review changes"

    async def check_turn(self, prompt: Prompt) -> None:
        """Check that a turn can begin, before its copy is made; a preview ends here.

        :raises AdapterUnavailable: the agent or its library is missing.
        """
        del prompt
        await self.check_key()

    def check_end(self, end: TurnEnd) -> None:
        """Check that a turn ended with an answer.

        :raises InvalidReply: the agent refused, or stopped by itself.
        """
        words = {"refusal": "refused the request", "cancelled": "cancelled its turn by itself"}
        if (why := words.get(end.stop_reason)) is not None:
            said = f": {' '.join(end.text.split())[:500]}" if end.text.strip() else ""
            raise InvalidReply(f"the agent {self.name!r} {why}{said}")

    @asynccontextmanager
    async def converse(
        self, copy: GuardedCopy, *, earlier: str = "", permit: Permit = allow
    ) -> AsyncIterator[AgentSession]:
        """Start the agent in a copy of the project, and open a session; both end with the block.

        :param earlier: the agent's id of a session to continue, if it can.
        :raises AdapterUnavailable: the agent or its library is missing, or it does not start.
        :raises AdapterError: the agent refused the session.
        """
        environment = copy.environment(self._environment())
        # the enclosure replaces the agent's own limits
        known = None if self.asks or copy.kind == "copy" else agent_named(self._own)
        if known is not None and not os.geteuid():
            environment = {**environment, **known.for_root}
        program = self.find(environment)
        pipes = await AgentPipes.start(
            self.name,
            [program, *self.command[1:]],
            cwd=copy.root,
            environment=environment,
            within=copy.command,
        )
        session = AgentSession(self.name, pipes, str(copy.root), permit=permit, silence=self._silence)
        try:
            await session.greet()
            await session.begin(earlier, self._settings, mode=known.mode if known else "")
            yield session
        finally:
            await wait_uncancelled(asyncio.ensure_future(session.close()))

    def find(self, environment: Mapping[str, str]) -> str:
        """Return the agent's program.

        :raises AdapterUnavailable: it is not installed.
        """
        check_argv(self.command)
        install = INSTALL.get(self.name.removeprefix("acp:"), "")
        hint = f"`{install}` installs it" if install else f"[adapters.{self.name}] acp names it"
        try:
            return find_program(self.command[0], self._root or Path.cwd(), environment, hint=hint)
        except CommandError as error:
            raise AdapterUnavailable(f"the agent {self.name!r} cannot be started: {error}") from error

    async def check(self) -> str:
        async with self._thrown_away() as copy, self.converse(copy) as session:
            options = ", ".join(f"{one.category or one.id} {one.current}" for one in session.options)
            said = session.description or self.name
            return f"{said}, an agent over ACP" + (f" ({options})" if options else "")

    async def check_key(self) -> None:
        from importlib.util import find_spec

        if find_spec("acp") is None:
            raise AdapterUnavailable(
                f"agents need the library agent-client-protocol: `{PIP} install agent-client-protocol`"
                f"{IN_NEOVIM.format(extra='acp')}"
            )
        self.find(self._environment())

    async def aclose(self) -> None:
        """Do nothing: each turn has a process of its own."""

    @property
    def asks(self) -> bool:
        """True if the person answers the agent's requests for permission."""
        own = self._config.agents.get(self._own)
        return own is not None and own.permissions == "ask"

    @property
    def program(self) -> tuple[str, ...]:
        """Command of the agent for a terminal, if it is known, else over ACP."""
        known = agent_named(self._own)
        return (known.programs[0],) if known else self.command

    async def open(self, copy: GuardedCopy) -> None:
        """Mount a copy for the agent, within the limits of its enclosure.

        :raises ScratchUnavailable: it cannot be mounted.
        """
        await copy.open(await asyncio.to_thread(enclosure_for, self._own, self._config))

    @property
    def _own(self) -> str:
        """Name of the agent in the configuration."""
        name = self.name.removeprefix("acp:")
        known = name in self._config.agents or agent_named(name)
        return name if known else find_agent(self.command, self._config)

    def _environment(self) -> dict[str, str]:
        return environment_for(self._own, self._config)

    @asynccontextmanager
    async def _thrown_away(self) -> AsyncIterator[GuardedCopy]:
        from tideate_core.snapshots import GuardedCopy

        if self._root is None:
            raise AdapterUnavailable(f"the agent {self.name!r} needs a project, and there is none here")
        copy = await GuardedCopy.prepare(self._root)
        try:
            await self.open(copy)
            yield copy
        finally:
            await wait_uncancelled(asyncio.ensure_future(copy.discard()))


def written_prompt(prompt: Prompt) -> str:
    """Return a prompt as one text: an agent has its own system prompt."""
    earlier = [
        f"You were asked:\n\n{turn.user}\n\nYou answered:\n\n{turn.assistant}" for turn in prompt.history
    ]
    return "\n\n---\n\n".join(filter(None, (prompt.system, *earlier, prompt.user)))


def parsed_answer(text: str, schema: type[BaseModel]) -> BaseModel:
    """Return the value in an agent's answer: the last fenced block, else the whole text.

    :raises ValueError: it does not match.
    """
    blocks = [block for block in fenced_blocks(text.split("\n")) if block.closed]
    return schema.model_validate_json("\n".join(blocks[-1].lines) if blocks else text.strip())

"""Tools named by a workflow's step (own and MCP): check, offer, run a model with them."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from pydantic import BaseModel

from tideate_core.agents.loop import LoopResult, WorkLoop
from tideate_core.agents.staged_files import StagedFiles
from tideate_core.agents.tools.table import NamedTools, named_tools
from tideate_core.agents.tools.tool import ToolContext, fit_tools, offer_tools
from tideate_core.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tideate_core.adapters import ModelTurn, OfferedTool, Prompt
    from tideate_core.agents.loop import Submission
    from tideate_core.workflows import StepContext

T = TypeVar("T", bound=BaseModel)


class StepTools:
    """Finds a step's tools and runs a model with them.

    :param names: names as written in files; see `workflows.tool_names`.
    :param adapter: overrides the run's adapter.
    :param around: tools of the calling agent, if this one is delegated. Its staged edits are visible, but
        nothing is staged here: the record of the caller's call could not restore it.
    """

    def __init__(
        self,
        step: StepContext,
        names: Sequence[str],
        adapter: str | None = None,
        *,
        around: StepTools | None = None,
    ) -> None:
        self._step = step
        self._names = names
        self._adapter = adapter
        self._is_asked = around is not None
        self.staged: StagedFiles = around.staged if around else StagedFiles()
        """The staged edits."""

    @cached_property
    def _named(self) -> NamedTools:
        # most steps name no tools: do not load the table for them
        return named_tools(self._names, self._step.tool_servers) if self._names else NamedTools()

    @property
    def are_named(self) -> bool:
        """True if any tool is named."""
        return bool(self._names)

    @property
    def stages(self) -> bool:
        """True if one of them stages edits, even if it is not available here."""
        return not self._is_asked and any(tool.effect == "stages" for tool in self._named.own)

    def check(self) -> None:
        """Check the names and the model before any question.

        :raises ConfigError: a name is wrong, or the model cannot call tools.
        """
        if self.are_named and not self._step.can_use_tools(self._adapter):
            raise ConfigError(
                f"step {self._step.step!r}: its model cannot use tools ({', '.join(self._names)} are wanted)"
                "; choose another adapter, or remove `tools`"
            )
        _ = self._named

    async def of_servers(self) -> list[OfferedTool]:
        """Return the tools of MCP servers.

        :raises ConfigError: a name is wrong, or the model cannot call tools.
        :raises ToolError: a tool cannot be found.
        """
        self.check()
        names = self._named.of_servers
        return await self._step.find_tools(names, self._adapter) if names else []

    async def offer(self, *, looking: bool = False) -> list[OfferedTool]:
        """Return all named tools; tools of the editor only if one is running.

        :param looking: leave out tools that only read, which are offered anyway, and tools that stage edits.
        """
        self.check()
        own = [tool for tool in self._named.own if self._step.editor is not None or not tool.needs_editor]
        if looking:
            own = [tool for tool in own if tool.effect == "runs"]
        elif self._is_asked:
            own = [tool for tool in own if tool.effect != "stages"]
        left_out = [tool.name for tool in self._named.own if tool.effect == "stages" and tool not in own]
        if left_out and (looking or self._is_asked):
            words = f"{', '.join(left_out)} left out: nothing is edited here"
            self._step.notice(f"{self._step.step}: {words}", level="warn")
        context = ToolContext(self._step, self.staged)
        return [*offer_tools(await fit_tools(own, context), context), *await self.of_servers()]

    async def work(
        self,
        key: str,
        prompt: Prompt,
        more: Sequence[OfferedTool] = (),
        *,
        submission: Submission[T] | None = None,
        quiet: bool = False,
        on_turn: Callable[[ModelTurn], None] | None = None,
    ) -> LoopResult[T]:
        """Have the model work with the tools; edits staged before a limit are kept.

        :param key: identifies this work within the step.
        :param more: additional tools.
        :param on_turn: called after each turn; an exception that it raises ends the work.
        """
        loop = WorkLoop(
            self._step,
            key,
            [*more, *await self.offer()],
            submission=submission,
            # a delegated agent's edits are recorded with the caller's call
            staged=None if self._is_asked else self.staged,
            adapter=self._adapter,
            words=self._words(),
            quiet=quiet,
            on_turn=on_turn,
        )
        done = await loop.run(prompt)
        if done.exhausted:
            words = f"{done.exhausted} is reached: the model's work so far is used"
            self._step.notice(words, level="warn")
        return done

    def _words(self) -> str:
        own = self._named.own
        checks = any(tool.effect == "runs" for tool in own)
        return self._step.render("tools", stages=self.stages, checks=checks).system if own else ""

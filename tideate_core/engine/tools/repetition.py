"""Whether a tool that may have done its work is called again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tideate_core.errors import ToolInterrupted
from tideate_core.workflows import MISSING, Declined

if TYPE_CHECKING:
    from tideate_core.mcp.client import Tool
    from tideate_core.workflows import StepContext

__all__ = ["Repetition"]

ENDED: Final = None
"""What is remembered of a call whose outcome is known."""


class Repetition:
    """Remembers that a call was sent, over a crash too, until it is known what came of it.

    A tool that may be called again, by its own word or by that of the workflow's author, needs none of it.
    """

    def __init__(self, step: StepContext, tool: Tool, key: str) -> None:
        definition = step.definition
        vouched = (
            definition is not None and definition.idempotent and "idempotent" in definition.model_fields_set
        )
        self._step = step
        self._tool = tool
        self._key = f"sent:{key}"
        self._needed = not (tool.repeatable or vouched)
        self._asked_before = definition is not None and not definition.idempotent
        """After a crash the run asks of such a step by itself."""

    async def ask(self, *, gated: bool) -> None:
        """Return when the call may be sent.

        :param gated: a person may be asked.
        :raises Declined: the person does not want it sent again.
        :raises ToolInterrupted: nobody may be asked.
        """
        attempt = self._step.recall(self._key)
        if not self._needed or attempt is MISSING or attempt is ENDED:
            return
        if attempt == self._step.attempt and self._asked_before:
            return
        what = f"{self._tool.name!r} of the MCP server {self._tool.server!r}"
        if not gated:
            raise ToolInterrupted(
                f"{self._step.step}: {what} was called before, and it is not known what came of it; it is "
                "not called twice unasked. Let the run ask, or say `idempotent: true` in the step if a "
                "second call does no harm"
            )
        decision = await self._step.confirm(
            "gate",
            f"{self._step.step}: {what} was called before, and no answer came. It may have done its work. "
            "Call it again?",
        )
        if not decision.accepted:
            raise Declined(decision.reason)

    async def begin(self) -> None:
        """Remember that it is sent; durable when this returns."""
        if self._needed:
            await self._step.remember(self._key, self._step.attempt)

    async def end(self) -> None:
        """Remember that it was answered."""
        if self._needed:
            await self._step.remember(self._key, ENDED)

"""What a handler is given for one item of a `for_each`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from tideate_core.workflows import Decision, DecisionKind, StepContext

__all__ = ["ItemContext"]


class ItemContext:
    """The step's own context, but for what must be told apart: name, values, memory, questions.

    :param values: what templates see.
    :param feedback: why the item's last result was refused.
    """

    def __init__(
        self, step: StepContext, index: int, total: int, values: dict[str, Any], feedback: str = ""
    ) -> None:
        self.step = f"{step.step}[{index}]"
        self.feedback = feedback
        # an item that is done is not done again after a crash: what it wrote has to stay
        self.workspace = step.workspace.of_step(self.step)
        self._whole = step
        self._index = index
        self._total = total
        self._values = values

    def __getattr__(self, name: str) -> Any:
        return getattr(self._whole, name)

    def values(self) -> dict[str, Any]:
        return dict(self._values)

    def recall(self, key: str) -> Any:
        return self._whole.recall(f"{self._index}:{key}")

    async def remember(self, key: str, value: Any) -> None:
        await self._whole.remember(f"{self._index}:{key}", value)

    async def choose_once(self, key: str, digest: str, produce: Callable[[], Awaitable[Any]]) -> Any:
        return await self._whole.choose_once(f"{self._index}:{key}", digest, produce)

    async def confirm(self, kind: DecisionKind, message: str, **rest: Any) -> Decision:
        # by its words a question is recognised after a crash: no item may take another's answer
        words = f"{message} (item {self._index + 1} of {self._total})"
        return await self._whole.confirm(kind, words, **rest)

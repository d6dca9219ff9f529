"""The bundled model: SmolLM2-135M in a child process on loopback. A demonstration, offline and free."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.adapters.bundled import ALIAS, CONTEXT_TOKENS
from tideate_core.adapters.model import ModelAdapter

if TYPE_CHECKING:
    from tideate_core.adapters.sources import OpenModel

__all__ = ["LocalSource", "local_adapter"]

ANSWER_TOKENS = 768
"""About five seconds."""


def local_adapter(attempts: int = 3) -> ModelAdapter:
    """Return an adapter of the bundled model; its process starts with the first prompt."""
    return ModelAdapter(
        "local",
        LocalSource(),
        attempts=attempts,
        context_tokens=CONTEXT_TOKENS,
        demonstration=True,
        temperature=0.0,
        max_tokens=ANSWER_TOKENS,
    )


class LocalSource:
    """Uses the model's process, and has it started again if it ended."""

    async def open(self) -> OpenModel:
        # here, as what it needs is not needed before the first prompt
        from tideate_core.adapters.local_opening import open_local

        return await open_local()

    async def check(self, _: OpenModel) -> str:
        return f"{ALIAS} runs on this machine (a demonstration: its answers are not to be relied on)"

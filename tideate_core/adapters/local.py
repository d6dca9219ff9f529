"""The bundled model: SmolLM2-135M in a child process on loopback. A demonstration, offline and free."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.adapters.local_process import ALIAS, CONTEXT_TOKENS
from tideate_core.adapters.local_shared import hold_process
from tideate_core.adapters.model import ModelAdapter
from tideate_core.adapters.sources import OpenModel, open_server
from tideate_core.adapters.translate import Origin

if TYPE_CHECKING:
    from pydantic_ai.profiles import ModelProfile

    from tideate_core.adapters.local_shared import SharedProcess

__all__ = ["LocalSource", "local_adapter"]

ANSWER_TOKENS = 768
"""About five seconds."""
SILENCE_LIMIT = 300.0
"""Seconds without a byte: one slot answers one prompt after the other."""


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
        shared = await hold_process()
        try:
            return _open(shared)
        except BaseException:
            await shared.release()
            raise

    async def check(self, _: OpenModel) -> str:
        return f"{ALIAS} runs on this machine (a demonstration: its answers are not to be relied on)"


def _open(shared: SharedProcess) -> OpenModel:
    opened = open_server(
        Origin("local", "the bundled model", secret=shared.key),
        base_url=f"{shared.url}/v1",
        model=ALIAS,
        key=shared.key,
        timeout=SILENCE_LIMIT,
        profile=_profile(),
    )

    async def close() -> None:
        try:
            await opened.close()
        finally:
            await shared.release()

    return OpenModel(
        opened.model,
        opened.origin,
        opened.timeout,
        close,
        typed="native",
        alive=shared.alive,
        in_use=shared.in_use,
    )


def _profile() -> ModelProfile:
    from tideate_core.adapters.bounds import BoundedSchema

    return {
        "supports_json_schema_output": True,
        "json_schema_transformer": BoundedSchema,
        "openai_chat_streaming_requires_finish_reason": True,  # type: ignore[typeddict-unknown-key]
    }

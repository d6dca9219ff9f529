"""The bundled model as one that can be asked: its process, and the client of that."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.adapters.bundled import ALIAS
from tideate_core.adapters.local_shared import hold_process
from tideate_core.adapters.sources import OpenModel, open_server
from tideate_core.adapters.translate import Origin

if TYPE_CHECKING:
    from pydantic_ai.profiles import ModelProfile

    from tideate_core.adapters.local_shared import SharedProcess

__all__ = ["open_local"]

SILENCE_LIMIT = 300.0
"""Seconds without a byte: one slot answers one prompt after the other."""


async def open_local() -> OpenModel:
    """Return the model; its process is started where none runs.

    :raises AdapterUnavailable: it is not installed, or it did not start.
    """
    shared = await hold_process()
    try:
        return _open(shared)
    except BaseException:
        await shared.release()
        raise


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

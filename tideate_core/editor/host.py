"""The host's two threads: the main one speaks to Neovim, the engine's runs everything else."""

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

__all__ = ["Host"]

STUCK = 120.0
LEAVE = 0.25
"""Seconds that the runs have to end in when the editor does; it waits for not much longer."""
RECEIVE = "require('tideate.events').receive(...)"


class Host:
    """Owns the bridge and the engine's thread. Its methods are called on the main thread."""

    def __init__(self, nvim: Nvim) -> None:
        self._nvim = nvim
        self._bridge = Bridge(nvim.loop, self._send)
        self._engine: _Engine | None = None

    def start(self, payload: dict[str, Any]) -> None:
        """Start the engine, once; answer that the bridge stands before anything heavy is imported."""
        self._bridge.post({"type": "ready", "pid": os.getpid(), "version": __version__})
        if self._engine is None or not self._engine.is_alive():
            if log := payload.get("log"):
                log_to(Path(log), payload.get("log_level") or "info")
            self._engine = _Engine(payload, self._bridge)
            self._engine.start()

    def send(self, message: dict[str, Any]) -> None:
        """Hand a request to the engine.

        A ping is answered here: the engine may be busy for seconds with a large text and is alive all the
        same. One that has not come to its messages for `STUCK` seconds is not.
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
    """A daemon thread with an event loop of its own: a burst of work here costs the editor nothing."""

    def __init__(self, payload: dict[str, Any], bridge: Bridge) -> None:
        super().__init__(name="tideate-engine", daemon=True)
        self._payload = payload
        self._bridge = bridge
        self._loop = asyncio.new_event_loop()
        self._seen = time.monotonic()
        self._left = threading.Event()
        self._inbox: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

    def silent_for(self) -> float:
        """Return for how many seconds the loop has not come to what it was asked to do."""
        with suppress(RuntimeError):  # the loop was closed since it was seen alive
            self._loop.call_soon_threadsafe(self._beat)
        return time.monotonic() - self._seen

    def _beat(self) -> None:
        self._seen = time.monotonic()

    def submit(self, message: dict[str, Any]) -> None:
        with suppress(RuntimeError):  # as above; what ended it has said so
            self._loop.call_soon_threadsafe(self._inbox.put_nowait, message)

    def leave(self, within: float) -> None:
        """End all runs and wait for that: what has not ended then can be resumed.

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

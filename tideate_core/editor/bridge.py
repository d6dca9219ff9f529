"""Queue of messages to Lua from any thread, sent in batches from the main thread."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    class _Loop(Protocol):
        def call_soon_threadsafe(self, callback: Callable[[], object]) -> object: ...
        def call_later(self, delay: float, callback: Callable[[], object]) -> object: ...


log = logging.getLogger(__name__)

FRAME = 0.016
"""Seconds between two batches; one call for each message would redraw ten times as often under load."""
MAX_MESSAGES = 256
MAX_CHARACTERS = 32_000
"""Limits of a batch: Lua handles this much without a noticeable pause."""
TOKEN = "SD_EVENT_TOKEN"  # noqa: S105 an event's name


class Bridge:
    """Queue of messages from any thread, sent in order from the main thread.

    :param loop: the main thread's event loop.
    :param send: passes a batch to Lua; called on the main thread.
    """

    def __init__(self, loop: _Loop, send: Callable[[list[dict[str, Any]]], None]) -> None:
        self._loop = loop
        self._send = send
        self._lock = threading.Lock()
        self._queue: deque[tuple[dict[str, Any], list[str] | None]] = deque()
        self._armed = False
        self._last = 0.0

    def post(self, message: dict[str, Any]) -> None:
        """Queue a message; join it to the last one if both are streamed text of one step."""
        with self._lock:
            if not self._joins_last(message):
                pieces = [message["data"]["text"]] if message.get("name") == TOKEN else None
                self._queue.append((message, pieces))
            if self._armed:
                return
            self._armed = True
        self._loop.call_soon_threadsafe(self._arm)

    def _joins_last(self, message: dict[str, Any]) -> bool:
        if message.get("name") != TOKEN or not self._queue:
            return False
        last, pieces = self._queue[-1]
        if pieces is None or last["execution_id"] != message["execution_id"]:
            return False
        if last["data"]["step"] != message["data"]["step"]:
            return False
        pieces.append(message["data"]["text"])
        return True

    def _arm(self) -> None:
        wait = self._last + FRAME - time.monotonic()
        if wait > 0:
            self._loop.call_later(wait, self._flush)
        else:
            self._flush()

    def _flush(self) -> None:
        self._last = time.monotonic()
        batch = self._take()
        try:
            if batch:
                self._deliver(batch)
        finally:
            with self._lock:
                self._armed = bool(self._queue)
            if self._armed:
                self._loop.call_later(FRAME, self._flush)

    def _deliver(self, batch: list[dict[str, Any]]) -> None:
        """Send a batch; if one message cannot be packed, send the others."""
        try:
            self._send(batch)
        except (ValueError, TypeError, OverflowError) as error:
            if len(batch) > 1:
                for message in batch:
                    self._deliver([message])
                return
            log.exception("a message cannot be sent: %.200r", batch[0])
            if batch[0].get("type") == "reply":
                words = f"the answer cannot be sent to the editor: {error}"
                result = {"ok": False, "error": words, "error_code": "InvalidReply"}
                self._send([{"type": "reply", "id": batch[0]["id"], "result": result}])

    def _take(self) -> list[dict[str, Any]]:
        """Remove one batch from the queue; split a long streamed text."""
        batch: list[dict[str, Any]] = []
        room = MAX_CHARACTERS
        with self._lock:
            while self._queue and len(batch) < MAX_MESSAGES and room > 0:
                message, pieces = self._queue.popleft()
                if pieces is not None:
                    text = "".join(pieces)
                    message = {**message, "data": {**message["data"], "text": text[:room]}}
                    if len(text) > room:
                        self._queue.appendleft((message, [text[room:]]))
                    room -= len(text)
                batch.append(message)
        return batch

"""Rules of a model server: answers by request."""

from __future__ import annotations

import json
import os
import re
import select
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import socket

__all__ = ["LIMIT", "Body", "Gate", "Rule", "Text", "text_of"]

Body = dict[str, Any]
Text = str | Mapping[str, Any] | Callable[[Body], str | Mapping[str, Any]]
"""An answer: text, a mapping sent as JSON, or a function of the request's body."""

LIMIT = 60.0
"""Seconds that any wait for an event takes at most."""


class Gate:
    """Holds the answers of one rule until it is released or the client goes away."""

    def __init__(self) -> None:
        self._started = threading.Semaphore(0)
        self._disconnected = threading.Event()
        self._read, self._write = os.pipe()

    @property
    def disconnected(self) -> bool:
        """The client closed its connection while it was held."""
        return self._disconnected.is_set()

    def has_started(self) -> bool:
        """Return whether a request is held that was not waited for yet; it counts as waited for."""
        return self._started.acquire(blocking=False)

    def wait_started(self, limit: float = LIMIT) -> None:
        """Wait until one more request is held here; its first piece was sent."""
        assert self._started.acquire(timeout=limit), f"no request came to the gate within {limit} s"

    def wait_disconnected(self, limit: float = LIMIT) -> None:
        assert self._disconnected.wait(limit), f"the client was still connected after {limit} s"

    def release(self) -> None:
        """Let every held request, and every later one, go on."""
        os.write(self._write, b"x")

    def hold(self, connection: socket.socket) -> bool:
        """Block the server's thread; return False when the client went away."""
        self._started.release()
        watched = [connection.fileno(), self._read]
        readable, _, _ = select.select(watched, [], [])
        if self._read in readable:
            return True
        self._disconnected.set()
        return False


@dataclass(slots=True)
class Rule:
    match: str
    text: Text = ""
    pieces: int | Sequence[str] | None = None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Any = None
    cut_after: int | None = None
    clean_cut: bool = False
    gate: Gate | None = None
    gate_before_first: bool = False
    finish_reason: str = "stop"
    times: int | None = None
    tool: tuple[str, Mapping[str, Any]] | None = None
    """A tool that is called instead of an answer, with its arguments."""
    raw: bytes | None = None
    """The body of an answer, byte by byte."""

    def answer(self, body: Body) -> str:
        text = self.text(body) if callable(self.text) else self.text
        return text if isinstance(text, str) else json.dumps(text)

    def split(self, text: str) -> list[str]:
        """Cut an answer into the pieces it is streamed in: words, unless the rule says otherwise."""
        if self.pieces is None:
            return re.findall(r"\S+\s*|\s+", text)
        if isinstance(self.pieces, int):
            size = max(1, -(-len(text) // self.pieces))
            return [text[at : at + size] for at in range(0, len(text), size)]
        return list(self.pieces)


def text_of(body: Body) -> str:
    parts: list[str] = []
    for message in body.get("messages", []):
        content = message.get("content") or ""
        if isinstance(content, str):
            parts.append(content)
        else:
            parts.extend(part.get("text", "") for part in content)
    return "\n".join(parts)

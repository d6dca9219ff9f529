"""A real HTTP server on loopback that speaks the formats of OpenAI, Anthropic and Google and plays a script.

::

    with ScriptedProvider() as provider:
        provider.plays(Turn("I look.", [shell("ls")]), Turn("All done."))
        ... start an agent that is pointed at provider.address ...

A request that offers a tool for shell commands gets the next turn; the agent's other requests (titles,
token counts, lists of models) get short answers and take no turn. After the script's end, every turn is
"Done.". As a proxy, the server notes which hosts an agent wants, and refuses.
"""

from __future__ import annotations

import contextlib
import json
import re
import threading
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.external_agents.turns import TOOLS, Turn
from tests.external_agents.wires import Anthropic, Completions, Gemini, Responses
from tests.harness.loopback import LoopbackServer, QuietHandler
from tests.harness.model_rules import LIMIT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.external_agents.wires import Wire
    from tests.harness.model_rules import Body

__all__ = ["Asked", "ScriptedProvider"]

WIRES: tuple[tuple[str, Wire], ...] = (
    (r"/chat/completions$", Completions()),
    (r"/responses$", Responses()),
    (r"/messages(?:\?.*)?$", Anthropic()),
    (r":(?:stream)?[gG]enerateContent(?:\?.*)?$", Gemini()),
)
TITLE = Turn('{"title": "A title"}')
COUNTS = re.compile(r"/messages/count_tokens|:countTokens")
SHELLS = TOOLS["shell"].keys()


@dataclass(frozen=True, slots=True)
class Asked:
    """A request."""

    path: str
    body: Body
    headers: dict[str, str]
    turn: Turn | None
    """What it was answered with; None: a side request."""

    @property
    def text(self) -> str:
        """The whole body, for a look whether something occurs in it."""
        return json.dumps(self.body, ensure_ascii=False)


class ScriptedProvider(LoopbackServer):
    """See the module."""

    def __init__(self) -> None:
        self.requests: list[Asked] = []
        self.unknown: list[str] = []
        """Requests to paths that are not served here."""
        self.outside: list[str] = []
        """Hosts elsewhere that an agent asked its proxy for; they were refused."""
        self.failures: list[str] = []
        """Turns that could not be played."""
        self._script: deque[Turn] = deque()
        self._changed = threading.Condition()
        owner = self

        class Handler(_Handler):
            provider = owner

        super().__init__(Handler)

    def plays(self, *turns: Turn) -> None:
        """Add to the script."""
        with self._changed:
            self._script.extend(turns)

    @property
    def turns(self) -> list[Asked]:
        """The requests that were answered with a turn."""
        with self._changed:
            return [asked for asked in self.requests if asked.turn]

    def heard(self, *words: str) -> bool:
        """Return whether one request for a turn had all these words."""
        return any(all(word in asked.text for word in words) for asked in self.turns)

    @property
    def left(self) -> int:
        """Turns of the script that were not asked for."""
        return len(self._script)

    def wait_for(self, reached: Callable[[], bool], what: str, limit: float = LIMIT) -> None:
        """Wait until a condition on this object holds; it is looked at after each request."""
        with self._changed:
            assert self._changed.wait_for(reached, limit), f"not within {limit} s: {what}"

    def take(self, path: str, body: Body, headers: dict[str, str], *, works: bool) -> Turn | None:
        with self._changed:
            turn = (self._script.popleft() if self._script else Turn("Done.")) if works else None
            self.requests.append(Asked(path, body, headers, turn))
            self._changed.notify_all()
        return turn


class _Handler(QuietHandler):
    protocol_version = "HTTP/1.1"
    provider: ScriptedProvider
    disable_nagle_algorithm = True

    def handle(self) -> None:
        with contextlib.suppress(ConnectionError):  # an agent that is ended hangs up
            super().handle()

    def do_CONNECT(self) -> None:  # noqa: N802 the name is the library's
        self.provider.outside.append(self.path)
        self._send(403, {})

    def do_HEAD(self) -> None:  # noqa: N802 the name is the library's
        self._send(200, {})

    def do_GET(self) -> None:  # noqa: N802 the name is the library's
        if re.search(r"/models(?:\?.*)?$", self.path):
            model = {
                "id": "scripted",
                "object": "model",
                "name": "models/scripted",
                "display_name": "scripted",
            }
            self._send(200, {"object": "list", "data": [model], "models": [model], "has_more": False})
        else:
            self.provider.unknown.append(f"GET {self.path}")
            self._send(404, {"error": {"message": "not served here"}})

    def do_POST(self) -> None:  # noqa: N802 the name is the library's
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        wire = next((wire for pattern, wire in WIRES if re.search(pattern, self.path)), None)
        if COUNTS.search(self.path):
            self._send(200, {"input_tokens": 10, "totalTokens": 10})
        elif wire is None:
            self.provider.unknown.append(f"POST {self.path}")
            self._send(404, {"error": {"message": "not served here"}})
        else:
            self._answer(wire, json.loads(raw))

    def _answer(self, wire: Wire, body: Body) -> None:
        works = not SHELLS.isdisjoint(wire.tools(body))
        headers = {name.lower(): value for name, value in self.headers.items()}
        turn = self.provider.take(self.path, body, headers, works=works)
        if body.get("stream") or "streamGenerateContent" in self.path:
            self._stream(wire, turn or TITLE, body)
        else:
            self._send(200, wire.whole((turn or TITLE).text, body))

    def _stream(self, wire: Wire, turn: Turn, body: Body) -> None:
        try:
            rest = list(wire.rest(turn, body))
        except LookupError as error:
            self.provider.failures.append(str(error))
            self._send(400, {"error": {"message": str(error), "type": "invalid_request_error"}})
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self._chunks(wire.told(turn, body))
        if turn.gate and not turn.gate.hold(self.connection):
            self.close_connection = True
            return
        self._chunks(rest)
        self._chunks([b""])

    def _chunks(self, pieces: Iterator[bytes] | list[bytes]) -> None:
        for piece in pieces:
            self.wfile.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")

    def _send(self, status: int, value: Any) -> None:
        raw = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

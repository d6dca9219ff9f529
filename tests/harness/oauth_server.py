"""Token servers on loopback, which receive requests to github.com, openai.com and others."""

from __future__ import annotations

import base64
import json
import threading
import time
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from tests.harness.loopback import LoopbackServer, QuietHandler

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

__all__ = ["Answer", "OAuthServer", "Sent", "jwt", "route_to"]


@dataclass(frozen=True, slots=True)
class Answer:
    body: Any = field(default_factory=dict)
    """JSON, or bytes as they are."""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Sent:
    host: str
    """That the request was for."""
    path: str
    form: dict[str, str]
    headers: dict[str, str]
    """By lower-case name."""


class OAuthServer(LoopbackServer):
    """Answers each path with its answers in order; the last one stays."""

    def __init__(self) -> None:
        self.requests: list[Sent] = []
        self._answers: defaultdict[str, list[Answer | Callable[[Sent], Answer]]] = defaultdict(list)
        self._lock = threading.Lock()
        owner = self

        class Handler(QuietHandler):
            def do_POST(self) -> None:  # noqa: N802 the name is the library's
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
                names = {name.lower(): value for name, value in self.headers.items()}
                form = dict(parse_qsl(body)) if "urlencoded" in names.get("content-type", "") else {}
                answer = owner._take(Sent(names.get("x-sent-to", ""), self.path, form, names))
                content = answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body).encode()
                self.send_response(answer.status)
                for name, value in answer.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                try:
                    self.wfile.write(content)
                except OSError:
                    self.close_connection = True  # the client had enough

            do_GET = do_POST  # noqa: N815 the name is the library's

        super().__init__(Handler)

    def answers(self, path: str, *answers: Answer | Callable[[Sent], Answer]) -> None:
        self._answers[path] += answers

    def sent(self, path: str) -> list[Sent]:
        return [one for one in self.requests if one.path == path]

    def _take(self, sent: Sent) -> Answer:
        with self._lock:
            self.requests.append(sent)
            waiting = self._answers.get(sent.path)
            if not waiting:
                return Answer({"error": "nothing here"}, 404)
            answer = waiting.pop(0) if len(waiting) > 1 else waiting[0]
            return answer if isinstance(answer, Answer) else answer(sent)


def route_to(address: str, monkeypatch: pytest.MonkeyPatch | None = None) -> None:
    """Have the HTTP library send everything there, and say for whom it was.

    :param monkeypatch: None: for the rest of the process.
    """
    import httpx2
    import httpx2._client

    class Routed(httpx2.AsyncHTTPTransport):
        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            target = httpx2.URL(address)
            if request.url.host != "127.0.0.1":
                request.headers["X-Sent-To"] = request.url.host
                request.url = request.url.copy_with(scheme="http", host="127.0.0.1", port=target.port)
            return await super().handle_async_request(request)

    for module in (httpx2, httpx2._client):
        if monkeypatch is None:
            setattr(module, "AsyncHTTPTransport", Routed)  # noqa: B010 mypy knows it as a class
        else:
            monkeypatch.setattr(module, "AsyncHTTPTransport", Routed)


def jwt(**claims: Any) -> str:
    """Return an unsigned token; `ends_in` seconds is turned into its end."""
    ends_in = claims.pop("ends_in", 3600)
    claims["exp"] = int(time.time()) + ends_in
    parts = ({"alg": "none"}, claims)
    return ".".join(
        [*(base64.urlsafe_b64encode(json.dumps(one).encode()).decode().rstrip("=") for one in parts), "s"]
    )

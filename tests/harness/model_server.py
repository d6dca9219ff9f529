"""A real HTTP server on loopback that speaks OpenAI chat completions and answers by rules.

::

    with ModelServer() as server:
        server.answers("summarize", "Three words only.")
        server.fails("busy", 429, headers={"Retry-After": "1"}, times=1)
        gate = server.holds("wait")
        ... point an adapter at server.base_url ...
        gate.wait_started(); gate.release()

Of the rules whose `match` occurs in the text of a request's messages, the one with the longest `match`
answers, then the one that was made first; a rule with `times=N` is used up after N requests. A request that
no rule fits is answered with 404 and kept in `unmatched`.
"""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, ClassVar, Self

from tests.harness.model_rules import LIMIT, Body, Gate, Rule, Text, text_of

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["Gate", "ModelServer", "events"]


class ModelServer:
    """See the module. Thread based, so that a child process can talk to it while the test goes on."""

    def __init__(
        self, *, api_key: str | None = None, model: str = "scripted", tls: ssl.SSLContext | None = None
    ) -> None:
        self.api_key = api_key
        self.model = model
        self.models: list[str] | None = None
        """Those that it lists; None: its own."""
        self.prompt_tokens: int | None = None
        """Told of each prompt; None: its words."""
        self.cached_tokens = 0
        """Of each prompt, told with the usage."""
        self.requests: list[Body] = []
        self.headers: list[dict[str, str]] = []
        """Of each request, by lower-case name."""
        self.unmatched: list[str] = []
        self.disconnects = 0
        self.connections = 0
        """That were ever made."""
        self.in_flight = 0
        self._rules: list[Rule] = []
        self._changed = threading.Condition()
        self._connections: set[socket.socket] = set()
        self._scheme = "https" if tls else "http"
        self._http = _Server(("127.0.0.1", 0), _Handler)
        if tls:
            self._http.socket = tls.wrap_socket(self._http.socket, server_side=True)
        self._http.owner = self
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02})

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def base_url(self) -> str:
        return f"{self._scheme}://127.0.0.1:{self._http.server_address[1]}/v1"

    def close(self) -> None:
        """Stop listening and drop every connection; later clients are refused."""
        self._http.shutdown()
        self._http.server_close()
        with self._changed:
            for connection in self._connections:
                _hang_up(connection)
        self._thread.join()

    # rules

    def answers(
        self,
        match: str,
        text: Text,
        *,
        pieces: int | Sequence[str] | None = None,
        finish_reason: str = "stop",
        times: int | None = None,
    ) -> None:
        """Answer with a text, streamed in words, in so many pieces of one size, or in exactly these."""
        self._rules.append(Rule(match, text, pieces, finish_reason=finish_reason, times=times))

    def calls(
        self, match: str, tool: str, arguments: Mapping[str, Any], *, text: str = "", times: int | None = None
    ) -> None:
        """Have a tool called that the request offers, after a text."""
        self._rules.append(Rule(match, text, tool=(tool, arguments), finish_reason="tool_calls", times=times))

    def sends(
        self,
        match: str,
        raw: bytes,
        *,
        status: int = 200,
        content_type: str = "text/event-stream",
        times: int | None = None,
    ) -> None:
        """Answer with exactly these bytes."""
        headers = {"Content-Type": content_type}
        self._rules.append(Rule(match, status=status, headers=headers, raw=raw, times=times))

    def holds_open(self, match: str, raw: bytes) -> Gate:
        """Stream exactly these bytes, then wait for the gate or the end of the client."""
        gate = Gate()
        self._rules.append(Rule(match, raw=raw, gate=gate))
        return gate

    def streams(
        self, match: str, *deltas: Body, finish_reason: str = "stop", times: int | None = None
    ) -> None:
        """Stream these deltas."""
        self.sends(match, events(*deltas, finish_reason=finish_reason), times=times)

    def forgets(self, match: str) -> None:
        """Give no more answers to this text."""
        self._rules = [rule for rule in self._rules if rule.match != match]

    def fails(
        self,
        match: str,
        status: int,
        *,
        headers: Mapping[str, str] | None = None,
        body: Any = None,
        times: int | None = None,
    ) -> None:
        """Answer with an HTTP status, and OpenAI's error object unless another body is given."""
        default = {"error": {"message": f"scripted failure {status}", "type": "scripted", "code": None}}
        self._rules.append(
            Rule(match, status=status, headers=headers or {}, body=body or default, times=times)
        )

    def cuts(
        self,
        match: str,
        after_chars: int,
        *,
        text: Text = "this answer never comes to its end",
        clean: bool = False,
        times: int | None = None,
    ) -> None:
        """Stream so many characters and drop the connection; clean: end the stream as if it were whole."""
        self._rules.append(Rule(match, text, cut_after=after_chars, clean_cut=clean, times=times))

    def holds(
        self,
        match: str,
        *,
        text: Text = "held answer",
        before_first: bool = False,
        times: int | None = None,
        pieces: Sequence[str] | None = None,
    ) -> Gate:
        """Stream the first piece (or nothing), then wait for the gate, then stream the rest."""
        gate = Gate()
        self._rules.append(Rule(match, text, pieces, gate=gate, gate_before_first=before_first, times=times))
        return gate

    # waiting

    def wait_for_requests(self, count: int, limit: float = LIMIT) -> None:
        self._wait(lambda: len(self.requests) >= count, f"{count} requests", limit)

    def wait_idle(self, limit: float = LIMIT) -> None:
        """Wait until no request is being answered."""
        self._wait(lambda: self.in_flight == 0, "no request in flight", limit)

    def _wait(self, reached: Callable[[], bool], what: str, limit: float) -> None:
        with self._changed:
            state = f"{len(self.requests)} requests, {self.in_flight} in flight"
            assert self._changed.wait_for(reached, limit), f"not within {limit} s: {what} (at first {state})"

    # the handler's side

    def connected(self, connection: socket.socket) -> None:
        with self._changed:
            self._connections.add(connection)
            self.connections += 1

    def gone(self, connection: socket.socket) -> None:
        with self._changed:
            self._connections.discard(connection)

    def begin(self, body: Body, headers: Mapping[str, str]) -> Rule | None:
        with self._changed:
            self.requests.append(body)
            self.headers.append({name.lower(): value for name, value in headers.items()})
            self.in_flight += 1
            self._changed.notify_all()
            return self._choose(text_of(body))

    def end(self, *, disconnected: bool) -> None:
        with self._changed:
            self.in_flight -= 1
            self.disconnects += disconnected
            self._changed.notify_all()

    def _choose(self, text: str) -> Rule | None:
        fitting = [rule for rule in self._rules if rule.match in text and rule.times != 0]
        if not fitting:
            self.unmatched.append(text)
            return None
        rule = max(fitting, key=lambda candidate: len(candidate.match))  # max keeps the first of equals
        if rule.times is not None:
            rule.times -= 1
        return rule


def events(*deltas: Body, finish_reason: str = "stop") -> bytes:
    """Return the events of a stream with these deltas."""
    frame: Body = {
        "id": "chatcmpl-test",
        "object": "chat.completion.chunk",
        "created": 0,
        "model": "scripted",
    }
    choices: list[Body] = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
    choices.append({"index": 0, "delta": {}, "finish_reason": finish_reason})
    told = (f"data: {json.dumps({**frame, 'choices': [choice]})}\n\n" for choice in choices)
    return "".join([*told, "data: [DONE]\n\n"]).encode()


def _tool_call(tool: tuple[str, Mapping[str, Any]], body: Body) -> Body:
    name, arguments = tool
    offered = [one["function"]["name"] for one in body.get("tools") or ()]
    assert name in offered, f"{name} is not offered, only {offered}"
    call = {"name": name, "arguments": json.dumps(arguments)}
    return {"index": 0, "id": f"call{len(body['messages'])}", "type": "function", "function": call}


def _hang_up(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):  # the client was faster
        connection.shutdown(socket.SHUT_RDWR)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128
    owner: ModelServer

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients of these tests hang up on purpose: no traceback on stderr."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server
    disable_nagle_algorithm: ClassVar[bool] = True

    def setup(self) -> None:
        super().setup()
        self.server.owner.connected(self.connection)

    def finish(self) -> None:
        self.server.owner.gone(self.connection)
        super().finish()

    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        owner = self.server.owner
        if not self._authorized():
            return
        if self.path == "/v1/models":
            listed = [{"id": model, "object": "model"} for model in owner.models or [owner.model]]
            self._send_json(200, {"object": "list", "data": listed})
        else:
            self._send_json(404, {"error": {"message": f"no such path: {self.path}"}})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
        if self.path != "/v1/chat/completions":
            self._send_json(404, {"error": {"message": f"no such path: {self.path}"}})
            return
        owner = self.server.owner
        rule = owner.begin(body, dict(self.headers.items()))
        whole = False
        try:
            if self._authorized():
                self._follow(rule, body)
            whole = True
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True
        finally:
            owner.end(disconnected=not whole)

    def _authorized(self) -> bool:
        key = self.server.owner.api_key
        if key is None or self.headers.get("Authorization") == f"Bearer {key}":
            return True
        error = {"message": "Incorrect API key provided.", "type": "invalid_request_error"}
        self._send_json(401, {"error": error | {"code": "invalid_api_key"}})
        return False

    def _follow(self, rule: Rule | None, body: Body) -> None:
        if rule is None:
            self._send_json(
                404, {"error": {"message": f"no rule of the test fits: {text_of(body)[-400:]!r}"}}
            )
        elif rule.raw is not None and rule.gate:
            self._begin_stream()
            self._chunk(rule.raw)
            self._hold(rule.gate)
            self._chunk(b"")
        elif rule.raw is not None:
            self._send_raw(rule.status, rule.raw, rule.headers)
        elif rule.status != 200:
            self._send_json(rule.status, rule.body, rule.headers)
        elif body.get("stream"):
            self._stream(rule, body)
        else:
            if rule.gate and not rule.gate.hold(self.connection):
                raise BrokenPipeError
            self._send_json(200, self._completion(rule, body))

    def _send_json(self, status: int, value: Any, headers: Mapping[str, str] | None = None) -> None:
        raw = value.encode() if isinstance(value, str) else json.dumps(value).encode()
        self._send_raw(status, raw, {"Content-Type": "application/json", **(headers or {})})

    def _send_raw(self, status: int, raw: bytes, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, content in headers.items():
            self.send_header(name, content)
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def _completion(self, rule: Rule, body: Body) -> Body:
        message = {"role": "assistant", "content": rule.answer(body)}
        choice = {"index": 0, "message": message, "finish_reason": rule.finish_reason}
        return self._frame("chat.completion", [choice]) | {"usage": self._usage(rule, body)}

    def _frame(self, kind: str, choices: list[Body]) -> Body:
        model = self.server.owner.model
        return {"id": "chatcmpl-test", "object": kind, "created": 0, "model": model, "choices": choices}

    def _usage(self, rule: Rule, body: Body) -> Body:
        asked, said = len(text_of(body).split()), len(rule.split(rule.answer(body)))
        if self.server.owner.prompt_tokens is not None:
            asked = self.server.owner.prompt_tokens
        usage = {"prompt_tokens": asked, "completion_tokens": said, "total_tokens": asked + said}
        cached = self.server.owner.cached_tokens
        return usage | ({"prompt_tokens_details": {"cached_tokens": cached}} if cached else {})

    def _begin_stream(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def _stream(self, rule: Rule, body: Body) -> None:
        self._begin_stream()
        if rule.gate and rule.gate_before_first:
            self._hold(rule.gate)
        sent = 0
        for index, piece in enumerate(rule.split(rule.answer(body))):
            if rule.cut_after is not None and sent + len(piece) >= rule.cut_after:
                self._delta({"content": piece[: rule.cut_after - sent]})
                self._cut(clean=rule.clean_cut)
                return
            self._delta({"role": "assistant", "content": piece} if index == 0 else {"content": piece})
            sent += len(piece)
            if rule.gate and index == 0 and not rule.gate_before_first:
                self._hold(rule.gate)
        if rule.tool is not None:
            self._delta({"role": "assistant", "tool_calls": [_tool_call(rule.tool, body)]})
        self._delta({}, finish_reason=rule.finish_reason)
        if (body.get("stream_options") or {}).get("include_usage"):
            self._event(self._frame("chat.completion.chunk", []) | {"usage": self._usage(rule, body)})
        self._chunk(b"data: [DONE]\n\n")
        self._chunk(b"")

    def _hold(self, gate: Gate) -> None:
        if not gate.hold(self.connection):
            raise BrokenPipeError

    def _cut(self, *, clean: bool) -> None:
        self.close_connection = True
        if clean:
            self._chunk(b"")
        else:
            _hang_up(self.connection)

    def _delta(self, delta: Body, finish_reason: str | None = None) -> None:
        choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
        self._event(self._frame("chat.completion.chunk", [choice]))

    def _event(self, value: Body) -> None:
        self._chunk(b"data: " + json.dumps(value).encode() + b"\n\n")

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()

"""A server process, and a client that keeps every received byte."""

from __future__ import annotations

import json
import queue
import re
import subprocess
import threading
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

__all__ = ["HANDSHAKE", "INITIALIZE", "Served"]

WITHIN = 60
HANDSHAKE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}
INITIALIZE = {"jsonrpc": "2.0", "id": 5, "method": "initialize", "params": HANDSHAKE}


class Served:
    """Client for JSON-RPC lines, valid or invalid."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], directory: Path) -> None:
        self.process = subprocess.Popen(
            command,
            env=dict(environment),
            cwd=directory,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.out = b""
        self.err = b""
        self._lines: queue.Queue[bytes] = queue.Queue()
        self._errors: queue.Queue[bytes] = queue.Queue()
        assert self.process.stdout
        assert self.process.stderr
        self._readers = [
            self._reader(self.process.stdout, self._lines),
            self._reader(self.process.stderr, self._errors),
        ]
        self._id = 0

    def _reader(self, stream: IO[bytes], into: queue.Queue[bytes]) -> threading.Thread:
        def read() -> None:
            for line in stream:
                into.put(line)
            into.put(b"")

        thread = threading.Thread(target=read, daemon=True)
        thread.start()
        return thread

    def send(self, data: bytes) -> None:
        """Write any bytes to the server."""
        assert self.process.stdin
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def request(self, method: str, params: Any = None) -> dict[str, Any]:
        """Send a request; return its answer, an error or a result."""
        self._id += 1
        message = {"jsonrpc": "2.0", "id": self._id, "method": method}
        if params is not None:
            message["params"] = params
        self.send(json.dumps(message).encode() + b"\n")
        return self.answer(self._id)

    def answer(self, number: int) -> dict[str, Any]:
        """Wait for the answer to a request."""
        return self.answers({number})[number]

    def answers(self, numbers: set[int]) -> dict[int, dict[str, Any]]:
        """Wait for the answers to several requests."""
        found: dict[int, dict[str, Any]] = {}
        while found.keys() < numbers:
            line = self._lines.get(timeout=WITHIN)
            self.out += line
            assert line, f"the server ended: {self.rest()}"
            message = json.loads(line)
            if message.get("id") in numbers:
                found[message["id"]] = message
        return found

    def shake_hands(self) -> dict[str, Any]:
        """Open a session of the older protocol."""
        answer = self.request("initialize", HANDSHAKE)
        self.send(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')
        return answer

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool; return its result, with a protocol error as a result."""
        answer = self.request("tools/call", {"name": tool, "arguments": arguments})
        return answer.get("result") or {"isError": True, "content": [{"text": answer["error"]["message"]}]}

    def error_line(self) -> str:
        """Wait for the next line on stderr."""
        line = self._errors.get(timeout=WITHIN)
        self.err += line
        return line.decode()

    def url(self) -> str:
        """Wait for the address that the server announces."""
        line = self.error_line()
        found = re.search(r"(http|ws)://127\.0\.0\.1:\d+/mcp", line)
        assert found, f"no address: {line!r} {self.rest()}"
        return found[0]

    def hang_up(self) -> None:
        """Close the server's stdin."""
        assert self.process.stdin
        self.process.stdin.close()

    def ended(self) -> int:
        """Wait for the exit status; afterwards all output is in `out` and `err`."""
        status = self.process.wait(timeout=WITHIN)
        self.rest()
        return status

    def rest(self) -> str:
        """Collect the output written so far; return standard error."""
        for reader in self._readers:
            reader.join(timeout=60)
        self.out += self._drain(self._lines)
        self.err += self._drain(self._errors)
        return self.err.decode(errors="replace")

    @staticmethod
    def _drain(lines: queue.Queue[bytes]) -> bytes:
        return b"".join(lines.get_nowait() for _ in range(lines.qsize()))

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream and not stream.closed:
                try:
                    stream.close()
                except BrokenPipeError:
                    continue  # the server ended before it read all

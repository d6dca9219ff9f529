"""Parser process: runs tree-sitter parsers within limits, so that no text can block the host.

A grammar can take hours on odd text and holds Python's global lock meanwhile. So a persistent child process
parses every text. Run as a program (``python -I -S parsing.py PATHS``), this module is that child.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import subprocess
    from typing import IO, Any

SECONDS = 5.0
"""Processor seconds for one call, so that a busy machine rejects no text."""
PATIENCE = 30.0
"""Wall-clock seconds for one call."""
MEMORY = 2 << 30
"""Bytes of the child's address space."""
MOST_REFUSED = 256
"""Number of failed calls that are remembered and not repeated."""
INHERITED = ("DYLD_LIBRARY_PATH", "LD_LIBRARY_PATH", "NIX_LD", "NIX_LD_LIBRARY_PATH")
"""Variables that the system needs to find the grammars' libraries."""
HEAD = 8
"""Bytes of the length before each message."""


class Parser:
    """A child process, started at the first call and again after it ended."""

    def __init__(self) -> None:
        from threading import Lock

        self._lock = Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._refused: dict[bytes, str] = {}

    def call(self, function: str, *arguments: object) -> Any:
        """Return the result of a function in the child; see `parse_outside`."""
        from hashlib import blake2b

        from tideate_core.errors import NotParsed

        request = json.dumps([SECONDS, function, *arguments]).encode()
        key = blake2b(request, digest_size=16).digest()
        with self._lock:
            if (reason := self._refused.get(key)) is not None:
                raise NotParsed(reason)
            was_running = self._process is not None
            reply, reason = self._exchange(request)
            if was_running and not reply and not reason:
                # the child may have been ended before the request
                reply, reason = self._exchange(request)
            if reply:
                done, value = json.loads(reply)
                if done:
                    return value
                reason = f"its parser failed: {value}"
            reason = reason or "its parser ended unexpectedly"
            while len(self._refused) >= MOST_REFUSED:
                self._refused.pop(next(iter(self._refused)))
            self._refused[key] = reason
        raise NotParsed(reason)

    def _exchange(self, request: bytes) -> tuple[bytes, str]:
        """Return the reply, or the reason if the time limit was exceeded."""
        import signal
        from threading import Event, Timer

        process = self._process = self._process or _start()
        is_late, status, reply = Event(), 0, b""

        def stop() -> None:
            is_late.set()
            process.kill()

        timer = Timer(PATIENCE, stop)
        timer.daemon = True
        timer.start()
        try:
            with contextlib.suppress(BrokenPipeError):
                questions, replies = _pipes(process)
                _send(questions.fileno(), request)
                reply = _receive(replies.fileno())
        finally:
            timer.cancel()
            if not reply or is_late.is_set():
                status = self._end()
        took_long = not reply and (is_late.is_set() or status == -signal.SIGPROF)
        return reply, "it takes too long to parse" if took_long else ""

    def end(self) -> None:
        """End the child."""
        with self._lock:
            self._end()

    def _end(self) -> int:
        process, self._process = self._process, None
        if process is None:
            return 0
        for pipe in _pipes(process):
            pipe.close()
        process.kill()  # has no effect on a child that already ended
        return process.wait()


def parse_outside(function: str, *arguments: object) -> Any:
    """Return the result of a parsing function, run in a child process; blocking.

    :param function: `module:function` of this program; arguments and result are JSON values.
    :raises NotParsed: a limit of time or memory was exceeded, or the function failed.
    """
    return _parser.call(function, *arguments)


def _start() -> subprocess.Popen[bytes]:
    import subprocess
    from pathlib import Path

    from tideate_core.errors import NotParsed

    own = Path(__file__).resolve()
    # relative paths would differ in the child's directory
    paths = [str(own.parents[2]), *(path for path in sys.path if Path(path).is_absolute())]
    try:
        return subprocess.Popen(  # noqa: S603 a list and no shell
            [sys.executable, "-I", "-S", str(own), json.dumps(paths)],
            cwd="/",
            env={name: os.environ[name] for name in INHERITED if name in os.environ},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            start_new_session=True,
        )
    except OSError as error:
        raise NotParsed(f"its parser cannot be started: {error.strerror}") from error


def _pipes(process: subprocess.Popen[bytes]) -> tuple[IO[bytes], IO[bytes]]:
    assert process.stdin is not None and process.stdout is not None  # noqa: S101 they were asked for
    return process.stdin, process.stdout


def _send(descriptor: int, message: bytes) -> None:
    left = memoryview(len(message).to_bytes(HEAD, "big") + message)
    while left:
        left = left[os.write(descriptor, left) :]


def _receive(descriptor: int) -> bytes:
    """Return the next message; empty at the end of the stream."""
    return _read(descriptor, int.from_bytes(_read(descriptor, HEAD), "big"))


def _read(descriptor: int, size: int) -> bytes:
    parts = []
    while size > 0 and (part := os.read(descriptor, min(size, 1 << 20))):
        parts.append(part)
        size -= len(part)
    return b"".join(parts) if not size else b""


def serve() -> None:
    """Answer requests on standard input until it ends."""
    import resource
    import signal

    sys.path[:] = json.loads(sys.argv[1])
    replies = os.dup(1)
    os.dup2(2, 1)  # output printed by a function is not a reply
    with contextlib.suppress(OSError, ValueError):  # macOS has no such limit
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    while request := _receive(0):
        seconds, function, *arguments = json.loads(request)
        # this signal ends the process even while a grammar holds Python's lock
        signal.setitimer(signal.ITIMER_PROF, seconds)
        reply = json.dumps(_answer(function, *arguments)).encode()
        signal.setitimer(signal.ITIMER_PROF, 0)
        _send(replies, reply)


def _answer(function: str, *arguments: object) -> tuple[bool, object]:
    from importlib import import_module

    module, _, name = function.partition(":")
    try:
        return True, getattr(import_module(module), name)(*arguments)
    except BaseException as error:  # noqa: BLE001 a panic in a grammar is not an Exception
        return False, f"{type(error).__name__}: {error}"[:200]


def _forget() -> None:
    """Start with a new child after a fork: two processes would read each other's replies."""
    global _parser
    _parser = Parser()


if __name__ == "__main__":
    serve()
else:
    _parser = Parser()
    os.register_at_fork(after_in_child=_forget)
    atexit.register(lambda: _parser.end())

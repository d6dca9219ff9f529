"""Servers of one worker: an answering model, and one that must never be contacted."""

from __future__ import annotations

import json
import socket
import threading
from typing import Final, Self

from tests.hostile.background import SECRET
from tests.support.model_server import ModelServer
from tests.support.tasks import Model

__all__ = ["Servers"]

_SHORT: Final = "def total(n):\n    return sum(range(n))\n"
_FILES: Final = {
    "files": [
        {"action": "create", "path": "new.py", "why": "the new home"},
        {"action": "modify", "path": "src/app.py", "why": "uses it"},
    ]
}


class Servers:
    """Answer workflows and report forbidden requests."""

    def __init__(self) -> None:
        self._model = ModelServer()
        self._evil = _Listener()
        self._seen = 0

    def __enter__(self) -> Self:
        self._model.__enter__()
        _script(self._model)
        return self

    def __exit__(self, *_: object) -> None:
        self._model.close()
        self._evil.close()

    @property
    def model_url(self) -> str:
        return self._model.base_url

    @property
    def evil_url(self) -> str:
        return self._evil.url

    def problems(self) -> list[str]:
        """Return forbidden content and requests since the last call."""
        new = self._model.requests[self._seen :]
        self._seen += len(new)
        told = ["sent: a secret of the home"] * any(SECRET in json.dumps(one) for one in new)
        return [*told, *(["asked: a server that only the project names"] * self._evil.asked())]


class _Listener:
    """Counts connections and closes each."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._count = 0
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._socket.getsockname()[1]}/v1"

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return  # closed
            self._count += 1
            connection.close()

    def asked(self) -> bool:
        """Return whether there was a connection since the last call."""
        count, self._count = self._count, 0
        return count > 0

    def close(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join()


def _script(server: ModelServer) -> None:
    Model(server)
    server.answers("", "- it is fine")
    server.answers("what does the code do", "- it adds up")
    server.answers("Rewrite these lines", f"```python\n{_SHORT}```")
    server.answers("Which files have to be", _FILES)
    server.answers("Write the new file new.py", "```python\nvalue = 1\n```")
    server.answers("Change src/app.py", "```python\nfrom new import value\n```")
    server.answers("is in the state first", {"reason": "nothing is left", "next": "end"})

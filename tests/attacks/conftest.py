"""Shells and editors as in `tests/cli` and `tests/editor`, and a server that counts connections."""

from __future__ import annotations

import socket
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from tests.harness.editor import Editor

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Listening", "listening"]


class Listening:
    """A loopback server that counts connections and never answers."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._socket.setblocking(False)
        self._seen = 0
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"

    def connections(self) -> int:
        """Return the number of connections so far."""
        with suppress(BlockingIOError):
            while True:
                self._socket.accept()[0].close()
                self._seen += 1
        return self._seen

    def close(self) -> None:
        self._socket.close()


@pytest.fixture
def listening() -> Iterator[Listening]:
    place = Listening()
    yield place
    place.close()


@pytest.fixture(scope="module")
def nvim(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Editor]:
    """A shared Neovim with a screen of 100 columns and 30 rows."""
    editor = Editor(tmp_path_factory.mktemp("nvim"), ui=(100, 30))
    yield editor
    editor.close()

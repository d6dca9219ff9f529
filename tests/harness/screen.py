"""A second client of a Neovim, attached as its UI, so that tests see the screen."""

from __future__ import annotations

import contextlib
import itertools
import socket
import threading
import time
from typing import TYPE_CHECKING, Any

import msgpack  # type: ignore[import-untyped]  # has no types

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["Screen"]


class Screen:
    """The grid of a real UI client; hit-enter prompts appear only with one attached."""

    def __init__(self, path: Path, columns: int, rows: int) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(str(path))
        self._rows = [[" "] * columns for _ in range(rows)]
        self._shown: list[str] = []
        self._flushed = threading.Condition()
        self._requests = itertools.count(2)
        self._answered: set[int] = set()
        self._errors: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        options = {"rgb": True, "ext_linegrid": True}
        with self._flushed:
            self._socket.sendall(msgpack.packb([0, 1, "nvim_ui_attach", [columns, rows, options]]))
            if not self._flushed.wait_for(lambda: bool(self._shown), 60):
                raise TimeoutError("Neovim drew no screen")

    def lines(self) -> list[str]:
        """The screen as of the last complete redraw."""
        with self._flushed:
            return list(self._shown)

    def wait_flush(self, timeout: float) -> list[str] | None:
        """Wait for the next complete redraw, at most `timeout` seconds; None if there was none."""
        with self._flushed:
            before = self._shown
            if not self._flushed.wait_for(lambda: self._shown is not before, timeout):
                return None
            return list(self._shown)

    def refresh(self, blocked: Callable[[], bool]) -> list[str]:
        """Let Neovim redraw, and return the screen.

        :param blocked: whether Neovim waits for a key, so that what is on its screen is all there is.
        :raises TimeoutError: there was no answer within 60 seconds.
        """
        # its answer comes after all that was drawn before it: it is the same channel
        request = self._request("nvim__redraw", {"flush": True})
        end = time.monotonic() + 60
        while not self._wait_answer(request, 0.02):
            if time.monotonic() > end:
                raise TimeoutError("Neovim does not answer its screen")
            if blocked():
                request = self._request("nvim_get_mode")  # answered even then
        assert not self._errors, self._errors
        return self.lines()

    def _request(self, method: str, *args: Any) -> int:
        number = next(self._requests)
        self._socket.sendall(msgpack.packb([0, number, method, args]))
        return number

    def _wait_answer(self, number: int, timeout: float) -> bool:
        with self._flushed:
            return self._flushed.wait_for(lambda: number in self._answered, timeout)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._reader.join(60)
        self._socket.close()

    def _read(self) -> None:
        unpacker = msgpack.Unpacker(raw=False, unicode_errors="replace", strict_map_key=False)
        with contextlib.suppress(OSError):
            while data := self._socket.recv(1 << 16):
                unpacker.feed(data)
                for message in unpacker:
                    if message[0] == 2 and message[1] == "redraw":
                        self._redraw(message[2])
                    elif message[0] == 1:
                        with self._flushed:
                            self._answered.add(message[1])
                            self._errors += [str(message[2])] if message[2] else []
                            self._flushed.notify_all()

    def _redraw(self, updates: list[Any]) -> None:
        for name, *calls in updates:
            draw = getattr(self, f"_on_{name}", None)
            if draw is not None:
                for call in calls:
                    draw(*call)

    def _on_grid_resize(self, _grid: int, columns: int, rows: int) -> None:
        self._rows = [[" "] * columns for _ in range(rows)]

    def _on_grid_clear(self, _grid: int) -> None:
        self._rows = [[" "] * len(row) for row in self._rows]

    def _on_grid_line(self, _grid: int, row: int, column: int, cells: list[Any], *_: Any) -> None:
        for text, *rest in cells:
            times = rest[1] if len(rest) > 1 else 1
            for _again in range(times):
                self._rows[row][column] = text
                column += 1

    def _on_grid_scroll(
        self, _grid: int, top: int, bottom: int, left: int, right: int, by: int, *_: Any
    ) -> None:
        targets = range(top, bottom - by) if by > 0 else range(bottom - 1, top - by - 1, -1)
        for row in targets:
            self._rows[row][left:right] = self._rows[row + by][left:right]

    def _on_flush(self) -> None:
        with self._flushed:
            self._shown = ["".join(row).rstrip() for row in self._rows]
            self._flushed.notify_all()

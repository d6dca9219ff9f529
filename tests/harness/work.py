"""Counts of work in place of its time: no machine, however slow or busy, changes them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, TypeVar
from unittest.mock import patch

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable
    from types import FrameType

    from tests.harness.editor import Editor

__all__ = ["QueryWork", "Work", "assert_linear", "lua_work_of", "work_of"]

T = TypeVar("T")


class Work:
    """Counter of executed Python lines and C calls in a block.

    What one call of a C function does is not seen: a test of that gives it so much that the wrong way would
    take minutes, and is ended by the time-out that all tests have.
    """

    def __init__(self) -> None:
        self.count = 0
        # deadlines in processor time: counting takes far more of it
        self._clock = patch("time.thread_time", return_value=0.0)

    def __enter__(self) -> Work:
        self._clock.start()
        self._before = sys.gettrace(), sys.getprofile()
        sys.settrace(self._count_lines)
        sys.setprofile(self._count_calls)
        return self

    def __exit__(self, *_: object) -> None:
        trace, profile = self._before
        sys.setprofile(profile)
        sys.settrace(trace)
        self._clock.stop()

    def _count_lines(self, _frame: FrameType, event: str, _: Any) -> Callable[..., Any]:
        if event == "line":
            self.count += 1
        return self._count_lines

    def _count_calls(self, _frame: FrameType, event: str, _: Any) -> None:
        if event == "c_call":
            self.count += 1


class QueryWork:
    """A block in which the instructions are counted that SQLite carries out for a connection, by tens."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self.count = 0

    def __enter__(self) -> QueryWork:
        self._connection.set_progress_handler(self._add, 10)
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.set_progress_handler(None, 0)

    def _add(self) -> int:
        self.count += 1
        return 0


def work_of(call: Callable[[], object]) -> int:
    """Count the work of a call."""
    with Work() as work:
        call()
    return work.count


LUA_WORK = """
local count, jitted = 0, jit.status()
jit.off() -- what is compiled counts nothing
jit.flush() -- nor does what was compiled before
debug.sethook(function() count = count + 1 end, '', 100)
local ok, err = pcall(function(...) %s end, ...)
debug.sethook()
if jitted then jit.on() end
return ok and count or error(err)
"""


def lua_work_of(editor: Editor, code: str, *arguments: object) -> int:
    """Count the instructions, by hundreds, that Lua takes for some code in a Neovim."""
    return int(editor.lua(LUA_WORK % code, *arguments))


def assert_linear(make: Callable[[int], T], call: Callable[[T], object], size: int) -> None:
    """Hold a call to work that grows as its input does, and no faster.

    :param make: an input of a size; not counted.
    :param size: of the smaller of the two inputs, the other is four times as large.
    :raises AssertionError: four times the input makes more than five times the work.
    """
    small, large = make(size), make(4 * size)
    call(make(size))  # what is imported and remembered once is no matter of size
    few, many = work_of(lambda: call(small)), work_of(lambda: call(large))
    assert many <= 5 * few, f"{few:,} for {size:,}, {many:,} for {4 * size:,}"

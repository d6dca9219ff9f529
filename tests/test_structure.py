"""Forbidden habits of tests: asserted timings."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
CLOCK = re.compile(r"(monotonic|perf_counter|process_time|thread_time)(_ns)?")
LUA_TIMING = re.compile(r"hrtime\(\)\s*-|= *vim\.uv\.hrtime\(\)(?!\s*\+)|\breltime(float|str)?\(|os\.clock\(")


def reads_clock(value: ast.AST, timed: set[str]) -> bool:
    """Tell whether a value is made of a clock's, or of a name that stands for such a value."""
    for node in ast.walk(value):
        if isinstance(node, ast.Name) and node.id in timed:
            return True
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            if CLOCK.fullmatch(name.rpartition(".")[2]) or name == "loop.time":
                return True
        if (
            isinstance(node, ast.BinOp)
            and isinstance(node.op, ast.Sub)
            and "time.time()" in ast.unparse(node)
        ):
            return True
    return False


def timed_names(function: ast.AST, timed: set[str]) -> set[str]:
    """Return the names, with names bound to a time, a difference of times, a list of them or their source."""
    found = set(timed)
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and reads_clock(node.value, timed):
            found |= {one.id for one in node.targets if isinstance(one, ast.Name)}
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            call = node.value.func
            held = call.value if isinstance(call, ast.Attribute) and call.attr == "append" else None
            if isinstance(held, ast.Name) and reads_clock(node.value.args[0], timed):
                found.add(held.id)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            returned = [one.value for one in ast.walk(node) if isinstance(one, ast.Return) and one.value]
            if any(reads_clock(one, timed) for one in returned):
                found.add(node.name)
    return found if found == timed else timed_names(function, found)


def asserted_timings(text: str) -> list[int]:
    """Return the lines of a test that compare an elapsed time with a limit, or measure one in Lua."""
    if not (CLOCK.search(text) or LUA_TIMING.search(text) or ".time()" in text):
        return []
    module, lines, givers = ast.parse(text), set(), set[str]()
    parts = [one for one in module.body if not isinstance(one, ast.Import | ast.ImportFrom)]
    names = {one.name for one in parts if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)}
    for _ in range(2):  # helpers may stand below the tests
        for part in parts:
            timed = timed_names(part, givers)
            givers |= timed & names
            for held in ast.walk(part):
                compared = ast.walk(held.test) if isinstance(held, ast.Assert) else ()
                lines |= {
                    one.lineno for one in compared if isinstance(one, ast.Compare) and reads_clock(one, timed)
                }
    for node in ast.walk(module):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and LUA_TIMING.search(node.value):
            lines.add(node.lineno)
    return sorted(lines)


def test_no_test_asserts_a_timing() -> None:
    """A busy machine takes any time: tests count work (`tests/harness/work.py`), or wait for an event."""
    found = {
        str(path.relative_to(TESTS)): lines
        for path in TESTS.rglob("*.py")
        if path != Path(__file__) and (lines := asserted_timings(path.read_text(encoding="utf-8")))
    }
    assert found == {}
    assert [path for path in TESTS.rglob("*.lua") if LUA_TIMING.search(path.read_text())] == []


@pytest.mark.parametrize(
    "body",
    [
        "begun = time.monotonic(); assert time.monotonic() - begun < 1",
        "begun = time.process_time(); spent = time.process_time() - begun; assert spent < 1",
        "taken = []; taken.append(perf_counter() - 1); assert min(taken) < 1, 'slow'",
        "def took():\n  return time.thread_time()\n assert took() * 2 < 1",
        "begun = time.time(); assert time.time() - begun < 1",
        "loop = asyncio.get_running_loop(); end = loop.time() + 1; assert loop.time() <= end",
        "took = editor.lua('return vim.uv.hrtime() - begun')",
    ],
)
def test_an_asserted_timing_is_found(body: str) -> None:
    assert asserted_timings(f"def test():\n {body}")


@pytest.mark.parametrize(
    "body",
    [
        "end = time.monotonic() + 30\n while time.monotonic() < end: pass",
        "left = 30 - time.monotonic(); assert changed.wait(left)",
        "assert stored['expires_at'] > time.time() + 28000",
        "work = work_of(call); assert work < 5",
    ],
)
def test_a_wait_with_an_end_is_no_asserted_timing(body: str) -> None:
    assert asserted_timings(f"def test():\n {body}") == []

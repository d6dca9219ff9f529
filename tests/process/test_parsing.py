"""The parser process: limits, ends, concurrent calls."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tideate_core.errors import NotParsed
from tideate_core.process import parse_outside, parsing

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
ENDLESS = ("operator:pow", 7, 10**9)
"""A call that holds the lock of its process for ever."""


@pytest.fixture(autouse=True)
def parser(monkeypatch: pytest.MonkeyPatch) -> Iterator[parsing.Parser]:
    own = parsing.Parser()
    monkeypatch.setattr(parsing, "_parser", own)
    yield own
    own.end()


def has_ended(pid: int) -> None:
    """Wait for the end of a process, within the test's limit of time."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    import select

    try:
        assert select.select([descriptor], [], [], 30)[0], "it goes on"
    finally:
        os.close(descriptor)


def test_a_child_is_kept_for_all_calls() -> None:
    assert parse_outside("os:getpid") == parse_outside("os:getpid") != os.getpid()


def test_a_call_ends_at_the_limit_of_processor_time_and_is_not_tried_again(
    monkeypatch: pytest.MonkeyPatch, parser: parsing.Parser
) -> None:
    monkeypatch.setattr(parsing, "SECONDS", 0.2)
    before = parse_outside("os:getpid")
    with pytest.raises(NotParsed, match="it takes too long to parse"):
        parse_outside(*ENDLESS)
    after = parse_outside("os:getpid")
    assert after != before
    with pytest.raises(NotParsed, match="it takes too long to parse"):
        parse_outside(*ENDLESS)
    assert parse_outside("os:getpid") == after, "it was tried again"
    has_ended(before)


def test_a_call_ends_at_the_limit_by_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parsing, "PATIENCE", 0.5)
    with pytest.raises(NotParsed, match="it takes too long to parse"):
        parse_outside("signal:pause")
    monkeypatch.setattr(parsing, "PATIENCE", 30)
    assert parse_outside("math:gcd", 6, 4) == 2


def test_memory_is_limited() -> None:
    with pytest.raises(NotParsed, match="its parser failed: MemoryError"):
        parse_outside("operator:mul", "x", 3 << 30)


def test_a_crash_and_a_failure_are_told() -> None:
    with pytest.raises(NotParsed, match="its parser ended unexpectedly"):
        parse_outside("os:abort")
    with pytest.raises(NotParsed, match="its parser failed: ValueError: "):
        parse_outside("math:sqrt", -1)


def test_words_that_a_function_prints_are_no_reply() -> None:
    assert parse_outside("builtins:print", "x" * 100) is None
    assert parse_outside("math:gcd", 6, 4) == 2


def test_after_the_child_is_killed_the_next_call_has_a_new_one() -> None:
    pid = parse_outside("os:getpid")
    os.kill(pid, signal.SIGKILL)
    has_ended(pid)
    assert parse_outside("math:gcd", 6, 4) == 2


def test_a_refused_start_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(NotParsed, match="its parser cannot be started"):
        parse_outside("os:getpid")


def test_threads_get_each_their_own_result() -> None:
    with ThreadPoolExecutor(8) as pool:
        numbers = range(200)
        assert list(pool.map(lambda n: parse_outside("operator:mul", n, 2), numbers)) == [
            2 * number for number in numbers
        ]


@pytest.mark.filterwarnings("ignore:This process")
def test_a_fork_has_a_child_of_its_own() -> None:
    theirs = parse_outside("os:getpid")
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            status = 0 if parse_outside("os:getpid") != theirs else 2
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert parse_outside("os:getpid") == theirs


def test_nothing_is_inherited(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SOME_API_KEY", "secret")
    with (tmp_path / "open").open("w") as file:
        os.set_inheritable(file.fileno(), True)
        pid = parse_outside("os:getpid")
        assert len([*Path(f"/proc/{pid}/fd").iterdir()]) == 4  # its streams, and a copy for replies
    assert parse_outside("os:getcwd") == "/"
    assert parse_outside("os:getsid", 0) == pid
    names = {one.split(b"=")[0].decode() for one in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")}
    assert names <= {*parsing.INHERITED, ""}


@pytest.mark.parametrize("then", ["signal.pause()", f"parsing.parse_outside(*{ENDLESS!r})"])
def test_a_killed_parent_takes_the_child_with_it(then: str) -> None:
    code = (
        "import signal\nfrom tideate_core.process import parsing\nparsing.SECONDS = 1\n"
        f"print(parsing.parse_outside('os:getpid'), flush=True)\n{then}"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, cwd=ROOT
    ) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        parent.kill()
    has_ended(child)


def test_a_parent_that_ends_takes_the_child_with_it() -> None:
    code = "from tideate_core.process import parsing\nprint(parsing.parse_outside('os:getpid'))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    has_ended(int(done.stdout))
    assert done.stderr == ""

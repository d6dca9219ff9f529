"""Output to clients that read, are slow, or have disconnected."""

from __future__ import annotations

import asyncio
import os
import select
import socket
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from tideate_core.mcp.transport.stdio import OutputWriter

if TYPE_CHECKING:
    from collections.abc import Iterator

LONG = "".join(f"{number}é\n" for number in range(200_000))
"""More than a pipe or a socket holds."""


@contextmanager
def ends(kind: str) -> Iterator[tuple[int, int]]:
    """Yield the descriptors for reading and writing."""
    if kind == "pipe":
        reading, writing = os.pipe()
    else:
        reading, writing = (one.detach() for one in socket.socketpair())
    yield reading, writing
    os.close(reading)
    os.close(writing)


async def until_full(descriptor: int) -> None:
    """Wait until the pipe is full."""
    async with asyncio.timeout(60):
        while select.select([], [descriptor], [], 0)[1]:  # noqa: ASYNC110 nobody is told
            await asyncio.sleep(0)


def read_all(descriptor: int, size: int) -> bytes:
    found = bytearray()
    while len(found) < size:
        found += os.read(descriptor, 1 << 20)
    return bytes(found)


@pytest.mark.parametrize("kind", ["pipe", "socket"])
async def test_all_arrives_and_nothing_else_waits_for_a_client_that_does_not_read(kind: str) -> None:
    with ends(kind) as (reading, writing):
        answers = OutputWriter(writing)
        long = asyncio.create_task(answers.write(LONG))
        await until_full(writing)
        assert not long.done()
        size = len(LONG.encode())
        found = await asyncio.to_thread(read_all, reading, size)
        await long
        assert found == LONG.encode()
        await answers.write("short\n")
        assert os.read(reading, 100) == b"short\n"


async def test_a_writer_that_waits_can_be_cancelled() -> None:
    with ends("pipe") as (_reading, writing):
        waiting = asyncio.create_task(OutputWriter(writing).write(LONG))
        await until_full(writing)
        waiting.cancel()
        async with asyncio.timeout(60):
            with pytest.raises(asyncio.CancelledError):
                await waiting


async def test_a_client_that_has_gone_is_told() -> None:
    with ends("pipe") as (reading, writing):
        waiting = asyncio.create_task(OutputWriter(writing).write(LONG))
        await until_full(writing)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, reading)
        os.close(nothing)
        async with asyncio.timeout(60):
            with pytest.raises(BrokenPipeError):
                await waiting


@pytest.mark.slow
def test_what_others_write_to_standard_output_does_not_get_among_the_answers() -> None:
    program = """
import asyncio, os, subprocess
from tideate_core.mcp.transport.stdio import OutputWriter, claimed_stdout

async def main():
    with claimed_stdout() as wire:
        print("of a library", flush=True)
        subprocess.run(["echo", "of a program"])
        await OutputWriter(wire).write("answer\\n")
    print("afterwards", flush=True)

asyncio.run(main())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "answer\nafterwards\n"
    assert done.stderr == "of a library\nof a program\n"

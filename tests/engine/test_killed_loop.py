"""Killed at every turn and inside every call, a work loop goes on: nothing is asked or recorded twice."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.builtin.test_calls_of_one_turn import DONE, change, lay, one_turn, plan
from tests.builtin.test_with_tools import SHOP, edit, hand_in, plan_of_shop
from tests.engine.logbook import RUN
from tests.engine.test_killed import REPOSITORY
from tideate_core.engine import EventName

if TYPE_CHECKING:
    from tests.harness.bench import Bench

pytestmark = [pytest.mark.concurrency, pytest.mark.slow, pytest.mark.timeout(600)]

CHILD = """
import asyncio, os, pathlib, signal, sys
from types import SimpleNamespace
from tests.harness.bench import Bench
from tests.engine.logbook import RUN
from tideate_core.agents.tools import tool as tools
from tideate_core.engine.context.context import Context
from tideate_core.engine.review import review

root, url, where = sys.argv[1:]

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

def die_after_a_new_turn():
    take_turn = Context.take_turn

    async def taken(self, *args, **named):
        before = self.usage
        turn = await take_turn(self, *args, **named)
        if self.usage != before:  # a turn that was recorded before takes nothing
            die()
        return turn

    Context.take_turn = taken

async def main():
    bench = Bench(pathlib.Path(root), SimpleNamespace(base_url=url), tools=True)
    if where == "turn":
        die_after_a_new_turn()
    elif where == "written":
        write = review.write_changes

        async def written(*args, **named):
            await write(*args, **named)
            die()

        review.write_changes = written
    else:
        tools.WorkTool.parse = die
    try:
        await bench.resume(RUN)
    except Exception as error:
        if type(error).__name__ != "RunNotFound":
            raise
        await bench.run("multi_file", "make the rate an argument", execution_id=RUN)
    await bench.aclose()

asyncio.run(main())
"""


@pytest.fixture
def tools() -> bool:
    return True


def scripted(bench: Bench) -> None:
    plan_of_shop(bench)
    edit(bench, "shop/price.py", "def price(item):", "def price(item, rate=1.2):")
    edit(bench, "shop/price.py", "item.net * 1.2", "item.net * rate")
    bench.server.calls("Carry it out completely", "read_file", {"path": "shop/price.py"}, times=1)
    edit(bench, "shop/cart.py", "def total(items):", "def total(items, rate=1.2):")
    edit(bench, "shop/cart.py", "price(i) for", "price(i, rate) for")
    hand_in(bench)


def run_until_killed(bench: Bench, where: str) -> bool:
    """Run or resume the run in a process that kills itself; return whether it did."""
    command = [sys.executable, "-c", CHILD, str(bench.root), bench.server.base_url, where]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode in {0, -signal.SIGKILL}, done.stderr
    return done.returncode != 0


TURNS = 8


async def test_killed_after_every_turn_it_ends_with_the_same_files(bench: Bench) -> None:
    scripted(bench)
    for turn in range(1, TURNS + 1):
        assert await asyncio.to_thread(run_until_killed, bench, "turn")
        assert len(bench.server.requests) == turn, "a turn was asked for twice"
        assert bench.fingerprint() == {name: text.encode() for name, text in SHOP.items()}
    assert not await asyncio.to_thread(run_until_killed, bench, "turn")
    assert_done(bench)


async def test_killed_when_its_edits_are_written_it_writes_them_anew_without_a_question(bench: Bench) -> None:
    scripted(bench)
    assert await asyncio.to_thread(run_until_killed, bench, "written")
    assert_done(bench)
    assert (await bench.resume(RUN)).ok
    assert bench.front.data(EventName.CONFIRMATION_REQUIRED) == [], "it was answered before"
    assert_done(bench)
    await bench.workspace().rollback(RUN)
    assert bench.fingerprint() == {name: text.encode() for name, text in SHOP.items()}


async def test_a_run_killed_in_a_call_after_its_plan_requests_no_turn_twice(bench: Bench) -> None:
    lay(bench)
    one_turn(bench, plan(), change("item.net", "item.gross"), change("1.2", "1.3"), DONE)
    for _ in range(2):
        assert await asyncio.to_thread(run_until_killed, bench, "call")
    assert bench.fingerprint() == {name: text.encode() for name, text in SHOP.items()}
    assert (await bench.resume(RUN)).ok
    assert len(bench.server.requests) == 1
    assert b"item.gross * 1.3" in bench.fingerprint()["shop/price.py"]


def assert_done(bench: Bench) -> None:
    after = bench.fingerprint()
    assert after["shop/price.py"] == b"def price(item, rate=1.2):\n    return item.net * rate\n"
    assert b"price(i, rate) for i" in after["shop/cart.py"]
    assert len(bench.server.requests) == TURNS, "nothing was asked for twice"
    results = [one for one in bench.server.requests[-1]["messages"] if one["role"] == "tool"]
    assert len(results) == TURNS - 1
    assert not any(one["content"].startswith("error") for one in results), json.dumps(results)

"""A run killed while it writes resumes to the same end, without repeated questions or partial files."""

from __future__ import annotations

import asyncio
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.builtin.test_buffer_workflows import planned
from tests.engine.logbook import RUN
from tideate_core.engine import EventName

if TYPE_CHECKING:
    from tests.harness.bench import Bench

pytestmark = [pytest.mark.concurrency, pytest.mark.slow]

CHILD = """
import asyncio, os, pathlib, signal, sys
from types import SimpleNamespace
from tests.harness.bench import Bench
from tests.engine.logbook import RUN

root, url, name, kill_at = sys.argv[1:]
left = int(kill_at)
real = getattr(os, name)

def counted(*args, **named):
    global left
    done = real(*args, **named)
    left -= "reviews" not in pathlib.Path(args[0]).parts  # a draft is no file of the project
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return done

async def main():
    bench = Bench(pathlib.Path(root), SimpleNamespace(base_url=url))
    setattr(os, name, counted)
    await bench.run("multi_file", "move f into a library", execution_id=RUN)
    await bench.aclose()

asyncio.run(main())
"""
AT_THE_EXIT = """
import asyncio, contextlib, os, pathlib, signal, sqlite3, sys, time
from types import SimpleNamespace
from tests.harness.bench import Bench
from tests.engine.logbook import RUN
from tests.engine.test_killed import MACHINE
from tideate_core.engine import EventName

async def main():
    bench = Bench(pathlib.Path(sys.argv[1]), SimpleNamespace(base_url=sys.argv[2]))
    bench.machine(MACHINE)
    emit = bench.front.emit

    def die_once_the_last_move_is_durable(event):
        emit(event)
        if event.name is not EventName.TRANSITION or event.data["to"] != "*":
            return
        with contextlib.closing(sqlite3.connect(bench.private / "tideate.db")) as other:
            while other.execute("SELECT count(*) FROM workflow_events WHERE name LIKE '%TRANSITION'"
                                ).fetchone() != (event.data["move"],):
                time.sleep(0.005)
        os.kill(os.getpid(), signal.SIGKILL)

    bench.front.emit = die_once_the_last_move_is_durable
    await bench.run("walk", "go", execution_id=RUN)

asyncio.run(main())
"""
WHILE_PAUSED = """
import asyncio, os, pathlib, signal, sys
from types import SimpleNamespace
from tests.harness.bench import Bench
from tests.engine.logbook import RUN
from tideate_core.engine import EventName

async def main():
    bench = Bench(pathlib.Path(sys.argv[1]), SimpleNamespace(base_url=sys.argv[2]), tools=True)
    emit = bench.front.emit

    def pause_then_die(event):
        emit(event)
        if event.name is EventName.TOOL_COMPLETED:
            bench.runner.pause(RUN)
        if event.name is EventName.WORKFLOW_PAUSED:
            os.kill(os.getpid(), signal.SIGKILL)

    bench.front.emit = pause_then_die
    await bench.run("ask", "what is in b?", execution_id=RUN)

asyncio.run(main())
"""
WITH_A_MESSAGE = """
import asyncio, os, pathlib, signal, sys
from types import SimpleNamespace
from tests.harness.bench import Bench
from tests.engine.logbook import RUN
from tideate_core.engine import EventName

root, url, where = sys.argv[1:]

def die():
    os.kill(os.getpid(), signal.SIGKILL)

async def main():
    bench = Bench(pathlib.Path(root), SimpleNamespace(base_url=url), tools=True)
    emit, tasks = bench.front.emit, []

    async def say():
        for words in ("keep the name", "and be short"):
            await bench.runner.say(None, words)
        if where == "said":
            die()
        bench.runner.resume(RUN)

    def emit_and_say(event):
        emit(event)
        if event.name is EventName.TOOL_COMPLETED:
            bench.runner.pause(RUN)
        elif event.name is EventName.WORKFLOW_PAUSED:
            tasks.append(asyncio.create_task(say()))
        elif event.name is EventName.NOTICE and event.data["message"].startswith("the model reads"):
            die()

    bench.front.emit = emit_and_say
    await bench.run("ask", "what is in b?", execution_id=RUN)

asyncio.run(main())
"""
AT_THE_END = """
import asyncio, os, pathlib, signal, sys
from types import SimpleNamespace
from tests.harness.bench import Bench
from tests.engine.logbook import RUN
from tests.engine.test_killed import MACHINE
from tideate_core.store import log

write_ending, real = log.write_ending, log.RunLog.ended

def die(*args, **named):
    write_ending(*args, **named)
    os.kill(os.getpid(), signal.SIGKILL)

async def ended(run, *args):
    await run.flush()  # whatever was handed over before the end is durable before it
    return await real(run, *args)

async def main():
    bench = Bench(pathlib.Path(sys.argv[1]), SimpleNamespace(base_url=sys.argv[2]))
    bench.machine(MACHINE)
    log.write_ending = die
    log.RunLog.ended = ended
    await bench.run("walk", "go", execution_id=RUN)

asyncio.run(main())
"""
MACHINE = "* to a\na to b\nb to *\n"
REPOSITORY = Path(__file__).parents[2]
AFTERWARDS = {
    "a.py": b"from lib.b import f\n\nf()\n",
    "lib/b.py": b"def f():\n    return 1\n",
    "lib/m.py": b"M = 1\n",
}


def killed(code: str, bench: Bench, *more: str) -> None:
    """Run a process until it kills itself."""
    command = [sys.executable, "-c", code, str(bench.root), bench.server.base_url, *more]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == -signal.SIGKILL, done.stderr


@pytest.mark.parametrize(("call", "times"), [("replace", 1), ("unlink", 1)])
async def test_an_apply_cut_in_half_is_whole_after_the_run_went_on(
    bench: Bench, call: str, times: int
) -> None:
    planned(bench)
    await asyncio.to_thread(killed, CHILD, bench, call, str(times))
    asked = len(bench.server.requests)
    result = await bench.resume(RUN)
    assert result.ok, result.error
    assert bench.fingerprint() == AFTERWARDS
    assert bench.front.requests == []  # the plan and the review were agreed to before
    assert len(bench.server.requests) == asked
    assert "MODEL_ANSWERED" not in bench.front.names()
    assert result.usage.input_tokens > 0
    await bench.workspace().rollback(RUN)
    assert sorted(bench.fingerprint()) == ["a.py", "m.py", "old.py"]


async def test_a_run_that_was_killed_while_its_end_was_written_ends_once(bench: Bench) -> None:
    bench.machine(MACHINE)
    await asyncio.to_thread(killed, AT_THE_END, bench)
    reader = await bench.reader()
    assert EventName.WORKFLOW_COMPLETED not in [event.name for event in reader.events(RUN)]
    assert not reader.run(RUN).ended
    result = await bench.resume(RUN)
    assert result.ok, result.error
    assert [event.name for event in reader.events(RUN)].count(EventName.WORKFLOW_COMPLETED) == 1


async def test_a_machine_that_was_killed_behind_its_exit_leaves_once(bench: Bench) -> None:
    bench.machine(MACHINE)
    await asyncio.to_thread(killed, AT_THE_EXIT, bench)
    result = await bench.resume(RUN)
    assert result.ok, result.error
    assert [move["to"] for move in result.path or ()] == ["a", "b", "*"]
    events = (await bench.reader()).events(RUN)
    moves = [event.data["to"] for event in events if event.name == EventName.TRANSITION]
    assert moves == ["a", "b", "*"]
    assert [event.name for event in events].count(EventName.WORKFLOW_COMPLETED) == 1


@pytest.mark.parametrize("tools", [True])
async def test_a_run_that_was_killed_while_it_was_paused_in_a_loop_goes_on_there(bench: Bench) -> None:
    bench.write("b.py", "VALUE_OF_B = 41\n")
    bench.server.calls("what is in b", "read_file", {"path": "b.py"}, times=1)
    bench.server.answers("VALUE_OF_B", "It is 41.")
    await asyncio.to_thread(killed, WHILE_PAUSED, bench)
    assert len(bench.server.requests) == 1
    result = await bench.resume(RUN)
    assert result.response == "It is 41.", result.error
    assert len(bench.server.requests) == 2
    assert "TOOL_CALLED" not in bench.front.names(), "its call was recorded"


@pytest.mark.parametrize("tools", [True])
@pytest.mark.parametrize("where", ["said", "read"])
async def test_messages_to_a_run_that_was_killed_are_read_once(bench: Bench, where: str) -> None:
    bench.write("b.py", "VALUE_OF_B = 41\n")
    bench.server.calls("what is in b", "read_file", {"path": "b.py"}, times=1)
    bench.server.calls("and be short", "read_file", {"path": "b.py"}, times=1)
    bench.server.answers("VALUE_OF_B", "It is 41.")
    await asyncio.to_thread(killed, WITH_A_MESSAGE, bench, where)
    assert len(bench.server.requests) == 1, "no turn came after the messages"
    result = await bench.resume(RUN)
    assert result.response == "It is 41.", result.error
    told = bench.front.notices()
    words = ["keep the name", "and be short"]
    read = [f"the model reads your message: {one}" for one in words]
    assert told == ([f"you: {one}" for one in words] + read if where == "said" else [])
    last = bench.server.requests[-1]["messages"]
    assert [one["content"] for one in last if one["role"] == "user"][1:] == words
    with closing(sqlite3.connect(bench.private / "tideate.db")) as store:
        assert store.execute("SELECT count(*) FROM workflow_wishes").fetchone() == (0,)

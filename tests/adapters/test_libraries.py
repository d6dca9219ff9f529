"""Loading the model libraries has no side effect that a person sees."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.model_server import ModelServer
from tideate_core.adapters.libraries import load_libraries

PROGRAM = """
import asyncio, sys
from tideate_core.adapters import AdapterPool, Prompt
from tideate_core.config import Config
config = Config.model_validate({"adapters": {"fake": {"base_url": sys.argv[1], "model": "scripted"}}})
print(asyncio.run(AdapterPool(config).get("fake").ask(Prompt("greet"))).text)
"""


@pytest.mark.slow
def test_the_library_prints_no_banner() -> None:
    quiet = ("CI", "PYTEST_VERSION", "PYDANTIC_AI_NO_BANNER")
    environment = {name: value for name, value in os.environ.items() if name not in quiet}
    environment["AGENT"] = "1"  # the library prints it to pipes too if somebody is there to read them
    with ModelServer() as server:
        server.answers("greet", "hello")
        command = [sys.executable, "-c", PROGRAM, server.base_url]
        done = subprocess.run(
            command,
            env=environment,
            cwd=Path(__file__).parents[2],
            capture_output=True,
            text=True,
            check=True,
        )
    assert (done.stdout, done.stderr) == ("hello\n", "")


async def test_what_the_library_defines_is_not_looked_through_for_garbage() -> None:
    await load_libraries()
    assert gc.isenabled()
    assert gc.get_freeze_count() > 100_000

"""Loading the model libraries has no visible side effect."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.harness.model_server import ModelServer
from tideate_core.adapters.libraries import import_aside, is_loading, load_libraries

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


LOAD = """
import asyncio, sys
from tideate_core.adapters import is_loading, load_ahead, preload
from tideate_core.adapters.libraries import load_libraries
from tideate_core.config import Config
server = {"base_url": "http://127.0.0.1:1/v1", "model": "scripted"}
config = Config.model_validate({"adapters": {"fake": server, "deep": {"model": "anthropic:claude"}}})
%s
print(*sorted({"pydantic_ai", "openai"} & sys.modules.keys()))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("load", "loaded"),
    [
        ("asyncio.run(load_libraries())", "pydantic_ai"),
        ("asyncio.run(load_libraries(openai=True))", "openai pydantic_ai"),
        ("asyncio.run(preload(config, 'fake'))", "openai pydantic_ai"),
        ("asyncio.run(preload(config, 'openai:gpt-5'))", "openai pydantic_ai"),
        ("asyncio.run(preload(config, 'deep'))", "pydantic_ai"),
        ("asyncio.run(preload(config, 'nobody:x'))", "pydantic_ai"),
        ("asyncio.run(preload(config, 'replay:file'))", ""),
        (
            "import threading; load_ahead(config, 'fake')\n"
            "[thread.join() for thread in threading.enumerate() if thread.name == 'imports']",
            "openai pydantic_ai",
        ),
    ],
)
def test_only_what_an_adapter_needs_is_loaded(load: str, loaded: str) -> None:
    done = subprocess.run([sys.executable, "-c", LOAD % load], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == (f"{loaded}\n", "")


async def test_that_the_libraries_are_being_imported_is_told() -> None:
    seen = await import_aside(is_loading)
    assert (seen, is_loading()) == (True, False)


async def test_what_the_library_defines_is_not_looked_through_for_garbage() -> None:
    await load_libraries()
    assert gc.isenabled()
    assert gc.get_freeze_count() > 100_000

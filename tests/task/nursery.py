"""Processes that have everything loaded when they are born: `python -m tests.task.nursery` forks them.

It reads orders, JSON a line, and answers each with how that process ended, as `os.waitpid` says it.
Starting an interpreter for each would take ten times as long as what the process is to do.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import pkgutil
import subprocess
import sys
import traceback
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from tests.crash.kills import Kill
from tests.task.child import Order, Told, perform
from tideate_core.adapters.libraries import MODULES

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Nursery"]

REPOSITORY: Final = Path(__file__).parents[2]
PACKAGES: Final = ("agents", "commands", "engine", "gates", "store", "workflows", "workspace")
"""Rooms that a task is in."""
LIBRARIES: Final = (
    "anyio._backends._asyncio",
    "ast_grep_py",
    "blake3",
    "genai_prices.data",
    "jinja2.sandbox",
    "jiter",
    "openai.resources.chat",
    "zstandard",
)
"""What it needs beside what every model does."""


class Nursery:
    """The process that forks them."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.task.nursery"],
            cwd=REPOSITORY,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate(timeout=30)

    def run(self, order: Order) -> int:
        """Let a process carry out an order; returns its exit status, negative for a signal."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(asdict(order)) + "\n")
        self._process.stdin.flush()
        return os.waitstatus_to_exitcode(int(self._process.stdout.readline()))


def _order(line: str) -> Order:
    shape: dict[str, Any] = json.loads(line)
    told, kill = shape.pop("told"), shape.pop("kill")
    return Order(**shape, told=Told(**told) if told else None, kill=Kill(**kill) if kill else None)


def _born(order: Order) -> None:
    """Be that process, to its end."""
    status = 1
    try:
        errors = os.open(Path(order.home) / "stderr", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.dup2(errors, 2)
        # the answers on the standard output are the parent's
        os.dup2(errors, 1)
        perform(order)
        status = 0
    except BaseException:  # noqa: BLE001 it ends here, whatever it is
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


def load_all() -> None:
    """Load what a task loads late."""
    for room in PACKAGES:
        package = importlib.import_module(f"tideate_core.{room}")
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
    for name in ("tideate_core.adapters.model", "tideate_core.adapters.sources", *MODULES, *LIBRARIES):
        importlib.import_module(name)


def main(lines: Sequence[str]) -> None:
    load_all()
    gc.freeze()
    for line in lines:
        child = os.fork()
        if child == 0:
            _born(_order(line))
        print(os.waitpid(child, 0)[1], flush=True)


if __name__ == "__main__":
    main(sys.stdin)  # type: ignore[arg-type]  # lines as they come

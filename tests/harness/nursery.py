"""Processes that have all loaded when they are born: `python -m tests.harness.nursery MODULE` forks them.

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
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, Self, cast

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Nursery", "load_rooms"]

REPOSITORY: Final = Path(__file__).parents[2]


class Trade(Protocol):
    """Interface of MODULE: the needs and the work of its processes."""

    def load(self) -> None: ...

    def perform(self, order: dict[str, Any]) -> None: ...


class Nursery:
    """The process that forks them."""

    def __init__(self, module: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.harness.nursery", module],
            cwd=REPOSITORY,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate(timeout=60)

    def bear(self, order: dict[str, Any], errors: Path) -> int:
        """Let a process carry out an order; returns its exit status, negative for a signal.

        :param errors: what it says is appended there.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([order, str(errors)]) + "\n")
        self._process.stdin.flush()
        return os.waitstatus_to_exitcode(int(self._process.stdout.readline()))


def load_rooms(*rooms: str) -> None:
    """Load all modules of these packages of the product."""
    for room in rooms:
        package = importlib.import_module(f"tideate_core.{room}")
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)


def _born(trade: Trade, order: dict[str, Any], errors: str) -> None:
    """Be that process, to its end."""
    status = 1
    try:
        said = os.open(errors, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.dup2(said, 2)
        # the answers on the standard output are the parent's
        os.dup2(said, 1)
        trade.perform(order)
        status = 0
    except BaseException:  # noqa: BLE001 it ends here, whatever it is
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


def main(module: str, lines: Iterable[str]) -> None:
    trade = cast("Trade", importlib.import_module(module))
    trade.load()
    gc.freeze()
    for line in lines:
        child = os.fork()
        if child == 0:
            _born(trade, *json.loads(line))
        print(os.waitpid(child, 0)[1], flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.stdin)

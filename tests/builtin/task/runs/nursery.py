"""Fork server for task processes, with all modules preloaded."""

from __future__ import annotations

import importlib
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from tests.builtin.task.runs import child
from tests.builtin.task.runs.child import Order, Told
from tests.crash.kills import Kill
from tests.harness import nursery
from tideate_core.adapters.libraries import MODULES

__all__ = ["Nursery"]

ROOMS: Final = (
    *("agents", "builtin", "engine", "gates", "mentions", "process", "project"),
    *("snapshots", "store", "toolchain", "workflows", "workspace"),
)
"""Packages of a task."""
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
"""Libraries of a task beyond those of every model."""


class Nursery(nursery.Nursery):
    """Server process that forks task processes."""

    def __init__(self) -> None:
        super().__init__(__name__)

    def run(self, order: Order) -> int:
        """Run an order in a child process; return its exit status, negative for a signal."""
        return self.bear(asdict(order), Path(order.home) / "stderr")


def load() -> None:
    """Preload the modules that a task imports late."""
    nursery.load_rooms(*ROOMS)
    for name in ("tideate_core.adapters.model", "tideate_core.adapters.sources", *MODULES, *LIBRARIES):
        importlib.import_module(name)


def perform(order: dict[str, Any]) -> None:
    """Execute an order in dictionary form."""
    told, kill = order.pop("told"), order.pop("kill")
    child.perform(Order(**order, told=Told(**told) if told else None, kill=Kill(**kill) if kill else None))

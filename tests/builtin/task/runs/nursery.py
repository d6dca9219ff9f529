"""Processes that have a task, with all that it needs loaded when they are born."""

from __future__ import annotations

import importlib
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from tests.builtin.task.runs import child
from tests.builtin.task.runs.child import Order, Told
from tests.crash.kills import Kill
from tests.support import nursery
from tideate_core.adapters.libraries import MODULES

__all__ = ["Nursery"]

ROOMS: Final = (
    *("agents", "builtin", "engine", "gates", "mentions", "process", "project"),
    *("snapshots", "store", "toolchain", "workflows", "workspace"),
)
"""What a task is in."""
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


class Nursery(nursery.Nursery):
    """The process that forks them."""

    def __init__(self) -> None:
        super().__init__(__name__)

    def run(self, order: Order) -> int:
        """Let a process carry out an order; returns its exit status, negative for a signal."""
        return self.bear(asdict(order), Path(order.home) / "stderr")


def load() -> None:
    """Load what a task loads late."""
    nursery.load_rooms(*ROOMS)
    for name in ("tideate_core.adapters.model", "tideate_core.adapters.sources", *MODULES, *LIBRARIES):
        importlib.import_module(name)


def perform(order: dict[str, Any]) -> None:
    """Carry out what `asdict` made of an order."""
    told, kill = order.pop("told"), order.pop("kill")
    child.perform(Order(**order, told=Told(**told) if told else None, kill=Kill(**kill) if kill else None))

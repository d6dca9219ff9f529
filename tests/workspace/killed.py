"""Work on a project's files in processes killed before successive system calls."""

from __future__ import annotations

import asyncio
import os
import signal
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from tests.harness.nursery import Nursery, load_rooms
from tests.workspace.kinds import KINDS
from tests.workspace.test_transaction import EVERYTHING
from tideate_core.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

Work = Literal[
    "apply",
    "apply as a step",
    "change kinds",
    "roll back unfinished steps",
    "roll back",
    "roll back what is unchanged",
]
RUN: Final = "run"
WORKS: Final[dict[Work, Callable[[Workspace], Awaitable[object]]]] = {
    "apply": lambda workspace: workspace.apply(EVERYTHING, execution_id=RUN),
    "apply as a step": lambda workspace: workspace.of_step("write").apply(EVERYTHING, execution_id=RUN),
    "change kinds": lambda workspace: workspace.apply(KINDS, execution_id=RUN),
    "roll back unfinished steps": lambda workspace: workspace.rollback_unfinished_steps(RUN, []),
    "roll back": lambda workspace: workspace.rollback(RUN),
    "roll back what is unchanged": lambda workspace: workspace.rollback_best_effort(RUN),
}
CALLS: Final = ("open", "fsync", "replace", "rename", "unlink", "mkdir", "rmdir", "symlink", "fchmod")
"""System calls that write files and the journal."""


@dataclass(frozen=True, slots=True)
class Order:
    """Work for one process."""

    work: Work
    root: str
    private: str
    moment: int
    """Number of the call before which it is killed."""


class Killed:
    """Runs work on a project in processes that are killed."""

    def __init__(self, nursery: Nursery, root: Path, private: Path) -> None:
        self._nursery = nursery
        self._root = root
        self._private = private
        self._errors = root.parent / "errors"

    def at(self, moment: int, work: Work) -> bool:
        """Run the work until just before one call; return whether it got that far."""
        order = Order(work, str(self._root), str(self._private), moment)
        status = self._nursery.bear(asdict(order), self._errors)
        assert status in (0, -signal.SIGKILL), self._errors.read_text()
        return status != 0

    def ever_later(self, work: Work, *, step: int) -> Iterator[int]:
        """Repeat the work with later kills until it completes."""
        moment = 1
        while self.at(moment, work):
            yield moment
            moment += step


def forget(private: Path) -> None:
    """Remove the journals."""
    for path in sorted((private / "journal").rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()


# -- in the process -----------------------------------------------------------------------------------


def load() -> None:
    """Import modules that the work imports late."""
    load_rooms("workspace")


def perform(order: dict[str, Any]) -> None:
    """Run the work until its last call."""
    workspace = Workspace(Path(order["root"]), private=Path(order["private"]))
    left = order["moment"]

    def counted(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*values: Any, **named: Any) -> Any:
            nonlocal left
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*values, **named)

        return call

    for name in CALLS:
        setattr(os, name, counted(getattr(os, name)))

    async def work() -> None:
        await WORKS[order["work"]](workspace)

    asyncio.run(work())

"""User home with one project, its task processes, and the durable state between them."""

from __future__ import annotations

import json
import os
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from tests.builtin.task.runs.child import Order
from tests.harness.place import Place
from tests.harness.state import trust_all
from tests.harness.tally import TASK, as_it_stands, make_project

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.builtin.task.runs.child import Told
    from tests.builtin.task.runs.nursery import Nursery
    from tests.crash.kills import Kill
    from tests.harness.model_server import ModelServer
    from tests.snapshots.trees import Node

__all__ = ["RUN", "Durable", "Site"]

RUN: Final = "0" * 31 + "5"
KILLED: Final = -9


@dataclass(frozen=True, slots=True)
class Durable:
    """Database content while no process runs."""

    status: str
    """Status of the run; empty before its first commit."""
    ended: frozenset[str]
    """Ended steps."""
    answered: frozenset[str]
    """Steps with an answered question."""
    visited: tuple[str, ...]
    """Started steps, in order."""


class Site(Place):
    """Home and project of one task."""

    def __init__(
        self,
        home: Path,
        server: ModelServer,
        *,
        real: bool = False,
        leave_out: str = "",
        state: Path | None = None,
    ) -> None:
        super().__init__(home, state)
        make_project(self.root, real=real, leave_out=leave_out)
        self.before = as_it_stands(self.root)
        config = home / "config_home" / "tideate"
        config.mkdir(parents=True)
        adapter = f'[adapters.fake]\nbase_url = "{server.base_url}"\nmodel = "scripted"\ntools = false\n'
        (config / "config.toml").write_text(f'adapter = "fake"\n{adapter}')

    @property
    def variables(self) -> dict[str, str]:
        """Environment variables of this user's processes."""
        names = ("XDG_CONFIG_HOME", "XDG_CACHE_HOME")
        own = {"HOME": str(self.home), "XDG_STATE_HOME": str(self.state)}
        return own | {name: str(self.home / name[4:].lower()) for name in names}

    @contextmanager
    def person(self) -> Iterator[None]:
        """Use this user's environment in the current process."""
        before = dict(os.environ)
        os.environ |= self.variables
        try:
            yield
        finally:
            os.environ.clear()
            os.environ |= before

    def trust(self) -> None:
        """Trust the project's commands."""
        with self.person():
            trust_all(self.root)

    # -- processes --------------------------------------------------------------------------------

    def go(
        self, nursery: Nursery, *, told: Told | None = None, kill: Kill | None = None
    ) -> dict[str, Any] | None:
        """Start or continue the task in a new process; None if the process was killed."""
        (self.home / "ended.json").unlink(missing_ok=True)
        status = nursery.run(Order(str(self.root), str(self.home), RUN, TASK, self.variables, told, kill))
        if status == KILLED and (told or kill):
            return None
        assert status == 0, (self.home / "stderr").read_text()
        ended: dict[str, Any] = json.loads((self.home / "ended.json").read_text())
        return ended

    def asked(self) -> list[tuple[str, str]]:
        """Return step and kind of each question asked."""
        path = self.home / "asked.jsonl"
        lines = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
        return [(line["step"], line["kind"]) for line in lines]

    # -- what there is ----------------------------------------------------------------------------

    def files(self) -> dict[str, Node]:
        """Return the project's files, without git's and the tools' own."""
        return as_it_stands(self.root)

    def changed(self) -> dict[str, Node | None]:
        """Return the files that differ from the initial state; None for removed ones."""
        now = self.files()
        return {name: now.get(name) for name in now | self.before if now.get(name) != self.before.get(name)}

    def durable(self) -> Durable:
        """Return the committed state."""
        if not self.has_run():
            return Durable("", frozenset(), frozenset(), ())
        runs, steps, memos = self.query(
            f"SELECT status FROM workflow_executions WHERE id = '{RUN}'",
            "SELECT step_id, status FROM workflow_steps ORDER BY ordinal",
            "SELECT step_id, key FROM workflow_memos",
        )
        return Durable(
            runs[0][0],
            frozenset(step for step, status in steps if status in ("completed", "failed")),
            frozenset(step for step, key in memos if ".confirm:" in key),
            tuple(step for step, _ in steps),
        )

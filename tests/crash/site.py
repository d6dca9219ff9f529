"""Project with the run, its processes, and the durable state between two of them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tests.crash.child import Order, read_log
from tests.crash.graph import OUTER, lay_out
from tests.crash.kills import Totals
from tests.harness.place import Place

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.crash.child import Line
    from tests.crash.kills import Kill

REPOSITORY: Final = Path(__file__).parents[2]
RUN: Final = "0" * 31 + "1"
LIMIT: Final = 60.0
"""Time limit of a process, in seconds."""


@dataclass(frozen=True, slots=True)
class Ended:
    """Output of a process that completed."""

    result: dict[str, Any]
    time: float
    commit: int
    statement: int
    call: int


@dataclass(frozen=True, slots=True)
class Durable:
    """Content of the database without a process; steps are (run, step)."""

    ended: frozenset[tuple[str, str]]
    """Completed, failed or skipped steps; also items of a `for_each`, as `each[0]`."""
    answered: frozenset[tuple[str, str]]
    """Steps with an answered question."""
    running: frozenset[tuple[str, str]]


def first_line(descriptor: int) -> str:
    """Read one line without buffering, which `communicate` would not see."""
    line = b""
    while not line.endswith(b"\n") and (byte := os.read(descriptor, 1)):
        line += byte
    return line.decode()


class Site(Place):
    """Directories of one run and all its processes."""

    def __init__(self, home: Path, state: Path | None = None) -> None:
        super().__init__(home, state)
        lay_out(self.root)
        self._log = home / "effects.jsonl"

    def go(
        self,
        kill: Kill | None = None,
        *,
        file_limit: int | None = None,
        before: Callable[[], None] | None = None,
    ) -> Ended | None:
        """Run or resume in a new process; return None if it was killed.

        :param before: called in that process first.
        """
        order = Order(str(self.root), str(self.private), str(self._log), RUN, OUTER, kill, file_limit)
        command = [sys.executable, "-m", "tests.crash.child", json.dumps(asdict(order))]
        with subprocess.Popen(
            command,
            cwd=REPOSITORY,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=before,
        ) as process:
            assert process.stdout is not None
            ready = first_line(process.stdout.fileno())
            try:
                rest, errors = process.communicate(timeout=kill.at if kill and kill.how == "time" else LIMIT)
            except subprocess.TimeoutExpired:
                process.kill()
                rest, errors = process.communicate()
        if kill is not None and process.returncode == -signal.SIGKILL:
            return None
        assert (process.returncode, ready) == (0, "ready\n"), errors
        return Ended(**json.loads(rest))

    def effects(self) -> list[Line]:
        """Return the effects of the run so far, from handlers and questions."""
        return read_log(self._log)

    def durable(self) -> Durable:
        """Return the committed state."""
        if not self.has_run():
            return Durable(frozenset(), frozenset(), frozenset())
        steps, memos = self.query(
            "SELECT execution_id, step_id, status FROM workflow_steps",
            "SELECT execution_id, step_id, key FROM workflow_memos",
        )
        items = {(run, f"{step}[{key.rpartition(':')[2]}]") for run, step, key in memos if ":item:" in key}
        ended = {(run, step) for run, step, status in steps if status in ("completed", "failed", "skipped")}
        return Durable(
            frozenset(ended | items),
            frozenset((run, step) for run, step, key in memos if ".confirm:" in key),
            frozenset((run, step) for run, step, status in steps if status == "running"),
        )

    def outcome(self) -> dict[str, list[tuple[Any, ...]]]:
        """Return the results that must not depend on kills: no times, no random values."""
        runs, steps, cursors, checkpoints, objects = self.query(
            "SELECT id, status, completed_steps, failed_steps, total_steps, results, error, parent_id,"
            " parent_step FROM workflow_executions ORDER BY id",
            "SELECT execution_id, step_id, step_name, agent_id, status, result, error, error_code, attempts,"
            " files FROM workflow_steps ORDER BY 1, 2",
            "SELECT execution_id, count(*), count(DISTINCT ordinal), max(ordinal) FROM workflow_steps"
            " GROUP BY 1",
            "SELECT execution_id, step_id, count(*) FROM all_checkpoints GROUP BY 1, 2",
            "SELECT execution_id, hash FROM workflow_objects ORDER BY 1, 2",
        )
        return {
            "runs": runs,
            "steps": steps,
            "order": cursors,
            "checkpoints": checkpoints,
            "objects": objects,
        }


class Unkilled:
    """Reference run."""

    def __init__(self, site: Site, ended: Ended) -> None:
        self.result = told(ended.result)
        self.files = site.fingerprint()
        self.outcome = site.outcome()
        self.totals = Totals(ended.time, ended.commit, ended.statement, ended.call)


def told(result: dict[str, Any]) -> dict[str, Any]:
    """Return a run's result without times and races."""
    # the stored result of an ended run omits failed steps
    results = {step: value for step, value in result["results"].items() if step != "broken"}
    kept = {key: value for key, value in result.items() if key != "duration_ms"}
    return {**kept, "files": sorted(result["files"]), "results": results}

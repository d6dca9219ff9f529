"""One measurement in a process of its own: `python -m benchmarks.engine_work ENGINE TASK`, the task as JSON.

It prints what it took as JSON, and nothing where it was killed.
"""

from __future__ import annotations

import importlib
import json
import resource
import sqlite3
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.engine_probe import Probe, Task
from tideate_core.util.garbage import collect_garbage_rarely

if TYPE_CHECKING:
    from benchmarks.engine_probe import Engine

ENGINES = {
    "tideate": ("engine_ours", "prepare"),
    "LangGraph @task": ("engine_langgraph", "task_functions"),
    "LangGraph graph": ("engine_langgraph", "graph"),
    "DBOS": ("engine_dbos", "dbos"),
    "DBOS, WAL and synchronous=FULL": ("engine_dbos", "dbos_write_ahead"),
    "DBOS, PostgreSQL": ("engine_dbos", "dbos_postgres"),
    "Burr": ("engine_burr", "burr"),
    "Burr, WAL and synchronous=FULL": ("engine_burr", "burr_write_ahead"),
    "sqlite3, a commit per step": ("engine_sqlite", "floor"),
}
"""Module of `benchmarks` and function of each `Engine`: a process loads its own only."""


def written() -> int:
    """Return how many bytes this process has handed to the system to write."""
    lines = Path("/proc/self/io").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("wchar")).split()[1])


def counting_commits() -> list[int]:
    """Count the commits of connections that are made from now on."""
    count, real = [0], sqlite3.connect

    class Counted(sqlite3.Connection):
        def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:
            count[0] += sql == "COMMIT"
            return super().execute(sql, *values)

    def connect(*values: Any, **named: Any) -> sqlite3.Connection:
        return real(*values, factory=Counted, **named)

    sqlite3.connect = connect  # type: ignore[assignment]
    return count


def measured(engine: str, task: Task, *, commits: bool) -> dict[str, Any]:
    """Do the task once."""
    collect_garbage_rarely()  # as each process of tideate does; the peers are given it, too
    counted = counting_commits() if commits else [0]
    module, function = ENGINES[engine]
    prepare: Engine = getattr(importlib.import_module(f"benchmarks.{module}"), function)
    probe = Probe(task)
    go, close = prepare(task, probe)
    before, counted[0] = written(), 0
    begun, worked = time.monotonic(), time.process_time()
    results = go()
    took, worked = time.monotonic() - begun, time.process_time() - worked
    made = counted[0]
    close()
    return {
        "seconds": took,
        "worked": worked,
        "results": results,
        "commits": made,
        "written": written() - before,
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "at": probe.at,
    }


def main(engine: str, text: str, *more: str) -> None:
    """Do one task on one engine, and print its figures as JSON."""
    task = json.loads(text)
    report = measured(engine, Task(**{**task, "place": Path(task["place"])}), commits="--commits" in more)
    print(json.dumps(report), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])

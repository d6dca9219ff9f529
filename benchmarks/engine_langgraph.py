"""The task with LangGraph: its functional API and its graph.

Its SQLite checkpointers turn the write-ahead log on by themselves and leave `synchronous` at SQLite's `FULL`:
its defaults are the settings that all are compared with. `durability="sync"` is the strictest mode it has. A
graph commits twice for a step: what the node wrote, then the checkpoint. A `@task` has its result written
beside it, even then: the next one may start before it is durable, as the column of steps done again shows.
"""

from __future__ import annotations

import importlib
import operator
import sqlite3
from typing import TYPE_CHECKING, Annotated, Any, Final, TypedDict

from benchmarks.engine_sqlite import FILE, RUN, synced_write_ahead

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.engine_probe import Probe, Ready, Task

DURABLE: Final = {"durability": "sync"}


def task_functions(task: Task, probe: Probe) -> Ready:
    """The functional API: `@entrypoint` and `@task`."""
    func: Any = importlib.import_module("langgraph.func")
    work = func.task(probe.wait_and_step)

    def flow(steps: int) -> int:
        if task.shape == "chain":
            return sum(bool(work(number).result()) for number in range(steps))
        work(0).result()
        futures = [work(number) for number in range(1, steps + 1)]
        count = sum(bool(future.result()) for future in futures)
        work(steps + 1).result()
        return count + 2

    return _ready(task, lambda saver: func.entrypoint(checkpointer=saver)(flow), task.steps, int)


def _latest(_before: str, after: str) -> str:
    return after


class _State(TypedDict):
    done: Annotated[int, operator.add]
    result: Annotated[str, _latest]


def graph(task: Task, probe: Probe) -> Ready:
    """The graph: a node for each step, the last result and a count in its state."""

    def node(number: int) -> Callable[[Any], dict[str, Any]]:
        return lambda _state: {"result": probe.wait_and_step(number), "done": 1}

    return _ready(task, _compiled(task, node), {"done": 0}, operator.itemgetter("done"))


def _compiled(task: Task, node: Callable[[int], Any]) -> Callable[[Any], Any]:
    library: Any = importlib.import_module("langgraph.graph")
    builder = library.StateGraph(_State)
    last = task.steps - 1 if task.shape == "chain" else task.steps + 1
    for number in range(last + 1):
        builder.add_node(f"s{number}", node(number))
    builder.add_edge(library.START, "s0")
    if task.shape == "chain":
        for number in range(last):
            builder.add_edge(f"s{number}", f"s{number + 1}")
    else:
        middle = [f"s{number}" for number in range(1, last)]
        for name in middle:
            builder.add_edge("s0", name)
        builder.add_edge(middle, f"s{last}")
    builder.add_edge(f"s{last}", library.END)
    return lambda saver: builder.compile(checkpointer=saver)


def _config(task: Task) -> dict[str, Any]:
    return {"configurable": {"thread_id": RUN}, "max_concurrency": 64, "recursion_limit": task.steps + 10}


def _ready(
    task: Task, compile_with: Callable[[Any], Any], begin: object, count_of: Callable[[Any], int]
) -> Ready:
    module: Any = importlib.import_module("langgraph.checkpoint.sqlite")
    connection = sqlite3.connect(task.place / FILE, check_same_thread=False)
    synced_write_ahead(connection)
    saver = module.SqliteSaver(connection)
    saver.setup()
    app, given = compile_with(saver), None if task.resume else begin
    return lambda: count_of(app.invoke(given, _config(task), **DURABLE)), connection.close

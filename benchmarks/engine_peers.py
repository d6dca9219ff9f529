"""The task as one writes it with other durable engines, each with an SQLite file, and with `sqlite3` alone.

The libraries come from the dependency group `peers`; they are loaded by name, because an environment for
`make test` does not have them. Each is used as its documentation shows it, with every step durable before
the next one starts.
"""

from __future__ import annotations

import asyncio
import importlib
import operator
import sqlite3
import threading
import time
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias, TypedDict

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.engine_probe import Probe, Task

__all__ = ["burr", "dbos", "floor", "langgraph_graph", "langgraph_task"]

RUN: Final = "run-1"

Ready: TypeAlias = "tuple[Callable[[], int], Callable[[], object]]"
"""What an `Engine` returns."""


def connected(task: Task) -> sqlite3.Connection:
    """Open the database as all of them are compared: write-ahead log, synced at every commit."""
    connection = sqlite3.connect(task.place / "peer.db", isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    return connection


def floor(task: Task, probe: Probe) -> Ready:
    """`sqlite3` alone: one row and one commit for each step of a chain, of a fan all in one commit."""
    connection = connected(task)
    connection.execute("CREATE TABLE IF NOT EXISTS steps (run TEXT, step INTEGER, result TEXT)")

    def go() -> int:
        if task.shape == "fan":
            connection.execute("BEGIN IMMEDIATE")
        for number in range(task.steps):
            row = (RUN, number, probe.step(number))
            connection.execute("INSERT INTO steps VALUES (?, ?, ?)", row)
        if task.shape == "fan":
            connection.execute("COMMIT")
        (count,) = connection.execute("SELECT count(*) FROM steps").fetchone()
        return int(count)

    return go, connection.close


def _napping(task: Task, probe: Probe) -> Callable[[int], str]:
    def work(number: int) -> str:
        if task.nap and 0 < number <= task.steps:
            time.sleep(task.nap)
        return probe.step(number)

    return work


# -- LangGraph ----------------------------------------------------------------------------------------


def langgraph_task(task: Task, probe: Probe) -> Ready:
    """LangGraph's functional API: `@entrypoint` and `@task`."""
    func: Any = importlib.import_module("langgraph.func")
    connection = connected(task)
    saver = _saver(connection)
    work = func.task(_napping(task, probe))

    def flow(steps: int) -> int:
        if task.shape == "chain":
            return len([work(number).result() for number in range(steps)])
        work(0).result()
        middle = [work(number) for number in range(1, steps + 1)]
        results = [future.result() for future in middle]
        work(steps + 1).result()
        return len(results) + 2

    runnable: Any = func.entrypoint(checkpointer=saver)(flow)
    config = {"configurable": {"thread_id": RUN}, "max_concurrency": 64, "recursion_limit": 100_000}

    def go() -> int:
        return int(runnable.invoke(None if task.resume else task.steps, config, durability="sync"))

    return go, connection.close


class _State(TypedDict):
    results: Annotated[list[str], operator.add]


def langgraph_graph(task: Task, probe: Probe) -> Ready:
    """LangGraph's graph: a node for each step, the results in its state."""
    graph: Any = importlib.import_module("langgraph.graph")
    work = _napping(task, probe)
    builder = graph.StateGraph(_State)

    def node(number: int) -> Callable[[Any], dict[str, list[str]]]:
        return lambda _state: {"results": [work(number)]}

    last = task.steps - 1 if task.shape == "chain" else task.steps + 1
    for number in range(last + 1):
        builder.add_node(f"s{number}", node(number))
    builder.add_edge(graph.START, "s0")
    if task.shape == "chain":
        for number in range(last):
            builder.add_edge(f"s{number}", f"s{number + 1}")
    else:
        middle = [f"s{number}" for number in range(1, last)]
        for name in middle:
            builder.add_edge("s0", name)
        builder.add_edge(middle, f"s{last}")
    builder.add_edge(f"s{last}", graph.END)
    connection = connected(task)
    app = builder.compile(checkpointer=_saver(connection))
    config = {"configurable": {"thread_id": RUN}, "max_concurrency": 64, "recursion_limit": task.steps + 10}

    def go() -> int:
        return len(app.invoke(None if task.resume else {"results": []}, config, durability="sync")["results"])

    return go, connection.close


def _saver(connection: sqlite3.Connection) -> Any:
    module: Any = importlib.import_module("langgraph.checkpoint.sqlite")
    saver = module.SqliteSaver(connection)
    saver.setup()
    return saver


# -- DBOS ---------------------------------------------------------------------------------------------


def dbos(task: Task, probe: Probe) -> Ready:
    """DBOS: a workflow function and step functions, side by side with `asyncio.gather`."""
    library: Any = importlib.import_module("dbos")
    url = f"sqlite:///{task.place / 'peer.db'}"
    library.DBOS(
        config={
            "name": "bench",
            "system_database_url": url,
            "run_admin_server": False,
            "log_level": "ERROR",
        }
    )

    async def plain(number: int) -> str:
        if task.nap and 0 < number <= task.steps:
            await asyncio.sleep(task.nap)
        return probe.step(number)

    work = library.DBOS.step()(plain)

    async def flow(steps: int) -> int:
        if task.shape == "chain":
            return len([await work(number) for number in range(steps)])
        await work(0)
        results = await asyncio.gather(*(work(number) for number in range(1, steps + 1)))
        await work(steps + 1)
        return len(results) + 2

    registered = library.DBOS.workflow()(flow)
    library.DBOS.launch()

    async def whole() -> int:
        if task.resume:  # launching recovers what was pending
            handle = await library.DBOS.retrieve_workflow_async(RUN)
        else:
            with library.SetWorkflowID(RUN):
                handle = await library.DBOS.start_workflow_async(registered, task.steps)
        return int(await handle.get_result())

    return lambda: asyncio.run(whole()), library.DBOS.destroy


# -- Burr ---------------------------------------------------------------------------------------------


def burr(task: Task, probe: Probe) -> Ready:
    """Burr: an action for each step that reads and writes the state, which is persisted after it."""
    core: Any = importlib.import_module("burr.core")
    persistence: Any = importlib.import_module("burr.core.persistence")
    persister = _one_at_a_time(persistence.SQLitePersister)(
        str(task.place / "peer.db"), connect_kwargs={"check_same_thread": False}
    )
    persister.initialize()
    if task.shape == "fan":
        return _burr_fan(core, persister, task, probe)

    @core.action(reads=["results"], writes=["results"])  # type: ignore[untyped-decorator]
    def step(state: Any) -> Any:
        return state.append(results=probe.step(len(state["results"])))

    more = core.Condition.expr(f"len(results) < {task.steps}")
    builder = core.ApplicationBuilder().with_actions(step).with_transitions(("step", "step", more))
    if task.resume:
        builder = builder.initialize_from(
            persister, resume_at_next_action=True, default_state={"results": []}, default_entrypoint="step"
        )
    else:
        builder = builder.with_state(results=[]).with_entrypoint("step")
    app = builder.with_identifiers(app_id=RUN, partition_key="p").with_state_persister(persister).build()

    def go() -> int:
        state = app.state
        while len(state["results"]) < task.steps:
            _, _, state = app.step()
        return len(state["results"])

    return go, persister.connection.close


def _one_at_a_time(persister: Any) -> Any:
    """Return the persister for several threads, which its connection is not made for."""
    lock = threading.Lock()

    def save(self: Any, *values: Any, **named: Any) -> None:
        with lock:
            persister.save(self, *values, **named)

    return type("Persister", (persister,), {"save": save})


def _burr_fan(core: Any, persister: Any, task: Task, probe: Probe) -> Ready:
    parallelism: Any = importlib.import_module("burr.core.parallelism")
    work = _napping(task, probe)

    @core.action(reads=["number"], writes=["result"])  # type: ignore[untyped-decorator]
    def one(state: Any) -> Any:
        return state.update(result=work(state["number"]))

    def states(self: Any, state: Any, context: Any, inputs: Any) -> Any:
        for number in range(1, task.steps + 1):
            yield state.update(number=number)

    def reduce(self: Any, state: Any, states: Any) -> Any:
        return state.update(results=[each["result"] for each in states])

    body = {
        "action": lambda self, state, inputs: one,
        "states": states,
        "reduce": reduce,
        "reads": property(lambda self: ["number"]),
        "writes": property(lambda self: ["results"]),
        "state_persister": lambda self, **_: persister,
    }
    fan = type("Fan", (parallelism.MapStates,), body)()

    def single(number: int) -> Any:
        @core.action(reads=[], writes=["number"])  # type: ignore[untyped-decorator]
        def edge(state: Any) -> Any:
            work(number)
            return state.update(number=number)

        return edge

    app = (
        core.ApplicationBuilder()
        .with_actions(first=single(0), fan=fan, last=single(task.steps + 1))
        .with_transitions(("first", "fan"), ("fan", "last"))
        .with_state(number=0)
        .with_entrypoint("first")
        .with_identifiers(app_id=RUN, partition_key="p")
        .with_state_persister(persister)
        .with_parallel_executor(lambda: _threads(64))
        .build()
    )

    def go() -> int:
        _, _, state = app.run(halt_after=["last"])
        return len(state["results"]) + 2

    return go, persister.connection.close


def _threads(count: int) -> Any:
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(count)

"""The task with Burr: an action for each step, its state persisted after it; defaults and write-ahead log.

Its SQLite connection is SQLite's own in the defaults: a rollback journal, synced four times for a commit.
"""

from __future__ import annotations

import importlib
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from benchmarks.engine_sqlite import FILE, RUN, synced_write_ahead

if TYPE_CHECKING:
    from benchmarks.engine_probe import Probe, Ready, Task


def burr(task: Task, probe: Probe) -> Ready:
    """Burr with an SQLite file as it opens it."""
    return _on(_persister(task), task, probe)


def burr_write_ahead(task: Task, probe: Probe) -> Ready:
    """Burr with an SQLite file set as tideate's."""
    persister = _persister(task)
    synced_write_ahead(persister.connection)
    return _on(persister, task, probe)


def _persister(task: Task) -> Any:
    persistence: Any = importlib.import_module("burr.core.persistence")
    return _one_at_a_time(persistence.SQLitePersister)(
        str(task.place / FILE), connect_kwargs={"check_same_thread": False}
    )


def _on(persister: Any, task: Task, probe: Probe) -> Ready:
    core: Any = importlib.import_module("burr.core")
    persister.initialize()
    return (_fan if task.shape == "fan" else _chain)(core, persister, task, probe)


def _chain(core: Any, persister: Any, task: Task, probe: Probe) -> Ready:
    @core.action(reads=["done"], writes=["done", "result"])  # type: ignore[untyped-decorator]
    def step(state: Any) -> Any:
        return state.update(result=probe.step(state["done"]), done=state["done"] + 1)

    more = core.Condition.expr(f"done < {task.steps}")
    builder = core.ApplicationBuilder().with_actions(step).with_transitions(("step", "step", more))
    if task.resume:
        builder = builder.initialize_from(
            persister, resume_at_next_action=True, default_state={"done": 0}, default_entrypoint="step"
        )
    else:
        builder = builder.with_state(done=0).with_entrypoint("step")
    app = builder.with_identifiers(app_id=RUN, partition_key="p").with_state_persister(persister).build()

    def go() -> int:
        state = app.state
        while state["done"] < task.steps:
            _, _, state = app.step()
        return int(state["done"])

    return go, persister.connection.close


def _one_at_a_time(persister: Any) -> Any:
    """Return the persister for several threads, which its connection is not made for."""
    lock = threading.Lock()

    def save(self: Any, *values: Any, **named: Any) -> None:
        with lock:
            persister.save(self, *values, **named)

    return type("Persister", (persister,), {"save": save})


def _fan(core: Any, persister: Any, task: Task, probe: Probe) -> Ready:
    parallelism: Any = importlib.import_module("burr.core.parallelism")

    @core.action(reads=["number"], writes=["result"])  # type: ignore[untyped-decorator]
    def one(state: Any) -> Any:
        return state.update(result=probe.wait_and_step(state["number"]))

    def states(self: Any, state: Any, context: Any, inputs: Any) -> Any:
        for number in range(1, task.steps + 1):
            yield state.update(number=number)

    def reduce(self: Any, state: Any, states: Any) -> Any:
        return state.update(done=sum(bool(each["result"]) for each in states))

    body = {
        "action": lambda self, state, inputs: one,
        "states": states,
        "reduce": reduce,
        "reads": property(lambda self: ["number"]),
        "writes": property(lambda self: ["done"]),
        "state_persister": lambda self, **_: persister,
    }
    fan = type("Fan", (parallelism.MapStates,), body)()

    def single(number: int) -> Any:
        @core.action(reads=[], writes=["number"])  # type: ignore[untyped-decorator]
        def edge(state: Any) -> Any:
            probe.wait_and_step(number)
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
        .with_parallel_executor(lambda: ThreadPoolExecutor(64))
        .build()
    )

    def go() -> int:
        _, _, state = app.run(halt_after=["last"])
        return int(state["done"]) + 2

    return go, persister.connection.close

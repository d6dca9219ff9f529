"""The drivers by themselves: what comes next, and where any sequence of valid choices ends."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tideate_core.adapters import Prompt, Reply
from tideate_core.config import Limits
from tideate_core.engine.events import EventName
from tideate_core.engine.graph_driver import GraphDriver
from tideate_core.engine.machine_driver import MachineDriver
from tideate_core.engine.machine_states import choice_among, exit_word
from tideate_core.errors import InvalidDefinition, MissingStepHandler, MoveLimitReached
from tideate_core.machines.language import BOUNDARY, MachineDefinition, State, Transition
from tideate_core.workflows import (
    MachineWorkflow,
    PromptLibrary,
    RunContext,
    StepContext,
    WorkflowDefinition,
    WorkflowStep,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic import BaseModel

    from tideate_core.engine.work import Driver


class Chooser:
    """A step's context whose model chooses by numbers."""

    context = RunContext()
    context_tokens = None
    demonstration = False

    def __init__(self, numbers: Iterator[int]) -> None:
        self.numbers = numbers
        self.notices: list[str] = []

    def render(self, name: str, **values: Any) -> Prompt:
        return PromptLibrary().render(name, **values)

    def notice(self, message: str, **_: Any) -> None:
        self.notices.append(message)

    async def ask(self, prompt: Prompt, *, schema: type[BaseModel], quiet: bool) -> Reply:
        assert quiet
        names = schema.model_json_schema()["properties"]["next"]["enum"]
        name = names[next(self.numbers) % len(names)]
        return Reply("{}", "chooser", schema.model_validate({"reason": "", "next": name}))


def machine(edges: list[tuple[str, str]], limits: Limits | None = None) -> tuple[MachineDriver, list[Any]]:
    names = dict.fromkeys(name for edge in edges for name in edge if name != BOUNDARY)
    definition = MachineDefinition(
        "m", {name: State(name) for name in names}, tuple(Transition(a, b, f"to {b}") for a, b in edges)
    )
    events: list[Any] = []
    driver = MachineDriver(
        MachineWorkflow("m", definition),
        confirm=(),
        limits=limits or Limits(),
        prompt="",
        emit=lambda name, data: events.append((name, data)),
    )
    return driver, events


def drive(driver: Driver, step: Any) -> None:
    async def all_of_it() -> None:
        driver.prepare()
        while driver.has_more:
            work = driver.next()
            assert driver.next() == work or driver.next().step == work.step
            driver.begin(work)
            context = cast("StepContext", step)
            await driver.take(work, await work.handler(context), context)

    asyncio.run(all_of_it())


def expected(edges: list[tuple[str, str]], numbers: list[int], limits: Limits) -> tuple[list[str], bool]:
    """Walk by the bare list of edges: where to, and whether a limit ended it."""
    way: list[str] = []
    at, left = BOUNDARY, iter(numbers)
    while True:
        targets = list(dict.fromkeys(b for a, b in edges if a == at))
        if not targets:
            return way, False
        at = targets[next(left) % len(targets)] if len(targets) > 1 else targets[0]
        if at == BOUNDARY:
            return [*way, at], False
        if len(way) >= limits.max_moves or way.count(at) >= limits.max_visits:
            return way, True
        way.append(at)


NODES = ["a", "b", "c", "d", "end"]
EDGES = st.lists(
    st.tuples(st.sampled_from([BOUNDARY, *NODES]), st.sampled_from([*NODES, BOUNDARY])), max_size=14
)


@given(
    edges=EDGES,
    entry=st.sampled_from(NODES),
    numbers=st.lists(st.integers(0, 5), min_size=60, max_size=60),
    limits=st.builds(Limits, max_moves=st.integers(1, 30), max_visits=st.integers(1, 8)),
)
def test_any_valid_choices_end_where_the_definition_says(
    edges: list[tuple[str, str]], entry: str, numbers: list[int], limits: Limits
) -> None:
    edges = [(BOUNDARY, entry), *edges]
    way, limited = expected(edges, numbers, limits)
    driver, events = machine(edges, limits)
    step = Chooser(iter(numbers))
    if limited:
        with pytest.raises(MoveLimitReached):
            drive(driver, step)
    else:
        drive(driver, step)
    assert [move["to"] for move in driver.path] == way
    assert [data["to"] for name, data in events if name is EventName.TRANSITION] == way
    for move, following in zip(driver.path, driver.path[1:], strict=False):
        assert move["to"] == following["from"]
    dead_end = not limited and way[-1] != BOUNDARY
    assert bool(step.notices) is dead_end
    assert limited or driver.at_last


def test_a_machines_driver_is_ready_after_it_was_prepared() -> None:
    driver, _ = machine([(BOUNDARY, "a")])
    assert not driver.ready
    driver.prepare()
    assert (driver.ready, driver.has_steps, driver.has_more) == (True, True, True)


def test_nothing_moves_before_the_work_begins() -> None:
    driver, events = machine([(BOUNDARY, "a"), ("a", BOUNDARY)])
    work = driver.next()
    assert (work.step, work.place) == ("a", {"step": "a", "state": "a", "index": 1, "total": 0})
    assert (driver.path, events) == ([], [])
    driver.begin(work)
    assert [move["to"] for move in driver.path] == ["a"]


@pytest.mark.parametrize(
    ("edges", "said"),
    [
        ([], "no transition"),
        ([(BOUNDARY, BOUNDARY)], "no entry"),
        ([("a", "b")], "no entry"),
        ([("a", BOUNDARY)], "no entry"),
    ],
)
def test_a_machine_without_a_way_in_has_no_driver(edges: list[tuple[str, str]], said: str) -> None:
    with pytest.raises(InvalidDefinition, match=said):
        machine(edges)


@pytest.mark.parametrize(
    ("states", "word"), [(["a"], "end"), (["end"], "end_here"), (["END", "end_here"], "end_here_here")]
)
def test_the_exit_has_a_word_of_its_own(states: list[str], word: str) -> None:
    assert exit_word(states) == word


def test_a_choice_is_one_of_its_names() -> None:
    kind = choice_among(["a", "b"])
    assert kind.model_validate({"next": "b"}).next == "b"
    with pytest.raises(ValueError, match="'a' or 'b'"):
        kind.model_validate({"next": "c"})


def graph(**dependencies: tuple[str, ...]) -> GraphDriver:
    async def handler(step: StepContext) -> Any:
        return {"response": "of the last"}

    steps = tuple(WorkflowStep(id=name, dependencies=needs) for name, needs in dependencies.items())
    return GraphDriver(
        WorkflowDefinition(name="g", steps=steps), dict.fromkeys(list(dependencies)[1:], handler)
    )


async def test_a_graphs_steps_come_after_what_they_depend_on() -> None:
    driver = graph(c=("b",), a=(), b=("a",))
    assert not driver.ready
    driver.prepare()
    order = []
    while driver.has_more:
        work = driver.next()
        order.append((work.step, work.index, work.total, driver.at_last))
        driver.begin(work)
        await driver.take(work, {"response": work.step}, cast("StepContext", None))
    assert order == [("a", 1, 3, False), ("b", 2, 3, False), ("c", 3, 3, True)]
    assert driver.outline() == {"kind": "graph", "steps": ["a", "b", "c"]}
    assert driver.response() == "b"  # of the last step that the definition lists
    assert driver.path is None


def test_a_step_without_a_handler_is_missing_when_it_comes() -> None:
    driver = graph(a=())
    driver.prepare()
    step = Chooser(iter([]))
    step.step = "a"  # type: ignore[attr-defined]
    with pytest.raises(MissingStepHandler, match="Missing step handler: a"):
        drive(driver, step)

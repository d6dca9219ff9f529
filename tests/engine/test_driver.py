"""Drivers alone: next steps, and the ends of random valid choices."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any, cast

import pytest
from hypothesis import given, strategies as st

from tideate_core.adapters import Prompt, Reply
from tideate_core.config import LimitsConfig
from tideate_core.engine.drivers.graph import GraphDriver
from tideate_core.engine.drivers.machine import MachineDriver, exit_word
from tideate_core.engine.events import EventName
from tideate_core.errors import InvalidDefinition, MoveLimitReached
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
    from collections.abc import Awaitable, Callable, Iterator

    from pydantic import BaseModel

    from tideate_core.engine.driver import Driver, Work


class Chooser:
    """A step's context with a model that chooses by numbers."""

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

    async def choose_once(self, key: str, digest: str, produce: Callable[[], Awaitable[Any]]) -> Any:
        return await produce()

    async def ask(self, prompt: Prompt, *, schema: type[BaseModel], quiet: bool) -> Reply:
        assert quiet
        names = schema.model_json_schema()["properties"]["next"]["enum"]
        name = names[next(self.numbers) % len(names)]
        return Reply("{}", "chooser", schema.model_validate({"reason": "", "next": name}))


def machine(
    edges: list[tuple[str, str]], limits: LimitsConfig | None = None
) -> tuple[MachineDriver, list[Any]]:
    names = dict.fromkeys(name for edge in edges for name in edge if name != BOUNDARY)
    definition = MachineDefinition(
        "m", {name: State(name) for name in names}, tuple(Transition(a, b, f"to {b}") for a, b in edges)
    )
    events: list[Any] = []
    driver = MachineDriver(
        MachineWorkflow("m", definition),
        confirm=(),
        limits=limits or LimitsConfig(),
        prompt="",
        emit=lambda name, data: events.append((name, data)),
    )
    return driver, events


def drive(driver: Driver, step: Any) -> None:
    async def all_of_it() -> None:
        driver.prepare()
        while driver.has_more:
            (work,) = driver.ready_steps()
            assert driver.ready_steps() == []  # each is given once
            driver.begin_step(work)
            context = cast("StepContext", step)
            await driver.complete_step(work, await work.handler(context), context)

    asyncio.run(all_of_it())


def expected(
    edges: list[tuple[str, str]], numbers: list[int], limits: LimitsConfig
) -> tuple[list[str], bool]:
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


@pytest.mark.slow
@given(
    edges=EDGES,
    entry=st.sampled_from(NODES),
    numbers=st.lists(st.integers(0, 5), min_size=60, max_size=60),
    limits=st.builds(LimitsConfig, max_moves=st.integers(1, 30), max_visits=st.integers(1, 8)),
)
def test_any_valid_choices_end_where_the_definition_says(
    edges: list[tuple[str, str]], entry: str, numbers: list[int], limits: LimitsConfig
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


def test_nothing_moves_before_the_work_begins() -> None:
    driver, events = machine([(BOUNDARY, "a"), ("a", BOUNDARY)])
    (work,) = driver.ready_steps()
    assert (work.step, work.event_data) == ("a", {"step": "a", "state": "a", "index": 1, "total": 0})
    assert (driver.path, events) == ([], [])
    driver.begin_step(work)
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


async def test_a_machine_goes_on_where_it_was_without_its_works_being_done_again() -> None:
    edges = [(BOUNDARY, "a"), (BOUNDARY, "b"), ("a", "c"), ("a", "d"), ("d", BOUNDARY)]

    class Remembering(Chooser):
        async def choose_once(self, key: str, digest: str, produce: Callable[[], Awaitable[Any]]) -> Any:
            assert key == "way"
            state, *names = json.loads(digest)
            return {"next": names[0] if state == BOUNDARY else names[1], "reason": f"from {state}"}

    driver, events = machine(edges)
    step = cast("StepContext", Remembering(iter([])))
    for value in (None, "Said in a."):
        (work,) = driver.ready_steps()
        driver.begin_step(work)
        await driver.complete_step(work, value, step)
    (work,) = driver.ready_steps()
    assert (work.step, driver.has_more, driver.unfinished_response()) == ("d", True, "Said in a.")
    assert [data["to"] for _, data in events] == ["a"]


def chain_of(**dependencies: tuple[str, ...]) -> tuple[WorkflowStep, ...]:
    return tuple(WorkflowStep(id=name, dependencies=needs) for name, needs in dependencies.items())


def graph(steps: tuple[WorkflowStep, ...]) -> GraphDriver:
    async def handler(step: StepContext) -> Any:
        raise AssertionError("a driver calls no handler")

    driver = GraphDriver(WorkflowDefinition(name="g", steps=steps), lambda _step: handler)
    driver.prepare()
    return driver


async def take(driver: GraphDriver, work: Work, value: Any = None) -> None:
    driver.begin_step(work)
    await driver.complete_step(work, value, cast("StepContext", None))


def names(works: list[Work]) -> list[str]:
    return [work.step for work in works]


async def test_a_graphs_works_say_where_they_stand_and_how_long_the_way_is() -> None:
    steps = (
        WorkflowStep(id="a", duration=30, parallel=False, idempotent=False),
        WorkflowStep(id="b", name="The b", dependencies=("a",), duration=200),
        WorkflowStep(id="c", dependencies=("a",)),
        WorkflowStep(id="d", task="Say d.", dependencies=("b", "c")),
    )
    driver = graph(steps)
    assert driver.outline() == {"kind": "graph", "steps": ["a", "b", "c", "d"]}
    found = driver.graph()
    assert found is not None
    assert found.execution_order == (("a",), ("b", "c"), ("d",))
    (a,) = driver.ready_steps()
    assert (a.priority, a.exclusive, a.idempotent, a.event_data) == (
        231.0,
        True,
        False,
        {"step": "a", "index": 1, "total": 4},
    )
    await take(driver, a)
    b, c = driver.ready_steps()
    assert [(w.name, w.priority, w.index, w.dependencies) for w in (b, c)] == [
        ("The b", 201.0, 2, ("a",)),
        ("c", 2.0, 3, ("a",)),
    ]
    (d,) = driver.unstarted_steps()
    assert (d.agent, d.task, b.agent) == ("assistant", "Say d.", "handler")


async def test_the_response_is_that_of_the_last_listed_step_that_was_completed() -> None:
    driver = graph(chain_of(a=(), b=(), c=()))
    a, b, c = driver.ready_steps()
    driver.skip_step(c)
    await take(driver, b, "of b")
    await take(driver, a, "of a")
    assert driver.response() == "of b"
    empty = graph(chain_of(a=()))
    empty.skip_step(empty.ready_steps()[0])
    assert empty.response() is None


@pytest.mark.slow
async def test_a_graph_of_many_steps_costs_each_the_same() -> None:
    """A fan-out and a chain of ten thousand; quadratic work would take minutes."""
    count = 10_000
    fan = {
        "first": (),
        **{f"s{i}": ("first",) for i in range(count)},
        "last": tuple(f"s{i}" for i in range(count)),
    }
    chain = {"s0": (), **{f"s{i}": (f"s{i - 1}",) for i in range(1, count)}}
    for shape in (fan, chain):
        driver = graph(chain_of(**shape))
        while works := driver.ready_steps():
            for work in works:
                await take(driver, work)
        assert not driver.has_more

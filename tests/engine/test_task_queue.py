"""The queue: order, concurrency and exclusive items."""

from __future__ import annotations

from typing import Any, cast

import pytest
from hypothesis import given, strategies as st

from tideate_core.engine.driver import Work
from tideate_core.engine.loop import TaskQueue

pytestmark = pytest.mark.concurrency


def work(step: str, priority: float = 0.0, *, exclusive: bool = False) -> Work:
    return Work(step, cast("Any", None), 1, 1, priority=priority, exclusive=exclusive)


def taken(queue: TaskQueue) -> list[str]:
    """Take all that may start now."""
    steps = []
    while item := queue.take():
        steps.append(item.step)
    return steps


def test_the_longest_way_goes_first_and_of_equals_the_first_that_came() -> None:
    queue = TaskQueue(10)
    for item in (work("a", 1), work("b", 5), work("c", 1), work("d", 5)):
        queue.put(item)
    first = queue.first
    assert first is not None
    assert first.step == "b"
    assert taken(queue) == ["b", "d", "a", "c"]
    assert not queue
    assert queue.first is None
    assert queue.running == 4


def test_no_more_are_under_way_than_allowed() -> None:
    queue = TaskQueue(2)
    works = [work(name) for name in "abc"]
    for item in works:
        queue.put(item)
    assert taken(queue) == ["a", "b"]
    queue.done(works[1])
    assert taken(queue) == ["c"]


def test_an_exclusive_work_waits_for_all_and_nothing_starts_beside_it() -> None:
    queue = TaskQueue(5)
    a, alone, b = work("a", 9), work("alone", 5, exclusive=True), work("b", 1)
    for item in (a, alone, b):
        queue.put(item)
    assert taken(queue) == ["a"]  # `b` does not overtake it
    queue.done(a)
    assert taken(queue) == ["alone"]
    queue.done(alone)
    assert taken(queue) == ["b"]


def test_a_work_without_a_place_gives_none_back() -> None:
    queue = TaskQueue(1)
    queue.put(work("alone", exclusive=True))
    queue.put(work("b"))
    assert taken(queue) == ["alone"]
    queue.done(work("stranger"))
    assert taken(queue) == []


def test_what_is_drained_comes_in_order_and_waits_no_more() -> None:
    queue = TaskQueue(1)
    for item in (work("a", 1), work("b", 2)):
        queue.put(item)
    assert [item.step for item in queue.drain()] == ["b", "a"]
    assert taken(queue) == []


def test_a_queue_in_which_nothing_could_start_is_refused() -> None:
    with pytest.raises(ValueError, match="concurrency is 0"):
        TaskQueue(0)


@given(
    works=st.lists(st.tuples(st.integers(0, 5), st.booleans()), max_size=30),
    concurrency=st.integers(1, 5),
    ends=st.randoms(use_true_random=False),
)
def test_in_any_order_of_ends_everything_starts_once_and_the_limits_hold(
    works: list[tuple[int, bool]], concurrency: int, ends: Any
) -> None:
    queue = TaskQueue(concurrency)
    items = {f"s{i}": work(f"s{i}", rank, exclusive=alone) for i, (rank, alone) in enumerate(works)}
    for item in items.values():
        queue.put(item)
    running: list[str] = []
    started: list[str] = []
    while len(started) < len(items) or running:
        for step in taken(queue):
            started.append(step)
            running.append(step)
        assert running  # something always can
        assert len(running) <= concurrency
        assert len(running) == 1 or not any(items[step].exclusive for step in running)
        step = ends.choice(running)
        running.remove(step)
        queue.done(items[step])
    assert sorted(started) == sorted(items)

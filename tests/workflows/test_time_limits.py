"""Time limits that pause during questions."""

from __future__ import annotations

import asyncio

import pytest

from tests.harness.later import Later
from tideate_core.workflows.time_limits import persons_time, stopwatch, working_time


async def test_what_takes_too_long_ends() -> None:
    later = Later()
    with pytest.raises(TimeoutError):
        async with working_time(10) as limit:
            await later.pass_(9)
            assert not limit.expired()
            await later.pass_(2)
    assert limit.expired()


async def test_a_persons_time_does_not_count_and_the_rest_is_what_it_was() -> None:
    later = Later()
    with pytest.raises(TimeoutError):
        async with working_time(10) as limit:
            await later.pass_(5)
            with persons_time():
                await later.pass_(100)
            await later.pass_(4)
            assert not limit.expired()
            await later.pass_(2)


async def test_every_limit_around_a_question_stands_still_that_of_a_task_that_was_started_too() -> None:
    later = Later()

    async def asks() -> None:
        async with working_time(5):
            with persons_time():
                await later.pass_(100)
            await later.pass_(4)

    async with working_time(10) as outer:
        await asyncio.create_task(asks())
        assert not outer.expired()
    async with working_time(None):
        await asks()


async def test_of_two_questions_at_once_the_last_answer_counts() -> None:
    later, answers = Later(), [asyncio.Event(), asyncio.Event()]

    async def asks(answered: asyncio.Event) -> None:
        with persons_time():
            await answered.wait()

    async with working_time(10) as limit:
        tasks = [asyncio.create_task(asks(event)) for event in answers]
        await later.pass_(0)
        await later.pass_(50)
        answers[0].set()
        await later.pass_(50)
        answers[1].set()
        await asyncio.gather(*tasks)
        assert not limit.expired()


async def test_a_question_of_what_was_left_behind_touches_no_limit_that_is_over() -> None:
    later, answered = Later(), asyncio.Event()

    async def asks() -> None:
        with persons_time():
            await answered.wait()

    async with working_time(10):
        left = asyncio.create_task(asks())
        await later.pass_(0)
    answered.set()
    await left


async def test_a_question_when_the_time_is_over_changes_nothing() -> None:
    later = Later()
    with pytest.raises(TimeoutError):
        async with working_time(10) as limit:
            later.skip(11)
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                assert limit.expired()
                with persons_time():
                    await asyncio.sleep(0)
                raise


def test_a_stopwatch_leaves_out_the_time_of_a_question() -> None:
    times = iter([10.0, 12.0, 62.0, 65.0])
    with stopwatch(times.__next__) as watch:
        with persons_time(), persons_time():
            pass
        assert watch.milliseconds == 5_000

"""Permissions to run something or to read a secret: they stay on the machine where they were given."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from tests.engine.test_loop import graph, step
from tests.harness.front import no, yes
from tests.portable.moving import bundle_of, copy_of, open_bundle
from tests.portable.mutations import packed, parts_of
from tideate_core.agents import why_hidden
from tideate_core.engine import (
    FOR_PROJECT,
    FOR_RUN,
    ConfirmationRequest,
    RecordedAnswers,
    answer_key,
    question_digest,
)
from tideate_core.workflows import Decision

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from tests.harness.bench import Bench
    from tideate_core.workflows import StepContext

SECRET = "API_KEY=sk-live-0123456789abcdef0123456789\n"


async def calls_a_tool(step: StepContext) -> bool:
    payload = {"server": "s", "tool": "t", "arguments": {}}
    return (await step.confirm("tool", "may 't' be called?", payload=payload)).accepted


async def reads_a_secret(step: StepContext) -> bool:
    return not await why_hidden(step, ".env", SECRET)


async def mentions_a_secret(step: StepContext) -> bool:
    from tideate_core.engine.prompt_material import material

    return "sk-live" in await material(step, "look at @file:.env")


async def is_reviewed(step: StepContext) -> bool:
    return (await step.confirm("plan", "go on?", payload={"files": []})).accepted


class _Stops:
    """A step that asks, and stops its run after the first answer."""

    def __init__(self, bench: Bench, asks: Callable[[StepContext], Awaitable[bool]], *, stop: bool) -> None:
        self._bench = bench
        self._asks = asks
        self._stop = stop

    async def __call__(self, step: StepContext) -> Any:
        allowed = await self._asks(step)
        if self._stop:
            assert self._bench.runner.leave()
            await asyncio.Event().wait()
        return allowed


async def moved(
    bench: Bench, place: Path, asks: Callable[[StepContext], Awaitable[bool]]
) -> tuple[Bench, str, bytes]:
    """Give a permission, and move the run before its step ends."""
    bench.write(".env", SECRET)
    graph(bench, {"one": _Stops(bench, asks, stop=True)}, step("one"))
    bench.front.answer = yes
    left = await bench.run("g", "look at @file:.env")
    assert (left.reason, len(bench.front.requests)) == ("interrupted", 1)
    there = copy_of(bench, place)
    there.front.answer = no
    graph(there, {"one": _Stops(there, asks, stop=False)}, step("one"))
    data, facts = await bundle_of(bench, left.execution_id, with_secrets=True)
    assert facts.answers == (asks is is_reviewed)
    return there, left.execution_id, data


PERMISSIONS = [calls_a_tool, reads_a_secret, mentions_a_secret]


@pytest.mark.parametrize("asks", PERMISSIONS)
async def test_a_permission_in_a_bundle_does_not_count(
    bench: Bench, tmp_path: Path, asks: Callable[[StepContext], Awaitable[bool]]
) -> None:
    there, run, data = await moved(bench, tmp_path / "there", asks)
    await open_bundle(there, data)
    assert (await open_bundle(there, data)).unchanged
    assert (await open_bundle(bench, data)).unchanged
    result = await there.resume(run)
    assert result.results == {"one": False}
    assert len(there.front.requests) == 1
    await there.aclose()


async def test_an_answer_to_a_plan_in_a_bundle_counts(bench: Bench, tmp_path: Path) -> None:
    there, run, data = await moved(bench, tmp_path / "there", is_reviewed)
    await open_bundle(there, data)
    assert (await there.resume(run)).results == {"one": True}
    assert there.front.requests == []
    await there.aclose()


@pytest.mark.parametrize("asks", PERMISSIONS)
async def test_no_memo_gives_a_permission(
    bench: Bench, tmp_path: Path, asks: Callable[[StepContext], Awaitable[bool]]
) -> None:
    """Whoever makes a bundle chooses its memos; one with the shape of a reviewed plan opens nothing else."""
    there, run, data = await moved(bench, tmp_path / "there", asks)
    parts = parts_of(data)
    memos = parts.manifest["rows"][0]["tables"]["workflow_memos"]
    for memo in list(memos):
        for old, new in (("permit:", "confirm:"), ("permit:", "")):
            if old in memo["key"]:
                memos.append({**memo, "key": memo["key"].replace(old, new, 1)})
    await open_bundle(there, packed(parts))
    assert (await there.resume(run)).results == {"one": False}
    await there.aclose()


async def test_an_older_bundle_does_not_replace_a_run_that_was_killed_after_an_answer(bench: Bench) -> None:
    """The answer is stored before its event; a bundle from before it would take the answer away."""
    graph(bench, {"one": _Stops(bench, is_reviewed, stop=True)}, step("one"))
    left = await bench.run("g", "go")
    data, _ = await bundle_of(bench, left.execution_id)
    parts = parts_of(data)
    tables = parts.manifest["rows"][0]["tables"]
    tables["workflow_memos"] = [row for row in tables["workflow_memos"] if ".confirm:" not in row["key"]]
    from tideate_core.errors import RunIsHere

    with pytest.raises(RunIsHere, match="has continued since"):
        await open_bundle(bench, packed(parts))


def asked(place: str, kind: Any = "tool") -> ConfirmationRequest:
    return ConfirmationRequest("r", "w", "s", kind, "may it?", payload={"server": "s"}, place=place)


def recorded(decision: Decision, place: str) -> RecordedAnswers:
    key = answer_key(question_digest(asked(place)), place)
    return RecordedAnswers({key: (decision, "Ana")}, str)


def test_an_answer_counts_only_for_its_place_in_the_run() -> None:
    answers = recorded(Decision(True), "a" * 32)
    assert answers.take(asked("b" * 32)) is None
    assert answers.take(asked("")) is None
    assert answers.take(asked("a" * 32)) == Decision(True)
    assert answers.take(asked("a" * 32)) is None


def test_an_answer_from_elsewhere_permits_nothing_beyond_its_run() -> None:
    decision = recorded(Decision(True, FOR_PROJECT), "a" * 32).take(asked("a" * 32))
    assert decision == Decision(True, FOR_RUN)

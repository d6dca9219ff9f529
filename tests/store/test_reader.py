from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.store.past import NOON, Past, big, definition, run_id
from tideate_core.errors import CheckpointNotFound, RunNotFound
from tideate_core.store.objects import definition_hash
from tideate_core.store.reader import Reader
from tideate_core.store.records import (
    Definition,
    EventRow,
    Graph,
    NewRun,
    RunRow,
    StepRow,
    StepStart,
    Tokens,
)

if TYPE_CHECKING:
    from pathlib import Path

    from tideate_core.store import Store

A = run_id(0xA)


@pytest.fixture
def reader(private: Path) -> Reader:
    return Reader(private)


async def test_a_run_that_ended_is_read_as_it_was_written(store: Store, reader: Reader) -> None:
    past = Past(store)
    await past.begin()
    await past.step("a", {"said": "ä"})
    await past.end(
        status="failed",
        error="no",
        error_code="StepFailed",
        tokens=Tokens(3, 4, 0.25, 2),
        files=("x.py", "y.py"),
        completed_steps=1,
        failed_steps=2,
        reason="because",
        response={"text": "sorry"},
    )
    assert reader.run(run_id(1)) == RunRow(
        id=run_id(1),
        name="w",
        kind="graph",
        status="failed",
        started_at=NOON,
        completed_at=NOON + 10,
        duration_ms=10,
        completed_steps=1,
        failed_steps=2,
        total_steps=3,
        current_step=None,
        prompt="do it",
        error="no",
        error_code="StepFailed",
        reason="because",
        tokens=Tokens(3, 4, 0.25, 2),
        files=("x.py", "y.py"),
        parent=None,
        lease=None,
        workflow_id=definition().workflow_id,
        definition_hash=definition_hash(definition().text),
        path="/p/w.yaml",
        source="project",
    )
    assert reader.response(run_id(1)) == {"text": "sorry"}


async def test_a_run_under_way_tells_who_has_it(store: Store, reader: Reader) -> None:
    past = Past(store)
    log = await past.begin()
    log.status("executing_steps", "a")
    await log.flush()
    row = reader.run(run_id(1))
    assert (row.status, row.current_step, row.ended) == ("executing_steps", "a", False)
    assert row.lease is not None
    assert row.lease.alive
    assert not row.resumable
    assert reader.response(run_id(1)) is None


async def test_a_run_that_nobody_has_can_be_resumed(store: Store, reader: Reader) -> None:
    log = await Past(store).begin()
    await log.release()
    assert reader.run(run_id(1)).lease is None
    assert reader.run(run_id(1)).resumable


async def test_request_definition_and_graph_are_those_of_the_start(store: Store, reader: Reader) -> None:
    past = Past(store, request={"prompt": big("p"), "inputs": {"n": 1}})
    await past.begin()
    await Past(store, 2, text='{"steps": [1]}').begin()  # another version of the same workflow
    assert reader.request(run_id(1)) == {"prompt": big("p"), "inputs": {"n": 1}}
    assert reader.definition(run_id(1)) == definition()
    assert reader.definition(run_id(2)).text == '{"steps": [1]}'
    assert reader.graph(run_id(1)) == Graph(
        ("a", "b", "c"), (("a", "b"), ("b", "c")), (("a",), ("b",), ("c",))
    )


async def test_a_machine_has_no_graph(store: Store, reader: Reader) -> None:
    machine = Definition("id", "m", "machine", "state a:", source="project")
    await store.begin(NewRun(run_id(1), machine, {}, 0, NOON))
    assert reader.graph(run_id(1)) is None
    assert reader.definition(run_id(1)) == machine
    assert reader.run(run_id(1)).kind == "machine"


async def test_steps_are_read_as_they_were_written(store: Store, reader: Reader) -> None:
    past = Past(store)
    log = await past.begin()
    await past.step("a", {"said": big("x")}, tokens=Tokens(5, 6, 0.5, 5), files=("x.py",))
    past.start("b", attempt=2)
    await log.flush()
    assert reader.steps(run_id(1)) == [
        StepRow(
            "a", "A", "assistant", "do it", "completed", 1, (), {"said": big("x")}, None, None,
            NOON + 1, NOON + 5, 4, Tokens(5, 6, 0.5, 5), ("x.py",), 1,
        ),
        StepRow(
            "b", "B", "assistant", "do it", "running", 2, ("a",), None, None, None,
            NOON + 1, None, None, Tokens(), (), None,
        ),
        StepRow(
            "c", "C", "assistant", "", "pending", 0, ("b",), None, None, None,
            None, None, None, Tokens(), (), None,
        ),
    ]  # fmt: skip


async def test_steps_that_the_definition_does_not_have_come_behind_by_their_start(
    store: Store, reader: Reader
) -> None:
    past = Past(store, steps=("z", "a"))
    log = await past.begin()
    for step, after in (("late", 30), ("early", 20), ("m#2", 20)):
        log.started(StepStart(step, step, "assistant", "", 1, NOON + after))
    past.start("a")
    await log.flush()
    assert [row.step for row in reader.steps(run_id(1))] == ["z", "a", "early", "m#2", "late"]


async def test_events_are_read_in_order_and_in_parts(store: Store, reader: Reader) -> None:
    log = await Past(store).begin()
    for number in range(1, 6):
        log.event("E", NOON + number, {"n": number, "text": big("t")})
    await log.flush()
    assert [row.sequence for row in reader.events(run_id(1))] == [1, 2, 3, 4, 5]
    assert reader.events(run_id(1), after=2, limit=2) == [
        EventRow(number, "E", NOON + number, {"n": number, "text": big("t")}) for number in (3, 4)
    ]
    assert reader.events(run_id(1), after=5) == []


async def test_memos_are_read_by_step_and_key(store: Store, reader: Reader) -> None:
    log = await Past(store).begin()
    log.note("a", "1.ask:0", {"digest": "d", "value": [1]})
    log.note("a", "1.ask:1", None)
    await log.remember("b", "1.way:0", big("w"))
    assert reader.memos(run_id(1)) == {
        "a": {"1.ask:0": {"digest": "d", "value": [1]}, "1.ask:1": None},
        "b": {"1.way:0": big("w")},
    }


async def test_memos_of_the_whole_run_are_found_by_the_beginning_of_their_keys(
    store: Store, reader: Reader
) -> None:
    log = await Past(store, 1, request={"prompt": "more", "continues": run_id(9)}).begin()
    log.note("", "said:a", big("w"))
    log.note("", "other", 1)
    log.note("a", "said:b", 2)
    await log.flush()
    await (await Past(store, 2).begin()).remember("a", "said:a", 3)
    assert reader.memos_of(run_id(1), "", "said:") == {"a": big("w")}
    assert reader.memos_of(run_id(3), "", "said:") == {}
    found = reader.runs(with_memo="said:")
    assert [(row.id, row.continues) for row in found] == [(run_id(1), run_id(9))]
    assert [row.id for row in reader.runs(with_memo="said:", limit=1, name="w")] == [run_id(1)]
    later = await Past(store, 4, at=NOON - 86_400_000).begin()  # the clock was set back
    later.note("", "said:a", 1)
    await later.flush()
    assert [row.id for row in reader.runs(with_memo="said:", as_begun=True)] == [run_id(4), run_id(1)]
    assert reader.run(run_id(2)).continues is None


async def test_what_is_asked_of_an_unknown_run_is_refused(store: Store, reader: Reader) -> None:
    await Past(store).begin()
    for ask in (
        reader.request, reader.response, reader.definition, reader.graph,
        reader.steps, reader.events, reader.memos, reader.checkpoints,
    ):  # fmt: skip
        with pytest.raises(RunNotFound):
            ask(run_id(2))
    with pytest.raises(CheckpointNotFound, match="tideate checkpoint list"):
        reader.checkpoint("abc")

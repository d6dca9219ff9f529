"""Comparison of two stored runs."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.engine.test_loop import graph, step
from tests.harness.front import LIMIT
from tideate_core.app import compare_runs, compared_texts
from tideate_core.engine import RunEdits
from tideate_core.errors import InvalidInput, RunNotFound
from tideate_core.workspace import FileChange

if TYPE_CHECKING:
    from tests.harness.bench import Bench
    from tideate_core.workflows import StepContext

pytestmark = pytest.mark.concurrency


async def writes(step: StepContext) -> dict[str, Any]:
    """Write the prompt into a file of the step's name."""
    name = f"{step.step}.txt"
    assert step.workspace.root is not None
    is_there = (step.workspace.root / name).exists()
    before = (await step.workspace.read(name)).text if is_there else None
    action: Any = "modify" if is_there else "create"
    change = FileChange(name, action, before, f"same\n{step.prompt}")
    await step.workspace.apply([change], execution_id=step.execution_id)
    step.changed([name])
    return {"said": step.prompt}


async def pair(bench: Bench) -> tuple[str, str]:
    """Run a graph, and fork it at its second step."""
    graph(bench, {"a": writes, "b": writes}, step("a"), step("b", "a"))
    first = await bench.run("g", "old", inputs={"n": 1})
    assert first.ok, first.error
    edits = RunEdits(prompt="new", inputs={"n": 2})
    second = await asyncio.wait_for(bench.runner.fork_run(first.execution_id, "b", edits), LIMIT)
    assert second.ok, second.error
    return first.execution_id, second.execution_id


async def compared(bench: Bench, one: str, other: str) -> dict[str, Any]:
    reader = (await bench.runner.store()).reader()
    return await asyncio.to_thread(compare_runs, reader, bench.private, one, other)


async def test_a_fork_differs_from_its_source_in_what_it_did_itself(bench: Bench) -> None:
    shape = await compared(bench, *await pair(bench))
    assert shape["inputs"] == [
        {"name": "prompt", "values": ["old", "new"]},
        {"name": "n", "values": [1, 2]},
    ]
    assert shape["same_definition"]
    a, b = shape["steps"]
    assert [end["reused"] for end in a["ends"]] == [False, True]
    assert [end["reused"] for end in b["ends"]] == [False, False]
    assert a["diff"] == ""
    assert '-  "said": "old"\n+  "said": "new"\n' in b["diff"]
    edits = {edit["path"]: edit for edit in shape["edits"]}
    assert edits["a.txt"] == {"path": "a.txt", "written": [True, True], "diff": ""}
    assert edits["b.txt"]["written"] == [True, True]
    assert edits["b.txt"]["diff"].endswith("@@ -1,2 +1,2 @@\n same\n-old\n+new\n")
    assert [run["forked_from"] is not None for run in shape["runs"]] == [False, True]


async def test_two_texts_are_whole_of_a_file_a_result_or_the_answers(bench: Bench) -> None:
    runs = await pair(bench)
    reader = (await bench.runner.store()).reader()

    async def texts(**part: str) -> tuple[str | None, str | None]:
        return await asyncio.to_thread(compared_texts, reader, bench.private, *runs, **part)

    assert await texts(path="b.txt") == ("same\nold", "same\nnew")
    assert await texts(path="a.txt") == ("same\nold", "same\nold")
    assert await texts(step="b") == ('{\n  "said": "old"\n}', '{\n  "said": "new"\n}')
    assert [json.loads(text or "") for text in await texts()] == [{"said": "old"}, {"said": "new"}]
    for part in ({"path": "c.txt"}, {"step": "c"}):
        with pytest.raises(InvalidInput, match="c"):
            await texts(**part)


async def test_a_file_that_one_run_did_not_write_is_as_the_other_found_it(bench: Bench) -> None:
    async def nothing(_step: StepContext) -> str:
        return "nothing"

    bench.write("b.txt", "before\n")
    graph(bench, {"b": writes}, step("b"))
    wrote = await bench.run("g", "x")
    bench.register("h", {"c": nothing})
    idle = await bench.run("h", "x")
    for runs, lines in (
        ((wrote, idle), "-same\n-x\n+before\n"),
        ((idle, wrote), "-before\n+same\n+x\n"),
    ):
        shape = await compared(bench, *(run.execution_id for run in runs))
        (edit,) = shape["edits"]
        assert edit["diff"].endswith(lines)
        assert sorted(edit["written"]) == [False, True]
        assert not shape["same_definition"]
        assert None in shape["steps"][0]["ends"]


async def test_a_run_is_the_same_as_itself_and_one_that_is_not_there_is_told(bench: Bench) -> None:
    one, _ = await pair(bench)
    shape = await compared(bench, one[:8], one)
    assert (shape["inputs"], shape["response"], shape["checks"]) == ([], "", [])
    assert {part["diff"] for part in (*shape["steps"], *shape["edits"])} == {""}
    with pytest.raises(RunNotFound):
        await compared(bench, one, "f" * 32)

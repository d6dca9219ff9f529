"""Forks of ended runs: reused steps, repeated steps, refused requests."""

from __future__ import annotations

import asyncio
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.engine.logbook import RUN
from tests.engine.test_loop import graph, step
from tests.harness.front import LIMIT
from tideate_core.engine import EventName, RunEdits, RunRollback, split_run_step, writers_of
from tideate_core.errors import (
    InvalidInput,
    RunEnded,
    RunNotFound,
    StepFailed,
    StoreError,
    UnknownAdapter,
)
from tideate_core.workflows import MISSING, StepContext
from tideate_core.workspace import FileChange

if TYPE_CHECKING:
    from tests.harness.bench import Bench
    from tideate_core.engine import WorkflowResult
    from tideate_core.store import RunRow, StepRow

pytestmark = pytest.mark.concurrency

DIAMOND = (step("a"), step("b", "a"), step("c", "a"), step("d", "b"), step("e", "c", "d"))
MACHINE = "* to first\nfirst to second: Do the first.\nsecond to *: Do the second.\n"


class Steps:
    """Handlers that count, and fail where a test says so."""

    def __init__(self, *failing: str) -> None:
        self.failing = set(failing)
        self.ran: list[str] = []

    async def __call__(self, step: StepContext) -> Any:
        self.ran.append(step.step)
        if step.step in self.failing:
            raise StepFailed("broken")
        return {"said": f"{step.step} {step.prompt} {step.values()['inputs'].get('n', '')}".strip()}

    def for_all(self, *names: str) -> dict[str, Any]:
        return dict.fromkeys(names or "abcde", self)


async def forked(bench: Bench, run: str, step: str | None = None, **edits: Any) -> WorkflowResult:
    bench.front.events.clear()
    return await asyncio.wait_for(bench.runner.fork_run(run, step, RunEdits(**edits)), LIMIT)


async def rows(bench: Bench, run: str) -> dict[str, StepRow]:
    reader = await bench.reader()
    return {row.step: row for row in await asyncio.to_thread(reader.steps, run)}


async def run_row(bench: Bench, run: str) -> RunRow:
    return await asyncio.to_thread((await bench.reader()).run, run)


async def test_a_retry_reuses_what_was_completed_and_runs_the_failed_step_and_what_needs_it(
    bench: Bench,
) -> None:
    steps = Steps("d")
    graph(bench, steps.for_all(), *DIAMOND)
    failed = await bench.run("g", "do it")
    assert sorted(steps.ran) == ["a", "b", "c", "d"]
    before = (await run_row(bench, failed.execution_id), await rows(bench, failed.execution_id))
    steps.failing.clear()
    steps.ran.clear()
    result = await forked(bench, failed.execution_id[:8])
    assert (result.ok, steps.ran) == (True, ["d", "e"])
    assert result.results["a"] == {"said": "a do it"}
    assert (await run_row(bench, failed.execution_id), await rows(bench, failed.execution_id)) == before
    new = await run_row(bench, result.execution_id)
    assert (new.forked_from, new.forked_step, new.status) == (failed.execution_id, "d", "completed")
    assert bench.front.data(EventName.NOTICE)[0]["message"].startswith("3 results of run ")


@pytest.mark.parametrize(
    ("at", "again"), [("b", ["b", "d", "e"]), ("c", ["c", "e"]), ("a", list("abcde")), ("e", ["e"])]
)
async def test_a_step_that_is_named_runs_anew_with_all_that_depends_on_it(
    bench: Bench, at: str, again: list[str]
) -> None:
    steps = Steps()
    graph(bench, steps.for_all(), *DIAMOND)
    done = await bench.run("g", "do it")
    steps.ran.clear()
    result = await forked(bench, done.execution_id, at)
    assert (result.ok, sorted(steps.ran)) == (True, again)
    assert set(result.results) == set("abcde")


@pytest.mark.parametrize("kind", ["graph", "machine"])
async def test_a_fork_without_a_step_of_a_run_in_which_none_failed_is_all_of_it(
    bench: Bench, kind: str
) -> None:
    steps = Steps()
    graph(bench, steps.for_all(*"abcdef"), *DIAMOND, step("f"))  # f depends on nothing
    bench.machine(MACHINE)
    bench.server.answers("Do the first", "one")
    bench.server.answers("Do the second", "two")
    done = await bench.run("g" if kind == "graph" else "walk", "do it")
    asked, source, edits = len(bench.server.requests), done.execution_id, RunEdits(prompt="do it well")
    bench.front.events.clear()
    result = await asyncio.wait_for(bench.runner.fork_run(source, None, edits, or_whole=True), LIMIT)
    assert result.ok, result.error
    assert len(bench.server.requests) == 2 * asked
    assert sorted(steps.ran) == (sorted("abcdef" * 2) if kind == "graph" else [])
    now, before = await rows(bench, result.execution_id), await rows(bench, source)
    assert now.keys() == before.keys()
    assert (await run_row(bench, result.execution_id)).forked_from == source
    assert bench.front.data(EventName.NOTICE)[0]["message"] == f"all of run {source[:8]} is repeated"


async def test_a_fork_has_another_prompt_other_inputs_and_the_reused_results(bench: Bench) -> None:
    steps = Steps()
    inputs = {"n": {"type": "number", "required": True}, "m": {"type": "string", "default": "x"}}
    graph(bench, steps.for_all(), *DIAMOND, inputs=inputs)
    done = await bench.run("g", "do it", inputs={"n": 1})
    result = await forked(bench, done.execution_id, "e", prompt="do it well", inputs={"n": "2"})
    assert result.results["e"] == {"said": "e do it well 2.0"} or result.results["e"] == {
        "said": "e do it well 2"
    }
    assert result.results["b"] == {"said": "b do it 1"}
    row = await run_row(bench, result.execution_id)
    assert row.prompt == "do it well"
    assert (await run_row(bench, done.execution_id)).prompt == "do it"


async def test_a_fork_reuses_the_results_that_it_is_given_in_place_of_the_old_ones(bench: Bench) -> None:
    seen: list[Any] = []

    async def reads(step: StepContext) -> Any:
        seen.append(step.values()["steps"])
        return {"said": "new"}

    graph(bench, {**Steps().for_all("a", "b", "c"), "d": reads, "e": reads}, *DIAMOND)
    first = await bench.run("g", "do it")
    results = {"b": {"said": "other " * 5000}}
    second = await forked(bench, first.execution_id, "e", results=results)
    assert second.ok, second.error
    after = await rows(bench, second.execution_id)
    assert (after["b"].result, after["a"].result) == (results["b"], {"said": "a do it"})
    assert seen[-1]["b"]["result"] == results["b"]
    assert (await rows(bench, first.execution_id))["b"].result == {"said": "b do it"}
    for wrong, words in (
        ({"e": {}}, "is repeated, so its result"),
        ({"x": {}}, "there is no step 'x'"),
        ({"b": "text"}, "the result of 'b' is an object, not a text"),
    ):
        with pytest.raises(InvalidInput, match=words):
            await forked(bench, first.execution_id, "e", results=wrong)


async def test_a_fork_asks_the_model_that_it_is_given(bench: Bench) -> None:
    steps = Steps()
    graph(bench, steps.for_all(), *DIAMOND)
    done = await bench.run("g")
    with pytest.raises(UnknownAdapter):
        await forked(bench, done.execution_id, "e", adapter="nobody")
    reader = await bench.reader()
    assert len(reader.runs()) == 1, "a run was begun that nobody can answer"
    result = await forked(bench, done.execution_id, "e", adapter="fake")
    assert reader.request(result.execution_id)["adapter"] == "fake"


async def test_a_fork_says_that_the_workflow_was_changed_and_how_the_current_one_is_used(
    bench: Bench,
) -> None:
    def messages() -> list[str]:
        return bench.front.notices()

    steps = Steps("b")
    graph(bench, steps.for_all("a", "b"), step("a"), step("b", "a"))
    failed = await bench.run("g", "do it")
    steps.failing.clear()
    assert (await forked(bench, failed.execution_id)).ok
    assert not any("was changed" in message for message in messages())
    graph(bench, steps.for_all("a", "b", "c"), step("a"), step("b", "a"), step("c", "b"))
    own = await forked(bench, failed.execution_id, prompt="do that")
    assert set(own.results) == set("ab")
    assert messages()[-1] == (
        f"the workflow 'g' was changed since this run began; the definition that run "
        f"{failed.execution_id[:8]} began with is used, "
        f"`tideate retry {own.execution_id[:8]}.b --definition=file` uses the current one"
    )
    bench.front.events.clear()
    edits = RunEdits()
    now = await bench.runner.fork_run(own.execution_id[:8], "b", edits, changed="file")
    assert (now.results["b"], now.results["c"]) == ({"said": "b do that"}, {"said": "c do that"})
    assert not any("was changed" in message for message in messages())


async def test_what_cannot_be_forked_is_refused_and_begins_no_run(bench: Bench) -> None:
    graph(bench, Steps().for_all(), *DIAMOND, inputs={"n": {"required": False}})
    done = await bench.run("g")
    for run, at, edits, error, words in (
        (done.execution_id, None, {}, InvalidInput, r"no step .* failed; name the first .*\.STEP: a, b"),
        (done.execution_id, "f", {}, InvalidInput, "has no step 'f'"),
        ("f" * 32, "a", {}, RunNotFound, "no run has"),
        (done.execution_id, "a", {"inputs": {"nothing": "1"}}, InvalidInput, "nothing"),
    ):
        with pytest.raises(error, match=words):
            await forked(bench, run, at, **edits)
    assert len((await bench.reader()).runs()) == 1


async def test_a_run_that_has_not_ended_is_resumed_not_forked(bench: Bench) -> None:
    async def leaves(_step: StepContext) -> None:
        assert bench.runner.leave()
        await asyncio.Event().wait()

    graph(bench, {"a": leaves}, step("a"))
    left = await bench.run("g")
    with pytest.raises(RunEnded, match="has not ended"):
        await forked(bench, left.execution_id, "a")


async def test_a_cancelled_run_goes_on_from_the_step_that_was_cut_off(bench: Bench) -> None:
    steps, times = Steps(), 0

    async def cancelled(step: StepContext) -> Any:
        nonlocal times
        times += 1
        if times == 1:
            bench.runner.cancel()
            await asyncio.Event().wait()
        return await steps(step)

    graph(bench, {**steps.for_all(), "d": cancelled}, *DIAMOND)
    first = await bench.run("g")
    assert first.cancelled
    steps.ran.clear()
    result = await forked(bench, first.execution_id)
    assert result.ok, result.error
    assert {"d", "e"} <= set(steps.ran) <= {"c", "d", "e"}
    assert (await run_row(bench, result.execution_id)).forked_step in {"c", "d"}


async def test_all_steps_that_failed_are_run_again_whichever_is_named(bench: Bench) -> None:
    steps, both = Steps("b", "c"), asyncio.Barrier(2)

    async def fails_beside_the_other(step: StepContext) -> Any:
        if steps.failing:
            await asyncio.wait_for(both.wait(), LIMIT)
        return await steps(step)

    graph(bench, {**steps.for_all(), **dict.fromkeys("bc", fails_beside_the_other)}, *DIAMOND)
    failed = await bench.run("g")
    assert not failed.ok
    steps.failing.clear()
    for at in ("b", "c"):
        steps.ran.clear()
        assert (await forked(bench, failed.execution_id, at)).ok
        assert sorted(steps.ran) == ["b", "c", "d", "e"]


async def test_a_step_that_the_run_went_on_without_is_reused_unless_it_is_named(bench: Bench) -> None:
    steps = Steps("b", "d")
    tolerant = step("b", "a", continue_on_error=True)
    graph(bench, steps.for_all("a", "b", "d"), step("a"), tolerant, step("d", "b"))
    failed = await bench.run("g")
    steps.failing.clear()
    for at, again in ((None, ["d"]), ("b", ["b", "d"])):
        steps.ran.clear()
        assert (await forked(bench, failed.execution_id, at)).ok
        assert steps.ran == again


async def test_what_a_repeated_step_remembered_is_forgotten_and_what_a_reused_one_did_is_kept(
    bench: Bench,
) -> None:
    seen: list[Any] = []

    async def names(step: StepContext) -> str:
        await step.set_context(f"by_{step.step}", step.step)
        await step.remember("number", len(seen))
        return step.step

    async def looks(step: StepContext) -> str:
        seen.append((step.recall("number"), dict(step.values()["context"])))
        await names(step)
        return "looked"

    steps = (step("z"), step("a", "z"), step("b", "a"), step("c", "b"))
    graph(bench, {"a": names, "b": looks}, *steps, context={"by_a": "", "by_b": ""})
    done = await bench.run("g")
    assert done.ok, done.error
    result = await forked(bench, done.execution_id, "b")
    assert result.ok, result.error
    reader = await bench.reader()
    assert [key for key in reader.memos(result.execution_id)["a"] if key.endswith("number")]
    assert seen[0] == seen[1] == (MISSING, {"by_a": "a", "by_b": ""})


async def test_a_fork_of_a_fork_reuses_what_the_first_run_did(bench: Bench) -> None:
    steps = Steps("d")
    graph(bench, steps.for_all(), *DIAMOND)
    first = await bench.run("g")
    second = await forked(bench, first.execution_id)
    assert not second.ok
    steps.failing.clear()
    steps.ran.clear()
    third = await forked(bench, second.execution_id)
    assert (third.ok, steps.ran) == (True, ["d", "e"])
    assert (await run_row(bench, third.execution_id)).forked_from == second.execution_id


async def test_runs_that_did_reused_steps_are_each_read_once(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"s{number}" for number in range(12)]
    steps = Steps("last")
    chain = [step(name, *names[at - 1 : at]) for at, name in enumerate(names)]
    graph(bench, steps.for_all(*names, "last"), *chain, step("last", names[-1]))
    first = await bench.run("g")
    second = await forked(bench, first.execution_id)
    reader = await bench.reader()
    rows, run, read = reader.steps(second.execution_id), reader.run(second.execution_id), reader.steps
    asked: list[str] = []

    def steps_of(wanted: str) -> list[StepRow]:
        asked.append(wanted)
        return read(wanted)

    monkeypatch.setattr(reader, "steps", steps_of)
    assert writers_of(reader, run, rows) == {second.execution_id: None, first.execution_id: frozenset(names)}
    assert asked == [first.execution_id]


def writes(name: str) -> Any:
    async def write(step: StepContext) -> str:
        await step.workspace.apply(
            [FileChange(name, "create", None, f"{step.step}\n")], execution_id=step.execution_id
        )
        step.changed([name])
        return name

    return write


async def wrote(bench: Bench, *, nested: bool = False) -> WorkflowResult:
    """Let a step write a file, and a later one fail the first time."""
    steps = Steps("b")
    handlers: dict[str, Any] = {"a": writes("a.txt"), **steps.for_all("b", "c")}
    first = step("a")
    if nested:
        bench.register("inner", {"one": writes("a.txt")})
        first = step("a", workflow="inner")
        del handlers["a"]
    graph(bench, handlers, first, step("b", "a"), step("c", "b"))
    failed = await bench.run("g")
    assert failed.error == "broken"
    assert failed.files == ["a.txt"]
    steps.failing.clear()
    return failed


async def rolled_back(bench: Bench, *runs: str) -> None:
    done = await RunRollback(bench.root, bench.private).restore_files(runs)
    assert done.restored == ["a.txt"]


@pytest.mark.parametrize("nested", [False, True])
async def test_what_a_reused_step_wrote_stays_and_is_the_old_runs_to_roll_back(
    bench: Bench, nested: bool
) -> None:
    failed = await wrote(bench, nested=nested)
    (bench.root / "a.txt").write_text("a\nand by hand\n")  # the person's own to change
    result = await forked(bench, failed.execution_id)
    assert (result.ok, result.files) == (True, [])
    assert (bench.root / "a.txt").read_text() == "a\nand by hand\n"
    assert (await run_row(bench, result.execution_id)).files == ()


@pytest.mark.parametrize("nested", [False, True])
async def test_a_step_whose_writes_were_rolled_back_cannot_be_reused(bench: Bench, nested: bool) -> None:
    failed = await wrote(bench, nested=nested)
    reader = await bench.reader()
    inner = [run.id for run in reader.runs(parents_only=False) if run.parent == failed.execution_id]
    await rolled_back(bench, failed.execution_id, *inner)
    short = failed.execution_id[:8]
    with pytest.raises(InvalidInput, match=rf"'a' .* was rolled back \(a\.txt\).*: {short}\.a$"):
        await forked(bench, failed.execution_id)
    result = await forked(bench, failed.execution_id, "a")
    assert (result.ok, result.files) == (True, ["a.txt"])
    assert (bench.root / "a.txt").exists()


async def test_a_fork_of_a_fork_looks_at_what_the_first_run_wrote(bench: Bench) -> None:
    first = await wrote(bench)
    second = await forked(bench, first.execution_id)
    assert second.ok
    await rolled_back(bench, first.execution_id)
    with pytest.raises(InvalidInput, match="rolled back"):
        await forked(bench, second.execution_id, "c")


async def test_files_of_steps_that_run_anew_are_named(bench: Bench) -> None:
    graph(bench, {"a": writes("a.txt")}, step("a"), step("b", "a"))
    done = await bench.run("g")
    await forked(bench, done.execution_id, "b")
    assert len(bench.front.data(EventName.NOTICE)) == 1
    (bench.root / "a.txt").write_text("mine\n")
    await forked(bench, done.execution_id, "a")
    assert "are left in place: a.txt" in bench.front.data(EventName.NOTICE)[1]["message"]
    assert (bench.root / "a.txt").read_text() == "mine\n"


@pytest.mark.parametrize("nested", [False, True])
async def test_what_was_rolled_back_is_not_said_to_be_left(bench: Bench, nested: bool) -> None:
    failed = await wrote(bench, nested=nested)
    reader = await bench.reader()
    inner = [run.id for run in reader.runs(parents_only=False) if run.parent == failed.execution_id]
    await rolled_back(bench, failed.execution_id, *inner)
    before = len(bench.front.data(EventName.NOTICE))
    result = await forked(bench, failed.execution_id, "a")
    (notice,) = bench.front.data(EventName.NOTICE)[before:]
    assert "repeated from the step 'a' on" in notice["message"]
    # the fork's own, of which it reuses nothing
    await forked(bench, result.execution_id, "a")
    assert "are left in place: a.txt" in bench.front.data(EventName.NOTICE)[-1]["message"]


async def test_a_machine_goes_on_from_a_state_that_it_visited(bench: Bench) -> None:
    bench.machine(MACHINE)
    bench.server.answers("Do the first", "one")
    bench.server.answers("Do the second", "two")
    done = await bench.run("walk", "go")
    assert done.ok, done.error
    bench.server.requests.clear()
    result = await forked(bench, done.execution_id, "second", prompt="go on")
    assert result.ok, result.error
    asked = [str(request) for request in bench.server.requests]
    assert [("state is first" in one, "state is second" in one) for one in asked] == [(False, True)]
    assert "go on" in asked[0]
    assert "one" in asked[0]


async def test_forged_rows_are_data(bench: Bench) -> None:
    graph(bench, Steps("e").for_all(), *DIAMOND)
    failed = await bench.run("g")
    store = await bench.runner.store()
    path = store.private / "tideate.db"
    for column, value, error in (
        ("UPDATE workflow_executions SET request = ?", '{"name": 1, "inputs": "x"}', StoreError),
        ("UPDATE workflow_definitions SET text = ?", "[1]", StoreError),
        ("UPDATE workflow_steps SET dependencies = ?", '["e", "d", "no such", "a"]', None),
    ):
        with closing(sqlite3.connect(path)) as other:
            kept = other.execute(
                "SELECT request, text FROM workflow_executions, workflow_definitions"
            ).fetchone()
            other.execute(column, (value,))
            other.commit()
        if error is not None:
            with pytest.raises(error, match="cannot be read"):
                await forked(bench, failed.execution_id)
        else:  # each depends on each, and on nothing that there is
            assert not (await forked(bench, failed.execution_id)).ok
        with closing(sqlite3.connect(path)) as other:
            other.execute(
                "UPDATE workflow_executions SET request = ? WHERE id = ?", (kept[0], failed.execution_id)
            )
            other.execute("UPDATE workflow_definitions SET text = ?", (kept[1],))
            other.commit()


def test_a_run_and_a_step_are_named_with_a_point() -> None:
    assert split_run_step("12ab") == ("12ab", None)
    assert split_run_step("12ab.") == ("12ab", None)
    assert split_run_step("12ab.s#2.x") == ("12ab", "s#2.x")


KILLED = """
import asyncio, os, pathlib, signal, sys
from types import SimpleNamespace
from tests.harness.bench import Bench
from tests.engine.logbook import RUN
from tests.engine.test_forking import DIAMOND, Steps, graph
from tideate_core.engine import RunEdits

async def dies(step):
    if step.prompt == "again":
        os.kill(os.getpid(), signal.SIGKILL)
    return {}

async def main():
    bench = Bench(pathlib.Path(sys.argv[1]), SimpleNamespace(base_url=sys.argv[2]))
    graph(bench, {**Steps().for_all(), "e": dies}, *DIAMOND)
    await bench.run("g", "once", execution_id=RUN)
    await bench.runner.fork_run(RUN, "d", RunEdits(prompt="again"))

asyncio.run(main())
"""


@pytest.mark.slow
async def test_a_fork_that_was_killed_is_resumed_and_repeats_nothing(bench: Bench) -> None:
    child = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-c", KILLED, str(bench.root), bench.server.base_url],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert child.returncode == -signal.SIGKILL, child.stderr
    steps = Steps()
    graph(bench, steps.for_all(), *DIAMOND)
    (killed,) = [run for run in (await bench.reader()).runs() if run.resumable]
    assert (killed.forked_from, killed.forked_step) == (RUN, "d")
    result = await bench.resume(killed.id)
    assert (result.ok, steps.ran) == (True, ["e"])
    assert result.results["d"] == {"said": "d again"}
    assert result.results["a"] == {"said": "a once"}

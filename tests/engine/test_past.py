"""The stored part of a resumed run, and its definition."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.engine.logbook import RUN
from tests.harness.buffers import Buffers
from tests.harness.front import Front, in_order
from tideate_core.adapters import Usage
from tideate_core.engine import RunRequest
from tideate_core.engine.past import RecordedRun, definition_for, load_recorded_run, stored_definition
from tideate_core.engine.recovery import rebind_buffer
from tideate_core.errors import DefinitionChanged, InvalidDefinition, RunNotFound, UnknownWorkflow
from tideate_core.machines.language import Obfuscator, parse
from tideate_core.store import RunLog, Store
from tideate_core.store.records import Definition, Graph, NewRun, StepOutcome, StepStart, Tokens
from tideate_core.workflows import (
    BufferContext,
    Decision,
    MachineWorkflow,
    Registration,
    RunContext,
    WorkflowDefinition,
    WorkflowRegistry,
)
from tideate_core.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tideate_core.workflows.registration import Source

STEPS = ("a", "b", "c", "d")
GRAPH = Graph(STEPS, (("a", "b"), ("b", "c"), ("c", "d")), tuple((step,) for step in STEPS))
REQUEST = RunRequest(name="w", prompt="do it", inputs={"n": 1}, execution_id=RUN)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store.open(tmp_path / "private")
    yield store
    store.close()


def definition(*steps: str, **rest: Any) -> WorkflowDefinition:
    return WorkflowDefinition.chain("w", list(steps or STEPS), **rest)


async def nothing(_step: Any) -> None:
    return None


def registration(
    known: WorkflowDefinition | MachineWorkflow, source: Source = "builtin", *handlers: str
) -> Registration:
    return Registration(known, dict.fromkeys(handlers or known.step_names, nothing), source)


async def begun(store: Store) -> RunLog:
    return await store.begin(
        NewRun(
            RUN,
            stored_definition(registration(definition())),
            REQUEST.model_dump(mode="json"),
            len(STEPS),
            1000,
            GRAPH,
            steps=tuple((step, step, "handler") for step in STEPS),
        )
    )


def start(step: str, at: int, attempt: int = 1) -> StepStart:
    return StepStart(step, step, "handler", "", attempt, at)


def outcome(step: str, at: int, **rest: Any) -> StepOutcome:
    return StepOutcome(step, **{"status": "completed", "completed_at": at, **rest})


async def past_of(store: Store) -> RecordedRun:
    _, _, past = await load_recorded_run(store, RUN)
    return past


def reply(took: int, *, late: bool = False) -> dict[str, Any]:
    return {"usage": {"input_tokens": took, "output_tokens": 0, "cost": None}, "late": late}


async def test_steps_that_ended_come_back_as_they_ended_in_that_order(store: Store) -> None:
    log = await begun(store)
    log.started(start("b", 1000))
    log.started(start("a", 1000))
    tokens = Tokens(5, 6, 0.5, 4)
    await log.finish(
        outcome("b", 1010, result={"x": [1]}, duration_ms=10, tokens=tokens, files=("f",))
    ).future
    await log.finish(outcome("a", 1020, status="failed", error="no", error_code="StepFailed")).future
    await log.finish(outcome("c", 1030, status="skipped")).future
    past = await past_of(store)
    assert list(past.settled) == ["b", "a", "c"]
    b = past.settled["b"]
    assert (b.status, b.value, b.duration_ms, b.usage, b.files) == (
        "completed",
        {"x": [1]},
        10,
        Usage(5, 6, 0.5, 4),
        ("f",),
    )
    a = past.settled["a"]
    assert (a.status, a.error, a.error_code) == ("failed", "no", "StepFailed")
    assert past.settled["c"].status == "skipped"
    assert past.finished == {"a", "b", "c"}
    assert past.files == ("f",)
    assert past.agents == ("handler",)
    assert len(past.checkpoints) == 1


async def test_the_request_and_the_definition_come_back(store: Store) -> None:
    await begun(store)
    request, stored, past = await load_recorded_run(store, RUN)
    assert request == REQUEST
    assert stored == stored_definition(registration(definition()))
    assert past.settled == {}


async def test_a_run_that_does_not_exist_is_told(store: Store) -> None:
    with pytest.raises(RunNotFound):
        await load_recorded_run(store, "f" * 32)


async def test_an_attempt_that_was_cut_off_is_not_one_that_failed(store: Store) -> None:
    log = await begun(store)
    log.started(start("a", 1000))
    log.started(start("b", 1000, attempt=1))
    log.started(start("b", 1010, attempt=3))
    await log.flush()
    past = await past_of(store)
    assert past.running == {"a", "b"}
    assert past.attempts == {"b": 2}


async def test_an_attempt_that_failed_counts_also_while_the_next_one_waits(store: Store) -> None:
    log = await begun(store)
    log.started(start("a", 1000))
    log.note("a", "failed", {"attempt": 1, "words": ""})
    await log.flush()
    assert (await past_of(store)).attempts == {"a": 1}


async def test_an_item_that_is_done_is_finished_though_its_step_is_not(store: Store) -> None:
    log = await begun(store)
    log.started(start("a", 1000))
    await log.remember("a", "choice:item:1", {"digest": "d", "value": 1})
    await log.remember("a", "own:2:x", 1)
    assert (await past_of(store)).finished == {"a[1]"}


async def test_tokens_count_once_whether_their_step_ended_or_not(store: Store) -> None:
    log = await begun(store)
    log.started(start("a", 1000))
    log.note("a", "1.ask:x", reply(5))
    await log.finish(outcome("a", 1010, tokens=Tokens(5, 0))).future
    await log.remember("a", "1.ask:y", reply(7, late=True))
    log.started(start("b", 1010))
    await log.remember("b", "1.ask:z", reply(11))
    past = await past_of(store)
    assert past.usage == Usage(23, 0)
    assert past.memos["b"]["1.ask:z"] == reply(11)


async def test_the_time_between_two_processes_does_not_count(store: Store) -> None:
    log = await begun(store)
    for step, begin, end in (("a", 1000, 1100), ("b", 1050, 1150), ("c", 90_000, 90_010)):
        log.started(start(step, begin))
        await log.finish(outcome(step, end)).future
    assert (await past_of(store)).elapsed_ms == 160


# which definition counts


def registry(
    known: WorkflowDefinition | MachineWorkflow | None, source: Source = "builtin"
) -> WorkflowRegistry:
    registry = WorkflowRegistry()
    if known is not None:
        handlers = {} if isinstance(known, MachineWorkflow) else dict.fromkeys(known.step_names, nothing)
        registry.register(known, handlers, source=source)
    return registry


def machine(text: str, **rest: Any) -> MachineWorkflow:
    return MachineWorkflow("w", parse(text, "w").require("w"), **rest)


WALK = "* to one: begin\none to two: go\ntwo to *\n"
OTHER_WALK = "* to one: begin\none to *\n"


async def chosen(
    stored: Definition, catalog: WorkflowRegistry, *answers: Decision, **how: Any
) -> tuple[Registration, Front]:
    front = Front(in_order(*answers))
    found = await definition_for(RUN, stored, catalog, front=front, **how)
    return found, front


@pytest.mark.parametrize("known", [definition(), machine(WALK)], ids=["graph", "machine"])
async def test_the_same_definition_asks_nobody(known: WorkflowDefinition | MachineWorkflow) -> None:
    found, front = await chosen(stored_definition(registration(known)), registry(known))
    assert found.definition is known
    assert front.requests == []


async def test_comments_and_layout_of_a_machine_do_not_count() -> None:
    stored = stored_definition(registration(machine(WALK), "project"))
    now = machine("# a walk\n\n" + WALK)
    _, front = await chosen(stored, registry(now))
    assert front.requests == []


async def test_a_changed_graph_is_shown_and_its_own_definition_goes_on() -> None:
    stored = stored_definition(registration(definition("a", "b")))
    now = definition("a", "b", "new_one", description="more")
    found, front = await chosen(stored, registry(now), Decision(True))
    assert found.definition == definition("a", "b")
    assert {"a", "b"} <= set(found.handlers)
    request = front.requests[0]
    assert (request.kind, request.execution_id) == ("gate", RUN)
    assert "'w' was changed since this run began" in request.message
    assert '+      "id": "new_one"' in request.details
    assert request.details.startswith("```diff\n--- the run's definition\n+++ as it is now\n")


async def test_a_changed_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "w.workflow"
    stored = stored_definition(registration(machine(WALK, path=path), "project"))
    found, front = await chosen(stored, registry(machine(OTHER_WALK, path=path)), Decision(True))
    assert str(path) in front.requests[0].message
    assert isinstance(found.definition, MachineWorkflow)
    assert "two" in found.definition.step_names


async def test_a_refusal_says_how_to_choose() -> None:
    stored = stored_definition(registration(definition("a", "b")))
    with pytest.raises(DefinitionChanged, match=r"--definition=file.*--definition=stored"):
        await chosen(stored, registry(definition("a", "b", "c")), Decision(False, by="policy:no"))


async def test_the_file_counts_where_the_person_says_so() -> None:
    stored = stored_definition(registration(definition("a", "b")))
    now = definition("a")
    found, front = await chosen(stored, registry(now), changed="file")
    assert found.definition is now
    assert front.requests == []
    with pytest.raises(UnknownWorkflow):
        await chosen(stored, registry(None), changed="file")


async def test_the_runs_own_counts_where_the_person_says_so() -> None:
    stored = stored_definition(registration(definition("a", "b")))
    found, front = await chosen(stored, registry(definition("a", "b", "c")), changed="stored")
    assert found.definition == definition("a", "b")
    assert front.requests == []


@pytest.mark.parametrize(
    ("source", "words"),
    [("editor", "open Neovim"), ("package", "install it"), ("builtin", "this version has it no more")],
)
async def test_what_was_registered_has_to_be_registered_now(source: Source, words: str) -> None:
    stored = stored_definition(registration(definition(), source))
    with pytest.raises(DefinitionChanged, match=words):
        await chosen(stored, registry(None))


async def test_a_step_without_a_handler_now_is_named() -> None:
    stored = stored_definition(registration(definition("a", "gone"), "editor"))
    with pytest.raises(DefinitionChanged, match=r"has no handler for: gone; .*open Neovim"):
        await chosen(stored, registry(definition("a"), "editor"))


async def test_a_file_that_is_gone_is_told_and_the_run_has_its_own_copy(tmp_path: Path) -> None:
    path = tmp_path / "w.workflow"
    stored = stored_definition(registration(machine(WALK, path=path, description="d"), "project"))
    found, front = await chosen(stored, registry(None), Decision(True))
    assert "cannot be used now" in front.requests[0].message
    assert found.source == "project"
    assert isinstance(found.definition, MachineWorkflow)
    assert stored_definition(found).text == stored.text
    assert (found.definition.path, found.definition.description) == (path, "d")


async def test_a_file_with_mistakes_is_told() -> None:
    class Broken(WorkflowRegistry):
        def get(self, name: str, *, obfuscate: bool = False) -> Registration:
            raise InvalidDefinition(f"{name}:1:1: what is this")

    stored = stored_definition(registration(machine(WALK), "project"))
    front = Front(in_order(True))
    await definition_for(RUN, stored, Broken(), front=front)
    assert "w:1:1: what is this" in front.requests[0].message


async def test_a_file_that_was_named_by_its_path_is_looked_for_there(tmp_path: Path) -> None:
    asked: list[str] = []

    class Catalog(WorkflowRegistry):
        def get(self, name: str, *, obfuscate: bool = False) -> Registration:
            asked.append(name)
            return registration(known, "file")

    path = tmp_path / "w.workflow"
    known = machine(WALK, path=path)
    await definition_for(
        RUN, stored_definition(registration(known, "file")), Catalog(), front=Front(in_order())
    )
    assert asked == [str(path)]


async def test_hidden_names_stay_hidden() -> None:
    plain = machine(WALK)
    hidden = plain.obfuscated(Obfuscator(b"k" * 32, plain.machine))
    stored = stored_definition(registration(hidden, "project"))
    assert "two" not in stored.text

    class Catalog(WorkflowRegistry):
        def __init__(self, now: MachineWorkflow | None) -> None:
            super().__init__()
            self.now = now

        def get(self, name: str, *, obfuscate: bool = False) -> Registration:
            if self.now is None:
                raise UnknownWorkflow(name, ())
            assert obfuscate
            return registration(self.now, "project")

    front = Front(in_order())
    found = await definition_for(RUN, stored, Catalog(hidden), front=front, obfuscate=True)
    assert found.definition is hidden
    with pytest.raises(DefinitionChanged, match="cannot be hidden"):
        await definition_for(RUN, stored, Catalog(None), front=front, obfuscate=True)


def test_one_workflow_has_one_id_in_all_its_versions() -> None:
    one = stored_definition(registration(definition("a")))
    two = stored_definition(registration(definition("a", "b")))
    other = stored_definition(registration(definition("a"), "package"))
    assert one.workflow_id == two.workflow_id != other.workflow_id
    own = "6fa459ea-ee8a-3ca4-894e-db77e160355e"
    assert stored_definition(registration(definition("a", id=own))).workflow_id == own


# the buffer that a run was started on


def request(path: str, number: int | None, text: str = "a = 1") -> RunRequest:
    buffer = BufferContext(path=path, text=text, number=number, tick=99)
    return REQUEST.model_copy(update={"context": RunContext(cwd="/elsewhere", buffer=buffer)})


async def test_a_buffer_has_the_number_that_it_has_now_and_its_old_text(tmp_path: Path) -> None:
    editor = Buffers()
    editor.load(None, "")
    number = editor.load(tmp_path / "one.py", "typed since")
    workspace = Workspace(tmp_path, buffers=editor)
    again = await rebind_buffer(request(str(tmp_path / "one.py"), 1), workspace)
    buffer = again.context.buffer
    assert buffer is not None
    assert (buffer.number, buffer.tick, buffer.text) == (number, 1, "a = 1")
    assert again.context.cwd == "/elsewhere"


async def test_of_a_buffer_that_is_not_loaded_the_file_is_edited(tmp_path: Path) -> None:
    again = await rebind_buffer(request(str(tmp_path / "one.py"), 3), Workspace(tmp_path, buffers=Buffers()))
    buffer = again.context.buffer
    assert buffer is not None
    assert (buffer.number, buffer.tick) == (None, None)
    assert again.context.cwd == str(tmp_path)


async def test_a_run_without_a_buffer_of_an_editor_stays_as_it_is(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path, buffers=Buffers())
    of_shell = request(str(tmp_path / "one.py"), None)
    assert await rebind_buffer(of_shell, workspace) is of_shell
    assert await rebind_buffer(REQUEST, workspace) is REQUEST

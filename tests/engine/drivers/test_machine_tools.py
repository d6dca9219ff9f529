"""Machines with tools in their states: staged edits are reviewed when a state is left."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tideate_core.config import Config
from tideate_core.engine import EventName, WorkflowResult
from tideate_core.workflows import Decision

if TYPE_CHECKING:
    from tests.harness.bench import Bench

WALK = """\
* to look_around:
  Say what the file greets with.

look_around to mend:
  Mend the greeting.

: it is mended
mend to *

: it is not
mend to look_around
"""
EDIT = {"path": "a.txt", "edits": [{"search": "helo", "replace": "hello"}]}


@pytest.fixture
def tools() -> bool:
    return True


def configure(bench: Bench, name: str = "walk", **section: Any) -> None:
    shape = bench.config.model_dump(exclude_defaults=True) | {"workflows": {name: section}}
    bench.config = Config.model_validate(shape)
    bench.runner = bench.make_runner(bench.config)


def offered(bench: Bench, words: str) -> set[str]:
    found = next(one for one in bench.server.requests if words in json.dumps(one["messages"]))
    return {tool["function"]["name"] for tool in found.get("tools", ())}


def walked(bench: Bench) -> None:
    bench.write("a.txt", "helo\n")
    bench.server.calls("is look_around", "read_file", {"path": "a.txt"}, times=1)
    bench.server.answers("1 line\nhelo", "It says helo.")
    bench.server.calls("Mend the greeting", "read_file", {"path": "a.txt"}, times=1)
    bench.server.calls("Mend the greeting", "edit_file", EDIT, times=1)
    bench.server.answers("Mend the greeting", "Mended.")
    bench.server.answers("Which one is next?", {"reason": "it is mended", "next": "end"})


@pytest.mark.slow
async def test_a_state_looks_another_edits_and_the_edits_are_written_after_a_review(bench: Bench) -> None:
    bench.machine(WALK)
    configure(bench, tools=["read_file"], states={"mend": {"tools": ["read_file", "edits"]}})
    walked(bench)
    result = await bench.succeed("walk")
    assert bench.fingerprint() == {"a.txt": b"hello\n"}
    assert [request.kind for request in bench.front.requests] == ["review"]
    assert result.results["look_around"] == "It says helo."
    assert result.results["mend"] == {"response": "Mended.", "files": ["a.txt"]}
    assert result.response == "Mended."
    assert offered(bench, "is look_around") == {"read_file"}
    choice = json.dumps(bench.server.requests[-1]["messages"])
    assert "[files written: a.txt]" in choice, "the way out is chosen by what was done"


async def test_edits_that_are_declined_end_the_run_and_no_way_is_chosen(bench: Bench) -> None:
    bench.machine(WALK)
    configure(bench, tools=["read_file", "edits"])
    walked(bench)
    bench.front.answer = lambda _request: Decision(False)
    result = await bench.run("walk")
    assert result.cancelled
    assert bench.fingerprint() == {"a.txt": b"helo\n"}
    assert not any("Which one is next?" in json.dumps(one) for one in bench.server.requests)


async def test_a_state_may_have_none_of_the_machines_tools(bench: Bench) -> None:
    bench.machine(WALK)
    configure(bench, tools=["read_file", "edits"], states={"look_around": {"tools": []}})
    walked(bench)
    bench.server.answers("Say what the file greets with", "I do not know.")
    bench.server._rules = [rule for rule in bench.server._rules if rule.match != "is look_around"]
    result = await bench.run("walk")
    assert result.results["look_around"] == "I do not know.", (result.error, bench.server.unmatched)
    assert offered(bench, "is look_around") == set()


async def test_a_state_whose_section_names_no_tools_has_those_of_the_machine(bench: Bench) -> None:
    bench.machine(WALK)
    configure(bench, tools=["read_file", "edits"], states={"mend": {}})
    walked(bench)
    await bench.succeed("walk")
    assert bench.fingerprint() == {"a.txt": b"hello\n"}
    assert offered(bench, "Mend the greeting") == offered(bench, "is look_around")


async def test_an_answer_of_a_state_that_was_cut_off_is_told(bench: Bench) -> None:
    bench.machine(WALK)
    configure(bench, tools=["read_file"])
    bench.write("a.txt", "helo\n")
    bench.server.answers("is look_around", "It says he", finish_reason="length")
    bench.server.answers("Mend the greeting", "Mended.")
    bench.server.answers("Which one is next?", {"reason": "it is mended", "next": "end"})
    await bench.succeed("walk")
    notices = [(one["level"], one["message"]) for one in bench.front.data(EventName.NOTICE)]
    assert ("warn", "the answer was cut off at the model's length limit") in notices


async def test_a_state_that_there_is_not_names_the_nearest(bench: Bench) -> None:
    bench.machine(WALK)
    configure(bench, states={"mand": {"tools": ["edits"]}})
    result = await bench.run("walk")
    assert result.error_code == "InvalidInput"
    assert "has no state 'mand'; did you mean 'mend'?" in str(result.error)


async def test_tools_that_are_wanted_of_a_model_that_has_none_are_an_error(bench: Bench) -> None:
    small = bench.config.adapters["fake"].model_copy(update={"tools": False})
    bench.config = bench.config.model_copy(update={"adapters": {"fake": small}})
    await bench.limit(64_000)
    bench.machine(WALK)
    configure(bench, tools=["look"])
    result = await bench.run("walk")
    assert result.error_code == "ConfigError"
    assert "'look_around': its model cannot use tools (look are wanted)" in str(result.error)
    assert bench.server.requests == []


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("ask", "ask has steps; name their `tools` in its file, and remove the key"),
        ("task", "task has roles; name their `tools` in the files of its agents, and remove the key"),
    ],
)
async def test_tools_of_states_are_for_machines_only(bench: Bench, name: str, said: str) -> None:
    configure(bench, name, tools=["look"])
    result = await bench.run(name, "what is there")
    assert (result.error_code, said in str(result.error)) == ("InvalidInput", True), result.error


# PLANNER


def planner(bench: Bench) -> None:
    """Script a way that goes straight to the work."""
    bench.write("a.txt", "helo\n")
    ways = {
        "is in the state initial_loaded": "continue_project",
        "is in the state continue_project": "execution",
        "is in the state execution": "check_task",
        "is in the state check_task": "all_tasks_complete",
        "is in the state all_tasks_complete": "end",
    }
    for words, to in ways.items():
        bench.server.answers(f"{words}. From there", {"reason": "so be it", "next": to})
    for state in ("initial_loaded", "continue_project", "check_task", "all_tasks_complete"):
        bench.server.answers(f"The present state is {state}. Its", f"{state} is done")
    at = "The present state is execution. Its"
    bench.server.calls(at, "read_file", {"path": "a.txt"}, times=1)
    bench.server.calls(at, "edit_file", EDIT, times=1)
    bench.server.answers(at, "Result: done")


async def run_planner(bench: Bench) -> WorkflowResult:
    from tideate_core.app import make_catalog

    bench.registry = make_catalog(bench.registry, bench.root, cwd=bench.root)  # type: ignore[assignment]
    bench.runner = bench.make_runner(bench.config)
    return await bench.run("PLANNER", "mend the greeting; go on with the plan")


@pytest.mark.slow
async def test_the_execution_of_planner_changes_files_after_its_questions(bench: Bench) -> None:
    planner(bench)
    result = await run_planner(bench)
    assert result.ok, (result.error, bench.server.unmatched[-1:])
    assert bench.fingerprint() == {"a.txt": b"hello\n"}
    assert [request.kind for request in bench.front.requests] == ["gate", "review"]
    assert {"edit_file", "read_file"} <= offered(bench, "The present state is execution")
    of_others = offered(bench, "The present state is initial_loaded")
    assert "read_file" in of_others
    assert not of_others & {"edit_file", "write_file", "lsp_rename"}
    moves = [move["to"] for move in bench.front.data(EventName.TRANSITION)]
    assert moves[-4:] == ["execution", "check_task", "all_tasks_complete", "*"]


async def test_a_projects_file_in_the_place_of_planner_gets_no_tools(bench: Bench) -> None:
    bench.write(".tideate/workflows/PLANNER.workflow", "* to execution: Change the files.\nexecution to *\n")
    bench.server.answers("Change the files", "I cannot.")
    result = await run_planner(bench)
    assert result.response == "I cannot.", (result.error, bench.server.unmatched[-1:])
    assert offered(bench, "Change the files") == set()

from __future__ import annotations

import json

from tideate_core.engine.driver import Settled
from tideate_core.engine.state import StateManager, about
from tideate_core.workflows import BufferContext, RunContext, Selection


def state(settled: dict[str, Settled] | None = None) -> StateManager:
    return StateManager({"n": 1}, {"tone": "dry"}, settled if settled is not None else {}, "do it")


def test_a_value_is_found_by_the_path_that_a_template_writes() -> None:
    known = state({"a": Settled("a", "completed", {"files": ["x"]})})
    assert known.get("inputs.n") == 1
    assert known.get("context.tone") == "dry"
    assert known.get("steps.a.result.files") == ["x"]
    assert known.get("steps.a.error", "no") is None
    assert known.get("prompt") == "do it"


def test_what_is_not_there_is_the_default() -> None:
    known = state()
    assert known.get("steps.a.result") is None
    assert known.get("context.tone.deeper", 5) == 5
    assert known.get("nothing", "x") == "x"


def test_a_step_that_ends_later_is_seen() -> None:
    settled: dict[str, Settled] = {}
    steps = state(settled).values()["steps"]
    assert len(steps) == 0
    settled["a"] = Settled("a", "skipped")
    assert list(steps) == ["a"]
    assert steps["a"]["status"] == "skipped"


def test_a_name_of_the_context_can_be_set_without_touching_the_definition() -> None:
    context = {"tone": "dry"}
    known = StateManager({}, context, {})
    known.set("tone", "warm")
    assert known.get("context.tone") == "warm"
    assert context == {"tone": "dry"}


def test_a_snapshot_is_json_and_a_copy() -> None:
    result = {"files": ["x"]}
    known = state({"a": Settled("a", "completed", result)})
    taken = known.snapshot()
    result["files"].append("y")
    assert json.loads(json.dumps(taken)) == taken
    assert taken["steps"]["a"]["result"] == {"files": ["x"]}


def test_the_text_that_a_run_is_about_is_known_with_what_of_it_is_selected() -> None:
    buffer = BufferContext(path="/a.py", text="1\n2\n3", filetype="python")
    whole = {"path": "/a.py", "filetype": "python", "text": "1\n2\n3"}
    assert about(RunContext(buffer=buffer)) == {**whole, "selection": ""}
    selected = RunContext(buffer=buffer, selection=Selection(start=2, end=3))
    assert about(selected) == {**whole, "selection": "2\n3"}
    assert about(RunContext()) == {}

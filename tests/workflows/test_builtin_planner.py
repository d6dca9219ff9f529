"""The built-in PLANNER machine: no warnings, canonical format, a path from each state to the end."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.workflows.definition_texts import load_machine
from tideate_core.machines.language import (
    BOUNDARY,
    Failure,
    Obfuscator,
    Success,
    Workflow,
    format_text,
    parse,
)
from tideate_core.workflows.workflow_files import BUILTIN_MACHINES

if TYPE_CHECKING:
    from collections.abc import Iterable


PLANNER = BUILTIN_MACHINES / "PLANNER.workflow"
TEXT = PLANNER.read_text(encoding="utf-8")
MACHINE = parse(TEXT, "PLANNER").definition
OF_THE_DOCUMENT = {
    *("initial_loaded", "continue_project", "define_project", "refine_project", "create_project"),
    *("refine_tasks", "execution", "all_tasks_complete"),
}
REFINING = {"refine_project", "refine_tasks"}
ASKED = "the person|the request"
"""Beginning of a condition that only the person can fulfil."""


def reached(start: str, without: Iterable[str] = ()) -> set[str]:
    """The states that can be reached, `*` among them where the end can."""
    found: set[str] = set()
    waiting = [start]
    while waiting:
        for move in MACHINE.outgoing[waiting.pop()]:
            if move.target not in found and move.target not in without:
                found.add(move.target)
                if move.target != BOUNDARY:
                    waiting.append(move.target)
    return found


def test_it_has_no_mistake_and_no_warning() -> None:
    assert parse(TEXT, "PLANNER").diagnostics == ()


def test_it_is_written_as_the_formatter_would() -> None:
    assert format_text(TEXT) == TEXT


def test_it_can_be_read_in_one_go() -> None:
    assert len(TEXT.splitlines()) < 250
    assert max(map(len, TEXT.splitlines())) <= 110
    assert load_machine(PLANNER).description.startswith("Plan a piece of work")


def test_it_has_the_states_of_the_document() -> None:
    assert set(MACHINE.states) >= OF_THE_DOCUMENT


def test_every_state_is_reached_and_leads_to_the_end() -> None:
    assert reached(BOUNDARY) == {*MACHINE.states, BOUNDARY}
    for name in MACHINE.states:
        assert BOUNDARY in reached(name), name


def test_every_move_says_when_and_no_two_of_a_state_say_the_same() -> None:
    for moves in MACHINE.outgoing.values():
        whens = [move.when for move in moves]
        assert all(whens)
        assert len(set(whens)) == len(whens)


def test_every_state_says_what_to_write() -> None:
    for state in MACHINE.states.values():
        assert re.search(r"\b(Write|write|Show)\b", state.guidance), state.name


def test_refining_is_counted_wherever_it_can_begin() -> None:
    for move in MACHINE.transitions:
        if move.target in REFINING:
            assert "refined fewer than 2 times" in move.when, move
            assert "count one more" in (move.guidance or MACHINE.states[move.target].guidance), move


def test_without_refining_and_tries_and_people_there_is_no_way_in_a_circle() -> None:
    """Every cycle is bounded: refining and a task at most twice, others only at the person's request."""
    free = {
        (move.source, move.target)
        for move in MACHINE.transitions
        if move.target not in REFINING
        and move.source != "check_task"
        and not re.match(rf"({ASKED})\b", move.when, re.IGNORECASE)
    }
    order: list[str] = []
    left = set(MACHINE.states)
    while ready := {name for name in left if not any((other, name) in free for other in left)}:
        order.extend(ready)
        left -= ready
    assert left == set()


def test_every_state_has_a_way_on_when_all_rounds_are_used() -> None:
    for name in MACHINE.states.keys() - REFINING:
        assert BOUNDARY in reached(name, without=REFINING), name


@pytest.mark.parametrize(
    "path",
    [
        ["initial_loaded", "*"],
        [
            "initial_loaded",
            "define_project",
            "validate_project",
            "create_project",
            "review_plan",
            "plan_ready",
            "*",
        ],
        [
            *("initial_loaded", "define_project", "validate_project", "refine_project", "validate_project"),
            *("create_project", "review_plan", "refine_tasks", "review_plan", "execution", "check_task"),
            *("execution", "check_task", "all_tasks_complete", "*"),
        ],
        [
            "initial_loaded",
            "continue_project",
            "execution",
            "blocked",
            "refine_tasks",
            "review_plan",
            "plan_ready",
            "*",
        ],
        ["initial_loaded", "define_project", "validate_project", "blocked", "*"],
    ],
)
def test_it_can_be_walked(path: list[str]) -> None:
    workflow = Workflow(TEXT, "PLANNER")
    for current, following in zip([BOUNDARY, *path], path, strict=False):
        result = workflow.transition(current, following)
        assert isinstance(result, Success), (current, following)
        assert result.ended == (following == BOUNDARY)
        assert result.ended or result.guidance


def test_work_cannot_begin_before_its_plan_was_reviewed() -> None:
    workflow = Workflow(TEXT, "PLANNER")
    for state in ("define_project", "validate_project", "create_project", "refine_tasks"):
        assert isinstance(workflow.transition(state, "execution"), Failure)


def test_a_way_round_has_guidance_of_its_own() -> None:
    workflow = Workflow(TEXT, "PLANNER")
    after_review = workflow.transition("review_plan", "refine_tasks")
    after_waiting = workflow.transition("blocked", "refine_tasks")
    assert isinstance(after_review, Success)
    assert isinstance(after_waiting, Success)
    assert after_review.guidance == MACHINE.states["refine_tasks"].guidance
    assert "way round" in after_waiting.guidance


def test_its_guidance_reads_the_same_when_states_are_hidden() -> None:
    """No name is also a word of the text: nothing that a person or a model needs turns into a token."""
    hidden = Obfuscator(bytes(range(32)), MACHINE).definition()
    for plain, covered in zip(MACHINE.transitions, hidden.transitions, strict=True):
        assert (covered.when, covered.guidance) == (plain.when, plain.guidance)

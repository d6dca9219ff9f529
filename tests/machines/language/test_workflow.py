"""Moves of a `.workflow` machine and their results."""

from __future__ import annotations

import pytest

from tideate_core.errors import InvalidWorkflowFile
from tideate_core.machines.language import (
    EXIT,
    Action,
    Failure,
    MachineDefinition,
    Success,
    Workflow,
    WorkflowState,
    parse,
)

TEXT = """\
* to idle:
  Wait.

: There is work
idle to busy:
  Work.

: All is done
idle to *

busy to idle
: It broke
busy to idle: Never used.
: Again
busy to busy: Work more.
"""


@pytest.fixture
def workflow() -> Workflow:
    return Workflow(TEXT, "worker")


IDLE = (Action("busy", "There is work"), Action("*", "All is done"))
BUSY = (Action("idle", ""), Action("busy", "Again"))


def success(
    state: str, following: str, guidance: str, actions: tuple[Action, ...], *, ended: bool
) -> Success:
    return Success(WorkflowState(state), WorkflowState(following), guidance, actions, ended=ended)


@pytest.mark.parametrize(
    ("current", "following", "expected"),
    [
        ("*", "idle", success("*", "idle", "Wait.", IDLE, ended=False)),
        ("idle", "busy", success("idle", "busy", "Work.", BUSY, ended=False)),
        ("busy", "busy", success("busy", "busy", "Work more.", BUSY, ended=False)),
        ("busy", "idle", success("busy", "idle", "Wait.", IDLE, ended=False)),
        ("idle", "*", success("idle", "*", "", (), ended=True)),
    ],
)
def test_an_allowed_move_tells_what_to_do_and_what_comes_next(
    workflow: Workflow, current: str, following: str, expected: Success
) -> None:
    assert workflow.transition(current, following) == expected
    assert expected.move == "success"


def test_a_move_that_is_not_allowed_tells_which_are(workflow: Workflow) -> None:
    assert workflow.transition("*", "busy") == Failure(
        "*", "no transition leads from '*' to 'busy' (allowed: 'idle')", (Action("idle", ""),)
    )
    assert workflow.transition("*", "busy").move == "failure"


def test_an_unknown_state_is_named_with_the_nearest_known(workflow: Workflow) -> None:
    refused = workflow.transition("idle", "bussy")
    assert refused == Failure("idle", "unknown state 'bussy'; did you mean 'busy'?", IDLE)
    assert workflow.transition("nowhere", "idle") == Failure("nowhere", "unknown state 'nowhere'", ())


def test_an_endless_name_is_cut_in_the_answer(workflow: Workflow) -> None:
    refused = workflow.transition("idle", "x" * 2**20)
    assert isinstance(refused, Failure)
    assert len(refused.message) < 200


def test_guidance_of_the_exit_is_what_the_move_says() -> None:
    result = Workflow("* to a\na to *: Say goodbye.").transition("a", "*")
    assert result == success("a", "*", "Say goodbye.", (), ended=True)


def test_valid_states_are_the_mentioned_ones_and_the_boundary(workflow: Workflow) -> None:
    assert [workflow.is_valid_state(s) for s in ("*", "idle", "busy", "Idle", "", EXIT)] == [
        True,
        True,
        True,
        False,
        False,
        False,
    ]


def test_actions_and_guidance_of_what_is_no_state_are_empty(workflow: Workflow) -> None:
    assert (workflow.valid_actions("idle"), workflow.valid_actions("nowhere")) == (IDLE, ())
    assert [workflow.guidance(state) for state in ("busy", "nowhere", "*")] == ["Work.", "", ""]


def test_a_definition_is_used_as_it_is(workflow: Workflow) -> None:
    definition: MachineDefinition = parse(TEXT, "worker").definition
    assert Workflow(definition).definition is definition
    assert (Workflow(definition).name, workflow.name) == ("worker", "worker")


def test_a_text_with_mistakes_is_refused_with_all_of_them() -> None:
    with pytest.raises(InvalidWorkflowFile, match=r"(?s)mine:1:3: error.*mine:2:1: error"):
        Workflow("a too b\n1 to c", "mine")


def test_the_table_has_every_state_and_a_distinct_end(workflow: Workflow) -> None:
    assert workflow.table() == {
        "*": {"idle": "idle"},
        "idle": {"busy": "busy", "*": EXIT},
        "busy": {"idle": "idle", "busy": "busy"},
        EXIT: {},
    }


def test_the_machine_walks_from_the_entry_to_the_end(workflow: Workflow) -> None:
    machine = workflow.machine()
    assert [machine.transition(event) for event in ("busy", "idle", "busy", "idle", "*")] == [
        False,
        True,
        True,
        True,
        True,
    ]
    assert machine.get_state() == EXIT
    assert machine.is_terminal()
    assert not machine.can_transition("idle")

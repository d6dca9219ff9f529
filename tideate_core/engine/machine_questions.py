"""Which states of a machine a person confirms before they are entered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tideate_core.engine.work import Question
from tideate_core.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tideate_core.workflows.machine_workflow import MachineWorkflow

__all__ = ["question_before", "states_to_confirm"]


def states_to_confirm(
    definition: MachineWorkflow, configured: Iterable[str], inputs: Mapping[str, Any]
) -> frozenset[str]:
    """Return the states by the names that the definition uses.

    What the run was given as `confirm` replaces the rest: a list, or names with commas between them. The
    configuration only adds to what the workflow asks for.

    :raises InvalidInput: a state is unknown; the nearest is named.
    """
    given = inputs.get("confirm")
    names = (*definition.confirm, *configured) if given is None else _listed(given)
    return frozenset(definition.state_named(name) for name in names)


def question_before(workflow: str, state: str, source: str | None, guidance: str) -> Question:
    """Return the question whether a run may enter a state.

    :param source: where it comes from, None at the start.
    """
    whence = f"from {source!r}" if source else "as its first state"
    return Question(f"{workflow}: enter the state {state!r} {whence}?", guidance)


def _listed(given: Any) -> list[str]:
    if isinstance(given, str):
        given = given.split(",")
    if not isinstance(given, list) or not all(isinstance(name, str) for name in given):
        raise InvalidInput("the input 'confirm' lists states: confirm=first_state,second_state")
    return [name.strip() for name in given if name.strip()]

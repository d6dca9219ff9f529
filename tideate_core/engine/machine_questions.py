"""Which states of a machine a person confirms before they are entered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tideate_core.engine.work import Question
from tideate_core.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tideate_core.machines.language import Transition
    from tideate_core.workflows import MachineWorkflow

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


def question_before(workflow: str, way: Transition, guidance: str, reason: str) -> Question:
    """Return the question whether a run may enter a state: why it would go there, and what to do there.

    :param reason: the model's, empty where it had no choice.
    """
    # here, because most runs need no language
    from tideate_core.machines.language import BOUNDARY

    whence = "as its first state" if way.source == BOUNDARY else f"from {way.source!r}"
    when = " ".join(way.when.split())
    why = {"when": when, "because": reason}
    details = [*(f"{word}: {text}" for word, text in why.items() if text), guidance]
    return Question(
        f"{workflow}: enter the state {way.target!r} {whence}?",
        "\n\n".join(filter(None, details)),
        {"from": way.source, "to": way.target, **why, "guidance": guidance},
    )


def _listed(given: Any) -> list[str]:
    if isinstance(given, str):
        given = given.split(",")
    if not isinstance(given, list) or not all(isinstance(name, str) for name in given):
        raise InvalidInput("the input 'confirm' lists states: confirm=first_state,second_state")
    return [name.strip() for name in given if name.strip()]

"""Legs of another application version: DBOS gives them only to workers of that version."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tideate_core.fleet.legs import VERSION

if TYPE_CHECKING:
    from dbos import WorkflowStatus

_UNFINISHED: Final = frozenset({"ENQUEUED", "DELAYED", "PENDING"})


def is_of_another_version(leg: WorkflowStatus) -> bool:
    """Tell whether a leg that has not ended was begun by workers of another version than this program."""
    return leg.status in _UNFINISHED and leg.app_version not in (None, "", VERSION)


def advice_on_version(leg: WorkflowStatus) -> str:
    """Return advice about a leg of another version; empty for other legs."""
    if not is_of_another_version(leg):
        return ""
    run = leg.workflow_id[:8]
    return (
        f"only workers of version {leg.app_version} continue this leg; if none runs any more, use "
        f"`tideate fleet cancel {run}` and then `tideate fleet retry {run}`"
    )

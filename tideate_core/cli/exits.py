"""Exit statuses, and which one an error is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tideate_core.errors import (
    DefinitionChanged,
    RunEnded,
    RunIsOwned,
    RunNotActive,
    SnapshotNotFound,
    StateError,
    StoreError,
    WorkspaceError,
)

if TYPE_CHECKING:
    from tideate_core.errors import TideateError

__all__ = ["DECLINED", "DONE", "FAILED", "INTERRUPTED", "USAGE", "status_of"]

DONE, FAILED, USAGE, DECLINED, INTERRUPTED = 0, 1, 2, 3, 130

_FAILURES: Final = (RunEnded, RunIsOwned, RunNotActive, StateError, StoreError, WorkspaceError)
"""What was asked for rightly and cannot be done."""


def status_of(error: TideateError) -> int:
    """Return the exit status of a command that ends with an error."""
    if isinstance(error, DefinitionChanged):
        return DECLINED
    if isinstance(error, SnapshotNotFound):
        return USAGE
    return FAILED if isinstance(error, _FAILURES) else USAGE

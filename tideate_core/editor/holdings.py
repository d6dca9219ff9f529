"""What a database of runs that were made elsewhere holds, told to Lua before it is trusted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tideate_core.store import identity
from tideate_core.store.database import FILE
from tideate_core.store.holdings import holdings

if TYPE_CHECKING:
    from pathlib import Path

    from tideate_core.store.holdings import Unfinished

__all__ = ["to_confirm"]


def to_confirm(path: Path) -> dict[str, Any] | None:
    """Return what a person is to say yes to; None for what is no database, or is trusted already.

    :raises StoreError: it cannot be read.
    """
    if path.name != FILE or not path.is_file() or identity.is_ours(path.parent):
        return None
    held = holdings(path)
    return {
        "path": str(path),
        "states": [{"state": state, "count": count} for state, count in held.states.items()],
        "first": held.first,
        "last": held.last,
        "unfinished": [_shape(one) for one in held.unfinished],
        "more": held.more,
    }


def _shape(one: Unfinished) -> dict[str, Any]:
    run = one.run
    return {
        "execution_id": run.id,
        "name": run.name,
        "parent": run.parent,
        "state": one.state,
        "completed_steps": run.completed_steps,
        "total_steps": run.total_steps,
        "answers": one.answers,
        "prompt": " ".join(run.prompt.split()),
    }

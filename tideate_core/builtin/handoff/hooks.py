"""Hooks of the handoff: the last state that a run leaves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.builtin.handoff import HANDOFF
from tideate_core.engine import DriverHooks

if TYPE_CHECKING:
    from tideate_core.engine import Execution
    from tideate_core.project import Documents
    from tideate_core.store import Ending

__all__ = ["HandoffHooks"]


class HandoffHooks(DriverHooks):
    """Hooks of the workflow `handoff`."""

    name = HANDOFF

    def conclude(self, execution: Execution, ending: Ending, documents: Documents) -> None:
        # here, because few runs are handoffs
        from tideate_core.builtin.handoff.files import FILES, write_json
        from tideate_core.builtin.handoff.progress import last_state

        why = "" if ending.status == "completed" else ending.error or f"it was {ending.reason or 'cancelled'}"
        if (state := last_state(execution.id, execution.results, why)) is not None:
            write_json(documents, FILES["state"].path, state)

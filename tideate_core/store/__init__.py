"""What runs leave behind: the database `tideate.db` and files beside it. Only this room speaks SQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.util.lazy import exports

if TYPE_CHECKING:
    from tideate_core.store.database import FILE
    from tideate_core.store.earlier import is_own_database
    from tideate_core.store.gates import GateCount, GateLedger, GateOutcome
    from tideate_core.store.log import RunLog
    from tideate_core.store.objects import DEPTH, definition_hash, is_deeper
    from tideate_core.store.reader import Reader
    from tideate_core.store.records import (
        CheckpointRow,
        Definition,
        Ending,
        EventRow,
        Graph,
        Lease,
        MetricsRow,
        NewRun,
        RunRow,
        Status,
        StepOutcome,
        StepRow,
        StepStart,
        StepStatus,
        Tokens,
        Wish,
    )
    from tideate_core.store.retention import Pruned, Retention
    from tideate_core.store.standing import MOST_UNFINISHED, State, last_given, resumable, state_of
    from tideate_core.store.store import Store

__all__ = [
    "CheckpointRow",
    "DEPTH",
    "Definition",
    "Ending",
    "EventRow",
    "FILE",
    "GateCount",
    "GateLedger",
    "GateOutcome",
    "Graph",
    "Lease",
    "MOST_UNFINISHED",
    "MetricsRow",
    "NewRun",
    "Pruned",
    "Reader",
    "Retention",
    "RunLog",
    "RunRow",
    "State",
    "Status",
    "StepOutcome",
    "StepRow",
    "StepStart",
    "StepStatus",
    "Store",
    "Tokens",
    "Wish",
    "definition_hash",
    "is_deeper",
    "is_own_database",
    "last_given",
    "resumable",
    "state_of",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = exports(
        __name__,
        {
            "database": ("FILE",),
            "earlier": ("is_own_database",),
            "gates": (
                "GateCount",
                "GateLedger",
                "GateOutcome",
            ),
            "log": ("RunLog",),
            "objects": (
                "DEPTH",
                "definition_hash",
                "is_deeper",
            ),
            "reader": ("Reader",),
            "records": (
                "CheckpointRow",
                "Definition",
                "Ending",
                "EventRow",
                "Graph",
                "Lease",
                "MetricsRow",
                "NewRun",
                "RunRow",
                "Status",
                "StepOutcome",
                "StepRow",
                "StepStart",
                "StepStatus",
                "Tokens",
                "Wish",
            ),
            "retention": (
                "Pruned",
                "Retention",
            ),
            "standing": (
                "MOST_UNFINISHED",
                "State",
                "last_given",
                "resumable",
                "state_of",
            ),
            "store": ("Store",),
        },
    )

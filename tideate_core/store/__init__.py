"""What runs leave behind: the database `tideate.db` and files beside it. Only this room speaks SQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.lazy import exports

if TYPE_CHECKING:
    from tideate_core.store.gates import GateCount, GateLedger, GateOutcome
    from tideate_core.store.log import RunLog
    from tideate_core.store.objects import definition_hash
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
    from tideate_core.store.store import Store

__all__ = [
    "CheckpointRow",
    "Definition",
    "Ending",
    "EventRow",
    "GateCount",
    "GateLedger",
    "GateOutcome",
    "Graph",
    "Lease",
    "MetricsRow",
    "NewRun",
    "Pruned",
    "Reader",
    "Retention",
    "RunLog",
    "RunRow",
    "Status",
    "StepOutcome",
    "StepRow",
    "StepStart",
    "StepStatus",
    "Store",
    "Tokens",
    "Wish",
    "definition_hash",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = exports(
        __name__,
        {
            "gates": ("GateCount", "GateLedger", "GateOutcome"),
            "log": ("RunLog",),
            "objects": ("definition_hash",),
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
            "retention": ("Pruned", "Retention"),
            "store": ("Store",),
        },
    )

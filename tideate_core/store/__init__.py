"""Durable record of runs: the database `tideate.db` and files beside it. Only this room speaks SQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.util.lazy import exports

if TYPE_CHECKING:
    from tideate_core.store.database import FILE
    from tideate_core.store.gate_ledger import GateLedger
    from tideate_core.store.log import RunLog
    from tideate_core.store.objects import DEPTH, is_deeper
    from tideate_core.store.reader import MOST_UNFINISHED, Reader, resumable_runs
    from tideate_core.store.records import (
        CheckpointRow,
        ControlRequest,
        Definition,
        Ending,
        EventRow,
        GateCount,
        GateOutcome,
        Graph,
        Lease,
        MetricsRow,
        NewRun,
        RunRow,
        State,
        Status,
        StepOutcome,
        StepRow,
        StepStart,
        Tokens,
        last_result_value,
        state_of,
    )
    from tideate_core.store.retention import Pruned, Retention
    from tideate_core.store.schema import is_own_database
    from tideate_core.store.store import Store

__all__ = [
    "DEPTH",
    "FILE",
    "MOST_UNFINISHED",
    "CheckpointRow",
    "ControlRequest",
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
    "State",
    "Status",
    "StepOutcome",
    "StepRow",
    "StepStart",
    "Store",
    "Tokens",
    "is_deeper",
    "is_own_database",
    "last_result_value",
    "resumable_runs",
    "state_of",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = exports(
        __name__,
        {
            "database": ("FILE",),
            "gate_ledger": ("GateLedger",),
            "log": ("RunLog",),
            "objects": (
                "DEPTH",
                "is_deeper",
            ),
            "reader": (
                "MOST_UNFINISHED",
                "Reader",
                "resumable_runs",
            ),
            "records": (
                "CheckpointRow",
                "ControlRequest",
                "Definition",
                "Ending",
                "EventRow",
                "GateCount",
                "GateOutcome",
                "Graph",
                "Lease",
                "MetricsRow",
                "NewRun",
                "RunRow",
                "State",
                "Status",
                "StepOutcome",
                "StepRow",
                "StepStart",
                "Tokens",
                "last_result_value",
                "state_of",
            ),
            "retention": (
                "Pruned",
                "Retention",
            ),
            "schema": ("is_own_database",),
            "store": ("Store",),
        },
    )

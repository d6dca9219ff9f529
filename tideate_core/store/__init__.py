"""Database of runs: SQLite `tideate.db` and files beside it. No other package uses SQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.util.lazy import exports

if TYPE_CHECKING:
    from tideate_core.store.database import FILE as FILE
    from tideate_core.store.gate_ledger import GateLedger as GateLedger
    from tideate_core.store.id_prefix import LAST as LAST
    from tideate_core.store.leases import TAKEOVER_AFTER as TAKEOVER_AFTER
    from tideate_core.store.log import RunLog as RunLog
    from tideate_core.store.objects import (
        DEPTH as DEPTH,
        column_text as column_text,
        is_deeper as is_deeper,
    )
    from tideate_core.store.portable_runs import (
        NULL as NULL,
        RUN as RUN,
        TABLES as TABLES,
        RunRows as RunRows,
        export_rows as export_rows,
        import_rows as import_rows,
    )
    from tideate_core.store.reader import (
        MOST_UNFINISHED as MOST_UNFINISHED,
        Reader as Reader,
        resumable_runs as resumable_runs,
    )
    from tideate_core.store.records import (
        CheckpointRow as CheckpointRow,
        ControlRequest as ControlRequest,
        CostRow as CostRow,
        Definition as Definition,
        Ending as Ending,
        EventRow as EventRow,
        Fork as Fork,
        GateCount as GateCount,
        GateOutcome as GateOutcome,
        Graph as Graph,
        Lease as Lease,
        Message as Message,
        MetricsRow as MetricsRow,
        NewRun as NewRun,
        RunRow as RunRow,
        State as State,
        Status as Status,
        StepOutcome as StepOutcome,
        StepRow as StepRow,
        StepStart as StepStart,
        StepStatus as StepStatus,
        Tokens as Tokens,
        last_result_value as last_result_value,
        state_of as state_of,
        state_word as state_word,
    )
    from tideate_core.store.retention import Pruned as Pruned, Retention as Retention
    from tideate_core.store.store import Store as Store
else:
    __getattr__, __dir__, __all__ = exports(__name__)

"""Ledger of gate decisions: counts by gate and day, across all runs of a project."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from tideate_core.store.records import GateCount, GateOutcome
    from tideate_core.store.store import Store
    from tideate_core.store.transaction import Transaction

_ADD: Final = (
    "INSERT INTO gate_statistics"
    " (gate, date, passed, failed, auto_fixed, total_duration, longest_duration, last_at)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (gate, date) DO UPDATE SET passed = passed + excluded.passed,"
    " failed = failed + excluded.failed, auto_fixed = auto_fixed + excluded.auto_fixed,"
    " total_duration = total_duration + excluded.total_duration,"
    " longest_duration = MAX(longest_duration, excluded.longest_duration),"
    " last_at = MAX(last_at, excluded.last_at)"
)


class GateLedger:
    """Counts gate decisions in a store.

    :param open_store: returns the store; called with each decision.
    """

    def __init__(self, open_store: Callable[[], Awaitable[Store]]) -> None:
        self._open_store = open_store

    async def record(self, outcome: GateOutcome) -> None:
        """Count a decision; durable when this returns.

        :raises StoreError: it could not be written.
        """
        await (await self._open_store()).write(partial(_count_decision, outcome=outcome))

    async def counts(self, *, days: int | None = None) -> list[GateCount]:
        """Return the counts by gate; a gate without decisions is missing.

        :param days: number of days (UTC) including today; None: all.
        :raises StoreError: it cannot be read.
        """
        reader = (await self._open_store()).reader()
        return await asyncio.to_thread(reader.gates, days=days)


def _count_decision(transaction: Transaction, outcome: GateOutcome) -> None:
    """Count a decision on its day (UTC)."""
    day = datetime.fromtimestamp(outcome.at / 1000, UTC).date().isoformat()
    passed, fixed = int(outcome.passed), int(outcome.passed and outcome.auto_fixed)
    values = (outcome.duration_ms, outcome.duration_ms, outcome.at)
    transaction.execute(_ADD, (outcome.gate, day, passed, 1 - passed, fixed, *values))

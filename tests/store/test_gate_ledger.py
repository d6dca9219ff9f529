"""Counts of gate decisions across runs and processes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.store.past import DAY, NOON
from tideate_core.errors import InvalidInput, StoreError
from tideate_core.store import GateCount, GateLedger, GateOutcome, Store

if TYPE_CHECKING:
    from pathlib import Path


def ledger_of(store: Store) -> GateLedger:
    async def opened() -> Store:
        return store

    return GateLedger(opened)


async def test_decisions_add_up_by_gate(store: Store) -> None:
    ledger = ledger_of(store)
    await ledger.record(GateOutcome(2, True, True, 10, NOON))
    await ledger.record(GateOutcome(2, True, False, 40, NOON + DAY))
    await ledger.record(GateOutcome(2, False, True, 20, NOON + DAY - 1))
    await ledger.record(GateOutcome(5, False, False, 7, NOON))
    assert await ledger.counts() == [
        GateCount(2, passed=2, failed=1, auto_fixed=1, total_ms=70, longest_ms=40, last_at=NOON + DAY),
        GateCount(5, passed=0, failed=1, auto_fixed=0, total_ms=7, longest_ms=7, last_at=NOON),
    ]


async def test_only_the_last_days_are_told_where_that_is_asked(store: Store) -> None:
    ledger = ledger_of(store)
    await ledger.record(GateOutcome(1, True, False, 1, NOON))  # years ago
    assert await ledger.counts(days=2) == []
    assert len(await ledger.counts()) == 1
    with pytest.raises(InvalidInput, match="days are none"):
        await ledger.counts(days=0)


async def test_a_gate_that_is_none_is_refused_and_nothing_is_counted(store: Store) -> None:
    ledger = ledger_of(store)
    with pytest.raises(StoreError):
        await ledger.record(GateOutcome(6, True, False, 1, NOON))
    assert await ledger.counts() == []


async def test_where_no_store_is_there_was_no_decision(private: Path) -> None:
    from tideate_core.store import Reader

    assert Reader(private).gates() == []

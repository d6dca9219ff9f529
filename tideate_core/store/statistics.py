"""Records of statistics: runs and costs by day, decisions of gates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tideate_core.store.records import Tokens

__all__ = ["CostRow", "GateCount", "GateOutcome", "MetricsRow"]


@dataclass(frozen=True, slots=True)
class MetricsRow:
    """Counts of a workflow's runs on one day (UTC), maintained by triggers."""

    workflow_id: str
    name: str
    date: str
    total: int
    successful: int
    failed: int
    avg_duration_ms: float | None
    avg_steps_completed: float | None
    checkpoints: int
    last_executed_at: int | None


@dataclass(frozen=True, slots=True)
class CostRow:
    """Answers of one model on one day (UTC)."""

    date: str
    model: str
    runs: int
    answers: int
    tokens: Tokens
    unpriced: int
    """Answers of unknown price."""


@dataclass(frozen=True, slots=True)
class GateOutcome:
    """One decision of one gate."""

    gate: int
    passed: bool
    auto_fixed: bool
    duration_ms: int
    at: int
    """Milliseconds since the epoch."""


@dataclass(frozen=True, slots=True)
class GateCount:
    """Counts of one gate's decisions."""

    gate: int
    passed: int = 0
    failed: int = 0
    auto_fixed: int = 0
    """Included in `passed`."""
    total_ms: int = 0
    longest_ms: int = 0
    last_at: int = 0
    """Milliseconds since the epoch."""

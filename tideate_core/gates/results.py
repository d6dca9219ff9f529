"""What a gate says."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, Field

from tideate_core.gates.report import VerificationReport  # noqa: TC001 pydantic needs it
from tideate_core.store import GateCount

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["GateIssue", "GateResult", "GateStats"]


class GateIssue(BaseModel):
    """What is wrong, and where."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    what: str
    where: str = ""
    """For a person: ``step 2``, ``tests``; of a file its path, with the line where there is one."""
    file: str = ""
    """Relative to the root; empty if it is not about a file."""
    line: int | None = None
    """1-based."""

    def __str__(self) -> str:
        return f"{self.where}: {self.what}" if self.where else self.what

    @classmethod
    def at(cls, file: str, line: int | None, what: str) -> GateIssue:
        """Make an issue of a place in a file."""
        return cls(what=what, where=f"{file}:{line}" if line else file, file=file, line=line)


class GateResult(BaseModel):
    """A gate's decision; serializable, as it goes into events and checkpoints."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    gate: int
    passed: bool
    issues: list[GateIssue] = Field(default_factory=list)
    """Why it failed; of a gate that passed, what it let pass."""
    auto_fixed: bool = False
    """Passed on the condition that the audit's fixes are made in the plan."""
    report: VerificationReport | None = None
    """Of gate 5."""
    duration_ms: int = 0


@dataclass(frozen=True, slots=True)
class GateStats:
    """How often each gate passed and failed."""

    gates: dict[int, GateCount] = field(default_factory=dict)
    """All five, those that never decided too."""

    @classmethod
    def of(cls, counts: Iterable[GateCount]) -> GateStats:
        """Make statistics of what was counted."""
        known = {count.gate: count for count in counts}
        return cls({gate: known.get(gate, GateCount(gate)) for gate in range(1, 6)})

    @property
    def passed(self) -> int:
        """Of all gates."""
        return sum(count.passed for count in self.gates.values())

    @property
    def failed(self) -> int:
        """Of all gates."""
        return sum(count.failed for count in self.gates.values())

    def pass_rate(self, gate: int) -> float | None:
        """Return the share of a gate's decisions that passed, None if it never decided."""
        count = self.gates[gate]
        total = count.passed + count.failed
        return count.passed / total if total else None

    def average_ms(self, gate: int) -> float | None:
        """Return how long a gate takes, in milliseconds, None if it never decided."""
        count = self.gates[gate]
        total = count.passed + count.failed
        return count.total_ms / total if total else None

"""Results of stages, and doubles of the gates' collaborators."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.gates import CheckResult, CheckStatus, ExecutionPlan, PlanStep, VerificationReport
from tideate_core.toolchain import Check, Failure

if TYPE_CHECKING:
    from tideate_core.errors import StoreError
    from tideate_core.store import GateCount, GateOutcome

__all__ = ["PLAN", "Ledger", "Verifier", "failed", "report"]

PLAN = ExecutionPlan(
    objective="add a function that adds",
    steps=[PlanStep(type="edit", description="write it", files=["a.py"])],
    files=["a.py"],
    rollback_strategy="put the files back",
)


def failed(check: Check, *messages: str, line: int = 3, output: str = "") -> CheckResult:
    """A check that ran and found these."""
    return CheckResult(
        check=check,
        status=CheckStatus.FAILED,
        exit_code=1,
        reason="ended with status 1",
        output=output,
        failures=[Failure("a.py", line, None, message) for message in messages],
    )


def report(*results: CheckResult, **statuses: CheckStatus) -> VerificationReport:
    """All five checks, passed where nothing else is said."""
    given = {result.check: result for result in results}
    for name, status in statuses.items():
        check = Check(name)
        given[check] = (
            failed(check, "bad") if status == CheckStatus.FAILED else CheckResult(check=check, status=status)
        )
    passed = [CheckResult(check=check, status=CheckStatus.PASSED, exit_code=0) for check in Check]
    return VerificationReport(checks=[given.get(result.check, result) for result in passed])


class Verifier:
    """Gives these reports, one after the other; the last one again."""

    def __init__(self, *reports: VerificationReport) -> None:
        self._reports = list(reports) or [report()]
        self.runs = 0

    async def run_all(self) -> VerificationReport:
        self.runs += 1
        return self._reports[min(self.runs, len(self._reports)) - 1]


class Ledger:
    """A store that cannot be written."""

    def __init__(self, error: StoreError) -> None:
        self._error = error

    async def record(self, outcome: GateOutcome) -> None:
        raise self._error

    async def counts(self) -> list[GateCount]:
        raise self._error

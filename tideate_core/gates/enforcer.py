"""The five gates of a task: decide at the end of each stage whether it goes on, and count."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

from pydantic import ValidationError

from tideate_core.errors import InvalidInput, StoreError
from tideate_core.gates.results import GateIssue, GateResult, GateStats, VerificationReport
from tideate_core.gates.stage_issues import (
    audit_issues,
    documentation_issues,
    execution_issues,
    is_accepted,
    plan_issues,
)
from tideate_core.gates.stage_results import (
    Approval,
    AuditReport,
    DocumentationResult,
    ExecutionPlan,
    TaskResult,
)
from tideate_core.store import GateCount, GateOutcome

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from tideate_core.gates.documents import DocumentValidator
    from tideate_core.gates.results import Verifier
    from tideate_core.gates.views import FilesView

__all__ = ["GateEnforcer", "Ledger"]

GateInput: TypeAlias = ExecutionPlan | AuditReport | TaskResult | DocumentationResult | VerificationReport

INPUTS: Final[dict[int, type[GateInput]]] = {
    1: ExecutionPlan,
    2: AuditReport,
    3: TaskResult,
    4: DocumentationResult,
    5: VerificationReport,
}
"""The input of each gate."""

log = logging.getLogger(__name__)


class Ledger(Protocol):
    """Counts of decisions across runs: `store.GateLedger`."""

    async def record(self, outcome: GateOutcome) -> None:
        """Count a decision."""

    async def counts(self) -> list[GateCount]:
        """Return what was counted, by gate."""


class GateEnforcer:
    """Decides at the end of each stage whether a task goes on.

    A gate never changes a file. What it says of documents and syntax is about what is new: mistakes that
    were there before the task are not the task's.

    :param pipeline: gate 5's.
    :param ledger: where decisions are counted; None: they are counted as long as this object lives.
    :param resolve: raises OutsideRoot for a path that may not be written; as `Workspace.resolve`.
    :param max_replans: how many plans of a task the audit may reject before gate 1 takes no further one.
    """

    def __init__(
        self,
        validator: DocumentValidator,
        pipeline: Verifier,
        *,
        ledger: Ledger | None = None,
        resolve: Callable[[str], Path] | None = None,
        max_replans: int = 2,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._validator = validator
        self._pipeline = pipeline
        self._ledger = ledger
        self._resolve = resolve
        self._max_replans = max_replans
        self._clock = clock
        self._counts: dict[int, GateCount] = {}

    async def enforce_gate1(self, plan: ExecutionPlan, *, rejected_plans: int = 0) -> GateResult:
        """Decide on a plan: objective, steps with type and description, rollback strategy, files.

        :param rejected_plans: how many plans of this task the audit has rejected.
        """

        async def decide() -> GateResult:
            issues = plan_issues(plan, self._resolve)
            if rejected_plans >= self._max_replans:
                what = (
                    f"the audit has rejected {rejected_plans} plans of this task; say more of what you want"
                )
                issues.append(GateIssue(what=what, where="plan"))
            return GateResult(gate=1, passed=not issues, issues=issues)

        return await self._enforce(1, decide)

    async def enforce_gate2(self, audit: AuditReport, plan: ExecutionPlan | None = None) -> GateResult:
        """Decide on an audit: approved, or on conditions that can be met by the fixes that it gives.

        :param plan: that was audited: a fix of a step that it does not have counts for nothing.
        """

        async def decide() -> GateResult:
            passed = is_accepted(audit, plan)
            fixed = passed and audit.approval == Approval.CONDITIONAL
            return GateResult(gate=2, passed=passed, issues=audit_issues(audit, plan), auto_fixed=fixed)

        return await self._enforce(2, decide)

    async def enforce_gate3(self, result: TaskResult, view: FilesView) -> GateResult:
        """Decide on an execution: no errors, files as it says, no new syntax errors."""

        async def decide() -> GateResult:
            issues = await execution_issues(result, view)
            return GateResult(gate=3, passed=not issues, issues=issues)

        return await self._enforce(3, decide)

    async def enforce_gate4(self, docs: DocumentationResult, view: FilesView) -> GateResult:
        """Decide on the documentation: changelog and checklist in order and telling of the task.

        :raises OutsideRoot: a document is one that a workflow never touches.
        """

        async def decide() -> GateResult:
            issues = await documentation_issues(docs, view, self._validator)
            return GateResult(gate=4, passed=not issues, issues=issues)

        return await self._enforce(4, decide)

    async def enforce_gate5(self, report: VerificationReport | None = None) -> GateResult:
        """Decide on the verification: all five checks passed, or are turned off in the configuration.

        :param report: of a verification that has run; None: it runs now.
        :raises ConfigError: what is trusted cannot be read.
        """

        async def decide() -> GateResult:
            found = report or await self._pipeline.run_all()
            return GateResult(gate=5, passed=found.passed, issues=_of_report(found), report=found)

        return await self._enforce(5, decide)

    async def enforce_gate(
        self, number: int, given: Any = None, *, view: FilesView | None = None, rejected_plans: int = 0
    ) -> GateResult:
        """Call a gate by its number.

        :param given: what that gate is given, as its model or as what that can be made of.
        :param view: for gates 3 and 4.
        :param rejected_plans: for gate 1.
        :raises InvalidInput: there is no such gate, or this is not what it is given.
        """
        value = _as_input(number, given)
        if isinstance(value, ExecutionPlan):
            return await self.enforce_gate1(value, rejected_plans=rejected_plans)
        if isinstance(value, AuditReport):
            return await self.enforce_gate2(value)
        if isinstance(value, TaskResult | DocumentationResult):
            if view is None:
                raise InvalidInput(f"gate {number} looks at files; give it a view of them")
            if isinstance(value, TaskResult):
                return await self.enforce_gate3(value, view)
            return await self.enforce_gate4(value, view)
        return await self.enforce_gate5(value)

    async def get_gate_statistics(self) -> GateStats:
        """Return how often each gate passed and failed, in all runs if a ledger keeps that.

        :raises StoreError: it cannot be read.
        """
        return GateStats.of(self._counts.values() if self._ledger is None else await self._ledger.counts())

    async def _enforce(self, gate: int, decide: Callable[[], Awaitable[GateResult]]) -> GateResult:
        begin = time.monotonic()
        try:
            decided = await decide()
        except Exception:
            log.warning("gate %d could not decide", gate, exc_info=True)
            raise
        result = decided.model_copy(update={"duration_ms": round((time.monotonic() - begin) * 1000)})
        word = "passed" if result.passed else "failed"
        log.info("gate %d %s in %d ms, issues: %d", gate, word, result.duration_ms, len(result.issues))
        await self._count(result)
        return result

    async def _count(self, result: GateResult) -> None:
        at = round(self._clock() * 1000)
        outcome = GateOutcome(result.gate, result.passed, result.auto_fixed, result.duration_ms, at)
        if self._ledger is None:
            self._counts[result.gate] = _added(self._counts.get(result.gate, GateCount(result.gate)), outcome)
            return
        try:
            await self._ledger.record(outcome)
        except StoreError as error:
            # a decision is not worth less because nobody could count it
            log.warning("gate %d was not counted: %s", result.gate, error)


def _added(count: GateCount, outcome: GateOutcome) -> GateCount:
    return GateCount(
        count.gate,
        count.passed + outcome.passed,
        count.failed + (not outcome.passed),
        count.auto_fixed + (outcome.passed and outcome.auto_fixed),
        count.total_ms + outcome.duration_ms,
        max(count.longest_ms, outcome.duration_ms),
        max(count.last_at, outcome.at),
    )


def _as_input(number: int, given: Any) -> GateInput | None:
    model = INPUTS.get(number)
    if model is None:
        raise InvalidInput(f"there is no gate {number}; the gates are 1 to 5")
    if number == 5 and given is None:
        return None
    try:
        return model.model_validate(given)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise InvalidInput(
            f"gate {number} is given {model.__name__}, and this is none: {where or 'it'}: {first['msg']}"
        ) from error


def _of_report(report: VerificationReport) -> list[GateIssue]:
    issues = []
    for result in report.checks:
        if result.passed:
            continue
        issues.append(GateIssue(what=f"{result.status}: {result.reason}", where=str(result.check)))
        issues += [
            GateIssue(what=str(failure), where=str(result.check), file=failure.file, line=failure.line)
            for failure in result.failures
        ]
    return issues

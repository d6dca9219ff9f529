"""The five gates of a task: decide after each stage whether it continues, and count decisions."""

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
    from tideate_core.gates.views import StagedView

GateInput: TypeAlias = ExecutionPlan | AuditReport | TaskResult | DocumentationResult | VerificationReport

INPUTS: Final[dict[int, type[GateInput]]] = {
    1: ExecutionPlan,
    2: AuditReport,
    3: TaskResult,
    4: DocumentationResult,
    5: VerificationReport,
}
"""Type of each gate's input."""

log = logging.getLogger(__name__)


class Ledger(Protocol):
    """Counts of decisions across runs, such as `store.GateLedger`."""

    async def record(self, outcome: GateOutcome) -> None:
        """Count a decision."""

    async def counts(self) -> list[GateCount]:
        """Return the counts by gate."""


class GateEnforcer:
    """Decides after each stage whether a task continues.

    A gate never changes a file. Its checks of documents and syntax report new mistakes only; mistakes from
    before the task are ignored.

    :param pipeline: verifier of gate 5.
    :param ledger: stores the counts; None: counts last as long as this object.
    :param resolve: raises OutsideRoot for a path that may not be written, as `Workspace.resolve` does.
    :param max_replans: plans of a task that the audit may reject before gate 1 accepts no more.
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

        :param rejected_plans: number of plans of this task that the audit has rejected.
        """

        async def decide() -> list[GateIssue]:
            issues = plan_issues(plan, self._resolve)
            if rejected_plans >= self._max_replans:
                what = (
                    f"the audit has rejected {rejected_plans} plans of this task; describe it in more detail"
                )
                issues.append(GateIssue(what=what, where="plan"))
            return issues

        return await self._enforce(1, decide())

    async def enforce_gate2(self, audit: AuditReport, plan: ExecutionPlan | None = None) -> GateResult:
        """Decide on an audit: approved, or approved with fixes that can be applied.

        :param plan: the audited plan; a fix of a step that it does not have is ignored.
        """

        async def decide() -> GateResult:
            passed = is_accepted(audit, plan)
            fixed = passed and audit.approval == Approval.CONDITIONAL
            return GateResult(gate=2, passed=passed, issues=audit_issues(audit, plan), auto_fixed=fixed)

        return await self._enforce(2, decide())

    async def enforce_gate3(self, result: TaskResult, view: StagedView) -> GateResult:
        """Decide on an execution: no errors, files as reported, no new syntax errors."""
        return await self._enforce(3, execution_issues(result, view))

    async def enforce_gate4(self, docs: DocumentationResult, view: StagedView) -> GateResult:
        """Decide on the documentation: valid changelog and checklist with entries of the task.

        :raises OutsideRoot: a document is outside the project or protected.
        """
        return await self._enforce(4, documentation_issues(docs, view, self._validator))

    async def enforce_gate5(self, report: VerificationReport | None = None) -> GateResult:
        """Decide on the verification: each of the five checks passed or is turned off.

        :param report: an earlier verification; None: verify now.
        :raises ConfigError: the record of trusted files cannot be read.
        """

        async def decide() -> GateResult:
            found = report or await self._pipeline.run_all()
            return GateResult(gate=5, passed=found.passed, issues=_of_report(found), report=found)

        return await self._enforce(5, decide())

    async def enforce_gate(
        self, number: int, given: Any = None, *, view: StagedView | None = None, rejected_plans: int = 0
    ) -> GateResult:
        """Decide at a gate chosen by number.

        :param given: the gate's input, as its model or as data that can be converted to it.
        :param view: files, for gates 3 and 4.
        :param rejected_plans: number of rejected plans, for gate 1.
        :raises InvalidInput: there is no such gate, or its input is of another type.
        """
        value = _as_input(number, given)
        if isinstance(value, ExecutionPlan):
            return await self.enforce_gate1(value, rejected_plans=rejected_plans)
        if isinstance(value, AuditReport):
            return await self.enforce_gate2(value)
        if isinstance(value, TaskResult | DocumentationResult):
            if view is None:
                raise InvalidInput(f"gate {number} needs a view of the files")
            if isinstance(value, TaskResult):
                return await self.enforce_gate3(value, view)
            return await self.enforce_gate4(value, view)
        return await self.enforce_gate5(value)

    async def get_gate_statistics(self) -> GateStats:
        """Return how often each gate passed and failed; of all runs if there is a ledger.

        :raises StoreError: the counts cannot be read.
        """
        return GateStats.of(self._counts.values() if self._ledger is None else await self._ledger.counts())

    async def _enforce(self, gate: int, decide: Awaitable[GateResult | list[GateIssue]]) -> GateResult:
        """Await a decision, or issues that each fail the gate; log and count the result."""
        begin = time.monotonic()
        try:
            decided = await decide
        except Exception:
            log.warning("gate %d could not decide", gate, exc_info=True)
            raise
        if isinstance(decided, list):
            decided = GateResult(gate=gate, passed=not decided, issues=decided)
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
            # a decision stays valid even if it cannot be counted
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
            f"gate {number} needs an input of type {model.__name__}; {where or 'this one'}: {first['msg']}"
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

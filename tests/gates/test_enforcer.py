"""Gate 5, gates by number, and statistics."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import pytest

from tests.harness.gates import PLAN, Ledger, Verifier, report
from tideate_core.errors import InvalidInput, StoreError
from tideate_core.gates import (
    Approval,
    AuditReport,
    CheckStatus,
    DocumentValidator,
    ExecutionPlan,
    GateEnforcer,
    PlanFix,
    TaskResult,
)
from tideate_core.store import GateCount, GateLedger, Store
from tideate_core.toolchain import Check

FIX = PlanFix(step=1, description="add a test")

if TYPE_CHECKING:
    from pathlib import Path

    from tests.gates.conftest import Disk
    from tideate_core.workspace import Workspace


async def test_gate_5_says_which_checks_failed_and_where(workspace: Workspace) -> None:
    found = report(tests=CheckStatus.FAILED, build=CheckStatus.NOT_CONFIGURED)
    gates = GateEnforcer(DocumentValidator(), Verifier(found))
    result = await gates.enforce_gate5()
    assert not result.passed
    assert result.report == found
    assert [issue.where for issue in result.issues] == ["tests", "tests", "build"]
    assert (result.issues[1].file, result.issues[1].line) == ("a.py", 3)


async def test_gate_5_decides_on_a_report_that_is_there_without_verifying_again() -> None:
    verifier = Verifier()
    gates = GateEnforcer(DocumentValidator(), verifier)
    assert (await gates.enforce_gate5(report())).passed
    assert verifier.runs == 0


async def test_gates_are_called_by_number_with_models_or_what_makes_them(
    gates: GateEnforcer, disk: Disk
) -> None:
    results = [
        await gates.enforce_gate(1, PLAN.model_dump()),
        await gates.enforce_gate(1, PLAN, rejected_plans=2),
        await gates.enforce_gate(2, {"approval": "approved"}),
        await gates.enforce_gate(3, TaskResult(), view=disk()),
        await gates.enforce_gate(4, {"success": True}, view=disk()),
        await gates.enforce_gate(5),
        await gates.enforce_gate(5, report(lint=CheckStatus.FAILED)),
    ]
    assert [(r.gate, r.passed) for r in results] == [
        (1, True),
        (1, False),
        (2, True),
        (3, True),
        (4, True),
        (5, True),
        (5, False),
    ]


@pytest.mark.parametrize(
    ("number", "given", "said"),
    [
        (0, None, "there is no gate 0; the gates are 1 to 5"),
        (6, PLAN, "there is no gate 6"),
        (1, None, "gate 1 needs an input of type ExecutionPlan"),
        (2, PLAN, "gate 2 needs an input of type AuditReport"),
        (2, {"approval": "maybe"}, "approval: Input should be 'approved', 'conditional' or 'rejected'"),
        (1, {"objective": 3}, "objective"),
        (3, TaskResult(), "needs a view of the files"),
    ],
)
async def test_what_is_no_input_of_a_gate_is_refused_and_not_counted(
    gates: GateEnforcer, number: int, given: Any, said: str
) -> None:
    with pytest.raises(InvalidInput, match=said):
        await gates.enforce_gate(number, given)
    assert (await gates.get_gate_statistics()).failed == 0


async def test_decisions_are_counted_and_told(gates: GateEnforcer, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "tideate_core.gates")
    await gates.enforce_gate1(PLAN)
    await gates.enforce_gate1(ExecutionPlan())
    await gates.enforce_gate2(AuditReport(approval=Approval.CONDITIONAL, auto_fixable=True, fixes=[FIX]))
    stats = await gates.get_gate_statistics()
    assert list(stats.gates) == [1, 2, 3, 4, 5]
    assert (stats.gates[1].passed, stats.gates[1].failed, stats.gates[2].auto_fixed) == (1, 1, 1)
    assert (stats.passed, stats.failed) == (2, 1)
    assert (stats.pass_rate(1), stats.pass_rate(3), stats.average_ms(3)) == (0.5, None, None)
    assert stats.average_ms(1) is not None
    assert [record.message.split(" in ")[0] for record in caplog.records] == [
        "gate 1 passed",
        "gate 1 failed",
        "gate 2 passed",
    ]


async def test_statistics_are_kept_across_runs_in_the_store(tmp_path: Path) -> None:
    async def opened() -> Store:
        return store

    for _ in range(2):
        store = Store.open(tmp_path / "kept")
        gates = GateEnforcer(DocumentValidator(), Verifier(), ledger=GateLedger(opened), clock=lambda: 1.5)
        await gates.enforce_gate1(ExecutionPlan())
        stats = await gates.get_gate_statistics()
        store.close()
    assert (stats.gates[1].failed, stats.gates[1].last_at) == (2, 1500)


async def test_a_decision_stands_though_it_cannot_be_counted(caplog: pytest.LogCaptureFixture) -> None:
    gates = GateEnforcer(DocumentValidator(), Verifier(), ledger=Ledger(StoreError("the disk is full")))
    assert (await gates.enforce_gate1(PLAN)).passed
    assert "gate 1 was not counted: the disk is full" in caplog.text


async def test_a_gate_that_cannot_decide_is_told_and_not_counted(gates: GateEnforcer, disk: Disk) -> None:
    class Broken:
        async def exists(self, path: str) -> bool:
            raise RuntimeError(path)

        text = text_before = exists

    with pytest.raises(RuntimeError, match=r"a\.py"):
        await gates.enforce_gate3(TaskResult(files_created=["a.py"]), Broken())  # type: ignore[arg-type]
    assert (await gates.get_gate_statistics()).gates[3] == GateCount(3)


async def test_a_result_can_be_kept_and_read_again(gates: GateEnforcer) -> None:
    result = await GateEnforcer(
        DocumentValidator(), Verifier(report(tests=CheckStatus.FAILED))
    ).enforce_gate5()
    again = type(result).model_validate_json(result.model_dump_json())
    assert again == result
    assert again.report is not None
    assert again.report.of(Check.TESTS).failures[0].line == 3

"""Hooks of an embedding program: their events and order."""

from __future__ import annotations

import logging
from collections import Counter
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import pytest

from tests.harness.gates import Verifier, failed, report
from tests.harness.tally import LINES, TASK
from tests.harness.tasks import edits, plan
from tideate_core.adapters import AdapterPool
from tideate_core.agents import audit_plan, document_task, execute_plan, plan_task
from tideate_core.app import build_catalog, open_project
from tideate_core.engine import OrchestratorDependencies, WorkflowHooks, WorkflowOrchestrator
from tideate_core.gates import DocumentValidator, GateEnforcer, SelfCorrectionLoop
from tideate_core.gates.correction import CorrectionEnd, CorrectionResult
from tideate_core.machines import WorkflowFSM, WorkflowState
from tideate_core.mentions import ContextResolver
from tideate_core.snapshots import SnapshotManager
from tideate_core.store import Store
from tideate_core.toolchain import Check
from tideate_core.workflows import PromptLibrary

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.builtin.task.runs.desk import Desk
    from tideate_core.engine import Event, WorkflowResult
    from tideate_core.gates import GateResult, VerificationReport

P = ParamSpec("P")
T = TypeVar("T")
STAGES = ("planning", "auditing", "executing", "documenting", "verifying")


def check_events(lines: list[tuple[str, str]]) -> WorkflowHooks:
    def hook(name: str, key: str) -> Callable[[Event], None]:
        def tell(event: Event) -> None:
            lines.append((name, str(event.data.get(key, ""))))

        return tell

    return WorkflowHooks(
        on_stage_start=hook("start", "step"),
        on_stage_complete=hook("complete", "step"),
        on_gate_pass=hook("pass", "gate"),
        on_gate_fail=hook("fail", "gate"),
        on_error=hook("error", ""),
    )


@pytest.mark.slow
async def test_stages_and_gates_are_told_in_their_order(desk: Desk) -> None:
    lines: list[tuple[str, str]] = []
    orchestrator = WorkflowOrchestrator(desk.runner())
    orchestrator.set_hooks(check_events(lines))
    result = await orchestrator.execute_task(TASK)
    assert (result.ok, result.rollback_performed, result.attempts) == (True, False, 0), result.error
    assert (result.task, result.as_json()["task"]) == (TASK, TASK)
    gates = [line for line in lines if line[0] in ("pass", "fail")]
    assert gates == [
        ("pass", gate) for gate in ("plan", "audit", "execution", "documentation", "verification")
    ]
    stages = [line for line in lines if line[1] in STAGES and line[0] in ("start", "complete")]
    assert stages == [(what, stage) for stage in STAGES for what in ("start", "complete")]
    assert lines.index(("complete", "planning")) < lines.index(("pass", "plan"))
    assert lines.index(("pass", "plan")) < lines.index(("start", "auditing"))


@pytest.mark.slow
async def test_a_gate_that_fails_and_the_error_are_told(desk: Desk) -> None:
    lines: list[tuple[str, str]] = []
    desk.model.says("planner", plan(rollback_strategy=""))
    orchestrator = WorkflowOrchestrator(desk.runner())
    orchestrator.set_hooks(check_events(lines))
    result = await orchestrator.execute_task(TASK)
    assert (result.ok, result.rollback_performed) == (False, True)
    assert lines[-2:] == [("fail", "plan"), ("error", "")]
    assert ("start", "auditing") not in lines


@pytest.mark.slow
async def test_a_hook_that_raises_is_logged_and_breaks_nothing(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(_: Event) -> None:
        raise RuntimeError("not mine")

    orchestrator = WorkflowOrchestrator(desk.runner())
    orchestrator.set_hooks(WorkflowHooks(on_stage_start=broken, on_gate_pass=broken))
    with caplog.at_level(logging.ERROR):
        result = await orchestrator.execute_task(TASK)
    assert result.ok, result.error
    assert "on_gate_pass" in caplog.text


async def run_with(desk: Desk, prompt: str, **components: Any) -> WorkflowResult:
    """Run a task through an orchestrator with these components."""
    project = open_project(str(desk.root))
    dependencies = OrchestratorDependencies(
        build_catalog(desk.root),
        AdapterPool(project.loaded.config),
        project.loaded.config,
        desk.front,
        lambda _request: project.workspace,
        PromptLibrary(),
        lambda: Store.open(desk.site.private),
        **components,
    )
    orchestrator = WorkflowOrchestrator(dependencies)
    try:
        return await orchestrator.execute_task(prompt)
    finally:
        await orchestrator.runner.aclose()
        await dependencies.adapters.aclose()


class Idle(SelfCorrectionLoop):
    async def verify_and_correct(self, *_: Any, **__: Any) -> CorrectionResult:
        return CorrectionResult(CorrectionEnd.PASSED, report())


class Silent(GateEnforcer):
    async def enforce_gate5(self, report: VerificationReport | None = None) -> GateResult:
        return (await super().enforce_gate5(report)).model_copy(update={"report": None})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"self_correction_loop": Idle}, "the self-correction loop has not run its verifier"),
        (
            {"gate_enforcer": Silent(DocumentValidator(), Verifier(report()))},
            "gate 5 of the gate enforcer has decided without a report",
        ),
    ],
)
async def test_a_component_that_leaves_out_the_verification_fails_the_task(
    desk: Desk, given: dict[str, Any], words: str
) -> None:
    result = await run_with(desk, TASK, **given)
    assert not result.ok
    assert words in str(result.error)
    assert desk.changed() == {}


@pytest.mark.slow
async def test_a_task_uses_the_components_that_its_orchestrator_was_given(desk: Desk, tmp_path: Path) -> None:
    calls: Counter[str] = Counter()

    def counted(name: str, make: Callable[P, T]) -> Callable[P, T]:
        def call(*arguments: P.args, **rest: P.kwargs) -> T:
            calls[name] += 1
            return make(*arguments, **rest)

        return call

    class Loop(SelfCorrectionLoop):
        verify_and_correct = counted("verify_and_correct", SelfCorrectionLoop.verify_and_correct)

    other = tmp_path / "other"
    (other / ".tideate").mkdir(parents=True)
    (other / ".tideate/context.json").write_text(
        '{"version": "1.0.0", "mappings": {"@Guide": {"text": "Be kind"}}}'
    )
    machines: list[WorkflowFSM] = []

    def fsm() -> WorkflowFSM:
        machines.append(WorkflowFSM())
        return machines[-1]

    gates = GateEnforcer(DocumentValidator(), Verifier(report(failed(Check.TESTS, "wrong")), report()))
    snapshots = SnapshotManager(desk.root, private=other)
    desk.model.says("corrector", edits({"src/tally/lines.py": f"{LINES}\n\nMORE = 1\n"}))
    result = await run_with(
        desk,
        f"{TASK} @Guide",
        fsm=fsm,
        gate_enforcer=gates,
        context_resolver=ContextResolver(other),
        snapshot_manager=snapshots,
        planner=counted("planner", plan_task),
        auditor=counted("auditor", audit_plan),
        executor=counted("executor", execute_plan),
        documenter=counted("documenter", document_task),
        self_correction_loop=Loop,
    )
    assert (result.ok, result.attempts) == (True, 1), result.error
    assert [machine.state for machine in machines] == [WorkflowState.COMPLETE]
    agents = dict.fromkeys(("planner", "auditor", "executor", "documenter"), 1)
    assert calls == {**agents, "verify_and_correct": 3}
    counts = (await gates.get_gate_statistics()).gates
    assert [(count.gate, count.passed, count.failed) for count in counts.values()] == [
        *((gate, 1, 0) for gate in (1, 2, 3, 4)),
        (5, 1, 1),
    ]
    assert "Be kind" in desk.model.prompts("planner")[0]
    (snapshot,) = await snapshots.list()
    assert (snapshot.name.startswith("before task"), snapshot.pinned) == (True, ())
    assert await SnapshotManager(desk.root).list() == []

"""What `tideate show` tells of a gated task: plan, audit, gates, checks, corrections, what was taken back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rich.text import Text

from tideate_core.cli.output import markdown_source, results, visible
from tideate_core.cli.task_words import check_text, failure_words, gate_issues, gate_text, rolled_back_lines
from tideate_core.store import last_given

if TYPE_CHECKING:
    from tideate_core.store import EventRow, StepRow

__all__ = ["is_task", "show_task", "task_json"]

TASK: Final = "task"
GATES: Final = {"SD_EVENT_GATE_PASSED": True, "SD_EVENT_GATE_FAILED": False}
CHECK_ENDED: Final = "SD_EVENT_CHECK_ENDED"
ROLLED_BACK: Final = "SD_EVENT_ROLLED_BACK"
CORRECTING: Final = "self_correcting"


def is_task(name: str, happened: list[EventRow]) -> bool:
    """Tell whether a run is a gated task: a project may have a workflow of this name, too."""
    return name == TASK and any(_gate_of(row) for row in happened)


def task_json(steps: list[StepRow], happened: list[EventRow]) -> dict[str, Any]:
    """Return what tools get of a task beyond what they get of each run."""
    return {
        "plan": last_given(steps, "plan"),
        "audit": last_given(steps, "audit"),
        "gates": [_gate_json(row) for row in happened if _gate_of(row)],
        "checks": [{**row.data, "at": row.at} for row in happened if row.name == CHECK_ENDED],
        "corrections": [row.result for row in _corrections(steps)],
        "rolled_back": _rolled_back(happened),
    }


def show_task(steps: list[StepRow], happened: list[EventRow]) -> None:
    """Print plan and audit, then gates and checks in the order in which they decided."""
    plan = last_given(steps, "plan")
    if plan is not None:
        _show_plan(plan, last_given(steps, "audit"))
    if any(_gate_of(row) or row.name == CHECK_ENDED for row in happened):
        results().print(Text("\nGates and checks", style="bold"))
    visit = ""
    for row in happened:
        if row.name == CHECK_ENDED or _gate_of(row):
            if row.data["step"] != visit:
                visit = row.data["step"]
                results().print(Text(f" {visible(visit)}", style="dim"), soft_wrap=True)
            _show_decision(row)
    _show_corrections(steps)
    done = _rolled_back(happened)
    if done is not None:
        results().print()
        for line in rolled_back_lines(done):
            results().print(line, soft_wrap=True)


def _show_plan(plan: dict[str, Any], audit: dict[str, Any] | None) -> None:
    # here, because few runs are tasks
    from tideate_core.agents import plan_as_markdown
    from tideate_core.gates import AuditReport, ExecutionPlan

    text = plan_as_markdown(
        ExecutionPlan.model_validate(plan), None if audit is None else AuditReport.model_validate(audit)
    )
    console = results()
    console.print()
    if console.is_terminal:
        console.print(markdown_source(text))
    else:
        console.print(Text(visible(text.rstrip("\n"))), soft_wrap=True)


def _show_decision(row: EventRow) -> None:
    indent = Text("   ")
    if row.name == CHECK_ENDED:
        line, told = check_text(row.data), [failure_words(one) for one in row.data["failures"]]
    else:
        line, told = gate_text(row.data, passed=GATES[row.name]), gate_issues(row.data)
    results().print(indent.append_text(line), soft_wrap=True)
    for words in told:
        results().print(Text(f"     {visible(words)}", style="red"), soft_wrap=True)


def _show_corrections(steps: list[StepRow]) -> None:
    found = _corrections(steps)
    if found:
        results().print(Text("\nCorrections", style="bold"))
    for number, row in enumerate(found, start=1):
        value = row.result if isinstance(row.result, dict) else {}
        files = ", ".join(row.files)
        words = value.get("summary") or value.get("end") or row.error or row.status
        changed = f"  ({files})" if files else ""
        results().print(Text(visible(f"   {number}. {words}{changed}")), soft_wrap=True)


def _corrections(steps: list[StepRow]) -> list[StepRow]:
    return [row for row in steps if row.step.partition("#")[0] == CORRECTING and row.status != "pending"]


def _gate_of(row: EventRow) -> int | None:
    number: int | None = row.data.get("number") if row.name in GATES else None
    return number


def _gate_json(row: EventRow) -> dict[str, Any]:
    return {**row.data, "passed": GATES[row.name], "at": row.at}


def _rolled_back(happened: list[EventRow]) -> dict[str, Any] | None:
    return next((row.data for row in reversed(happened) if row.name == ROLLED_BACK), None)

"""Reports that runs leave in files for other tools: the summary of a run."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, Literal

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

from tideate_core.errors import StoreError, UnusableFile

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from tideate_core.engine.driver_hooks import PlanCounts
    from tideate_core.project import Documents
    from tideate_core.store import Ending

__all__ = [
    "SUMMARY",
    "Report",
    "StepCounts",
    "SummaryStatus",
    "WorkflowSummaryDTO",
    "iso_time",
    "summary_of",
    "write_report",
    "write_summary",
]

SUMMARY: Final = "workflow/reports/run-summary.json"
SummaryStatus = Literal["completed", "failed", "partial"]

_STATUS: Final[Mapping[str, SummaryStatus]] = {
    "completed": "completed",
    "failed": "failed",
    "cancelled": "partial",
}
"""By how the run ended; the format has no cancelled one."""


class Report(BaseModel):
    """Base of reports for other tools: keys in camelCase."""

    model_config = ConfigDict(frozen=True, alias_generator=to_camel, populate_by_name=True, defer_build=True)


class StepCounts(Report):
    """Numbers of steps by their end."""

    total: int
    completed: int
    failed: int


class WorkflowSummaryDTO(Report):
    """Summary of a run at its end."""

    workflow_id: str
    """The run's id."""
    plan_id: str
    """The plan's id in a handoff, else the name of the workflow."""
    status: SummaryStatus
    """`partial` of a cancelled run."""
    duration: int
    """Milliseconds."""
    agents: list[str]
    artifacts: list[str]
    """Files that were changed."""
    checkpoints: list[str]
    """Ids, the oldest first."""
    steps: StepCounts
    success: bool
    """The run completed; steps that it goes on without may have failed."""
    timestamp: str
    """When it ended: ISO 8601, UTC."""


def iso_time(at: int) -> str:
    """Return a time as other tools read it.

    :param at: milliseconds since the epoch.
    """
    whole = datetime.fromtimestamp(at // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    return f"{whole}.{at % 1000:03}Z"


def summary_of(
    ending: Ending,
    run: str,
    *,
    plan: str,
    total_steps: int = 0,
    agents: Iterable[str] = (),
    checkpoints: Iterable[str] = (),
    planned: PlanCounts | None = None,
) -> WorkflowSummaryDTO:
    """Return the summary of a run that ended.

    :param run: its id.
    :param plan: the id of the plan that it carried out, else the name of its workflow.
    :param total_steps: 0 of a machine; then those that ended count.
    :param planned: agents and steps of the plan, in place of those of the workflow.
    """
    total = total_steps or ending.completed_steps + ending.failed_steps
    counts = (total, ending.completed_steps, ending.failed_steps)
    if planned is not None:
        agents, counts = planned.agents, (planned.total, planned.completed, planned.failed)
    return WorkflowSummaryDTO(
        workflow_id=run,
        plan_id=plan,
        status=_STATUS[ending.status],
        duration=ending.duration_ms,
        agents=list(agents),
        artifacts=list(ending.files),
        checkpoints=list(checkpoints),
        steps=StepCounts(total=counts[0], completed=counts[1], failed=counts[2]),
        success=ending.status == "completed",
        timestamp=iso_time(ending.completed_at),
    )


def write_summary(documents: Documents, summary: WorkflowSummaryDTO) -> Path:
    """Replace the last run's summary; blocking.

    :raises StoreError: it cannot be written; the run itself is in the store.
    """
    return write_report(documents, SUMMARY, summary)


def write_report(documents: Documents, name: str, report: Report, *, private: bool = False) -> Path:
    """Write a report so that others see it whole or not at all, also after a power loss; blocking.

    :param private: only the person can read it.

    :raises StoreError: it cannot be written.
    """
    try:
        return documents.write(name, _text_of(report).encode(), private=private)
    except UnusableFile as error:
        raise StoreError(f"{error}; the run itself is kept in the database") from error


def _text_of(report: Report) -> str:
    """Return it as JSON in ASCII: a value may have what UTF-8 cannot say, a name of a file for one.

    :raises StoreError: JSON has no word for a value, or it is nested too deep.
    """
    try:
        return json.dumps(_plain(report), indent=2, allow_nan=False) + "\n"
    except (ValueError, RecursionError) as error:
        raise StoreError(f"this cannot be written as JSON, other tools could not read it: {error}") from error


def _plain(value: Any) -> Any:
    """Return a report as dictionaries, whatever is in its values."""
    if not isinstance(value, Report):
        return value
    fields = type(value).model_fields
    return {field.alias or name: _plain(getattr(value, name)) for name, field in fields.items()}

"""Self-correction: what verification found is mended, as long as that leads anywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tideate_core.builtin.task.changes import diff_of, name_of
from tideate_core.builtin.task.reviewing import reviewed, write
from tideate_core.gates import Correction, CorrectionEnd, SelfCorrectionLoop
from tideate_core.machines import WorkflowEvent

if TYPE_CHECKING:
    from tideate_core.builtin.task.bench import Bench
    from tideate_core.builtin.task.record import TaskRecord
    from tideate_core.gates import VerificationReport
    from tideate_core.workflows import StepContext
    from tideate_core.workspace import FileChange

__all__ = ["correct"]

_WORDS: Final = {
    CorrectionEnd.SAME_ERRORS: "the last correction left exactly the errors that there were",
    CorrectionEnd.SAME_EDIT: "the corrector came back with a change that it had made before",
    CorrectionEnd.NO_EDIT: "the corrector changed nothing",
    CorrectionEnd.EXHAUSTED: "as many corrections as there may be did not settle it",
    CorrectionEnd.NOT_CORRECTABLE: "no edit would settle it: a command, a program or trust is missing",
}


async def correct(step: StepContext, record: TaskRecord, bench: Bench) -> dict[str, Any]:
    """Have the errors corrected, reviewed and written, unless a correction would not help.

    :raises Declined: nothing of it was accepted.
    :raises WorkspaceError: it cannot be written; nothing was.
    """
    changes: list[FileChange] = []

    async def corrector(report: VerificationReport) -> Correction:
        from tideate_core.agents import correct_task

        brief, role = await bench.brief(step), bench.role(step, "corrector")
        done = await correct_task(
            step, role, brief, record.agreed, report, record.written, beyond=bench.gated
        )
        for note in done.notes:
            step.notice(note)
        changes.extend(done.changes)
        return Correction(diff_of(done.changes), done.summary)

    loop = SelfCorrectionLoop(corrected=record.corrected, edits=record.edits)
    turn = await loop.correct(record.reports[-1], corrector)
    summary = turn.correction.summary if turn.correction else ""
    if turn.end is not None:
        return _ended(record, _WORDS[turn.end] + (f" ({summary})" if summary else ""))
    assert turn.correction is not None  # noqa: S101 a turn without an end has one
    accepted = await reviewed(step, bench, await step.workspace.attach(changes))
    await write(step, accepted)
    return {
        "event": WorkflowEvent.CORRECTION_SUCCEEDED.value,
        "edit": turn.correction.digest,
        "end": "",
        "summary": summary,
        "written": [name_of(change) for change in accepted],
    }


def _ended(record: TaskRecord, why: str) -> dict[str, Any]:
    return {"event": WorkflowEvent.CORRECTION_EXHAUSTED.value, "end": why, "issues": record.issues}

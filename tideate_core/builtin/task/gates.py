"""Gates 1 to 4 of a task: decision, event, confirmation or review, writing; extension of a confirmed plan."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from tideate_core.agents import (
    EditsInReview,
    apply_fixes,
    audit_plan,
    keep_texts,
    kept_texts,
    named_files,
    parse_plan_document,
    plan_as_markdown,
    plan_task,
    result_of,
)
from tideate_core.builtin.task.changes import name_of, read_back, review_changes, revised_by, write
from tideate_core.engine import PERSONS, CommentRounds, EventName, changed_lines
from tideate_core.errors import InvalidInput, OutsideRoot, StepFailed, UnusableAnswer
from tideate_core.gates import PlanStep, StagedView, plan_issues
from tideate_core.machines import WorkflowEvent
from tideate_core.toolchain import Failure
from tideate_core.util.cutting import beginning
from tideate_core.workflows import Declined
from tideate_core.workspace import executable_paths

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from tideate_core.agents import NeededFile
    from tideate_core.builtin.task.changes import Revise
    from tideate_core.builtin.task.environment import TaskEnvironment
    from tideate_core.builtin.task.record import TaskRecord
    from tideate_core.gates import AuditReport, DocumentationResult, ExecutionPlan, GateIssue, GateResult
    from tideate_core.workflows import StepContext
    from tideate_core.workspace import FileChange

    Decide = Callable[[Sequence[FileChange]], Awaitable[GateResult]]
    Replan = Callable[[ExecutionPlan, Sequence[str]], Awaitable[tuple[ExecutionPlan, AuditReport]]]

GATES: Final = {1: "plan", 2: "audit", 3: "execution", 4: "documentation", 5: "verification"}
MOST_ISSUES: Final = 100
"""Issues of one gate that are reported and stored."""
STAGED: Final = "staged"
"""Key of the original texts of edits in the step's memory."""
LONGEST_DIFF: Final = 40_000
"""Characters of the diff passed to the documenter."""


MOST_EXTENSIONS: Final = 3
"""Extensions of a plan in one correction."""


class PlanRefused(UnusableAnswer):
    """Gate 1 or 2 refused a revised plan."""


def report_gate(step: StepContext, environment: TaskEnvironment, result: GateResult) -> list[str]:
    """Emit a gate's decision, and return its issues as text."""
    issues = issue_words(result.issues)
    data: dict[str, Any] = {
        "gate": GATES[result.gate],
        "issues": issues,
        "number": result.gate,
        "duration_ms": result.duration_ms,
        "auto_fixed": result.auto_fixed,
        "entries": [_entry(issue) for issue in result.issues[:MOST_ISSUES] if issue.file],
    }
    environment.report(step, EventName.GATE_PASSED if result.passed else EventName.GATE_FAILED, data)
    return issues


def issue_words(issues: Sequence[GateIssue]) -> list[str]:
    """Return issues as text, limited to a readable number."""
    words = [str(issue) for issue in issues[:MOST_ISSUES]]
    more = len(issues) - MOST_ISSUES
    return [*words, f"and {more} more"] if more > 0 else words


def _entry(issue: GateIssue) -> dict[str, Any]:
    """Return an issue as a quickfix entry."""
    return Failure(issue.file, issue.line, None, issue.what, tool="gate").as_json()


async def plan_gate(step: StepContext, record: TaskRecord, environment: TaskEnvironment) -> dict[str, Any]:
    """Gate 1: check the plan."""
    decided = await environment.gates(step).enforce_gate1(record.agreed, rejected_plans=record.rejected)
    issues = report_gate(step, environment, decided)
    event = WorkflowEvent.PLAN_GATE_PASSED if decided.passed else WorkflowEvent.PLAN_GATE_FAILED
    return {"event": event.value, "gate": 1, "issues": issues}


async def audit_gate(step: StepContext, record: TaskRecord, environment: TaskEnvironment) -> dict[str, Any]:
    """Gate 2: check the audit, apply its fixes to the plan, and ask the user to confirm the plan.

    :raises Declined: the user declines the plan.
    """
    audit = record.audit
    assert audit is not None  # noqa: S101 the table does not lead here without one
    decided = await environment.gates(step).enforce_gate2(audit, record.agreed)
    plan = apply_fixes(record.agreed, audit) if decided.auto_fixed else record.agreed
    if decided.passed and (left := plan_issues(plan, step.workspace.resolve)):
        # an audit's fix must pass gate 1, too
        decided = decided.model_copy(
            update={"passed": False, "auto_fixed": False, "issues": [*decided.issues, *left]}
        )
    issues = report_gate(step, environment, decided)
    if not decided.passed:
        return {"event": WorkflowEvent.AUDIT_GATE_FAILED.value, "gate": 2, "issues": issues}
    if environment.gated:
        plan, audit = await confirm_plan(step, plan, audit, revise=replan_of(step, record, environment))
    value: dict[str, Any] = {"event": WorkflowEvent.AUDIT_GATE_PASSED.value, "gate": 2}
    if audit is not record.audit:
        value["audit"] = audit.model_dump(mode="json")
    return {**value, "plan": plan.model_dump(mode="json")}


def replan_of(step: StepContext, record: TaskRecord, environment: TaskEnvironment) -> Replan:
    """Return a function that revises the plan according to comments and audits the result."""
    conversation = step.conversation(record.planned_in)

    async def replan(plan: ExecutionPlan, comments: Sequence[str]) -> tuple[ExecutionPlan, AuditReport]:
        nonlocal conversation
        brief, role = await environment.brief(step), environment.role(step, "planner")
        planner = environment.components.planner or plan_task
        made = await planner(step, role, brief, earlier=plan, issues=comments, conversation=conversation)
        conversation = step.conversation(step.step) or conversation  # the audit has its own conversation
        return await pass_audit(step, environment, made, "the new plan")

    return replan


async def pass_audit(
    step: StepContext, environment: TaskEnvironment, plan: ExecutionPlan, name: str
) -> tuple[ExecutionPlan, AuditReport]:
    """Pass a plan through gates 1 and 2 with a new audit; return the plan with the audit's fixes.

    :param name: name of the plan in messages.
    :raises PlanRefused: a gate refuses the plan.
    """
    gates = environment.gates(step)
    decided = await gates.enforce_gate1(plan, rejected_plans=0)
    if issues := report_gate(step, environment, decided):
        raise PlanRefused(f"gate 1 refused {name}: {'; '.join(issues)}")
    role, brief = environment.role(step, "auditor"), await environment.brief(step)
    audit = await (environment.components.auditor or audit_plan)(step, role, brief, plan)
    decided = await gates.enforce_gate2(audit, plan)
    issues = report_gate(step, environment, decided)
    fixed = apply_fixes(plan, audit) if decided.auto_fixed else plan
    if not decided.passed or (issues := issue_words(plan_issues(fixed, step.workspace.resolve))):
        raise PlanRefused(f"gate 2 refused {name}: {'; '.join(issues)}")
    return fixed, audit


async def confirm_plan(
    step: StepContext,
    plan: ExecutionPlan,
    audit: AuditReport,
    question: str = "Carry out this plan?",
    *,
    revise: Replan | None = None,
) -> tuple[ExecutionPlan, AuditReport]:
    """Show the plan for editing, comments and confirmation, until it is valid.

    :param revise: asks the model for a new plan, according to comments.
    :raises Declined: the user declines the plan.
    """
    text, problems = plan_as_markdown(plan, audit), list[str]()
    rounds = CommentRounds(step, possible=revise is not None)
    while True:
        payload = {"text": text, "filetype": "markdown", "title": "Plan", "problems": problems}
        words = "\n".join([*(f"{problem}." for problem in problems), rounds.question(question)])
        executed = executable_paths(step.workspace, named_files(plan))
        decision = await step.confirm(
            "document", words, payload={**payload, **rounds.payload}, executed=executed
        )
        said = rounds.read(decision)
        if not decision.accepted and not said:
            raise Declined(decision.reason)
        if problems or _is_changed(decision.value):
            text = _text_of(decision.value, text)
            found, problems = _read(step, text)
            if found is None:
                if decision.by not in PERSONS:
                    raise StepFailed(f"the edited plan is invalid: {'; '.join(problems)}")
                rounds.keep(said)
                continue
            plan = found
        if not said:
            return plan, audit
        assert revise is not None  # noqa: S101 nobody is asked for comments without it
        comments = [one.words(text) for one in said]
        made = await rounds.revise(said, partial(revise, plan, comments))
        if made is not None:
            plan, audit = made
            before, text = text, plan_as_markdown(plan, audit)
            rounds.changed = changed_lines(before, text)


class PlanNotExtended(Exception):
    """A gate or the user refused the extension."""


async def extend_plan(
    step: StepContext,
    record: TaskRecord,
    environment: TaskEnvironment,
    plan: ExecutionPlan,
    needed: NeededFile,
) -> ExecutionPlan:
    """Return the plan with an added step for the needed file.

    :raises PlanNotExtended: the extension was refused; the message has the reason.
    """
    extended = _with_file(step, plan, needed)
    try:
        fixed, audit = await pass_audit(step, environment, extended, f"the plan with {needed.path}")
    except PlanRefused as refusal:
        raise PlanNotExtended(str(refusal)) from refusal
    if not environment.gated:
        return fixed
    reason = f": {needed.reason}" if needed.reason else ""
    try:
        question = f"The correction needs {needed.path}{reason}. Carry out the plan with it?"
        replan = replan_of(step, record, environment)
        return (await confirm_plan(step, fixed, audit, question, revise=replan))[0]
    except Declined as declined:
        raise PlanNotExtended(f"the plan with {needed.path} was declined") from declined


def _with_file(step: StepContext, plan: ExecutionPlan, needed: NeededFile) -> ExecutionPlan:
    try:
        path = step.workspace.resolve(needed.path)
    except OutsideRoot as error:
        raise PlanNotExtended(f"the correction needs a file that no task may change: {error}") from error
    name = step.workspace.name_of(path)
    if name in plan.files:
        raise PlanNotExtended(f"the correction needs {name}, which the plan has and which cannot be shown")
    words = needed.reason or "needed to correct what the verification found"
    added = PlanStep(type="edit" if path.exists() else "create", description=words, files=[name])
    return plan.model_copy(update={"steps": [*plan.steps, added], "files": [*plan.files, name]})


def _is_changed(value: Any) -> bool:
    """Tell whether an answer to a document has a text, or is malformed."""
    return value is not None and not (isinstance(value, dict) and "text" not in value and "comments" in value)


def _text_of(value: Any, before: str) -> str:
    """Return the user's text; the old one if it was not changed."""
    if not _is_changed(value):
        return before
    if not isinstance(value, dict) or not isinstance(value.get("text"), str):
        raise InvalidInput('the answer to a document is its text: {"text": …}')
    text: str = value["text"]
    return text


def _read(step: StepContext, text: str) -> tuple[ExecutionPlan | None, list[str]]:
    try:
        plan = parse_plan_document(text)
    except InvalidInput as error:
        return None, [str(error)]
    problems = issue_words(plan_issues(plan, step.workspace.resolve))
    return (None if problems else plan), problems


async def execution_gate(
    step: StepContext, record: TaskRecord, environment: TaskEnvironment
) -> dict[str, Any]:
    """Gate 3: check the edits, review them, check a partial acceptance again, and write.

    :raises Declined: no edit was accepted.
    :raises WorkspaceError: the edits cannot be written; nothing was.
    """
    result = record.result
    assert result is not None  # noqa: S101 the table does not lead here without one
    gates, changes = environment.gates(step), await _staged(step, record)

    async def decide(now: Sequence[FileChange]) -> GateResult:
        return await gates.enforce_gate3(result_of(now), StagedView(step.workspace, now))

    decided = await gates.enforce_gate3(result, StagedView(step.workspace, changes))
    accepted, decided, issues = await _accepted(step, record, environment, changes, decided, decide)
    if not decided.passed:
        return {"event": WorkflowEvent.EXECUTION_GATE_FAILED.value, "gate": 3, "issues": issues}
    if accepted != changes:
        result = result_of(accepted, result.errors)
    value = await _written(step, WorkflowEvent.EXECUTION_GATE_PASSED, 3, accepted)
    value["result"] = result.model_dump(mode="json")
    return {**value, "diff": beginning(step.workspace.diff(accepted), LONGEST_DIFF)}


async def _accepted(
    step: StepContext,
    record: TaskRecord,
    environment: TaskEnvironment,
    changes: list[FileChange],
    decided: GateResult,
    decide: Decide,
    *,
    decide_revised: Decide | None = None,
    role: str = "executor",
) -> tuple[list[FileChange], GateResult, list[str]]:
    """Return the accepted edits, and the last decision of their gate with its issues.

    :param decided: the gate's decision on all edits.
    :param decide: decides on a partial acceptance, and on revised edits.
    :param decide_revised: decides on revised edits instead.
    """
    issues = report_gate(step, environment, decided)
    if not decided.passed:
        return [], decided, issues
    revise = await _revise(step, record, environment, changes, decide_revised or decide, role)
    # a documentation may have no files
    asks = bool(changes) or role == "executor"
    accepted = await review_changes(step, environment, changes, revise) if asks else []
    if accepted != changes:
        decided = await decide(accepted)
        issues = report_gate(step, environment, decided)
    return accepted, decided, issues


async def _revise(
    step: StepContext,
    record: TaskRecord,
    environment: TaskEnvironment,
    changes: Sequence[FileChange],
    decide: Decide,
    role: str,
) -> Revise:
    """Return a function that revises edits with their role and passes them through the gate again."""

    async def check(now: Sequence[FileChange]) -> None:
        decided = await decide(now)
        issues = report_gate(step, environment, decided)
        if not decided.passed:
            raise UnusableAnswer(f"gate {decided.gate} refused the revision: {'; '.join(issues)}")

    edits = EditsInReview(
        step,
        environment.role(step, role),
        await environment.brief(step),
        record.agreed,
        changes,
        audit=record.audit,
        removals=role == "executor",
        earlier=step.conversation(record.source),
    )
    return revised_by(step, edits, check)


async def documentation_gate(
    step: StepContext, record: TaskRecord, environment: TaskEnvironment
) -> dict[str, Any]:
    """Gate 4: check the documents, review them, check a partial acceptance, write; raises as gate 3."""
    docs = record.docs
    assert docs is not None  # noqa: S101 the table does not lead here without one
    gates, changes = environment.gates(step), await _staged(step, record)
    revised = False

    async def decide(now: Sequence[FileChange]) -> GateResult:
        return await gates.enforce_gate4(_part(docs, now, revised=revised), StagedView(step.workspace, now))

    async def decide_revised(now: Sequence[FileChange]) -> GateResult:
        nonlocal revised
        revised = True
        return await decide(now)

    decided = await gates.enforce_gate4(docs, StagedView(step.workspace, changes))
    accepted, decided, issues = await _accepted(
        step,
        record,
        environment,
        changes,
        decided,
        decide,
        decide_revised=decide_revised,
        role="documenter",
    )
    if not decided.passed:
        return {"event": WorkflowEvent.DOCUMENTATION_GATE_FAILED.value, "gate": 4, "issues": issues}
    return await _written(step, WorkflowEvent.DOCUMENTATION_GATE_PASSED, 4, accepted)


async def _staged(step: StepContext, record: TaskRecord) -> list[FileChange]:
    """Return the changes of the previous stage, ready for review.

    After a crash they keep their original texts and are merged with the current files when written. The
    review is told if a demonstration model made them.
    """
    step.demonstration = step.demonstration or record.staged.get("demonstration", False)
    changes = record.live.get(record.source)
    if changes is None:
        kept = kept_texts(step, STAGED)
        changes = await read_back(step.workspace, record.staged["changes"], kept)
    await keep_texts(step, STAGED, {one.path: one.before for one in changes if one.before is not None})
    return await step.workspace.attach(changes)


async def _written(
    step: StepContext, event: WorkflowEvent, gate: int, changes: Sequence[FileChange]
) -> dict[str, Any]:
    await write(step, changes)
    return {"event": event.value, "gate": gate, "written": [name_of(change) for change in changes]}


def _part(docs: DocumentationResult, accepted: Sequence[FileChange], *, revised: bool) -> DocumentationResult:
    """Return the documentation result for the accepted files only.

    :param revised: the user's comments changed it: entry and items need not keep their first words.
    """
    names = {change.path for change in accepted}
    part = docs.model_copy(update={"docs": [name for name in docs.docs if name in names]})
    return part.model_copy(update={"entry": "", "items": []}) if revised else part

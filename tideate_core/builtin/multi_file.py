"""Step handlers of `multi_file`: a confirmed plan of files, then one reviewed edit of all of them."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from tideate_core.agents import (
    Bounds,
    PlannedFile,
    StagedFiles,
    calls_after_plan,
    clip,
    list_for_model,
    make_plan,
    may_look,
    parse_plan,
    planning_model,
    project_rules,
    runnable_checks,
    unreadable_files,
    within_plan,
)
from tideate_core.builtin.planned_files import PlannedFiles, ask_about_secrets, in_order
from tideate_core.builtin.surroundings import with_memory
from tideate_core.builtin.work import summary_of, work_again, work_and_review
from tideate_core.edits import fence_for
from tideate_core.engine import (
    NO_TEXT,
    PERSONS,
    CommentRounds,
    PartlyRevised,
    Subject,
    follow_renames,
    review_and_apply,
)
from tideate_core.errors import ContextTooLong, InvalidInput, StepFailed, TideateError, UnusableAnswer
from tideate_core.workflows import Declined
from tideate_core.workspace import executable_paths

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tideate_core.adapters import Prompt, RequestedCall
    from tideate_core.agents import LookingModel, RememberedModel
    from tideate_core.engine import Feedback, PlaceComment
    from tideate_core.workflows import Decision, EarlierRun, StepContext
    from tideate_core.workspace import FileChange

Unusable: TypeAlias = UnusableAnswer | ContextTooLong
"""Errors of a single file; the other files can still succeed."""
MOST_TRIES = 3
"""Times the user is asked about failed files; files that fail again are left out."""


async def plan(step: StepContext) -> dict[str, Any]:
    """Ask the model for the files to change; a continued run keeps its plan."""
    earlier = await step.earlier()
    if earlier is not None and (files := _confirmed_before(step, earlier)):
        return {"files": files}
    listed = await list_for_model(step, step.prompt)
    subject = Subject.of(step.context)
    about = subject.variables() if subject and subject.selected else dict(NO_TEXT)
    about["text"] = clip(step, about["text"])
    proposed = earlier.proposed if earlier else None
    if proposed is not None:
        about["fence"] = fence_for(about["text"], proposed.done)
    before = earlier.conversation if earlier else None
    model = await planning_model(step, "plan", earlier=before)
    prompt = step.render(
        "multi_file_plan",
        prompt=step.prompt,
        files=listed.lines,
        more=listed.more,
        rules=listed.rules,
        checks=await runnable_checks(step),
        tools=may_look(step),
        proposed=proposed,
        **about,
    )
    prompt = await with_memory(step, prompt, rules=earlier is None)
    return await _make_plan(step, model, prompt, listed.files)


def _confirmed_before(step: StepContext, earlier: EarlierRun) -> list[Any]:
    """Return the confirmed files of an earlier run; empty if the plan must be made again."""
    if earlier.workflow != "multi_file" or not (may_look(step) or step.agent()):
        return []
    return list((earlier.results.get("confirm") or {}).get("files", ()))


async def confirm(step: StepContext) -> dict[str, Any]:
    """Show the plan; the user can remove files, edit the plan, or comment on it."""
    earlier = await step.earlier()
    if earlier is not None and (agreed := _confirmed_before(step, earlier)):
        return {"files": agreed}
    proposed = revised = step.results["plan"]
    problems: list[str] = []
    rounds = CommentRounds(step, possible=step.conversation("plan") is not None)
    while True:
        decision = await _ask_about(step, proposed, problems, rounds)
        said = rounds.read(decision)
        if not decision.accepted and not said:
            raise Declined(decision.reason)
        unchanged = decision.value is None or (said and "files" not in decision.value)
        answer = proposed if unchanged else decision.value
        try:
            wanted = parse_plan(answer, step.workspace)
            if unreadable := await unreadable_files(wanted, step.workspace):
                raise InvalidInput(f"the plan cannot be carried out: {'; '.join(unreadable)}")
        except InvalidInput as error:
            if decision.by not in PERSONS:
                raise
            problems = [str(error)]
            # the user's edits are kept
            shown, proposed = proposed, {"files": _files_of(answer, proposed["files"])}
            rounds.keep(follow_renames(said, shown["files"], proposed["files"]))
            continue
        shown, proposed, problems = proposed, _as_json(wanted), []
        if said:
            said = follow_renames(said, shown["files"], proposed["files"])
            comments = [one.words() for one in said]
            if (made := await rounds.revise(said, partial(_revise_plan, step, wanted, comments))) is not None:
                rounds.changed = [file["path"] for file in made["files"] if file not in proposed["files"]]
                proposed = revised = made
            continue
        if not wanted:
            raise Declined("no file is left in the plan")
        # the model need not be told about its own plan
        anew = revised is not step.results["plan"]
        return {**proposed, "revised": True} if anew and proposed == revised else proposed


def _as_json(files: Sequence[PlannedFile]) -> dict[str, Any]:
    return {"files": [file.model_dump(exclude_none=True) for file in files]}


async def _revise_plan(
    step: StepContext, files: Sequence[PlannedFile], comments: Sequence[str]
) -> dict[str, Any]:
    """Ask the model for a new plan in the same conversation, according to comments."""
    listed = await list_for_model(step, step.prompt)
    earlier = step.conversation(step.step) or step.conversation("plan")
    model = await planning_model(step, "plan", earlier=earlier)
    prompt = step.render("multi_file_replan", plan=files, comments=comments)
    if earlier is not None:
        prompt = replace(prompt, system=earlier.system)
    return await _make_plan(step, model, prompt, listed.files)


async def _make_plan(
    step: StepContext, model: LookingModel | RememberedModel, prompt: Prompt, listed: Sequence[str]
) -> dict[str, Any]:
    """Return the plan that a model makes."""
    return _as_json(await make_plan(step, model.ask, prompt, listed))


def _is_plan(answer: Any) -> bool:
    """Tell whether an edited answer still has the form of a plan."""
    files = answer.get("files") if isinstance(answer, dict) else None
    if not isinstance(files, list):
        return False
    texts = (("path", None), ("action", None), ("why", ""), ("move_to", ""))
    return all(
        isinstance(file, dict) and all(isinstance(file.get(key, unsaid), str) for key, unsaid in texts)
        for file in files
    )


async def _ask_about(
    step: StepContext, plan: dict[str, Any], problems: list[str], rounds: CommentRounds
) -> Decision:
    count = len(plan["files"])
    question = rounds.question(f"Continue with {count} file{'' if count == 1 else 's'}?")
    message = "\n".join([*(f"{problem}." for problem in problems), question])
    files = [file for file in plan["files"] if file["action"] != "delete"]
    executed = executable_paths(step.workspace, [file.get("move_to") or file["path"] for file in files])
    payload = {**plan, "problems": problems, **rounds.payload}
    return await step.confirm("plan", message, payload=payload, executed=executed)


async def execute(step: StepContext) -> dict[str, Any]:
    """Write every file's edit in memory, then review and apply the edits together.

    A model without tools edits one file at a time and is shown the edits before it.

    The user decides about files that fail. Without a user these files are left out, and the run fails after
    the others are written.
    """
    planned = [PlannedFile.model_validate(file) for file in step.results["confirm"]["files"]]
    earlier = await step.earlier()
    if earlier is not None and _confirmed_before(step, earlier):
        written = (earlier.results.get("execute") or {}).get("files", ())
        return await work_again(step, earlier, _names(step, planned), written)
    await ask_about_secrets(step, planned)
    if may_look(step) or step.agent() is not None:
        return await _work(step, planned)
    files = PlannedFiles(step, await _task(step), planned)
    made, failed = await _write_and_ask(step, files, planned)
    kept = await step.workspace.attach(made)

    async def revise(feedback: Feedback) -> list[FileChange]:
        nonlocal kept
        try:
            kept = await files.revise(kept, feedback)
        except PartlyRevised as partly:
            kept = partly.changes
            raise
        return kept

    written = await review_and_apply(step, kept, revise)
    paths = [change.move_to or change.path for change in written]
    if failed:
        reasons = "; ".join(map(str, failed.values()))
        raise StepFailed(f"left out {', '.join(failed)}; changed {', '.join(paths) or 'nothing'}. {reasons}")
    unchanged = [change.path for change in kept if _is_unchanged(change)]
    result: dict[str, Any] = {"response": summary_of(written, unchanged), "files": paths}
    return result if written else {**result, "unchanged": True}


async def _work(step: StepContext, planned: list[PlannedFile]) -> dict[str, Any]:
    """Carry out the plan with a model that calls tools; it keeps the context of its planning."""
    staged, names = StagedFiles(), _names(step, planned)
    await staged.load(step, names)

    def why_not(path: str) -> str | None:
        return "" if path in names else None

    def missing(now: StagedFiles) -> list[str]:
        return [
            f"{file.path}: the plan wants to {file.action} it, and no such edit is staged"
            for file in planned
            if file.path not in now.changed_texts()
        ]

    again, confirmed = step.conversation("confirm"), step.results["confirm"]
    earlier = again or step.conversation("plan")
    # the person can also return to the plan before the model's last one
    last = confirmed.get("revised", False) if again else confirmed == step.results["plan"]
    agreed = earlier is not None and last
    taken_up: Sequence[RequestedCall] = ()
    if agreed and earlier is not None:
        earlier, taken_up = calls_after_plan(earlier, planned)
    prompt = step.render("multi_file_work", prompt=await _task(step), plan=planned, agreed=agreed)
    if earlier is None:
        prompt = await with_memory(step, prompt, paths=names)
    elif (rules := await project_rules(step, names)) != await project_rules(step):
        # the conversation has the root's rules; deeper directories may add more
        prompt = replace(prompt, user=f"{rules}\n\n---\n\n{prompt.user}")
    bounds = Bounds(within_plan(step, why_not), missing)
    named = [file.path for file in planned]
    return await work_and_review(
        step, prompt, staged, bounds, earlier=earlier, taken_up=taken_up, named=named
    )


async def _task(step: StepContext) -> str:
    """Return the full task: the prompt of the earlier run, its changes, and the reply."""
    earlier = await step.earlier()
    if earlier is None:
        return step.prompt
    done = earlier.proposed.done if earlier.proposed else ""
    fence = fence_for(done)
    changed = f"This was changed already:\n\n{fence}diff\n{done}\n{fence}" if done else ""
    return "\n\n".join(filter(None, [earlier.prompt, changed, step.prompt]))


def _names(step: StepContext, planned: list[PlannedFile]) -> list[str]:
    """Return the plan's files under the workspace's names."""
    paths = [path for file in planned for path in (file.path, file.move_to) if path]
    return [step.workspace.name_of(step.workspace.resolve(path)) for path in paths]


async def _write_and_ask(
    step: StepContext, files: PlannedFiles, planned: list[PlannedFile]
) -> tuple[list[FileChange], dict[str, Unusable]]:
    """Return the changes, and the errors of files that were left out.

    :raises TideateError: no file was changed.
    """
    changes: dict[str, FileChange] = {}
    plan, left, asked, rounds = planned, planned, 0, CommentRounds(step, possible=True)
    while failed := await _write_all(step, files, left, changes, len(planned)):
        if asked == MOST_TRIES:
            break
        asked += 1
        plan = [file for file in plan if file.path in failed]
        wanted = await _ask_about_failed(step, plan, failed, len(changes), rounds)
        if wanted is None:
            break
        plan = [file for file in wanted if file.path not in changes]
        left = [_with_comments(file, rounds.unanswered) for file in plan]
        await ask_about_secrets(step, [file for file in left if file.path not in failed])
    if not changes:
        raise next(iter(failed.values()), Declined("no file is left in the plan"))
    order = [file.path for file in planned]
    return sorted(changes.values(), key=lambda change: _place(order, change.path)), failed


def _place(order: list[str], path: str) -> int:
    return order.index(path) if path in order else len(order)


async def _write_all(
    step: StepContext,
    files: PlannedFiles,
    wanted: list[PlannedFile],
    changes: dict[str, FileChange],
    total: int,
) -> dict[str, Unusable]:
    """Add the changes of these files, and return the errors of the failed ones."""
    failed: dict[str, Unusable] = {}
    for file in await in_order(step, wanted):
        try:
            changes[file.path] = await files.change(file, list(changes.values()))
        except (UnusableAnswer, ContextTooLong) as error:
            failed[file.path] = error
            step.notice(f"{file.path} failed: {error}", level="warn")
            continue
        action = "no change in" if _is_unchanged(changes[file.path]) else file.action
        step.notice(f"{len(changes)}/{total} {action} {file.path}")
    return {file.path: failed[file.path] for file in wanted if file.path in failed}


async def _ask_about_failed(
    step: StepContext,
    plan: Sequence[PlannedFile],
    failed: Mapping[str, TideateError],
    done: int,
    rounds: CommentRounds,
) -> list[PlannedFile] | None:
    """Return the files to try again, without the removed ones; None without a decision.

    Comments are kept in the rounds.

    :param plan: the files that failed.
    """
    rounds.keep([one for one in rounds.unanswered if one.path is None or one.path in failed])
    planned: list[dict[str, Any]] = _as_json(plan)["files"]
    problems = [str(error) for error in failed.values()]
    while True:
        count = len(planned)
        message = "\n".join(
            [
                *(f"{problem}." for problem in problems),
                f"Try {count} file{'' if count == 1 else 's'} again? No leaves out the failed files; "
                f"{done} of the others {'is' if done == 1 else 'are'} kept.",
            ]
        )
        payload = {"files": planned, "problems": problems, "again": True, **rounds.payload}
        decision = await step.confirm("plan", message, payload=payload)
        if decision.by != "user":
            return None
        shown, planned = planned, _files_of(decision.value, planned)
        try:
            said = rounds.read(decision)
            if not decision.accepted and not said:
                return []
            # kept for another failure
            rounds.keep(follow_renames(said, shown, planned))
            unchanged = not decision.value or (said and "files" not in decision.value)
            wanted = parse_plan({"files": planned} if unchanged else decision.value, step.workspace)
        except InvalidInput as error:
            problems = [str(error)]
            continue
        for path in {one.path for one in rounds.unanswered if one.path} - {file.path for file in wanted}:
            step.notice(f"the comment on {path} is not sent: {path} is not tried again", level="warn")
        return wanted


def _files_of(answer: Any, shown: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the files of an edited plan, valid or not, or the files shown if it has none."""
    return answer["files"] if _is_plan(answer) else shown


def _with_comments(file: PlannedFile, said: Sequence[PlaceComment]) -> PlannedFile:
    words = [one.text.strip() for one in said if one.path in (None, file.path)]
    why = "\n".join([file.why, *(f"The person says of it: {text}" for text in words)])
    return file.model_copy(update={"why": why})


def _is_unchanged(change: FileChange) -> bool:
    return change.action == "modify" and change.before == change.after

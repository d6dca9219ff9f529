"""Review of changes: shown, reduced to what the person accepts, checked, applied."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Literal

from tideate_core.engine.changes_now import changes_now
from tideate_core.engine.decisions import Decided, hunk_count
from tideate_core.engine.review_payload import (
    compare_and_check,
    new_errors_of,
    places_of_errors,
    question_about,
    shown_change,
)
from tideate_core.engine.revision import Comment, Feedback, PartlyRevised, Revision
from tideate_core.engine.saving import save_with_earlier
from tideate_core.errors import InvalidInput, StepFailed, TideateError, WorkspaceError
from tideate_core.util.escaping import label
from tideate_core.util.uncancelled import run_uncancelled
from tideate_core.workflows import Declined
from tideate_core.workspace import FileChange, executable_changes, with_kept_line_ends

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Sequence

    from tideate_core.agents import StagedFiles
    from tideate_core.engine.revision import ReviewAnswer
    from tideate_core.engine.selected_text import Subject
    from tideate_core.workflows import Decision, PersonAccess, StepContext
    from tideate_core.workspace import AppliedChanges, ExecutableFile

    Revise = Callable[[Feedback], Awaitable[list[FileChange]]]
    ReviseLines = Callable[[Feedback], Awaitable[list[str]]]

__all__ = [
    "BACK",
    "FIX",
    "ask_for_review",
    "review_and_apply",
    "review_lines",
    "without_executed",
    "write_changes",
    "write_staged",
]

MOST_ASKED: Final = 3
"""A front end whose answers cannot be used is asked no more often."""
MOST_REFUSED: Final = 10
"""Times that a review opens again because what was accepted cannot be written."""
NOT_REVISABLE: Final = "the model cannot be asked to revise this any more: decide without comments"
NOTHING_SAID: Final = "the comments have no text: confirm your decisions, or write what is to change"
MEANWHILE: Final = "the text changed meanwhile, and the review is open again"
HARD_LINK: Final = "only this name gets the new text, the file's other names keep the old one"
UNASKED: Final = "no person was asked"
REFUSED: Final = 'the configuration has [land] executed = "refuse"'
ONLY_EXECUTED: Final = (
    "the change is only to files that other tools execute, and these are left out; nothing was written"
)
FIX: Final = "fix"
"""The value of an answer to a question about errors that has the model correct them."""
BACK: Final = "back"
"""The value of an answer to such a question that opens the review again, with all decisions."""


async def review_and_apply(
    step: StepContext, changes: Sequence[FileChange], revise: Revise | None = None
) -> list[FileChange]:
    """Ask for a review and write what was accepted, all of it or nothing.

    Files that are open in an editor are saved, so that they go with the others on disk, too, with those that
    the run changed which this one continues; one that has other unsaved changes is not.

    :param revise: has the model answer the person's comments, and returns all changes as they are then.
    :raises Declined: nothing was accepted.
    :raises WorkspaceError: the changes could not be written; nothing was.
    """
    earlier = await step.earlier()
    run = earlier.execution_id if earlier else None
    left = await step.workspace.unsaved_of(run) if run else {}
    accepted, applied = await _review_and_write(step, changes, revise)
    if applied is not None:
        await run_uncancelled(save_with_earlier(step, applied, run, left))
    return accepted


async def _review_and_write(
    step: StepContext, changes: Sequence[FileChange], revise: Revise | None, *, chosen: bool = False
) -> tuple[list[FileChange], AppliedChanges | None]:
    """Do all of it but the saving."""
    wanted = _real(changes)
    accepted = await _Review(step, wanted, revise, chosen=chosen).result() if wanted else []
    if not accepted:
        step.notice("the answer changes nothing")
        return [], None
    return accepted, await write_changes(step, accepted)


def _real(changes: Sequence[FileChange]) -> list[FileChange]:
    return [change for change in map(with_kept_line_ends, changes) if change.changes_something]


async def write_staged(step: StepContext, staged: StagedFiles) -> list[str]:
    """Ask for a review of staged edits, write what was accepted, and return the names of these files.

    :raises Declined: there are edits, and none was accepted.
    :raises WorkspaceError: they could not be written; nothing was.
    """
    changes = await step.workspace.attach(staged.changes())
    if not changes:
        return []
    return [change.move_to or change.path for change in await review_and_apply(step, changes)]


async def review_lines(
    step: StepContext,
    subject: Subject,
    start: int,
    end: int,
    new: list[str],
    revise: ReviseLines | None = None,
    place: Callable[[], tuple[int, int]] | None = None,
) -> tuple[dict[str, Any], list[FileChange]]:
    """Have new lines reviewed and written in place of others; return the step's result, and what was written.

    :param start: of the lines that they replace, 0-based and half open.
    :param revise: has the model answer the person's comments, and returns the new lines as they are then.
    :param place: returns the lines that these replace, if it is not the same each time.
    """
    buffer, latest = subject.buffer, new

    def change_to(lines: list[str]) -> FileChange:
        first, last = place() if place is not None else (start, end)
        after = [*subject.lines[:first], *lines, *subject.lines[last:]]
        return FileChange(
            path=subject.path,
            action="modify",
            before=buffer.text,
            after="\n".join(after),
            buffer=buffer.number,
            tick=buffer.tick,
            filetype=buffer.filetype,
        )

    async def revised(feedback: Feedback) -> list[FileChange]:
        nonlocal latest
        assert revise is not None  # noqa: S101 nobody is asked for comments without it
        latest = await revise(feedback)
        return [change_to(latest)]

    written, _ = await _review_and_write(step, [change_to(new)], revised if revise else None, chosen=True)
    result = {"response": "\n".join(latest), "files": [change.path for change in written]}
    return result if written else {**result, "unchanged": True}, written


async def ask_for_review(
    step: StepContext, changes: list[FileChange], revise: Revise | None = None, *, gated: bool = False
) -> list[FileChange]:
    """Return what the person accepts of changes; whether that may be written is for the caller to say.

    :param revise: see `review_and_apply`.
    :param gated: new syntax errors are reported, and only a person may let them pass.
    :raises Declined: nothing was accepted.
    """
    return await _Review(step, changes, revise, gated=gated).result()


class _Review:
    """Rounds of one review: the person decides and comments, the model revises, until there are no comments.

    An answer is kept with the run before the model is asked, and so is the model's: after a crash the review
    goes on at the question that was open.

    :param gated: new syntax errors are reported, and only a person may let them pass.
    :param chosen: the person named the file that is changed, and no model chose it.
    """

    def __init__(
        self,
        step: StepContext,
        changes: Sequence[FileChange],
        revise: Revise | None,
        *,
        gated: bool = True,
        chosen: bool = False,
    ) -> None:
        self._step = step
        self._chosen = chosen
        self._revision = Revision.first(changes)
        self._revise = revise
        self._gated = gated
        self._asked = 0
        self._by_hunk = False
        self._refused = 0
        """How often what was accepted could not be written, and nothing could be done for it."""
        self._unanswered: list[dict[str, Any]] = []
        """The comments that the model could not be asked about, for the person to send again."""
        self._linked: set[str] = set()
        """Hard links that were named."""
        self._warnings: list[str] = []
        """What went wrong in the last round, for a front end that shows the review over other messages."""

    async def result(self) -> list[FileChange]:
        """Return what was accepted in the end; empty where a revision changes nothing.

        :raises Declined: nothing was accepted.
        """
        while self._revision.changes:
            if self._step.refuses_executed and not self._chosen:
                await self._refuse_executed()
            problems = await asyncio.to_thread(compare_and_check, self._revision.changes)
            if self._gated:
                self._step.gate(
                    "syntax", problems, await asyncio.to_thread(places_of_errors, self._revision.changes)
                )
            answer = await self._ask(problems)
            feedback, corrected = answer.feedback, frozenset[str]()
            if not feedback.comments:
                accepted = self._revision.accepted(answer.decided)
                if self._by_hunk and await self._moved_on(accepted, answer.decided):
                    continue
                found = await self._let_pass(accepted, answer.decided, problems) if self._gated else None
                if found is None:
                    return accepted
                if found == BACK:
                    self._revision = replace(self._revision, decided=answer.decided)
                    self._unanswered, self._warnings = [], []
                    continue
                feedback, corrected = found
            await self._next_revision(answer, feedback, corrected)
        return []

    @property
    def _revisable(self) -> bool:
        return self._revise is not None and self._asked < self._step.revisions

    async def _ask(self, problems: list[str]) -> ReviewAnswer:
        step, wanted = self._step, self._revision.changes
        message = self._question()
        placed = [change for change in wanted if not change.is_of_no_file]
        try:
            await step.workspace.stage(placed)
        except WorkspaceError as error:  # shown all the same: what a model made is not lost
            reason = str(error).partition(";")[0]
            step.notice(f"as things are this change cannot be written: {reason}", level="warn")
        await self._name_hard_links(placed)
        executed = await executable_changes(step.workspace, placed)
        for _ in range(MOST_ASKED):
            decision = await step.confirm(
                "review",
                message,
                details="\n".join(f"- new syntax error: {problem}" for problem in problems),
                payload=self._payload(),
                executed=executed,
            )
            try:
                return self._read(decision, executed)
            except InvalidInput as error:
                # what a model made is not lost by a front end's mistake
                unusable = str(error)
                message = f"{unusable}.\n{self._question()}"
        raise StepFailed(f"{unusable}; nothing was written")

    async def _name_hard_links(self, changes: Sequence[FileChange]) -> None:
        """Name files whose other names a write leaves behind; Neovim writes loaded files itself."""
        paths = {one.path for one in changes if one.action == "modify" and one.buffer is None}
        for path in sorted(paths - self._linked):
            if await asyncio.to_thread(self._step.workspace.has_other_names, path):
                self._linked.add(path)
                self._step.notice(f"{label(path)} is a hard link: {HARD_LINK}", level="warn")

    async def _refuse_executed(self) -> None:
        """Take files that other tools execute out of the review.

        :raises StepFailed: there are no others.
        """
        revision = self._revision
        kept = await without_executed(self._step, revision.changes, REFUSED)
        pairs = zip(revision.changes, revision.decided, strict=True)
        decided = [one for change, one in pairs if change in kept]
        self._revision = replace(revision, changes=kept, decided=decided)

    def _without_executed(self, answer: ReviewAnswer, executed: Sequence[ExecutableFile]) -> ReviewAnswer:
        """Return the answer of a policy without files that other tools execute.

        :raises StepFailed: it accepts no others.
        """
        paths = {one.path for one in executed}
        pairs = list(zip(self._revision.changes, answer.decided, strict=True))
        taken = {_written_name(change) for change, one in pairs if one.any_accepted}
        _tell_left_out(self._step, [one for one in executed if one.path in taken], UNASKED)
        decided = [
            Decided(rejected=frozenset(range(hunk_count(change)))) if _written_name(change) in paths else one
            for change, one in pairs
        ]
        if taken and taken <= paths:
            raise StepFailed(ONLY_EXECUTED)
        return replace(answer, decided=decided)

    def _read(self, decision: Decision, executed: Sequence[ExecutableFile]) -> ReviewAnswer:
        """Return the answer.

        :raises InvalidInput: it is none to this revision.
        :raises Declined: nothing was accepted, and nothing was said to the model.
        """
        # who takes all of it unseen is not asked once more, and nothing is written
        self._by_hunk = decision.by == "user" and (self._by_hunk or decision.value is not None)
        if not decision.accepted and not _has_comments(decision.value):
            raise Declined(decision.reason)
        answer = self._revision.read(decision.value)
        if decision.by != "user" and not self._chosen:
            answer = self._without_executed(answer, executed)
        if answer.feedback.comments and self._revisable:
            return answer
        if not answer.feedback.comments and not any(one.any_accepted for one in answer.decided):
            raise Declined("no change was accepted")
        if answer.feedback.comments or not decision.accepted:
            # asked once more with what was decided, and with nothing that a front end would send again
            self._revision = replace(self._revision, decided=answer.decided)
            self._unanswered = []
            raise InvalidInput(NOT_REVISABLE if answer.feedback.comments else NOTHING_SAID)
        return answer

    async def _moved_on(self, accepted: Sequence[FileChange], decided: list[Decided]) -> bool:
        """Open the review again, for texts as they are now, where what was accepted cannot be written."""
        shown = self._revision
        now = await changes_now(self._step, accepted, shown.changes)
        if now is None:
            return False
        self._unanswered, self._warnings = [], []
        if (
            now.changes == shown.changes
        ):  # a new file is there already, say: for the person to change, or to reject
            self._refused += 1
            self._revision = replace(shown, decided=decided)
            self._warn(now.refused)
            return self._refused < MOST_REFUSED
        self._revision = shown.for_texts_now(decided, now.changes)
        for words in self._revision.fallen or [MEANWHILE]:
            self._warn(words)
        return True

    def _question(self) -> str:
        number = self._revision.number
        question = question_about(self._revision.changes)
        return question if number == 1 else f"Revision {number}. {question}"

    def _payload(self) -> dict[str, Any]:
        revision = self._revision
        files = [shown_change(change) for change in revision.changes]
        if revision.number > 1 or any(one.accepted or one.rejected or one.edited for one in revision.decided):
            files = [
                {**file, "decided": one.as_json()} for file, one in zip(files, revision.decided, strict=True)
            ]
        payload = {"files": files, "demonstration": self._step.demonstration, "revisable": self._revisable}
        if revision.number > 1:
            payload["revision"] = revision.number
        if self._unanswered:
            payload["comments"] = self._unanswered
        if self._warnings:
            payload["warnings"] = self._warnings
        return payload

    def _warn(self, words: str) -> None:
        self._warnings.append(words)
        self._step.notice(words, level="warn")

    async def _let_pass(
        self, accepted: list[FileChange], decided: list[Decided], problems: list[str]
    ) -> tuple[Feedback, frozenset[str]] | Literal["back"] | None:
        """Ask about new syntax errors in what was accepted; None where it may be written.

        :returns: what the model is told, where it is to correct them, and the files that have them; `BACK`
            where the person goes back to the review.
        """
        if accepted != self._revision.changes:  # a part of a change is another text
            problems = await asyncio.to_thread(compare_and_check, accepted)
            self._step.gate("syntax", problems, await asyncio.to_thread(places_of_errors, accepted))
        answer = await _override(self._step, problems, fixable=self._revisable) if problems else None
        if answer != FIX:
            return answer
        words = "\n".join(f"- {problem}" for problem in problems)
        errors = Comment(f"What was accepted of it brings new syntax errors. Correct them:\n{words}")
        faulty = await asyncio.to_thread(
            lambda: [change.path for change in accepted if new_errors_of(change)]
        )
        return Feedback((errors, *self._revision.rejections(decided))), frozenset(faulty)

    async def _next_revision(
        self, answer: ReviewAnswer, feedback: Feedback, corrected: Collection[str]
    ) -> None:
        """Have the model answer; where it cannot, the revision is reviewed once more, with what was said.

        :param corrected: the files that it is to correct.
        """
        step, revise = self._step, self._revise
        assert revise is not None  # noqa: S101 nobody is asked for comments without it
        comments = f"{feedback.count} comment{'' if feedback.count == 1 else 's'}"
        step.notice(f"asking the model for a revision: {comments}")
        self._unanswered, self._warnings = [], []
        try:
            changes = _real(await revise(feedback))
        except PartlyRevised as partly:
            self._warn(f"the model could not revise all of it: {partly}")
            changes = self._with_failed(partly)
            self._unanswered = [
                one
                for one in answer.given
                if (one["path"] in partly.failed if "path" in one else partly.unheard)
            ]
        except TideateError as error:
            self._warn(f"the model could not revise it, and the review is open again: {error}")
            self._revision = replace(self._revision, decided=answer.decided)
            self._unanswered = answer.given
            return
        self._asked += 1
        self._revision = self._revision.followed_by(answer.decided, changes, corrected=corrected)
        for words in self._revision.fallen:
            self._warn(words)

    def _with_failed(self, partly: PartlyRevised) -> list[FileChange]:
        """Return a revision's changes; files that failed are as they were shown, so that comments fit."""
        shown = {change.path: change for change in self._revision.changes if change.path in partly.failed}
        return _real([shown.get(change.path, change) for change in partly.changes])


async def without_executed(
    step: StepContext, changes: Sequence[FileChange], reason: str = UNASKED
) -> list[FileChange]:
    """Return the changes without files that other tools execute, which are named.

    :param reason: in words, why they are left out.
    :raises StepFailed: there are no others.
    """
    executed = await executable_changes(step.workspace, changes)
    _tell_left_out(step, executed, reason)
    paths = {one.path for one in executed}
    kept = [change for change in changes if _written_name(change) not in paths]
    if changes and not kept:
        raise StepFailed(ONLY_EXECUTED)
    return kept


def _tell_left_out(step: StepContext, executed: Sequence[ExecutableFile], reason: str) -> None:
    for one in executed:
        step.notice(f"left out {label(one.path)}: {one.reason}, and {reason}", level="warn")


def _written_name(change: FileChange) -> str:
    return change.move_to or change.path


def _has_comments(value: Any) -> bool:
    return isinstance(value, dict) and bool(value.get("comments"))


async def _override(
    step: PersonAccess, problems: list[str], *, fixable: bool
) -> Literal["fix", "back"] | None:
    """Ask whether a change with new syntax errors is written.

    :param fixable: the model may be asked to correct them.
    :returns: `FIX` where it is to, `BACK` for the review again; None: the change is written as it is.
    :raises Declined: none of them.
    """
    listed = "\n".join(f"- {problem}" for problem in problems)
    decision = await step.confirm(
        "override",
        f"The change brings {len(problems)} new syntax error{'' if len(problems) == 1 else 's'}. "
        "Write it anyway?",
        details=listed,
        payload={"back": True, **({"fixable": True} if fixable else {})},
    )
    if decision.accepted:
        return None
    if decision.by != "user":
        raise StepFailed(f"the change brings new syntax errors; nothing was written:\n{listed}")
    if fixable and decision.value == FIX:
        return FIX
    if decision.value == BACK:
        return BACK
    raise Declined("the change brings new syntax errors")


async def write_changes(step: StepContext, changes: list[FileChange]) -> AppliedChanges:
    """Apply, and revert it where the run is cancelled meanwhile; tell which files other tools run."""
    executed = await executable_changes(step.workspace, changes)
    workspace = step.workspace
    writing = workspace.apply(changes, execution_id=step.execution_id)
    applied = await run_uncancelled(writing, workspace.revert)
    names = [change.move_to or change.path or f"buffer {change.buffer}" for change in changes]
    step.changed(list(dict.fromkeys(names)), executed)  # of one file text and mode may change
    return applied

"""Review of unwritten changes in rounds, with new syntax errors; write and save accepted parts."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal

from tideate_core.engine.review.hunks import Decided, file_name, hunk_count
from tideate_core.engine.review.marks import fold_of, marks_of
from tideate_core.engine.review.revision import Comment, Feedback, PartlyRevised, Revision
from tideate_core.errors import EditConflict, InvalidInput, StepFailed, TideateError, WorkspaceError
from tideate_core.gates import new_errors
from tideate_core.util.escaping import label
from tideate_core.util.uncancelled import run_uncancelled
from tideate_core.workflows import MISSING, Declined
from tideate_core.workspace import (
    FileChange,
    SavedFiles,
    change_note,
    executable_changes,
    language_of,
    text_digest,
    with_kept_line_ends,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence

    from tideate_core.agents import StagedFiles
    from tideate_core.engine.request import Subject
    from tideate_core.engine.review.revision import ReviewAnswer
    from tideate_core.gates import SyntaxProblem
    from tideate_core.workflows import CheckResult, Decision, PersonAccess, StepContext
    from tideate_core.workspace import AppliedChanges, ExecutableFile

    Revise = Callable[[Feedback], Awaitable[list[FileChange]]]
    ReviseLines = Callable[[Feedback], Awaitable[list[str]]]


OTHER_CHANGES: Final = "other unsaved changes; `:wa` saves"


async def save_with_earlier(
    step: StepContext, applied: AppliedChanges, run: str | None, left: Mapping[str, bool]
) -> None:
    """Save the changed buffers, and buffers left unsaved by the earlier run that this one continues.

    :param left: unsaved files before the changes were applied; see `unsaved_of`.
    """
    own = {path for path, alone in left.items() if alone and path not in applied.rebased}
    unsaved = await _save(step, applied, own)
    now = await step.workspace.unsaved_of(run) if run else {}
    others = {path: alone for path, alone in now.items() if path not in applied.open_files}
    done = await step.workspace.save([path for path, alone in others.items() if alone])
    if done.saved:
        step.notice(f"saved with the others: {', '.join(map(label, done.saved))}")
    unsaved |= {path: OTHER_CHANGES for path, alone in others.items() if not alone} | done.unsaved
    _tell_unsaved(step, unsaved)


async def save_open_files(step: StepContext, applied: AppliedChanges) -> None:
    """Save the changed buffers, and name the files that were not saved."""
    _tell_unsaved(step, await _save(step, applied))


async def _save(
    step: StepContext, applied: AppliedChanges, own: Collection[str] = frozenset()
) -> dict[str, str]:
    """Save the changed buffers, except buffers with other unsaved changes of the person.

    :param own: files whose unsaved changes are all from an earlier run.
    :returns: the reasons by file that was not saved.
    """
    theirs = {path for path, modified in applied.open_files.items() if modified and path not in own}
    done = await step.workspace.save([path for path in applied.open_files if path not in theirs])
    return dict.fromkeys(theirs, OTHER_CHANGES) | done.unsaved


def _tell_unsaved(step: StepContext, unsaved: dict[str, str]) -> None:
    if unsaved:
        step.notice(SavedFiles(unsaved=unsaved).unsaved_words, level="warn", unsaved=sorted(unsaved))


@dataclass(frozen=True, slots=True)
class ChangesNow:
    """Conflict of accepted changes with the current files."""

    refused: str
    changes: list[FileChange]
    """The shown changes, rebased on the current texts."""


async def changes_now(
    step: StepContext, accepted: Sequence[FileChange], shown: Sequence[FileChange]
) -> ChangesNow | None:
    """Return the changes to review again if the accepted ones cannot be written; None if they can.

    After a crash the changes are rebased on the same texts as before, because the stored answers refer to
    them. A text that may hold a secret is not stored, but read again.
    """
    from tideate_core.agents import keep_texts, kept_texts

    key = step.numbered(f"changes_now:{step.attempt}")
    kept = step.recall(key)
    if kept is not MISSING:
        return ChangesNow(kept["refused"], await _as_kept(step, shown, kept["paths"], kept_texts(step, key)))
    try:
        await step.workspace.stage([change for change in accepted if not change.is_of_no_file])
        return None
    except EditConflict as error:
        refused = str(error)
    now = [await step.workspace.for_text_now(change) for change in shown]
    texts = {one.path: one.before for one, change in zip(now, shown, strict=True) if one != change}
    await keep_texts(step, key, texts)
    await step.remember(key, {"refused": refused, "paths": [*texts]})
    # a killed process may have stored texts, too: those are shown
    return ChangesNow(refused, await _as_kept(step, shown, [*texts], kept_texts(step, key)))


async def _as_kept(
    step: StepContext, shown: Sequence[FileChange], paths: Sequence[str], texts: dict[str, str | None]
) -> list[FileChange]:
    now = [
        await step.workspace.for_text_now(change, texts.get(change.path)) if change.path in paths else change
        for change in shown
    ]
    return await step.workspace.attach(now)


def question_about(changes: Sequence[FileChange]) -> str:
    """Return the question that asks whether to make changes."""
    if len(changes) > 1:
        return f"Apply changes to {len(changes)} files?"
    change = changes[0]
    if change.is_of_no_file:
        count = len(change.hunks[0].new)
        return f"Open the new text in a buffer ({count} line{'' if count == 1 else 's'})?"
    name = label(change.path) or "the buffer"
    lines = (
        f"+{sum(len(hunk.new) for hunk in change.hunks)} -{sum(len(hunk.old) for hunk in change.hunks)} lines"
    )
    if change.action == "move" and change.after != change.before:
        return f"Move {name} to {label(change.move_to)}, and change it ({lines})?"
    if change.whole:
        return f"{change.action.capitalize()} {name}?"
    return f"Apply the change to {name} ({lines})?"


def shown_change(change: FileChange) -> dict[str, Any]:
    """Return a change in the form that front ends show."""
    shape: dict[str, Any] = {"path": change.path, "action": change.action, "filetype": change.filetype}
    if change.move_to:
        shape["move_to"] = change.move_to
    shape["before"] = change.before or ""  # locates the hunks in a buffer that was changed since
    if change.buffer is not None:
        shape |= {"buffer": change.buffer, "digest": text_digest(shape["before"])}
    if note := change_note(change):
        shape["note"] = note
    if marks := marks_of(change):
        shape["marks"] = marks
    if fold := fold_of(change):
        shape["folded"] = fold
    if change.whole and change.conflict:
        shape["conflict"] = True
    if change.images is not None:
        shape |= {"whole": True, "images": [image.state.digest for image in change.images]}
        if change.is_of_mode:
            shape["mode"] = [f"100{image.state.mode:o}" for image in change.images]
        elif change.before is change.after is None:
            shape["binary"] = True
    # a moved file has hunks only if its text changes, too
    shape["hunks"] = [] if change.action == "delete" else [hunk.as_json() for hunk in change.hunks]
    return shape


@dataclass(frozen=True, slots=True)
class NewError:
    """Syntax error that a change introduces."""

    change: FileChange
    problem: SyntaxProblem

    def __str__(self) -> str:
        where = self.change.move_to or file_name(self.change)
        return f"{where}:{self.problem.line}:{self.problem.column}: {self.problem.message}"


def compare_and_check(changes: Sequence[FileChange]) -> list[NewError]:
    """Compare and parse changes in a thread, because both are slow for large texts."""
    found: list[NewError] = []
    for change in changes:
        _ = change.hunks
        if change.after is None or change.after == change.before:
            continue
        language = language_of(change.move_to or change.path, change.filetype)
        problems = new_errors(language, change.before or "", change.after)
        found += [NewError(change, problem) for problem in problems]
    return found


def places_of_errors(errors: Sequence[NewError]) -> list[dict[str, Any]]:
    """Return new syntax errors as quickfix entries."""
    from tideate_core.toolchain import Failure

    named = [(one.change.move_to or one.change.path, one.problem) for one in errors]
    return [
        Failure(name, problem.line, problem.column, problem.message, tool="syntax").as_json()
        for name, problem in named
        if name
    ]


def listed_errors(errors: Sequence[NewError], words: str = "") -> str:
    """Return new syntax errors as a Markdown list."""
    return "\n".join(f"- {words}{error}" for error in errors)


MOST_ASKED: Final = 3
"""Times that a front end is asked again after unusable answers."""
MOST_REFUSED: Final = 10
"""Times that a review reopens because accepted changes cannot be written."""
NOT_REVISABLE: Final = "no more revisions are possible: decide without comments"
NOTHING_SAID: Final = "the comments are empty: confirm your decisions, or write a comment"
MEANWHILE: Final = "the text changed meanwhile, and the review is open again"
HARD_LINK: Final = "only this name gets the new text, the file's other names keep the old one"
UNASKED: Final = "no person was asked"
REFUSED: Final = 'the configuration has [land] executed = "refuse"'
FOR_A_PERSON: Final = "a person must decide about the conflicts and the files that other tools execute"
CONFLICTS: Final = "you changed this part, too; accept it by itself"
ONLY_EXECUTED: Final = (
    "the change is only to files that other tools execute, and these are left out; nothing was written"
)
FIX: Final = "fix"
"""Answer to a question about syntax errors: the model corrects them."""
BACK: Final = "back"
"""Answer to a question about syntax errors: the review reopens with all decisions."""


async def review_and_apply(
    step: StepContext,
    changes: Sequence[FileChange],
    revise: Revise | None = None,
    open_points: Callable[[], Sequence[str]] = tuple,
) -> list[FileChange]:
    """Ask for a review, and write all accepted changes or none.

    Files that are open in an editor are saved, unless they have other unsaved changes, together with the
    files that an earlier run changed and this one continues.

    :param revise: asks the model to answer the person's comments; returns all changes of the revision.
    :param open_points: returns points that the model left open in the last revision; the review begins with
        them.
    :raises Declined: the person accepted nothing.
    :raises WorkspaceError: the changes could not be written; none was.
    """
    earlier = await step.earlier()
    run = earlier.execution_id if earlier else None
    left = await step.workspace.unsaved_of(run) if run else {}
    accepted, applied = await _review_and_write(step, changes, revise, open_points=open_points)
    if applied is not None:
        await run_uncancelled(save_with_earlier(step, applied, run, left))
    return accepted


@dataclass(frozen=True, slots=True)
class CollectedReview:
    """Outcome of a review with collected comments."""

    written: list[FileChange]
    feedback: Feedback
    undecided: list[str]
    """Files with parts that were neither accepted nor rejected."""


async def review_collected(step: StepContext, changes: Sequence[FileChange]) -> CollectedReview:
    """Ask for a review of another program's changes, write the accepted ones, and collect the comments.

    :raises Declined: the person decided nothing.
    :raises WorkspaceError: the changes could not be written; none was.
    """
    review = _Review(step, changes, None, collects=True)
    accepted = await review.result()
    if accepted:
        await run_uncancelled(save_open_files(step, await write_changes(step, accepted)))
    return CollectedReview(accepted, review.feedback, review.undecided)


async def _review_and_write(
    step: StepContext,
    changes: Sequence[FileChange],
    revise: Revise | None,
    *,
    chosen: bool = False,
    open_points: Callable[[], Sequence[str]] = tuple,
) -> tuple[list[FileChange], AppliedChanges | None]:
    """Review and write changes without saving buffers."""
    wanted = _real(changes)
    review = _Review(step, wanted, revise, chosen=chosen, open_points=open_points)
    accepted = await review.result() if wanted else []
    if not accepted:
        step.notice("the answer changes nothing")
        return [], None
    return accepted, await write_changes(step, accepted)


def listed_points(points: Sequence[str]) -> str:
    """Return a model's open points as a list; empty if there are none."""
    return "\n".join(["Open points of the model:", *(f"- {point}" for point in points)]) if points else ""


def _real(changes: Sequence[FileChange]) -> list[FileChange]:
    return [change for change in map(with_kept_line_ends, changes) if change.changes_something]


async def write_staged(step: StepContext, staged: StagedFiles) -> list[str]:
    """Ask for a review of staged edits, write the accepted ones, and return their files.

    :raises Declined: the person accepted none of the edits.
    :raises WorkspaceError: the edits could not be written; none was.
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
    """Review and write new lines in place of others; return the step's result and the written changes.

    :param start: first line replaced, 0-based; `end` is exclusive.
    :param revise: asks the model to answer the person's comments; returns the new lines of the revision.
    :param place: returns the replaced range if it differs between revisions.
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
    """Return the changes that the person accepts; nothing is written.

    :param revise: see `review_and_apply`.
    :param gated: new syntax errors are reported, and only a person may accept them.
    :raises Declined: the person accepted nothing.
    """
    return await _Review(step, changes, revise, gated=gated).result()


class _Review:
    """One review in rounds: the person decides and comments, the model revises, until there are no comments.

    Answers of the person and the model are stored with the run: after a crash the review continues at the
    open question.

    :param gated: new syntax errors are reported, and only a person may accept them.
    :param chosen: the person, not the model, chose the changed file.
    :param collects: collect comments and rejections in `feedback` instead of a revision; a review that
        rejects all changes then ends without an error.
    """

    def __init__(
        self,
        step: StepContext,
        changes: Sequence[FileChange],
        revise: Revise | None,
        *,
        gated: bool = True,
        chosen: bool = False,
        collects: bool = False,
        open_points: Callable[[], Sequence[str]] = tuple,
    ) -> None:
        self._step = step
        self._collects = collects
        self.feedback = Feedback(())
        """Collected comments and rejections of the last answer."""
        self.undecided: list[str] = []
        """Files with parts that the last answer neither accepted nor rejected."""
        self._open_points = open_points
        self._chosen = chosen
        self._revision = Revision.first(changes)
        self._revise = revise
        self._gated = gated
        self._asked = 0
        self._by_hunk = False
        self._refused = 0
        """Number of times that accepted changes could not be written."""
        self._unanswered: list[dict[str, Any]] = []
        """Comments that no model answered, for the person to send again."""
        self._linked: set[str] = set()
        """Hard links that were reported."""
        self._warnings: list[str] = []
        """Problems of the last round, for a front end that shows the review over other messages."""

    async def result(self) -> list[FileChange]:
        """Return the accepted changes of the last round; empty if a revision changes nothing.

        :raises Declined: the person accepted nothing.
        """
        while self._revision.changes:
            if self._step.refuses_executed and not self._chosen:
                await self._refuse_executed()
            problems = await self._check(self._revision.changes)
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

    async def _check(self, changes: Sequence[FileChange]) -> list[NewError]:
        """Return the new syntax errors of changes, reported if the review is gated."""
        problems = await asyncio.to_thread(compare_and_check, changes)
        if self._gated:
            self._step.gate("syntax", [*map(str, problems)], places_of_errors(problems))
        return problems

    @property
    def _revisable(self) -> bool:
        return self._revise is not None and self._asked < self._step.revisions

    async def _ask(self, problems: Sequence[NewError]) -> ReviewAnswer:
        step, wanted = self._step, self._revision.changes
        message = self._question()
        placed = [change for change in wanted if not change.is_of_no_file]
        try:
            await step.workspace.stage(placed)
        except WorkspaceError as error:  # shown even so: the model's work is not lost
            reason = str(error).partition(";")[0]
            step.notice(f"as things are this change cannot be written: {reason}", level="warn")
        await self._name_hard_links(placed)
        executed = await executable_changes(step.workspace, placed)
        for _ in range(MOST_ASKED):
            decision = await step.confirm(
                "review",
                message,
                details=listed_errors(problems, "new syntax error: "),
                payload=self._payload(),
                executed=executed,
                check=self._check_accepted if self._collects else None,
            )
            try:
                return self._read(decision, executed)
            except InvalidInput as error:
                # a front end's mistake must not lose the model's work
                unusable = str(error)
                message = f"{unusable}.\n{self._question()}"
        raise StepFailed(f"{unusable}; nothing was written")

    async def _check_accepted(self, value: Any, check: str) -> CheckResult:
        """Run a check on the accepted part of a partial answer."""
        from tideate_core.agents import run_accepted_check

        accepted = self._revision.accepted(self._revision.read(value).decided)
        return await run_accepted_check(self._step, accepted, check)

    async def _name_hard_links(self, changes: Sequence[FileChange]) -> None:
        """Warn about hard links: a write does not reach their other names. Neovim writes loaded files."""
        paths = {one.path for one in changes if one.action == "modify" and one.buffer is None}
        for path in sorted(paths - self._linked):
            if await asyncio.to_thread(self._step.workspace.has_other_names, path):
                self._linked.add(path)
                self._step.notice(f"{label(path)} is a hard link: {HARD_LINK}", level="warn")

    async def _refuse_executed(self) -> None:
        """Remove files that other tools execute from the review.

        :raises StepFailed: no other files are left.
        """
        revision = self._revision
        kept = await without_executed(self._step, revision.changes, REFUSED)
        pairs = zip(revision.changes, revision.decided, strict=True)
        decided = [one for change, one in pairs if change in kept]
        self._revision = replace(revision, changes=kept, decided=decided)

    def _without_executed(self, answer: ReviewAnswer, executed: Sequence[ExecutableFile]) -> ReviewAnswer:
        """Return the answer of a policy without files that other tools execute.

        :raises StepFailed: it accepts no other files.
        """
        paths = {one.path for one in executed}
        pairs = list(zip(self._revision.changes, answer.decided, strict=True))
        taken = {_written_name(change) for change, one in pairs if one.any_accepted}
        _tell_left_out(self._step, [one for one in executed if one.path in taken], UNASKED)
        decided = [self._left_out(change) if _written_name(change) in paths else one for change, one in pairs]
        if taken and taken <= paths and not self._collects:
            raise StepFailed(ONLY_EXECUTED)
        return replace(answer, decided=decided)

    def _left_out(self, change: FileChange) -> Decided:
        """Return a rejection of a change; if comments are collected, no decision."""
        return Decided() if self._collects else Decided(rejected=frozenset(range(hunk_count(change))))

    def _read(self, decision: Decision, executed: Sequence[ExecutableFile]) -> ReviewAnswer:
        """Return the parsed answer.

        :raises InvalidInput: it does not match this revision.
        :raises Declined: the person accepted nothing and left no comment.
        """
        # a policy that accepts everything is not asked again, and nothing is written
        self._by_hunk = decision.by == "user" and (self._by_hunk or decision.value is not None)
        decided = _has_comments(decision.value) or (self._collects and decision.value is not None)
        if not decision.accepted and not decided:
            raise Declined(decision.reason, decision.by)
        answer = self._revision.read(decision.value)
        if decision.by != "user" and not self._chosen:
            answer = self._without_executed(answer, executed)
        if self._collects:
            return self._collected(answer, decision)
        if answer.feedback.comments and self._revisable:
            return answer
        if not answer.feedback.comments and not any(one.any_accepted for one in answer.decided):
            raise Declined("no change was accepted")
        if answer.feedback.comments or not decision.accepted:
            # ask again with the decisions, but without data that the front end would send back
            self._revision = replace(self._revision, decided=answer.decided)
            self._unanswered = []
            raise InvalidInput(NOT_REVISABLE if answer.feedback.comments else NOTHING_SAID)
        return answer

    def _collected(self, answer: ReviewAnswer, decision: Decision) -> ReviewAnswer:
        """Take comments and rejections out of an answer.

        :raises Declined: nothing was decided.
        """
        revision, decided = self._revision, answer.decided
        said = answer.feedback.comments or (*revision.edits(decided), *revision.rejections(decided))
        self.feedback = Feedback(tuple(said))
        pairs = [*zip(revision.changes, decided, strict=True)]
        self.undecided = [
            path
            for change, one in pairs
            if len(one.accepted | one.rejected) < hunk_count(change)
            for path in filter(None, (change.path, change.move_to))
        ]
        left = [change for change, one in pairs if change.conflicts - one.accepted - one.rejected]
        for change in left if decision.by != "user" or decision.value is None else ():
            self._step.notice(f"left out {label(file_name(change))}: {CONFLICTS}", level="warn")
        if not said and not any(one.any_accepted for one in decided):
            if decision.by != "user":
                self._step.notice(FOR_A_PERSON, level="warn")
            raise Declined("no change was accepted", decision.by)
        return replace(answer, feedback=Feedback(()), given=[])

    async def _moved_on(self, accepted: Sequence[FileChange], decided: list[Decided]) -> bool:
        """Reopen the review on the current texts if the accepted changes cannot be written."""
        shown = self._revision
        now = await changes_now(self._step, accepted, shown.changes)
        if now is None:
            return False
        self._unanswered, self._warnings = [], []
        if (
            now.changes == shown.changes
        ):  # for example a new file that exists by now: the person edits or rejects it
            self._refused += 1
            self._revision = replace(shown, decided=decided)
            self._warn(now.refused)
            return self._refused < MOST_REFUSED
        self._revision = shown.for_texts_now(decided, now.changes)
        if not self._collects:
            self._revision = self._revision.without_conflicts()
        for words in self._revision.fallen or [MEANWHILE]:
            self._warn(words)
        return True

    def _question(self) -> str:
        number = self._revision.number
        question = question_about(self._revision.changes)
        question = question if number == 1 else f"Revision {number}. {question}"
        return "\n".join(filter(None, [listed_points(self._open_points()), question]))

    def _payload(self) -> dict[str, Any]:
        revision = self._revision
        files = [shown_change(change) for change in revision.changes]
        if revision.number > 1 or any(one.accepted or one.rejected or one.edited for one in revision.decided):
            files = [
                {**file, "decided": one.as_json()} for file, one in zip(files, revision.decided, strict=True)
            ]
        payload = {"files": files, "demonstration": self._step.demonstration, "revisable": self._revisable}
        if self._collects:
            payload["collects"] = True
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
        self, accepted: list[FileChange], decided: list[Decided], problems: Sequence[NewError]
    ) -> tuple[Feedback, frozenset[str]] | Literal["back"] | None:
        """Ask about new syntax errors in the accepted changes; None if they may be written.

        :returns: the feedback for the model and the files to correct, or `BACK` to review again.
        """
        if accepted != self._revision.changes:  # part of a change is a different text
            problems = await self._check(accepted)
        answer = await _override(self._step, problems, fixable=self._revisable) if problems else None
        if answer != FIX:
            return answer
        words = listed_errors(problems)
        errors = Comment(f"What was accepted of it brings new syntax errors. Correct them:\n{words}")
        faulty = frozenset(error.change.path for error in problems)
        return Feedback((errors, *self._revision.rejections(decided))), faulty

    async def _next_revision(
        self, answer: ReviewAnswer, feedback: Feedback, corrected: Collection[str]
    ) -> None:
        """Ask the model for a revision; if it fails, review the present one again with the comments.

        :param corrected: the files that the model is to correct.
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
        """Return a revision's changes; files that failed stay as shown, so that comments still apply."""
        shown = {change.path: change for change in self._revision.changes if change.path in partly.failed}
        return _real([shown.get(change.path, change) for change in partly.changes])


async def without_executed(
    step: StepContext, changes: Sequence[FileChange], reason: str = UNASKED
) -> list[FileChange]:
    """Return the changes without files that other tools execute, which a notice names.

    :param reason: why they are left out, for the notice.
    :raises StepFailed: no other changes are left.
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
    step: PersonAccess, problems: Sequence[NewError], *, fixable: bool
) -> Literal["fix", "back"] | None:
    """Ask whether to write a change with new syntax errors.

    :param fixable: the model may be asked to correct them.
    :returns: `FIX` to have the model correct them, `BACK` to review again, None to write the change.
    :raises Declined: the person chose none of these.
    """
    listed = listed_errors(problems)
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
        raise StepFailed(f"the change has new syntax errors; nothing was written:\n{listed}")
    if fixable and decision.value == FIX:
        return FIX
    if decision.value == BACK:
        return BACK
    raise Declined("the change has new syntax errors")


async def write_changes(step: StepContext, changes: list[FileChange]) -> AppliedChanges:
    """Write changes, revert them if the run is cancelled, and report files that other tools execute."""
    executed = await executable_changes(step.workspace, changes)
    workspace = step.workspace
    writing = workspace.apply(changes, execution_id=step.execution_id)
    applied = await run_uncancelled(writing, workspace.revert)
    names = [change.move_to or change.path or f"buffer {change.buffer}" for change in changes]
    step.changed(list(dict.fromkeys(names)), executed)  # text and mode of one file may both change
    return applied

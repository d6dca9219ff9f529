"""Review of changes already in the files: keep or revert; comment rounds on plans and documents."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Final, TypeVar

from pydantic import BaseModel, StrictInt, ValidationError

from tideate_core.engine.review.review import (
    NOT_REVISABLE,
    NOTHING_SAID,
    save_open_files,
    shown_change,
    write_changes,
)
from tideate_core.engine.review.revision import Revision
from tideate_core.errors import InvalidInput, StepFailed, TideateError, WorkspaceError
from tideate_core.util.escaping import label
from tideate_core.util.uncancelled import run_uncancelled
from tideate_core.workflows import Declined
from tideate_core.workspace import diff_lines, executable_changes, lines_of, reversed_change

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from tideate_core.engine.review.hunks import Decided
    from tideate_core.workflows import Decision, StepContext
    from tideate_core.workspace import FileChange


T = TypeVar("T")
MOST_QUOTED = 300
"""Characters of a commented line that a model is shown."""


class PlaceComment(BaseModel):
    """Comment on a line of a text or a file of a plan; without either, on the whole."""

    line: StrictInt | None = None
    """1-based."""
    path: str | None = None
    text: str

    def words(self, text: str = "") -> str:
        """Return the comment for a model.

        :param text: the commented text.
        :raises InvalidInput: the text has no such line.
        """
        if self.path is not None:
            return f"on {self.path}: {self.text}"
        if self.line is None:
            return self.text
        lines = lines_of(text)
        if not 1 <= self.line <= len(lines):
            raise InvalidInput(f"there is a comment on line {self.line}, and the text has {len(lines)} lines")
        return f'on "{lines[self.line - 1].strip()[:MOST_QUOTED]}": {self.text}'


class _Answer(BaseModel):
    comments: list[PlaceComment]


class CommentRounds:
    """Rounds of comments on one question.

    :param possible: the model that wrote the text can be asked.
    """

    def __init__(self, step: StepContext, *, possible: bool) -> None:
        self._step = step
        self._possible = possible
        self._asked = 0
        self.unanswered: list[PlaceComment] = []
        """Unanswered comments, for the person to send again."""
        self.changed: Sequence[int | str] = ()
        """Changes of the last revision: lines of a text, 1-based, or paths of a plan."""
        self._warnings: list[str] = []

    @property
    def payload(self) -> dict[str, Any]:
        """The rounds' part of a question's payload."""
        told: dict[str, Any] = {"revisable": self._revisable}
        if self._asked:
            told |= {"revision": self._asked + 1, "changed": list(self.changed)}
        if self.unanswered:
            told["comments"] = [one.model_dump(exclude_none=True) for one in self.unanswered]
        if self._warnings:
            told["warnings"] = self._warnings
        return told

    @property
    def _revisable(self) -> bool:
        return self._possible and self._asked < self._step.revisions

    def question(self, words: str) -> str:
        """Return a question with the number of its revision."""
        return f"Revision {self._asked + 1}. {words}" if self._asked else words

    def read(self, decision: Decision) -> list[PlaceComment]:
        """Return the comments of an answer that asks for a revision.

        :raises InvalidInput: they are invalid or empty, or no model can answer them.
        """
        value = decision.value
        if decision.accepted or not isinstance(value, dict) or not value.get("comments"):
            return []
        try:
            said = [one for one in _Answer.model_validate(value).comments if one.text.strip()]
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            where = ".".join(str(part) for part in first["loc"])
            raise InvalidInput(f"the comments cannot be read: {where}: {first['msg'].lower()}") from error
        if not said or not self._revisable:
            raise InvalidInput(NOT_REVISABLE if said else NOTHING_SAID)
        return said

    def keep(self, said: Sequence[PlaceComment]) -> None:
        """Keep comments that no model answered, for the person to send again."""
        self.unanswered, self._warnings = list(said), []

    async def revise(self, said: Sequence[PlaceComment], make: Callable[[], Awaitable[T]]) -> T | None:
        """Return a model's revision after comments; None if it fails, and the question stays open."""
        count = len(said)
        self._step.notice(f"asking the model for a revision: {count} comment{'' if count == 1 else 's'}")
        try:
            made = await make()
        except TideateError as error:
            self.keep(said)
            words = f"the model could not revise it, and the question is open again: {error}"
            self._step.notice(words, level="warn")
            self._warnings = [words]
            return None
        self._asked += 1
        self.unanswered, self._warnings = [], []
        return made


def changed_lines(before: str, after: str) -> list[int]:
    """Return the lines of a text that differ from the earlier one, 1-based."""
    found: list[int] = []
    moved = 1
    for hunk in diff_lines(lines_of(before), lines_of(after)):
        first = hunk.start + moved
        found += range(first, first + len(hunk.new))
        moved += len(hunk.new) - len(hunk.old)
    return found


def follow_renames(
    said: Sequence[PlaceComment], shown: Sequence[Mapping[str, Any]], now: Sequence[Mapping[str, Any]]
) -> list[PlaceComment]:
    """Return comments on a plan's files under the names that the person's edit gave to the files.

    A file is renamed if only its own line names another file.
    """
    before, after = ([file["path"] for file in files] for files in (shown, now))
    differing = [pair for pair in zip(before, after, strict=False) if pair[0] != pair[1]]
    if len(before) != len(after) or len(differing) != 1:
        return [*said]
    ((path, name),) = differing
    return [one.model_copy(update={"path": name}) if one.path == path else one for one in said]


MOST_ASKED: Final = 3
"""Times that a front end is asked again after unusable answers."""


@dataclass(frozen=True, slots=True)
class Reverted:
    """Outcome of a review: reverted and not reverted changes."""

    changes: list[FileChange]
    """Reverted changes."""
    left: dict[str, str]
    """Reasons by file that could not be reverted."""


async def review_written(step: StepContext, changes: Sequence[FileChange], since: str) -> Reverted:
    """Review changes that are already in the files, and revert the rejected ones.

    Accepted and undecided changes stay. A rejected change whose lines were changed meanwhile stays, too, with
    a notice; the others are reverted even so.

    :param since: name of the base of the changes, for messages.
    :raises Declined: the person ended the review; nothing was changed.
    :raises WorkspaceError: nothing can be reverted, or a file cannot be written; nothing was changed.
    """
    decided = await _ask(step, changes, since)
    pairs = zip(changes, decided, strict=True)
    back = await asyncio.to_thread(
        lambda: [reversed_change(change, one.rejected) for change, one in pairs if one.rejected]
    )
    left: dict[str, str] = {}
    while back:
        try:
            applied = await write_changes(step, back)
        except WorkspaceError:
            refused = await _refused(step, back)
            left |= refused
            back = [change for change in back if change.path not in refused]
            if not (refused and back):
                raise
        else:
            await run_uncancelled(save_open_files(step, applied))
            break
    for why in left.values():
        step.notice(f"not reverted: {why}", level="warn")
    return Reverted(back, left)


async def _refused(step: StepContext, back: Sequence[FileChange]) -> dict[str, str]:
    """Return the reasons by file that cannot be reverted."""
    refused = {}
    for changes in _together(back):
        try:
            await step.workspace.stage(changes)
        except WorkspaceError as error:
            why = str(error).partition(";")[0]
            for path in {change.path for change in changes}:
                refused[path] = why if path in why else f"{label(path)}: {why}"
    return refused


def _together(changes: Sequence[FileChange]) -> list[list[FileChange]]:
    """Group changes to revert together: text and mode of a file, and the parts of a change of kind."""
    groups: dict[str, list[FileChange]] = {}
    named = [(path, change) for change in changes for path in (change.path, change.move_to) if path]
    roots: dict[str, str] = {}

    def root_of(path: str) -> str:
        while roots.setdefault(path, path) != path:
            path = roots[path]
        return path

    paths = {path for path, _ in named}
    for path, change in named:
        roots[root_of(path)] = root_of(change.path)
        for above in map(str, PurePosixPath(path).parents):
            if above in paths:
                roots[root_of(path)] = root_of(above)
    for change in changes:
        groups.setdefault(root_of(change.path), []).append(change)
    return list(groups.values())


async def _ask(step: StepContext, changes: Sequence[FileChange], since: str) -> list[Decided]:
    revision = Revision.first(changes)
    files = await asyncio.to_thread(lambda: [shown_change(change) for change in changes])
    question = message = f"Keep the changes to {_counted(changes)} {since}?"
    executed = await executable_changes(step.workspace, changes)
    payload = {"files": files, "written": True, "revisable": False}
    for _ in range(MOST_ASKED):
        decision = await step.confirm("review", message, payload=payload, executed=executed)
        if not decision.accepted:
            raise Declined(decision.reason)
        try:
            return revision.read(decision.value).decided
        except InvalidInput as error:
            message = f"{error}.\n{question}"
    raise StepFailed("the answers to the review cannot be used; nothing was changed")


def _counted(changes: Sequence[FileChange]) -> str:
    count = len({change.path for change in changes})
    return f"{count} file{'' if count == 1 else 's'}"

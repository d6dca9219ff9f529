"""Comments on a plan or a document: rounds in which the model that wrote it answers them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, StrictInt, ValidationError

from tideate_core.engine.review import NOT_REVISABLE, NOTHING_SAID
from tideate_core.errors import InvalidInput, TideateError
from tideate_core.workspace import diff_lines, lines_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from tideate_core.workflows import Decision, StepContext

__all__ = ["CommentRounds", "PlaceComment", "changed_lines", "follow_renames"]

T = TypeVar("T")
MOST_QUOTED = 300
"""Characters of a line that a model is told with the comment on it."""


class PlaceComment(BaseModel):
    """A comment on a line, on a file of a plan, or without these on all of it."""

    line: StrictInt | None = None
    """1-based."""
    path: str | None = None
    text: str

    def words(self, text: str = "") -> str:
        """Return it for a model.

        :param text: that its line is of.
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
    """Rounds of one question.

    :param possible: the model that wrote it can be asked.
    """

    def __init__(self, step: StepContext, *, possible: bool) -> None:
        self._step = step
        self._possible = possible
        self._asked = 0
        self.unanswered: list[PlaceComment] = []
        """The comments that the person may send again."""
        self.changed: Sequence[int | str] = ()
        """What the last revision changed: lines of a text, 1-based, or paths of a plan."""
        self._warnings: list[str] = []

    @property
    def payload(self) -> dict[str, Any]:
        """The part of the payload that is about rounds."""
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
        """Return a question with the number of the revision that it is about."""
        return f"Revision {self._asked + 1}. {words}" if self._asked else words

    def read(self, decision: Decision) -> list[PlaceComment]:
        """Return the comments of an answer that accepts nothing yet.

        :raises InvalidInput: they cannot be read, say nothing, or nobody can answer them.
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
        """Have the person send comments again: nobody was asked."""
        self.unanswered, self._warnings = list(said), []

    async def revise(self, said: Sequence[PlaceComment], make: Callable[[], Awaitable[T]]) -> T | None:
        """Return what a model makes of comments; None where it cannot, and the question is open again."""
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
    """Return the lines of a text that differ from the one before, 1-based."""
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
    """Return comments on files of a plan by the names that these have after the person edited it.

    A file has another name where its line alone names another one, whatever is to be done with it.
    """
    before, after = ([file["path"] for file in files] for files in (shown, now))
    differing = [pair for pair in zip(before, after, strict=False) if pair[0] != pair[1]]
    if len(before) != len(after) or len(differing) != 1:
        return [*said]
    ((path, name),) = differing
    return [one.model_copy(update={"path": name}) if one.path == path else one for one in said]

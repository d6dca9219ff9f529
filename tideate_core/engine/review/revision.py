"""One round of a review: changes, decisions from a front end's answer, prompt with the comments."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from pydantic import BaseModel, Field, StrictInt, ValidationError

from tideate_core.edits import fence_for
from tideate_core.engine.review.hunks import LEFT_OUT, Decided, carried, file_name, hunk_count, reduced
from tideate_core.errors import InvalidInput, UnusableAnswer
from tideate_core.workspace import FileChange, Hunk, HunkIndex, hunk_diff, lines_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from tideate_core.adapters import Prompt
    from tideate_core.workflows import ModelAccess


UNUSABLE: Final = "the answer to the review cannot be used"
MOST_QUOTED: Final = 6_000
"""Characters of a commented part that a model is shown."""


@dataclass(frozen=True, slots=True)
class Comment:
    """Comment on a part of a revision; without text, a rejection without a reason."""

    text: str
    path: str | None = None
    """None: the comment is about the whole change."""
    part: str = ""
    """The commented hunk as a diff; empty if the comment is about the whole file."""
    rejected: bool = False
    edited: bool = False
    """The part is the person's edit."""


@dataclass(frozen=True, slots=True)
class Feedback:
    """A person's comments on a revision, in their own words, for the model that made it."""

    comments: tuple[Comment, ...]

    @property
    def count(self) -> int:
        """Number of comments with text."""
        return sum(bool(comment.text) for comment in self.comments)

    def about(self, *paths: str) -> Feedback:
        """Return the comments on these files and on all files."""
        return Feedback(tuple(one for one in self.comments if one.path is None or one.path in paths))


class PartlyRevised(UnusableAnswer):
    """Only some of the commented files were revised.

    :param changes: all changes, revised or not.
    :param failed: reasons by path of the files that were not revised.
    :param unheard: comments on all files did not reach some of them, either.
    """

    def __init__(self, changes: Sequence[FileChange], failed: Mapping[str, str], *, unheard: bool) -> None:
        super().__init__("; ".join(f"{path}: {reason}" for path, reason in failed.items()))
        self.changes = [*changes]
        self.failed = failed
        self.unheard = unheard


def revision_prompt(
    step: ModelAccess,
    feedback: Feedback,
    *,
    staged: bool = False,
    shown: bool = False,
    landed: bool = False,
    undecided: bool = False,
) -> Prompt:
    """Render the prompt that gives a model the comments of a review.

    :param staged: the model's edits are staged, and it changes them with its tools.
    :param shown: the conversation above already shows the files with the edits.
    :param landed: the accepted parts are written, and nothing else of the change is left.
    :param undecided: except files with parts that the person has not decided about.
    """
    fence = fence_for(*(comment.part for comment in feedback.comments))
    words = {"staged": staged, "shown": shown, "landed": landed, "undecided": undecided}
    prompt = step.render("revise", comments=feedback.comments, fence=fence, **words)
    # staged edits are those of a conversation, which has its system prompt
    return replace(prompt, system="") if staged else prompt


class _Added(BaseModel):
    """Hunk of another compared run."""

    start: StrictInt
    old: list[str]
    new: list[str]

    @property
    def hunk(self) -> Hunk:
        return Hunk(self.start, tuple(self.old), tuple(self.new))


class _Edited(BaseModel):
    """Lines that the person wrote in place of a hunk."""

    hunk: StrictInt
    old: list[str]
    new: list[str]


class _Verdict(BaseModel):
    """Decisions on one file."""

    path: str | None = None
    accepted: list[StrictInt]
    rejected: list[StrictInt] = Field(default_factory=list)
    added: list[_Added] = Field(default_factory=list)
    edited: list[_Edited] = Field(default_factory=list)

    def decided(self, change: FileChange) -> Decided:
        """Return the checked decisions."""
        starts = [0] if change.whole else [hunk.start for hunk in change.hunks]
        edits = {one.hunk: Hunk(starts[one.hunk], tuple(one.old), tuple(one.new)) for one in self.edited}
        added = tuple(one.hunk for one in self.added)
        return Decided(frozenset(self.accepted), frozenset(self.rejected), added, edits)


class _Comment(BaseModel):
    path: str | None = None
    hunk: StrictInt | None = None
    text: str


class _Answer(BaseModel):
    files: list[_Verdict]
    comments: list[_Comment] = Field(default_factory=list)


@dataclass(frozen=True, slots=True)
class ReviewAnswer:
    """Answer to a review: decisions by change, and comments."""

    decided: list[Decided]
    feedback: Feedback = Feedback(())
    given: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Revision:
    """Changes under review, with the decisions so far."""

    changes: list[FileChange]
    decided: list[Decided]
    number: int = 1
    fallen: tuple[str, ...] = ()
    """Messages about decisions on the earlier revision that no longer hold."""

    @classmethod
    def first(cls, changes: Sequence[FileChange]) -> Revision:
        return cls([*changes], [Decided() for _ in changes])

    def read(self, value: Any) -> ReviewAnswer:
        """Parse a front end's answer; None accepts everything that was not rejected before, except conflicts.

        :raises InvalidInput: the answer does not match this revision.
        """
        if value is None:
            return ReviewAnswer(
                [
                    replace(decided, accepted=decided.accepted | (_free(change) - decided.rejected))
                    for change, decided in zip(self.changes, self.decided, strict=True)
                ]
            )
        answer = _read(value)
        if len(answer.files) != len(self.changes):
            raise InvalidInput(
                f"{UNUSABLE}: it is about {len(answer.files)} files, and {len(self.changes)} were shown"
            )
        for change, verdict in zip(self.changes, answer.files, strict=True):
            _check(change, verdict)
        decided = [one.decided(change) for change, one in zip(self.changes, answer.files, strict=True)]
        said = [comment for comment in answer.comments if comment.text.strip()]
        given = [comment.model_dump(exclude_none=True) for comment in said]
        return ReviewAnswer(decided, self._feedback(decided, said), given)

    def _feedback(self, decided: Sequence[Decided], said: Sequence[_Comment]) -> Feedback:
        comments = [Comment(one.text.strip()) for one in said if one.path is None]
        about = {one.path for one in said if one.path is not None}
        if unknown := about.difference(change.path for change in self.changes):
            raise InvalidInput(f"{UNUSABLE}: there is a comment on {unknown.pop()}, which was not shown")
        if not said:
            return Feedback(())
        said_of = _by_path(said)
        for change, verdict in zip(self.changes, decided, strict=True):
            here = said_of.get(change.path, [])
            _check_hunks(change, [one.hunk for one in here if one.hunk is not None], "commented on")
            comments += _comments(change, verdict, here)
        return Feedback((*comments, *self.edits(decided), *self.rejections(decided, said)))

    def edits(self, decided: Sequence[Decided]) -> list[Comment]:
        """Return the person's edits of parts of the change."""
        pairs = zip(self.changes, decided, strict=True)
        return [
            replace(comment, edited=True)
            for change, verdict in pairs
            for comment in _comments(change, verdict, _unsaid(sorted(verdict.edited)))
        ]

    def rejections(self, decided: Sequence[Decided], said: Sequence[_Comment] = ()) -> list[Comment]:
        """Return the parts that were rejected without a comment."""
        found, said_of = list[Comment](), _by_path(said)
        for change, verdict in zip(self.changes, decided, strict=True):
            places = {_place(change, one) for one in said_of.get(change.path, ())}
            found += _comments(change, verdict, _unsaid(sorted(verdict.rejected - places)))
        return found

    def accepted(self, decided: Sequence[Decided]) -> list[FileChange]:
        """Return the accepted parts of the changes."""
        pairs = zip(self.changes, decided, strict=True)
        return [kept for change, one in pairs if (kept := reduced(change, one)) is not None]

    def followed_by(
        self,
        decided: Sequence[Decided],
        changes: Sequence[FileChange],
        *,
        corrected: Collection[str] = frozenset(),
        keep_open: bool = False,
    ) -> Revision:
        """Return the next revision; unchanged parts keep their decisions.

        Accepted parts stay even if the model left them out; a change of the same lines replaces them and is
        undecided.

        :param decided: the decisions on this revision.
        :param corrected: files that had errors; parts that the model left out of them are dropped.
        :param keep_open: undecided parts stay, because no model made the changes.
        """
        earlier = {_key(change): (change, one) for change, one in zip(self.changes, decided, strict=True)}
        following: list[tuple[FileChange, Decided]] = []
        fallen: list[str] = []
        for change in changes:
            known = earlier.pop(_key(change), None)
            if known is None:
                following.append((change, Decided()))
                continue
            made, verdict, gone = carried(
                *known, change, keep_accepted=change.path not in corrected, keep_open=keep_open
            )
            following.append((made, verdict))
            fallen += gone
        for change, one in earlier.values():
            if one.edited.keys() - one.accepted:  # the person's edit is still undecided
                unmade = change if change.whole else replace(change, after=change.before, parts=())
                made, verdict, gone = carried(change, one, unmade, keep_accepted=change.path not in corrected)
                following.append((made, verdict))
                fallen += gone
                continue
            kept = reduced(change, one)
            if kept is not None and change.path in corrected:
                fallen.append(f"{file_name(change)}: {LEFT_OUT}")
            elif kept is not None:
                following.append((kept, Decided(frozenset(range(hunk_count(kept))))))
        now, verdicts = [change for change, _ in following], [one for _, one in following]
        return Revision(now, verdicts, self.number + 1, tuple(fallen))

    def without_conflicts(self) -> Revision:
        """Return this revision with ordinary hunks in place of conflicts."""
        changes = [
            replace(change, parts=tuple(replace(hunk, conflict=False) for hunk in change.parts))
            for change in self.changes
        ]
        return replace(self, changes=changes)

    def for_texts_now(self, decided: Sequence[Decided], changes: Sequence[FileChange]) -> Revision:
        """Return this revision rebased on the current texts, with its decisions.

        :param changes: the rebased changes; those without effect are dropped.
        """
        following = self.followed_by(decided, changes, keep_open=True)
        pairs = zip(following.changes, following.decided, strict=True)
        left = [(change, one) for change, one in pairs if change.changes_something]
        now, verdicts = [change for change, _ in left], [one for _, one in left]
        return Revision(now, verdicts, self.number, following.fallen)


def _key(change: FileChange) -> tuple[str, bool]:
    """Return the identity of a change in a revision; text and mode of a file are two changes."""
    return change.path, change.is_of_mode


def _free(change: FileChange) -> frozenset[int]:
    """Return the parts of a change that can be accepted together."""
    return frozenset(range(hunk_count(change))) - change.conflicts


def _read(value: Any) -> _Answer:
    try:
        return _Answer.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise InvalidInput(f"{UNUSABLE}: {where or 'it'}: {first['msg'].lower()}") from error


def _check(change: FileChange, verdict: _Verdict) -> None:
    """Check that an answer refers to the reviewed changes.

    :raises InvalidInput: it names an unknown file or hunk.
    """
    name = file_name(change)
    if verdict.path is not None and verdict.path != change.path:
        raise InvalidInput(f"{UNUSABLE}: it names {verdict.path} where {name} was shown")
    for words, given in (("accepted", verdict.accepted), ("rejected", verdict.rejected)):
        _check_hunks(change, given, words)
    if both := set(verdict.accepted).intersection(verdict.rejected):
        raise InvalidInput(f"{UNUSABLE}: hunk {min(both)} of {name} was accepted and rejected")
    _check_edited(change, verdict)
    if verdict.added and change.whole:
        raise InvalidInput(f"{UNUSABLE}: {name} is a {change.action}, and a hunk was added to it")
    if verdict.added:
        own = change.hunks
        accepted = [own[at] for at in verdict.accepted]
        _check_added(change, accepted, [one.hunk for one in verdict.added])


def _check_added(change: FileChange, accepted: Sequence[Hunk], added: Sequence[Hunk]) -> None:
    """Check that hunks of other compared runs fit the text and the accepted hunks."""
    name, lines = file_name(change), lines_of(change.before)
    taken = HunkIndex(accepted)
    for hunk in added:
        place = f"line {hunk.start + 1} of {name}"
        if not 0 <= hunk.start <= len(lines) or tuple(lines[hunk.start : hunk.end]) != hunk.old:
            raise InvalidInput(f"{UNUSABLE}: the hunk that was added at {place} is not of its text")
        if taken.clashes(hunk):
            raise InvalidInput(f"{UNUSABLE}: two hunks that were accepted change {place}; take one of them")
        taken.add(hunk)


def _check_edited(change: FileChange, verdict: _Verdict) -> None:
    """Check that edits are of hunks that can be edited and are not rejected, and consist of single lines."""
    if not verdict.edited:
        return
    name, given = file_name(change), [one.hunk for one in verdict.edited]
    if change.images is not None or change.action not in ("create", "modify"):
        raise InvalidInput(f"{UNUSABLE}: {name} is accepted or rejected as a whole, but has an edited hunk")
    _check_hunks(change, given, "edited")
    if len(set(given)) < len(given) or not set(given).isdisjoint(verdict.rejected):
        raise InvalidInput(f"{UNUSABLE}: of {name} only hunks that are not rejected are edited, each once")
    if any("\n" in line for one in verdict.edited for line in (*one.old, *one.new)):
        raise InvalidInput(f"{UNUSABLE}: a line of an edited hunk of {name} has a line end in it")


def _check_hunks(change: FileChange, given: Collection[int], words: str) -> None:
    count = hunk_count(change)
    unknown = [index for index in given if not 0 <= index < count]
    if unknown:
        hunks = f"hunk{'' if count == 1 else 's'}"
        raise InvalidInput(
            f"{UNUSABLE}: {file_name(change)} has {count} {hunks}, and number {unknown[0]} was {words}"
        )


def _by_path(said: Iterable[_Comment]) -> dict[str | None, list[_Comment]]:
    found: dict[str | None, list[_Comment]] = {}
    for one in said:
        found.setdefault(one.path, []).append(one)
    return found


def _unsaid(hunks: Iterable[int]) -> list[_Comment]:
    """Return the comments on hunks that have no text."""
    return [_Comment(hunk=hunk, text="") for hunk in hunks]


def _comments(change: FileChange, decided: Decided, said: Sequence[_Comment]) -> list[Comment]:
    if not said:
        return []
    lines, hunks = lines_of(change.before), [] if change.whole else change.hunks
    found = []
    for one in said:
        place = _place(change, one)
        made = None if place is None else decided.edited.get(place)
        part = ""
        if change.whole and made is not None:
            part = _part(lines, replace(made, old=()))
        elif place is not None and not change.whole:
            part = _part(lines, hunks[place] if made is None else replace(hunks[place], new=made.new))
        found.append(Comment(one.text.strip(), change.path, part, place in decided.rejected))
    return found


def _place(change: FileChange, said: _Comment) -> int | None:
    """Return the index of a comment's hunk; None if it is about the whole file."""
    return 0 if change.whole else said.hunk


def _part(lines: Sequence[str], hunk: Hunk) -> str:
    shown = hunk_diff(lines, hunk)
    return shown if len(shown) <= MOST_QUOTED else f"{shown[:MOST_QUOTED]}\n…"

"""Authority of a worker: the only way to a leg, and to the words of other workers in the database.

Everyone who can write to the database can change every row. A leg counts only with the signature of its
submission, and a result, a bundle or an answer only with a seal; see `Seals`.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeVar

from pydantic import ValidationError

from tideate_core.errors import SubmissionRefused
from tideate_core.fleet.legs import Leg, LegResult, Prepared, SealedAnswer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic import JsonValue

    from tideate_core.fleet.seals import Seals
    from tideate_core.fleet.submission import Submission

Shape = dict[str, Any]
_Stored = TypeVar("_Stored", Prepared, LegResult)
_SKEW: Final = 5 * 60_000
"""Milliseconds by which the clocks of two machines may differ."""
_MOST_KNOWN: Final = 10_000
"""Maximum number of valid signatures that a worker remembers."""


@dataclass(frozen=True, slots=True)
class VerifiedLeg:
    """A leg that may run on this worker; only `Authority.verify` makes one."""

    leg: Leg
    digest: str
    """Digest of the signed submission."""

    @property
    def run(self) -> str:
        return self.leg.run

    @property
    def number(self) -> int:
        return self.leg.number

    @property
    def submission(self) -> Submission:
        return self.leg.submission


@dataclass(slots=True)
class Authority:
    """Checks of everything that a worker reads from the database.

    :param allow: `[fleet] allow`.
    :param queue: queue of the worker.
    """

    allow: Sequence[str]
    queue: str
    seals: Seals
    _known: set[tuple[str, str]] = field(default_factory=set)
    """Digest and signature of each submission whose signature counts."""

    async def verify(self, shape: object, *, works: bool = False) -> VerifiedLeg:
        """Return a stored leg if this worker may run it.

        :param works: the leg is going to work, which it may do only until its submission expires.
        :raises SubmissionRefused: it is malformed, not signed by an allowed key, for another queue, not valid
            now, or its answer is from no worker.
        """
        leg = Leg.read(shape)
        signed = leg.signed.submission
        found = VerifiedLeg(leg, signed.digest())
        known = found.digest, leg.signed.signature
        if known not in self._known:
            await leg.signed.checked(self.allow)
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            self._known.add(known)
        self._check_place(leg)
        if works and not leg.cancel:
            _check_times(leg)
        if leg.answer is not None and not self._count(leg.answer.seal, "answer", found, _open(leg.answer)):
            raise _refused(leg, "no worker of this fleet read its answer")
        return found

    def _check_place(self, leg: Leg) -> None:
        wanted = leg.signed.submission.queue
        if wanted != self.queue:
            raise _refused(leg, f"it is signed for the queue {wanted}, and this worker has {self.queue}")

    # -- words of workers -------------------------------------------------------------------------------

    def _seal(self, kind: str, leg: VerifiedLeg, *parts: JsonValue) -> str:
        return self.seals.make(kind, leg.run, leg.digest, *parts)

    def _count(self, seal: str, kind: str, leg: VerifiedLeg, *parts: JsonValue) -> bool:
        return self.seals.count(seal, kind, leg.run, leg.digest, *parts)

    def sealed_object(self, leg: VerifiedLeg, kind: str, number: int, name: str) -> str:
        """Return the seal of a stored bundle or question.

        :param number: number of the leg that stores it.
        :param name: hash of the content.
        """
        return self._seal("object", leg, kind, number, name)

    def counts_object(self, leg: VerifiedLeg, seal: str, kind: str, number: int, name: str) -> bool:
        """Tell whether a worker stored this object."""
        return self._count(seal, "object", leg, kind, number, name)

    def seal_start(self, leg: VerifiedLeg, commit: str, rate: str | None = None) -> Prepared:
        """Return the start of a leg."""
        made = Prepared(commit=commit, rate=rate, at=time.time_ns() // 1_000_000)
        return made.model_copy(update={"seal": self._seal("start", leg, leg.number, _open(made))})

    def read_start(self, leg: VerifiedLeg, shape: object) -> Prepared:
        """Return the stored start of a leg.

        :raises SubmissionRefused: no worker made it, or it has another commit than the submission.
        """
        if not self._counts_row(shape, "start", leg):
            raise _refused(leg.leg, "no worker of this fleet prepared it")
        found = _parsed(leg.leg, Prepared, shape)
        pinned = leg.submission.commit
        if pinned is not None and found.commit != pinned:
            raise _refused(leg.leg, "it begins with another commit than its submission")
        return found

    def seal_result(self, leg: VerifiedLeg, result: LegResult) -> Shape:
        """Return the stored form of a result."""
        seal = self._seal("result", leg, leg.number, _open(result))
        return result.model_copy(update={"seal": seal}).model_dump(mode="json")

    def read_result(self, leg: VerifiedLeg, shape: object) -> LegResult:
        """Return a stored result of a leg.

        :raises SubmissionRefused: no worker made it.
        """
        if not self._counts_row(shape, "result", leg):
            raise _refused(leg.leg, "no worker of this fleet made its result")
        return _parsed(leg.leg, LegResult, shape)

    def _counts_row(self, shape: object, kind: str, leg: VerifiedLeg) -> bool:
        """Tell whether a worker wrote exactly this row; before anything of it is read."""
        if not isinstance(shape, dict) or not isinstance(seal := shape.get("seal"), str):
            return False
        return self._count(seal, kind, leg, leg.number, {**shape, "seal": ""})

    def following(self, leg: VerifiedLeg, result: LegResult, answer: dict[str, JsonValue]) -> Leg:
        """Return the leg after an answer.

        :param result: the result with the question, from `read_result`.
        :param answer: the answer, after all checks.
        """
        asked = leg.leg.asked if result.asked is None else result.asked.n
        made = SealedAnswer(n=asked, worked=result.worked, answer=answer)
        sealed = made.model_copy(update={"seal": self._seal("answer", leg, _open(made))})
        return leg.leg.model_copy(update={"number": leg.number + 1, "asked": asked, "answer": sealed})


def _open(model: Prepared | LegResult | SealedAnswer) -> JsonValue:
    """Return the parts under a seal."""
    shape: JsonValue = model.model_copy(update={"seal": ""}).model_dump(mode="json")
    return shape


def _parsed(leg: Leg, model: type[_Stored], shape: object) -> _Stored:
    try:
        return model.model_validate(shape)
    except ValidationError as error:
        raise _refused(leg, "a row of it is malformed") from error


def _check_times(leg: Leg) -> None:
    signed, now = leg.signed.submission, time.time_ns() // 1_000_000
    if signed.at > now + _SKEW:
        raise _refused(leg, "it is signed for a time in the future; check the clocks")
    if now > signed.expires:
        raise _refused(leg, "its submission has expired; submit it again")
    if leg.scheduled is not None and signed.schedule is not None:
        at = signed.schedule.time_of(leg.scheduled)
        if at is None or not signed.at - _SKEW <= at <= min(now + _SKEW, signed.expires):
            raise _refused(leg, "the schedule that was signed does not have this time")


def _refused(leg: Leg, why: str) -> SubmissionRefused:
    return SubmissionRefused(f"run {leg.run[:8]} is refused: {why}")

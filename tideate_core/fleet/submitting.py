"""Submissions enter the database: all of a command or none, and each only once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tideate_core.errors import InvalidInput, SubmissionRefused
from tideate_core.fleet.answers import leg_of
from tideate_core.fleet.database import plain_errors
from tideate_core.fleet.legs import Leg, leg_id
from tideate_core.fleet.queues import enqueue_options

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dbos import DBOSClient
    from sqlalchemy import Engine

    from tideate_core.fleet.submission import SignedSubmission, Submission

_OF_ITS_TIME: Final = {"at", "commit", "expires"}
"""Fields that differ when the same submission is repeated."""
_AT_ONCE: Final = 500


@dataclass(frozen=True, slots=True)
class Submitted:
    """Runs of a command."""

    new: tuple[str, ...]
    known: tuple[str, ...]
    """Runs that were submitted before under the same key."""

    @property
    def runs(self) -> tuple[str, ...]:
        return self.new + self.known


def submit_all(
    client: DBOSClient,
    engine: Engine,
    submissions: Sequence[SignedSubmission],
    tell: Callable[[int], object],
) -> Submitted:
    """Submit runs in one transaction; blocking.

    :param tell: called with the number of runs so far.
    :raises InvalidInput: another submission has the key of one of them; then none is submitted.
    """
    wanted = {one.submission.run: one for one in submissions}
    known = _known(client, [one.submission for one in wanted.values()])
    new = [run for run in wanted if run not in known]
    with plain_errors(), engine.begin() as connection:
        for at, run in enumerate(new, start=1):
            leg = Leg(signed=wanted[run], run=run)
            options = enqueue_options(leg, leg.submission.queue)
            client.enqueue_in_transaction(connection, options, leg.model_dump(mode="json"))
            tell(at)
    return Submitted(tuple(new), tuple(run for run in wanted if run in known))


def _known(client: DBOSClient, wanted: Sequence[Submission]) -> set[str]:
    """Return the runs that were submitted before."""
    known = set()
    for begin in range(0, len(wanted), _AT_ONCE):
        part = {leg_id(one.run, 1): one for one in wanted[begin : begin + _AT_ONCE]}
        with plain_errors():
            found = client.list_workflows(workflow_ids=list(part), load_output=False)
        for row in found:
            one = part[row.workflow_id]
            try:
                same = _same(leg_of(row).submission, one)
            except SubmissionRefused:
                same = False
            if not same:
                raise InvalidInput(
                    f"another submission has this key already, as run {one.run[:8]}; give another --key"
                )
            known.add(one.run)
    return known


def _same(one: Submission, other: Submission) -> bool:
    return one.model_dump(exclude=_OF_ITS_TIME) == other.model_dump(exclude=_OF_ITS_TIME)

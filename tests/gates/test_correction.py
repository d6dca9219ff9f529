"""Errors are corrected as long as a correction can help."""

from __future__ import annotations

import pytest

from tests.harness.gates import Verifier, failed, report
from tideate_core.gates import (
    CheckResult,
    CheckStatus,
    Correction,
    CorrectionEnd,
    SelfCorrectionLoop,
    VerificationReport,
)
from tideate_core.toolchain import Check


class Corrector:
    """Makes the given edits in order; `-` is the decision that nothing has to change."""

    def __init__(self, edits: str) -> None:
        self._edits = edits.split(" ")
        self.given: list[VerificationReport] = []

    async def __call__(self, given: VerificationReport) -> Correction:
        self.given.append(given)
        edit = self._edits[len(self.given) - 1]
        return Correction(edit.strip("-"), no_change=edit == "-")


def errors(*messages: str, line: int = 3) -> VerificationReport:
    return report(failed(Check.TESTS, *messages, line=line))


def build_in(seconds: str) -> VerificationReport:
    return report(failed(Check.BUILD, output=f"failed in {seconds} s"))


MISSING = CheckResult(check=Check.LINT, status=CheckStatus.FAILED, reason="ruff is not installed")
HUNG = CheckResult(check=Check.TESTS, status=CheckStatus.TIMED_OUT, signal="SIGKILL")


@pytest.mark.parametrize(
    ("reports", "edits", "end", "corrections"),
    [
        ([report()], "x", CorrectionEnd.PASSED, 0),
        ([report(HUNG), report()], "x", CorrectionEnd.PASSED, 1),
        ([errors(word) for word in "abcd"], "x y z", CorrectionEnd.EXHAUSTED, 3),
        # the same errors in another order, at another line, after another time
        ([errors("a"), errors("a")], "x", CorrectionEnd.SAME_ERRORS, 1),
        ([errors("a", "b"), errors("b", "a")], "x", CorrectionEnd.SAME_ERRORS, 1),
        ([errors("a"), errors("a", line=30)], "x", CorrectionEnd.SAME_ERRORS, 1),
        ([build_in("1.23"), build_in("4.56")], "x", CorrectionEnd.SAME_ERRORS, 1),
        # other errors
        ([errors("a"), errors("b"), report()], "x y", CorrectionEnd.PASSED, 2),
        ([errors("a"), errors("a", "b"), report()], "x y", CorrectionEnd.PASSED, 2),
        ([errors("a"), report(failed(Check.LINT, "a")), report()], "x y", CorrectionEnd.PASSED, 2),
        ([errors("a"), report(failed(Check.TESTS, output="no")), report()], "x y", CorrectionEnd.PASSED, 2),
        ([errors("a"), errors("b"), errors("c")], "x y x", CorrectionEnd.SAME_EDIT, 3),
        ([errors("a")], "", CorrectionEnd.NO_EDIT, 1),
        ([errors("a")], "-", CorrectionEnd.NO_CHANGE, 1),
        ([report(tests=CheckStatus.NOT_TRUSTED)], "x", CorrectionEnd.NOT_CORRECTABLE, 0),
        ([report(build=CheckStatus.NOT_CONFIGURED)], "x", CorrectionEnd.NOT_CORRECTABLE, 0),
        ([report(lint=CheckStatus.CANCELLED)], "x", CorrectionEnd.NOT_CORRECTABLE, 0),
        ([report(MISSING)], "x", CorrectionEnd.NOT_CORRECTABLE, 0),
    ],
)
async def test_a_loop_ends_when_no_correction_can_help(
    reports: list[VerificationReport], edits: str, end: CorrectionEnd, corrections: int
) -> None:
    verifier, corrector = Verifier(*reports), Corrector(edits)
    result = await SelfCorrectionLoop(verifier).verify_and_correct(corrector)
    assert (result.end, result.passed) == (end, end == CorrectionEnd.PASSED)
    assert (len(result.attempts), len(corrector.given)) == (corrections, corrections)
    assert (verifier.runs, result.report) == (len(reports), reports[-1])


async def test_errors_are_corrected_until_all_checks_pass() -> None:
    reports = [errors("a", "b"), errors("a"), report()]
    corrector = Corrector("one two")
    corrected = await SelfCorrectionLoop(Verifier(*reports)).verify_and_correct(corrector)
    assert corrector.given == reports[:2]
    assert [(attempt.number, attempt.correction.edit) for attempt in corrected.attempts] == [
        (1, "one"),
        (2, "two"),
    ]
    assert [attempt.before for attempt in corrected.attempts] == reports[:2]


async def test_every_verification_is_told_with_what_came_before_it() -> None:
    told: list[tuple[bool, int]] = []
    loop = SelfCorrectionLoop(
        Verifier(errors("a"), report()), on_report=lambda found, number: told.append((found.passed, number))
    )
    await loop.verify_and_correct(Corrector("x"))
    assert told == [(False, 0), (True, 1)]


async def test_a_loop_made_anew_between_two_turns_ends_as_one_that_was_not() -> None:
    corrected: list[VerificationReport] = []
    edits: list[str] = []
    ends = []
    for found, edit in ((errors("a"), "x"), (errors("b"), "y"), (errors("c"), "x"), (errors("d"), "z")):
        verifying = SelfCorrectionLoop(Verifier(found), corrected=corrected, edits=edits)
        turn = await verifying.verify_and_correct()
        assert (turn.report, turn.attempts) == (found, [])
        if turn.end is None:
            correcting = SelfCorrectionLoop(corrected=corrected, edits=edits)
            turn = await correcting.verify_and_correct(Corrector(edit), found)
            (attempt,) = turn.attempts
            assert attempt.number == len(corrected) + 1
            corrected.append(attempt.before)
            edits.append(attempt.correction.digest)
        ends.append(turn.end)
    assert ends == [None, None, CorrectionEnd.SAME_EDIT, CorrectionEnd.EXHAUSTED]
    again = SelfCorrectionLoop(corrected=[errors("a")], edits=["x"])
    same = await again.verify_and_correct(Corrector("y"), errors("a"))
    assert (same.end, same.attempts) == (CorrectionEnd.SAME_ERRORS, [])


async def test_a_loop_without_a_verifier_cannot_verify() -> None:
    with pytest.raises(TypeError, match="without a verifier"):
        await SelfCorrectionLoop().verify_and_correct(Corrector("x"))

"""Errors are corrected as long as a correction can help."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
    from collections.abc import Callable

    from tideate_core.gates.correction import CorrectionResult


class Corrector:
    """Makes the given edits in order."""

    def __init__(self, *edits: str) -> None:
        self._edits = list(edits)
        self.given: list[VerificationReport] = []

    async def __call__(self, given: VerificationReport) -> Correction:
        self.given.append(given)
        return Correction(self._edits[len(self.given) - 1], f"edit {len(self.given)}")


def errors(*messages: str, line: int = 3) -> VerificationReport:
    return report(failed(Check.TESTS, *messages, line=line))


async def run(verifier: Verifier, corrector: Callable[..., Any]) -> CorrectionResult:
    return await SelfCorrectionLoop(verifier).verify_and_correct(corrector)


async def test_what_passes_is_not_corrected() -> None:
    corrector = Corrector()
    corrected = await run(Verifier(report()), corrector)
    assert (corrected.end, corrected.passed, corrected.attempts) == (CorrectionEnd.PASSED, True, [])
    assert corrector.given == []


async def test_errors_are_corrected_until_all_checks_pass() -> None:
    reports = [errors("a", "b"), errors("a"), report()]
    verifier, corrector = Verifier(*reports), Corrector("one", "two")
    corrected = await run(verifier, corrector)
    assert corrected.passed
    assert corrector.given == reports[:2]
    assert [(attempt.number, attempt.correction.edit) for attempt in corrected.attempts] == [
        (1, "one"),
        (2, "two"),
    ]
    assert [attempt.before for attempt in corrected.attempts] == reports[:2]
    assert (corrected.report, verifier.runs) == (report(), 3)


async def test_there_are_at_most_three_corrections() -> None:
    verifier, corrector = Verifier(*(errors(str(n)) for n in range(9))), Corrector(*"abcdefghi")
    corrected = await run(verifier, corrector)
    assert (corrected.end, corrected.passed) == (CorrectionEnd.EXHAUSTED, False)
    assert (len(corrector.given), verifier.runs) == (3, 4)
    assert corrected.report == errors("3")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (errors("a"), errors("a")),
        (errors("a", "b"), errors("b", "a")),
        (errors("a"), errors("a", line=30)),
        (
            report(failed(Check.BUILD, output="failed in 1.23 s")),
            report(failed(Check.BUILD, output="failed in 4.56 s")),
        ),
    ],
)
async def test_the_same_errors_after_a_correction_end_it(
    before: VerificationReport, after: VerificationReport
) -> None:
    corrected = await run(Verifier(before, after), Corrector("x", "y"))
    assert (corrected.end, len(corrected.attempts)) == (CorrectionEnd.SAME_ERRORS, 1)
    assert corrected.report == after


@pytest.mark.parametrize(
    "after",
    [
        errors("b"),
        errors("a", "b"),
        report(failed(Check.LINT, "a")),
        report(failed(Check.TESTS, output="no")),
    ],
)
async def test_other_errors_do_not_end_it(after: VerificationReport) -> None:
    verifier = Verifier(errors("a"), after, report())
    corrected = await run(verifier, Corrector("x", "y"))
    assert (corrected.end, len(corrected.attempts)) == (CorrectionEnd.PASSED, 2)


async def test_the_same_edit_again_ends_it_without_another_verification() -> None:
    verifier = Verifier(errors("a"), errors("b"), errors("c"))
    corrected = await run(verifier, Corrector("x", "y", "x"))
    assert (corrected.end, len(corrected.attempts), verifier.runs) == (CorrectionEnd.SAME_EDIT, 3, 3)


async def test_no_edit_ends_it() -> None:
    verifier = Verifier(errors("a"))
    corrected = await run(verifier, Corrector(""))
    assert (corrected.end, verifier.runs) == (CorrectionEnd.NO_EDIT, 1)


async def test_a_corrector_that_finds_nothing_to_change_ends_it_as_such() -> None:
    async def corrector(_report: VerificationReport) -> Correction:
        return Correction("", no_change=True)

    corrected = await run(Verifier(errors("a")), corrector)
    assert (corrected.end, len(corrected.attempts)) == (CorrectionEnd.NO_CHANGE, 1)


@pytest.mark.parametrize(
    "found",
    [
        report(tests=CheckStatus.NOT_TRUSTED),
        report(build=CheckStatus.NOT_CONFIGURED),
        report(lint=CheckStatus.CANCELLED),
        report(CheckResult(check=Check.LINT, status=CheckStatus.FAILED, reason="ruff is not installed")),
    ],
)
async def test_what_no_edit_can_bring_is_not_corrected(found: VerificationReport) -> None:
    corrector = Corrector("x")
    corrected = await run(Verifier(found), corrector)
    assert (corrected.end, corrector.given) == (CorrectionEnd.NOT_CORRECTABLE, [])


async def test_what_timed_out_can_be_corrected() -> None:
    hung = CheckResult(check=Check.TESTS, status=CheckStatus.TIMED_OUT, signal="SIGKILL")
    verifier = Verifier(report(hung), report())
    assert (await run(verifier, Corrector("x"))).passed


async def test_every_verification_is_told_with_what_came_before_it() -> None:
    told: list[tuple[bool, int]] = []
    loop = SelfCorrectionLoop(
        Verifier(errors("a"), report()), on_report=lambda found, number: told.append((found.passed, number))
    )
    await loop.verify_and_correct(Corrector("x"))
    assert told == [(False, 0), (True, 1)]


async def test_a_corrector_that_raises_is_the_callers_matter() -> None:
    async def broken(_: VerificationReport) -> Correction:
        raise KeyError("model")

    with pytest.raises(KeyError, match="model"):
        await run(Verifier(errors("a")), broken)


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
        await SelfCorrectionLoop().verify_and_correct(Corrector())

"""Counts and failures of tests, from the text that a runner prints."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from tideate_core.toolchain.failures import parse_failures
from tideate_core.toolchain.testing.results import Tally, failure_message, make_test_failure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

__all__ = ["count_printed", "failures_printed"]

_LONGEST: Final = 400
"""Characters of a line that may say how many."""
_PAIR: Final = re.compile(r"(\d{1,9}) ((?:subtests )?[a-z]{2,12})")
_PYTEST: Final = re.compile(
    r"(?:=+ )?((?:\d{1,9} (?:subtests )?[a-z]{2,12}(?:, )?){1,9})(?: in \d[\d.]{0,11}s)"
)
_CARGO: Final = re.compile(r"test result: \w{2,8}\. (\d{1,9}) passed; (\d{1,9}) failed; (\d{1,9}) ignored")
_RAN: Final = re.compile(r"Ran (\d{1,9}) tests? in ")
_VERDICT: Final = re.compile(r"(?:OK|FAILED|NO TESTS RAN)(?: \(([a-z0-9=, ]{1,200})\))?$")
_NAMED: Final = re.compile(r"([a-z][a-z ]{2,25})=(\d{1,9})")
_BLOCK: Final = re.compile(r"(?P<kind>FAIL|ERROR): (?P<test>(?P<name>\S{1,300}) \([\w.<>]{1,300}\))")
_AROUND: Final = frozenset({"setUpClass", "tearDownClass", "setUpModule", "tearDownModule"})
"""Fixtures that are not counted among the tests that ran."""
_KINDS: Final = ("FAIL", "ERROR")
_JEST: Final = re.compile(r" {0,8}Tests:? {1,8}(\d.*)")
_CTEST: Final = re.compile(r"\d{1,3}% tests passed, (\d{1,9}) tests? failed out of (\d{1,9})")

_PYTEST_WORDS: Final[Mapping[str, str]] = {
    "passed": "passed", "xpassed": "passed", "failed": "failed", "skipped": "skipped", "xfailed": "skipped",
    "error": "errors", "errors": "errors",
}  # fmt: skip
_JEST_WORDS: Final[Mapping[str, str]] = {
    "passed": "passed", "failed": "failed", "skipped": "skipped", "todo": "skipped",
}  # fmt: skip


def count_printed(text: str, runner: str = "") -> Tally | None:
    """Return how many tests a run says it had; None where it does not say.

    Of a runner that is not known (make, a script) the first form that is found counts.
    """
    lines = [line[:_LONGEST].rstrip() for line in text.split("\n")]
    forms = [_FORMS[runner]] if runner in _FORMS else list(dict.fromkeys(_FORMS.values()))
    return next((tally for form in forms if (tally := form(lines)) is not None), None)


def failures_printed(text: str, root: Path, runner: str, tally: Tally) -> None:
    """Add the failures that a run tells of."""
    parsed = parse_failures(text, root=root, tool=runner)
    raised = {
        match["name"]
        for line in text.split("\n")
        if (match := _BLOCK.match(line[:_LONGEST])) and match["kind"] == "ERROR"
    }
    for failure in parsed.found:
        if failure.severity == "error":
            error = runner == "unittest" and failure.test in raised
            tally.add(make_test_failure(failure.test, failure_message(failure), failure, error=error))
    tally.cut = tally.cut or parsed.cut


def _pytest(lines: list[str]) -> Tally | None:
    for line in reversed(lines):
        if match := _PYTEST.match(line):
            found = _add(Tally(), _PAIR.finditer(match[1]), _PYTEST_WORDS)
            if found is not None:
                return found
        elif "no tests ran in " in line:
            return Tally()
    return None


def _jest(lines: list[str]) -> Tally | None:
    for line in reversed(lines):
        if match := _JEST.match(line):
            return _add(Tally(), _PAIR.finditer(match[1]), _JEST_WORDS)
    return None


def _add(tally: Tally, pairs: Iterator[re.Match[str]], words: Mapping[str, str]) -> Tally | None:
    known = False
    for number, word in (pair.groups() for pair in pairs):
        if word in words:
            known = True
            setattr(tally, words[word], getattr(tally, words[word]) + int(number))
    return tally if known else None


def _cargo(lines: list[str]) -> Tally | None:
    """Add up the results of a workspace's programs."""
    tally = None
    for line in lines:
        if match := _CARGO.match(line):
            tally = tally or Tally()
            passed, failed, ignored = map(int, match.groups())
            tally.passed, tally.failed = tally.passed + passed, tally.failed + failed
            tally.skipped += ignored
    return tally


def _unittest(lines: list[str]) -> Tally | None:
    ran = None
    counts: dict[str, int] = {}
    for line in lines:
        if match := _RAN.match(line):
            ran, counts = int(match[1]), {}
        elif ran is not None and (verdict := _VERDICT.match(line)):
            counts = {name.strip(): int(number) for name, number in _NAMED.findall(verdict[1] or "")}
    if ran is None:
        return None
    blocks = [match.groupdict() for line in lines if (match := _BLOCK.match(line))]
    # the parts of a test (`subTest`) are counted there as if each was one
    again = {kind: _again(block["test"] for block in blocks if block["kind"] == kind) for kind in _KINDS}
    failed = max(counts.get("failures", 0) - again["FAIL"], 0) + counts.get("unexpected successes", 0)
    errors = max(counts.get("errors", 0) - again["ERROR"], 0)
    skipped = counts.get("skipped", 0) + counts.get("expected failures", 0)
    around = sum(block["name"] in _AROUND for block in blocks)
    return Tally(max(ran - failed - max(errors - around, 0) - skipped, 0), failed, skipped, errors)


def _again(names: Iterator[str]) -> int:
    known = list(names)
    return len(known) - len(set(known))


def _ctest(lines: list[str]) -> Tally | None:
    for line in reversed(lines):
        if match := _CTEST.match(line):
            failed, total = map(int, match.groups())
            return Tally(max(total - failed, 0), failed)
    return None


_FORMS: Final[dict[str, Callable[[list[str]], Tally | None]]] = {
    "pytest": _pytest,
    "unittest": _unittest,
    "cargo": _cargo,
    "jest": _jest,
    "vitest": _jest,
    "ctest": _ctest,
}

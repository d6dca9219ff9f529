"""Test counts and failures, parsed from a runner's printed output."""

from __future__ import annotations

import re
from collections import Counter, deque
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Final

from tideate_core.toolchain.failures import parse_failures
from tideate_core.toolchain.failures.failure import LONGEST_LINE
from tideate_core.toolchain.testing.results import Tally, failure_message, make_test_failure
from tideate_core.util.regular_files import read_bounded

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from tideate_core.process import OutputLine

_LONGEST: Final = 400
"""Maximum characters of a summary line."""
_NUMBER_FIRST: Final = re.compile(r"(?P<number>\d{1,9}) (?P<word>[a-z]+(?: [a-z]+)?)")
_WORD: Final = re.compile(r"[A-Za-z]+")
_NUMBER_LAST: Final = re.compile(r"(?P<word>[A-Za-z]+)\s*[:=]?\s{1,4}(?P<number>\d{1,9})")


@dataclass(frozen=True, slots=True)
class _Form:
    """The summary format of one runner: lines of numbers and words."""

    line: re.Pattern[str]
    words: Mapping[str, str]
    """Tally fields by word, and `total`; other words are ignored."""
    pair: re.Pattern[str] = _NUMBER_FIRST
    begins: re.Pattern[str] | None = None
    """A line printed before the first test."""
    first: str = ""
    """First word of a multi-line summary's first line."""
    last: str = ""
    """First word of a multi-line summary's last line."""
    many: bool = False
    """One command prints several summaries, such as one for each program or file."""


def _words(**fields: str) -> dict[str, str]:
    return {word.replace("_", " "): name for name, words in fields.items() for word in words.split()}


_FORMS: Final[Mapping[str, _Form]] = {
    "pytest": _Form(
        re.compile(
            r"(?:=+ )?(?:(?:\d{1,9} (?:(?:subtests )?(?:passed|failed)|skipped|deselected|xfailed|xpassed|"
            r"errors?|warnings?|rerun)(?:, )?){1,9}|no tests ran|"
            r"(?:no|\d{1,9}(?:/\d{1,9})?) tests? collected[^\n]{0,60}) in \d[\d.]{0,11}s"
        ),
        _words(passed="passed xpassed", failed="failed subtests_failed", skipped="skipped xfailed",
               errors="error errors"),
        begins=re.compile(r"={3,} test session starts ={3,}"),
    ),
    "cargo": _Form(
        re.compile(r"test result: \w{2,8}\. \d{1,9} passed; \d{1,9} failed; \d{1,9} ignored; \d"),
        _words(passed="passed", failed="failed", skipped="ignored"),
        begins=re.compile(r"running \d{1,9} tests?$"),
        many=True,
    ),
    "nextest": _Form(
        re.compile(r" {2,8}Summary \[.{1,40}\] .*\d{1,9} tests? run: "),
        _words(passed="passed", failed="failed timed_out", skipped="skipped"),
    ),
    "jest": _Form(
        re.compile(
            r" {0,8}(?:Tests:? {1,8}(?:\d.*(?: total|\(\d{1,9}\))$|no tests)|"
            r"(?:Test Suites:|Test Files) {1,8}\d)"
        ),
        _words(passed="passed", failed="failed", skipped="skipped todo"),
    ),
    "ctest": _Form(
        re.compile(r"\d{1,3}% tests passed, \d{1,9} tests? failed out of \d|No tests were found!!!"),
        {"tests failed": "failed", "test failed": "failed", "": "total"},
        re.compile(r"(?:(?<=of )|(?<=, ))(?P<number>\d{1,9})(?: |$)(?P<word>tests? failed|)"),
    ),
    "node": _Form(
        re.compile(r"[#\u2139] (?:tests|pass|fail|cancelled|skipped|todo) \d{1,9}$"),
        _words(total="tests", failed="fail cancelled", skipped="skipped todo"),
        _NUMBER_LAST,
        first="tests",
        last="todo",
    ),
    "mocha": _Form(
        re.compile(r" {2}\d{1,9} (?:passing \([\d.]{1,8}\w{1,2}\)|pending|failing)$"),
        _words(passed="passing", failed="failing", skipped="pending"),
        first="passing",
    ),
    "busted": _Form(
        re.compile(r"\d{1,9} success(?:es)? / \d{1,9} failures? / \d{1,9} errors? / \d{1,9} pending"),
        _words(passed="success successes", failed="failure failures", errors="error errors",
               skipped="pending"),
    ),
    "rspec": _Form(
        re.compile(r"\d{1,9} examples?, \d{1,9} failures?"),
        _words(total="example examples", failed="failure failures", skipped="pending",
               errors="error_occurred errors_occurred"),
    ),
    "mix": _Form(
        re.compile(r"(?:\d{1,9} (?:doctests?|tests?|property|properties), ){1,4}\d{1,9} failures?\b"),
        _words(total="test tests doctest doctests property properties", failed="failure failures",
               skipped="skipped excluded", errors="invalid"),
    ),
    "minitest": _Form(
        re.compile(r"\d{1,9} (?:runs|tests), \d{1,9} assertions, \d{1,9} failures, \d{1,9} errors"),
        _words(total="runs tests", failed="failures", errors="errors",
               skipped="skips pendings omissions"),
    ),
    "plenary": _Form(
        re.compile(r"(?:Success|Failed|Errors) ?: ?\t\d{1,9}\t?$"),
        _words(passed="Success", failed="Failed", errors="Errors"),
        re.compile(r"(?P<word>[A-Z][a-z]{5,6}) ?:\s{1,4}(?P<number>\d{1,9})"),
        first="Success",
        last="Errors",
        many=True,
    ),
    "mini.test": _Form(
        re.compile(r"(?:Total number of cases: \d{1,9}|Fails \(\d{1,9}\) and Notes \(\d{1,9}\))$"),
        _words(total="cases", failed="Fails"),
        re.compile(r"(?P<word>cases|Fails)(?:: | \()(?P<number>\d{1,9})"),
        first="Total",
        last="Fails",
    ),
    "surefire": _Form(
        re.compile(r"(?:\[[A-Z]{4,7}\] )?Tests run: \d{1,9}, Failures: \d{1,9}, Errors: \d{1,9}, "
                   r"Skipped: \d{1,9}$"),
        _words(total="run", failed="Failures", errors="Errors", skipped="Skipped"),
        _NUMBER_LAST,
        many=True,
    ),
    "go": _Form(
        re.compile(r"(?:ok  |FAIL|---)\t\S{1,300}(?:\t|$| \[)|\?   \t\S{1,300}\t\[no test files\]"),
        {},
        many=True,
    ),
}  # fmt: skip
"""In the order in which lines are matched."""

_SAME: Final[Mapping[str, str]] = {"vitest": "jest"}
_GO_TEST: Final = re.compile(r"[ \t]{0,40}--- (?P<word>PASS|FAIL|SKIP): ")
_GO_WORDS: Final = {"PASS": "passed", "FAIL": "failed", "SKIP": "skipped"}

_RAN: Final = re.compile(r"Ran (\d{1,9}) tests? in ")
_VERDICT: Final = re.compile(r"(?P<word>OK|FAILED|NO TESTS RAN)(?: \((?P<counts>[a-z0-9=, ]{1,200})\))?$")
_NAMED: Final = re.compile(r"([a-z][a-z ]{2,25})=(\d{1,9})")
_BLOCK: Final = re.compile(r"(?P<kind>FAIL|ERROR): (?P<test>(?P<name>\S{1,300}) \([\w.<>]{1,300}\))")
_AROUND: Final = frozenset({"setUpClass", "tearDownClass", "setUpModule", "tearDownModule"})
"""Fixtures that are not counted as tests."""
_KINDS: Final = ("FAIL", "ERROR")


@dataclass(slots=True)
class Summaries:
    """All summaries printed by a run."""

    tally: Tally | None = None
    """Total of their counts; None: no summary has any."""
    found: Counter[str] = field(default_factory=Counter)
    """Number of summaries by runner."""
    begun: Counter[str] = field(default_factory=Counter)
    """Number of runs that announced their start."""

    def missing(self, expected: Mapping[str, int]) -> str:
        """Return the first runner with too few summaries, empty if all are complete.

        :param expected: minimum number of summaries by runner.
        """
        return next(
            (
                runner
                for runner in {**expected, **self.begun}
                if self.found[_SAME.get(runner, runner)] < max(expected.get(runner, 0), self.begun[runner])
            ),
            "",
        )


def read_summaries(text: str, runner: str = "", errors: str | None = None) -> Summaries:
    """Return the summaries printed by a run.

    For a known runner only the last summary counts, because its tests may print similar lines; for any other
    program (make, a script) all of them count.

    :param text: both streams, with stderr last, which has unittest's summary.
    :param errors: stderr alone, if unittest is known to run: its tests print to stdout.
    """
    lines = _lines(text)
    own = _SAME.get(runner, runner)
    read = Summaries()
    known = own in _FORMS or own == "unittest"
    for name in [own] if known else ["unittest", *_FORMS]:
        if name == "unittest":
            tallies = list(_unittest(lines if errors is None else _lines(errors)))
        elif name == "cargo":
            # with `--nocapture`, tests print between start and summary
            tallies = list(chain.from_iterable(_last_of_runs(lines, _FORMS[name])))
        else:
            tallies = list(_tallies(lines, _FORMS[name]))
        if not tallies:
            continue
        read.found[name] = len(tallies)
        counted = tallies if not known or (name in _FORMS and _FORMS[name].many) else tallies[-1:]
        if name == "go":
            counted = [tally for tally in _go(lines) if tally.total]
        for tally in counted:
            read.tally = _sum(read.tally, tally)
    for name, form in _FORMS.items():
        if form.begins is not None and (not known or (name == own and form.many)):
            read.begun[name] = sum(1 for line in lines if form.begins.match(line))
    return read


def _lines(text: str) -> list[str]:
    return [line[:_LONGEST].rstrip() for line in text.split("\n")]


_TELLING: Final = (
    *(form.line for form in _FORMS.values()),
    *(form.begins for form in _FORMS.values() if form.begins),
    _RAN, _VERDICT, _BLOCK, _GO_TEST, re.compile("======"), re.compile(r"!+ _pytest\.outcomes\.Exit: "),
)  # fmt: skip
_MOST_LINES: Final = 20_000


class SummaryLines:
    """Filter that keeps summary lines of a long output, including its truncated middle."""

    def __init__(self) -> None:
        self._lines: dict[str, deque[str]] = {
            name: deque(maxlen=_MOST_LINES) for name in ("stdout", "stderr")
        }

    def take(self, lines: Iterable[OutputLine]) -> None:
        """Keep the lines that belong to a summary."""
        for line in lines:
            text = line.text[:_LONGEST]
            if any(form.match(text) for form in _TELLING):
                self._lines[line.stream].append(text)

    def text(self, *streams: str) -> str:
        return "\n".join(line for stream in streams for line in self._lines[stream])


_EXIT: Final = re.compile(r"!+ _pytest\.outcomes\.Exit: (.{0,200})", re.MULTILINE)
_NODE_FILE: Final = re.compile(
    r"^(?:ok \d{1,9} - |\u2714 )(?P<file>\S.{0,400}?\.[cm]?[jt]sx?)(?: \([\d.]{1,12}ms\))?$", re.MULTILINE
)
"""A file reported as a test: none of its own tests was reported."""
_NODE_TESTS: Final = re.compile(r"\b(?:test|it|describe|suite)(?:\.\w{1,20})?[ \t]{0,5}\(")
_NODE_TAP: Final = re.compile(r"^( {0,80})(?:(# Subtest: )|(?:not )?ok \d{1,9} - )", re.MULTILINE)
_NODE_OPEN: Final = re.compile(
    r"^( {0,80})\u25b6 (.{1,400})\n(?=\1  [\u25b6\u2714\u2716\ufe63] )", re.MULTILINE
)
_NODE_ENDED: Final = re.compile(
    r"^( {0,80})[\u25b6\u2714\u2716\ufe63] (.{1,400}) \([\d.]{1,12}ms\)", re.MULTILINE
)


_CONFIGURED: Final[Mapping[str, tuple[str, re.Pattern[str]]]] = {
    "mocha": (".mocharc* package.json", re.compile(r"\breporter\b['\"]?\s{0,9}:")),
    "jest": (
        "jest.config.* vitest.config.* vite.config.* package.json",
        re.compile(r"\breporters\b['\"]?\s{0,9}:"),
    ),
    "pytest": ("pytest.ini pyproject.toml setup.cfg tox.ini", re.compile(r"no:terminal")),
}
"""Files, and patterns in them, that give a runner another summary or none."""


def prints_otherwise(runner: str, root: Path) -> bool:
    """Return whether the project configures a reporter with an unknown summary; blocking."""
    patterns, words = _CONFIGURED.get(runner, ("", _EXIT))
    files = (path for pattern in patterns.split() for path in root.glob(pattern))
    return any(words.search((read_bounded(path, 1 << 20) or b"").decode(errors="replace")) for path in files)


def interrupted(text: str) -> str:
    """Return how a test ended the pytest run, empty if none did."""
    match = _EXIT.search(text)
    return f"a call of pytest.exit ended the tests ({match[1].rstrip(' !')})" if match else ""


def unfinished_of_node(text: str, root: Path) -> str:
    """Return a file or suite with tests that `node --test` did not finish, empty if there is none."""
    for match in _NODE_FILE.finditer(text):
        content = read_bounded(root / match["file"], 1 << 20) or b""
        if b"node:test" in content and _NODE_TESTS.search(content.decode(errors="replace")):
            return f"{match['file']} ended before its tests"
    begun = Counter((match[1], match[2]) for match in _NODE_OPEN.finditer(text))
    begun.subtract((match[1], match[2]) for match in _NODE_ENDED.finditer(text))
    tap: Counter[str] = Counter()
    for match in _NODE_TAP.finditer(text):
        tap[match[1]] += 1 if match[2] else -1
    first = next((name for (_, name), count in begun.items() if count > 0), "")
    if first or any(count > 0 for count in tap.values()):
        return f"ended before the end of the suite {first}".rstrip()
    return ""


def _sum(known: Tally | None, more: Tally) -> Tally:
    tally = known or Tally()
    for name in ("passed", "failed", "skipped", "errors"):
        setattr(tally, name, getattr(tally, name) + getattr(more, name))
    return tally


def _tallies(lines: Sequence[str], form: _Form) -> Iterator[Tally]:
    """Yield each summary of a format."""
    summed: Counter[str] = Counter()
    seen: set[str] = set()
    for line in lines:
        if not form.line.match(line):
            continue
        first = _WORD.search(line)
        key = first[0] if first else ""
        if form.first and not seen and key != form.first:
            continue
        if seen and (key in seen or not (form.first or key == "Tests")):
            if form.last in ("", *seen):
                yield _tally(summed)
            summed, seen = Counter(), set()
        seen.add(key)
        fields = _fields(line, form)
        if key == "Test":
            # jest and vitest count files here; a file that cannot be loaded has no failed test
            summed["files"] = fields.get("failed", 0)
        else:
            summed.update(fields)
    if seen and form.last in ("", *seen):
        yield _tally(summed)


def _last_of_runs(lines: Sequence[str], form: _Form) -> Iterator[Sequence[Tally]]:
    """Yield the last summary of each run, or all if no line marks the start of a run."""
    begin = [number for number, line in enumerate(lines) if form.begins and form.begins.match(line)]
    for start, end in zip(begin or [0], [*begin[1:], len(lines)], strict=True):
        tallies = list(_tallies(lines[start:end], form))
        yield tallies[-1:] if begin else tallies


def _fields(line: str, form: _Form) -> dict[str, int]:
    fields: dict[str, int] = {}
    for match in form.pair.finditer(line):
        word = match["word"]
        name = form.words.get(word) or form.words.get(word.partition(" ")[0])
        if name is not None:
            fields[name] = fields.get(name, 0) + int(match["number"])
    return fields


def _tally(fields: Mapping[str, int]) -> Tally:
    failed, errors, skipped = (fields.get(name, 0) for name in ("failed", "errors", "skipped"))
    if not failed:
        errors += fields.get("files", 0)
    rest = max(fields.get("total", 0) - failed - errors - skipped, 0)
    return Tally(fields.get("passed", rest), failed, skipped, errors)


def _go(lines: Sequence[str]) -> Iterator[Tally]:
    """Yield a tally for each package: with `-v` all tests are named, else only failures."""
    counts: Counter[str] = Counter()
    for line in lines:
        if match := _GO_TEST.match(line):
            counts[_GO_WORDS[match["word"]]] += 1
        elif line.startswith("FAIL\t"):
            yield _tally(counts if counts["failed"] else {**counts, "errors": 1})
            counts.clear()
        elif line.startswith("ok  \t"):
            # a passed package has no failed test, even if its tests print such lines
            yield _tally({**counts, "failed": 0})
            counts.clear()
    yield _tally(counts)


def _unittest(lines: Sequence[str]) -> Iterator[Tally]:
    ran = 0
    open_run = False
    blocks: list[dict[str, str]] = []
    for number, line in enumerate(lines):
        if match := _RAN.match(line):
            ran, open_run = int(match[1]), True
        elif open_run and (verdict := _VERDICT.match(line)):
            named = _NAMED.findall(verdict["counts"] or "")
            counts = {name.strip(): int(count) for name, count in named}
            yield _of_unittest(ran, verdict["word"], counts, blocks)
            open_run, blocks = False, []
        elif number and lines[number - 1].startswith("======") and (block := _BLOCK.match(line)):
            # in a test's own output, no such line precedes it
            blocks.append(block.groupdict())


def _of_unittest(
    ran: int, verdict: str, counts: Mapping[str, int], blocks: Sequence[Mapping[str, str]]
) -> Tally:
    # unittest counts each part of a test (`subTest`) separately
    again = {kind: _again(block["test"] for block in blocks if block["kind"] == kind) for kind in _KINDS}
    failed = max(counts.get("failures", 0) - again["FAIL"], 0) + counts.get("unexpected successes", 0)
    errors = max(counts.get("errors", 0) - again["ERROR"], 0)
    if verdict == "FAILED" and not failed and not errors:
        errors = 1
    skipped = counts.get("skipped", 0) + counts.get("expected failures", 0)
    around = sum(block["name"] in _AROUND for block in blocks)
    return Tally(max(ran - failed - max(errors - around, 0) - skipped, 0), failed, skipped, errors)


def _again(names: Iterator[str]) -> int:
    known = list(names)
    return len(known) - len(set(known))


def failures_printed(text: str, root: Path, runner: str, tally: Tally) -> None:
    """Add the failures found in the output."""
    parsed = parse_failures(text, root=root, tool=runner)
    lines = [line[:LONGEST_LINE] for line in text.split("\n")]
    raised = {match["name"] for line in lines if (match := _BLOCK.match(line)) and match["kind"] == "ERROR"}
    for failure in parsed.found:
        if failure.severity == "error":
            error = runner == "unittest" and failure.test in raised
            tally.add(make_test_failure(failure.test, failure_message(failure), failure, error=error))
    tally.cut = tally.cut or parsed.cut

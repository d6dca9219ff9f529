"""Parse JSON reports of test runners: ``go test -json``, jest, vitest, and node's queue of tests."""

from __future__ import annotations

import json
import posixpath
import re
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from tideate_core.process import OutputCapture, strip_control_sequences
from tideate_core.toolchain.failures import parse_failures
from tideate_core.toolchain.failures.failure import Failure, project_path
from tideate_core.toolchain.failures.test_runners import GO_SAID, go_folder, go_module, stack_frame
from tideate_core.toolchain.testing.results import (
    MOST_FAILURES,
    Tally,
    UnreadableReport,
    make_test_failure,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tideate_core.toolchain.testing.results import TestFailure

_FOLLOWED: Final = 10_000
"""Maximum number of tests tracked at a time."""
_KEPT: Final = 1 << 20
"""Maximum bytes of the combined event output."""
_UNBUILT: Final = re.compile(r"FAIL\t(?P<package>\S{1,300}) \[(?:setup|build) failed\]\s*$")
"""Before Go 1.24 this is not an event."""
_GO_FRAME: Final = re.compile(r"\t(?P<file>/[^\t:]{1,400}\.go):(?P<line>\d{1,7})(?: \+0x|$)")
"""A line of a panic's stack."""
_ENDS: Final = frozenset({"pass", "fail", "skip"})
_LOOKED_AT: Final = 1 << 14
"""Maximum characters of one failure's text."""
_AT: Final = re.compile(r"(?:\(|\.[cm]?[jt]sx?:)(\d{1,7}):\d{1,5}\b")
"""Location of a syntax error: ``(1:10)`` of babel, ``a.test.ts:1:10`` of others."""
_DULL: Final = ("Test suite failed to run", "Jest encountered an unexpected token")


NODE_REPORTER: Final = """import {appendFileSync} from 'node:fs';
const path = new URL('report', import.meta.url);
// a test that starts Node itself does not report here
const own = (process.env.NODE_OPTIONS ?? '').replace(/ ?--test-reporter=spec .*/s, '');
if (own) process.env.NODE_OPTIONS = own;
else delete process.env.NODE_OPTIONS;
export default async function* (events) {
  for await (const {type, data} of events)
    if (/^test:(enqueue|pass|fail)$/.test(type))
      appendFileSync(path, `${JSON.stringify([type, data.file, data.name])}\\n`);
}
"""
"""Reporter that writes queued and ended tests of `node --test` to a file beside itself."""
NODE_OPTIONS: Final = (
    "--test-reporter=spec --test-reporter-destination=stdout --test-reporter={reporter} "
    "--test-reporter-destination=stderr"
)


def unfinished_in_node(content: bytes, root: Path) -> str:
    """Return a sentence about a queued `node --test` test that did not end; empty if all did."""
    known: Counter[tuple[str, str]] = Counter()
    for line in content.decode(errors="replace").split("\n"):
        match _parsed(line):
            # a file is also a test, and ends whenever its process does
            case [str() as kind, str() as file, str() as name] if not file.endswith(name):
                known[file, name] += 1 if kind == "test:enqueue" else -1
    open_ = ((file, name) for (file, name), count in known.items() if count > 0)
    return next((f"{project_path(file, root)} ended before its test {name!r}" for file, name in open_), "")


def _parsed(line: str) -> Any:
    try:
        return json.loads(line) if line.startswith(("[", "{")) else None
    except (ValueError, RecursionError):
        return None


class GoEvents:
    """Counts tests by their events and restores their printed output."""

    def __init__(self, root: Path) -> None:
        self.tally = Tally()
        self._root = root
        self._said: dict[tuple[str, str], tuple[str, Failure | None]] = {}
        """By running test: its first output line, with a location if it named one."""
        self._failed: dict[str, None] = {}
        """Packages with failed tests."""
        self._broken: list[str] = []
        """Packages that failed without a failed test: not built, or crashed."""
        self._open: dict[str, None] = {}
        """Packages that started."""
        self._running: dict[tuple[str, str], None] = {}
        """Tests that started."""
        self._ended = 0
        """Number of packages that ended."""
        self._module = go_module(root)
        self._text = OutputCapture(_KEPT)

    @property
    def unfinished(self) -> str:
        """Description of missing events, empty if every package ended."""
        if self._open:
            return f"ended before the result of {next(iter(self._open))}"
        return "" if self._ended else "ended before the result of any package"

    def feed(self, line: str) -> str:
        """Process a line of output, event or not; returns its printed text."""
        event = _parsed(line)
        if not isinstance(event, dict) or not isinstance(event.get("Action"), str):
            self._text.feed(f"{line}\n".encode("utf-8", "replace"))
            if unbuilt := _UNBUILT.match(line):
                self._count("fail", unbuilt["package"], "")
            return line
        package, test = str(event.get("Package", ""))[:300], str(event.get("Test", ""))[:400]
        if event["Action"] in ("output", "build-output"):
            self._hear(package, test, str(event.get("Output", "")))
            return str(event.get("Output", "")).rstrip("\n")
        self._count(event["Action"], package, test)
        return ""

    def text(self) -> str:
        """Return the printed output, as without ``-json``."""
        return self._text.output().text

    def _hear(self, package: str, test: str, output: str) -> None:
        self._text.feed(output.encode("utf-8", "replace"))
        if not test:
            return
        key, known = (package, test), self._said.get((package, test))
        if known is not None and known[1] is not None:
            return
        line = output.rstrip("\n")[:2_000]
        if said := GO_SAID.match(line):
            file = posixpath.join(go_folder(package, self._module), said["file"])
            self._said[key] = (said["message"], Failure(file, int(said["line"]), None, said["message"]))
        elif known is not None and (frame := _GO_FRAME.match(line)):
            file = project_path(frame["file"], self._root)
            if not file.startswith("/"):
                self._said[key] = (known[0], Failure(file, int(frame["line"]), None, known[0]))
        elif known is None and line.strip() and not line.lstrip().startswith(("=== ", "--- ")):
            self._said[key] = (line.strip(), None)
        _bound(self._said)

    def _count(self, action: str, package: str, test: str) -> None:
        if test and action == "run":
            self._running[package, test] = None
            _bound(self._running)
        elif test and action in _ENDS:
            self._running.pop((package, test), None)
        if action in _ENDS and not test:
            self._ended += 1
            self._open.pop(package, None)
        elif action not in _ENDS and package:
            self._open[package] = None
            _bound(self._open)
        said, place = self._said.pop((package, test), ("", None)) if action in _ENDS else ("", None)
        if test and action == "pass":
            self.tally.passed += 1
        elif test and action == "skip":
            self.tally.skipped += 1
        elif test and action == "fail":
            self._failed[package] = None
            _bound(self._failed)
            self.tally.failed += 1
            self.tally.add(
                make_test_failure(f"{package}.{test}" if package else test, said or "failed", place)
            )
        elif action == "fail" and package not in self._failed and package not in self._broken:
            self.tally.errors += 1
            if len(self._broken) < MOST_FAILURES:
                self._broken.append(package)

    def end(self, output: str = "") -> Tally:
        """Add the causes of packages that failed without a failed test; returns the tally.

        :param output: all output, if there is more than the events: compiler errors.
        """
        text = output or self.text()
        wrong = parse_failures(text, root=self._root, tool="go").found if self._broken else ()
        for package in self._broken:
            folder = go_folder(package.partition(" ")[0], self._module)
            own = (one for one in wrong if one.file.rpartition("/")[0] == folder)
            first = next(own, None)
            said = first.message if first else "failed before or after its tests"
            self.tally.add(make_test_failure(package, said, first, error=True))
        # output of tests can garble event lines, so a passed package may lack one
        bad = {*self._broken, *self._failed, *self._open}
        running = [key for key in self._running if key[0] in bad]
        for package, test in running:
            # a subtest is more specific than its parent
            if not any(other.startswith(f"{test}/") for _, other in running):
                self.tally.add(make_test_failure(f"{package}.{test}", "did not end"))
        self._broken = []
        return self.tally


def _bound(kept: dict[Any, Any]) -> None:
    """Drop the oldest entry beyond the limit."""
    if len(kept) > _FOLLOWED:
        del kept[next(iter(kept))]


def read_jest(content: bytes, root: Path) -> Tally:
    """Parse a report of jest or vitest.

    :raises UnreadableReport: it is not one.
    """
    try:
        report = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise UnreadableReport(f"the report is not valid JSON: {type(error).__name__}") from error
    if not isinstance(report, dict) or not isinstance(report.get("testResults"), list):
        raise UnreadableReport("the report does not list any results")
    tally = Tally()
    if report.get("wasInterrupted") is True:
        tally.denied = "its report says that it was interrupted"
    elif report.get("success") is not True:
        tally.denied = "its report does not say that it succeeded"
    for suite in _objects(report["testResults"]):
        file = _text(suite, "name")
        results = list(_objects(suite.get("assertionResults")))
        for result in results:
            _count(tally, result, file, root)
        if suite.get("status") == "failed" and all(one.get("status") != "failed" for one in results):
            tally.errors += 1
            tally.add(_of_suite(suite, file, root))
    return tally


def _count(tally: Tally, result: dict[str, Any], file: str, root: Path) -> None:
    status = result.get("status")
    if status == "passed":
        tally.passed += 1
    elif status == "failed":
        tally.failed += 1
        tally.add(_of_test(result, file, root))
    else:
        tally.skipped += 1


def _of_test(result: dict[str, Any], file: str, root: Path) -> TestFailure:
    said = result.get("failureMessages")
    stack = (
        strip_control_sequences("\n".join(map(str, said[:5]))[:_LOOKED_AT]) if isinstance(said, list) else ""
    )
    message, _, _ = stack.partition("\n    at ")
    if message == "Error: STACK_TRACE_ERROR":  # vitest prints the sentence but does not report it
        message = "did not end within the time of a test"
    place = _frame(stack, root)
    if place is None:
        at = result.get("location")
        line = at.get("line") if isinstance(at, dict) else None
        line = line if isinstance(line, int) else None
        place = Failure(project_path(file, root) if file else "", line, None, "")
    return make_test_failure(_name(result), message or "failed", place)


def _name(result: dict[str, Any]) -> str:
    above = result.get("ancestorTitles")
    titles = [str(title) for title in above[:20]] if isinstance(above, list) else []
    return " > ".join([*titles, _text(result, "title")]) or _text(result, "fullName")


def _of_suite(suite: dict[str, Any], file: str, root: Path) -> TestFailure:
    """Return the error that prevented a file's tests from running."""
    said = strip_control_sequences(_text(suite, "message")[:_LOOKED_AT])
    lines = [line.strip().removeprefix("● ") for line in said.split("\n")]
    telling = [line for line in lines if line and line not in _DULL] or ["could not be run"]
    raised = next((line for line in telling if "Error: " in line), " ".join(telling[:2]))
    name = project_path(file, root) if file else ""
    place = _frame(said, root)
    if place is None:
        at = _AT.search(said)
        place = Failure(name, int(at[1]) if at else None, None, "")
    return make_test_failure(name, raised, place, error=True)


def _frame(stack: str, root: Path) -> Failure | None:
    frame = stack_frame(stack)
    if frame is None:
        return None
    return Failure(project_path(frame["file"], root), int(frame["line"]), int(frame["column"]), "")


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    return (one for one in value if isinstance(one, dict)) if isinstance(value, list) else iter(())


def _text(values: dict[str, Any], key: str) -> str:
    value = values.get(key)
    # no path can contain a NUL character
    return value.replace("\0", "") if isinstance(value, str) else ""

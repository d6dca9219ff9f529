"""Parse JUnit XML reports of pytest and ctest.

The project's own code may have written the report. So a document type is rejected, hence all entities except
XML's five; elements are processed as a stream, and texts are truncated.
"""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final
from xml.parsers import expat

from tideate_core.process import strip_control_sequences
from tideate_core.toolchain.failures import parse_failures
from tideate_core.toolchain.failures.failure import Failure, project_path
from tideate_core.toolchain.failures.test_runners import python_failure
from tideate_core.toolchain.testing.results import Tally, UnreadableReport, failure_message, make_test_failure

if TYPE_CHECKING:
    from pathlib import Path

    from tideate_core.toolchain.testing.results import TestFailure

_TEXT: Final = 1 << 16
"""Maximum characters of a failure's text."""
_DEEPEST: Final = 50
_NOT_XML: Final = re.compile(r"#x([01][0-9A-F])|\[NON-XML-CHAR-0x([01]?[0-9A-F])\]")
"""Control characters as escaped by pytest and ctest."""
_KEPT: Final = frozenset({"failure", "error", "skipped", "system-out"})


@dataclass(slots=True)
class _Case:
    attributes: dict[str, str]
    found: dict[str, list[str]] = field(default_factory=dict)
    """Texts of its elements by name; each subtest has one element."""


def read_junit(content: bytes, root: Path) -> Tally:
    """Parse a report.

    :raises UnreadableReport: it is not XML, or has a document type.
    """
    reader = _Reader(root)
    parser = expat.ParserCreate("utf-8")
    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = _refuse
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.text
    try:
        parser.Parse(content, True)
    except (expat.ExpatError, ValueError) as error:
        raise UnreadableReport(f"the report is not valid XML: {error}") from error
    if reader.claimed and not reader.tally.bad:
        reader.tally.denied = "its report counts failures but does not list them"
    return reader.tally


def _refuse(*_: object) -> None:
    raise UnreadableReport("the report has a document type, which no known runner writes")


class _Reader:
    def __init__(self, root: Path) -> None:
        self.tally = Tally()
        self.claimed = False
        """A suite's attributes count failures."""
        self._root = root
        self._case: _Case | None = None
        self._inside = ""
        self._pieces: list[str] = []
        self._size = 0
        self._depth = 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth == 1 and name not in ("testsuites", "testsuite"):
            raise UnreadableReport("it is not a JUnit report")
        if name == "testsuite":
            counts = (attributes.get(kind, "") for kind in ("failures", "errors"))
            self.claimed = self.claimed or any(count.strip("0") for count in counts)
        if self._depth > _DEEPEST:
            raise UnreadableReport("the report is nested deeper than any that a runner writes")
        if name == "testcase":
            self._case = _Case(attributes)
        elif self._case is not None and name in _KEPT:
            self._inside, self._pieces, self._size = name, [], 0
            self.text(attributes.get("message", "") + "\n")

    def text(self, data: str) -> None:
        if self._inside and self._size < _TEXT:
            self._pieces.append(data[: _TEXT - self._size])
            self._size += len(data)

    def end(self, name: str) -> None:
        self._depth -= 1
        if self._case is not None and name == self._inside:
            self._case.found.setdefault(name, []).append(_plain("".join(self._pieces)))
            self._inside = ""
        elif self._case is not None and name == "testcase":
            self._count(self._case)
            self._case = None

    def _count(self, case: _Case) -> None:
        tally, found = self.tally, case.found
        failures = found.get("failure", [])
        errors = found.get("error", [])
        skipped = "".join(found.get("skipped", []))
        status = case.attributes.get("status")
        if failures or errors:
            tally.failed += len(failures)
            tally.errors += len(errors)
        elif status == "notrun" and not skipped.startswith("SKIP_"):  # ctest: the program is missing
            tally.errors += 1
            tally.add(make_test_failure(_name(case), skipped or "was not run", error=True))
        elif "skipped" in found or status in ("disabled", "notrun"):
            tally.skipped += 1
        else:
            tally.passed += 1
        for kind, texts in (("failure", failures), ("error", errors)):
            for text in texts:
                if tally.full:
                    tally.cut = True
                else:
                    tally.add(self._failure(case, text, kind))

    def _failure(self, case: _Case, said: str, kind: str) -> TestFailure:
        message, _, text = said.partition("\n")
        place = _place(case, said, "".join(case.found.get("system-out", [])), self._root)
        # the traceback's message takes precedence over the runner's
        told = failure_message(place) if place.message not in ("", "failed") else message
        return make_test_failure(
            _name(case), told or text or "failed", place, error=kind == "error", details=_error_lines(text)
        )


def _error_lines(text: str) -> str:
    """Return the lines marked with `E` by pytest, without the mark and without blank lines."""
    marked = (line[1:].rstrip() for line in text.split("\n") if line.startswith("E "))
    return textwrap.dedent("\n".join(filter(None, marked)))


def _plain(text: str) -> str:
    """Return a text without control sequences, which XML reports contain in escaped form."""
    return strip_control_sequences(_NOT_XML.sub(lambda match: chr(int(match[1] or match[2], 16)), text))


def _name(case: _Case) -> str:
    """Return pytest's id of a test, ``tests/test_a.py::TestA::test_b``; other runners' name."""
    file, name = case.attributes.get("file", ""), case.attributes.get("name", "")
    module = file.removesuffix(".py").replace("/", ".")
    own = case.attributes.get("classname", "")
    if not file or (name == module and not own):
        return file or name
    classes = own.removeprefix(module).strip(".").split(".") if own.startswith(module) else []
    return "::".join([file, *(part for part in classes if part), name])


def _place(case: _Case, text: str, printed: str, root: Path) -> Failure:
    """Return location and message of a failed test: from its traceback, its output, or its start."""
    found = python_failure(text, root)
    if found.file:
        return Failure(project_path(found.file, root), found.line, None, found.message, found.code)
    if printed and (others := parse_failures(printed, root=root, most=1).found):
        return others[0]
    file, line = case.attributes.get("file", ""), case.attributes.get("line", "")
    begin = int(line) + 1 if line.isdecimal() and len(line) < 8 else None
    return Failure(
        project_path(file, root) if file else "", begin if file else None, None, found.message, found.code
    )

"""Failures of Python's test runners, and tracebacks."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from tideate_core.toolchain.failures.failure import project_path
from tideate_core.toolchain.failures.printed import found

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tideate_core.toolchain.failures.failure import Failure
    from tideate_core.toolchain.failures.printed import Printed

__all__ = ["pytest", "python_failure", "tracebacks", "unittest"]

_HEAD: Final = re.compile(r"_{2,200} (?P<name>\S.{0,400}?) _{2,200}$")
_PLACE: Final = re.compile(r"(?P<file>[^\s:<>][^:\n]{0,300}):(?P<line>\d{1,7}): ?(?P<rest>.*)")
_SAID: Final = re.compile(r"E\s{3}(?P<said>.*)")
_IN_FILE: Final = re.compile(r"[ \t]{0,12}File \"(?P<file>[^\"\n]{1,400})\", line (?P<line>\d{1,7})")
_SUMMARY: Final = re.compile(r"(?P<kind>FAILED|ERROR) (?P<node>\S{1,500})(?: - (?P<said>.*))?")
_RAISED: Final = re.compile(r"(?P<code>[A-Za-z_][\w.]{0,120})(?:: (?P<message>.*))?$")
_UNITTEST_HEAD: Final = re.compile(r"(?P<kind>FAIL|ERROR): (?P<name>\S{1,300})")


_EXCEPTIONS: Final = ("Error", "Exception", "Warning", "Exit", "Interrupt", "Failed")


@dataclass(slots=True)
class _Block:
    """One failed test, or one traceback."""

    name: str
    places: list[re.Match[str]] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    over: bool = False
    """What follows is what the test printed."""

    def failure(self, root: Path) -> Failure:
        """Return it at the innermost place that is the project's own."""
        # of exceptions that led to each other the last one
        raised = [match for text in self.said if (match := _exception(text))]
        code, message = "", self.said[0].strip() if self.said else "failed"
        if raised:
            code, message = raised[-1]["code"], raised[-1]["message"] or raised[-1]["code"]
        elif message.startswith("assert "):
            code = "AssertionError"
        own = [place for place in self.places if _is_own(place["file"], root)]
        places = own or self.places
        return found(places[-1] if places else None, message, code=code, test=self.name)


def _exception(text: str) -> re.Match[str] | None:
    match = _RAISED.match(text.strip())
    return match if match is not None and match["code"].endswith(_EXCEPTIONS) else None


def _is_own(name: str, root: Path) -> bool:
    path = project_path(name, root)
    outside = path.startswith(("/", "<")) or "site-packages" in path
    return not outside and not path.startswith((".venv/", "venv/", "env/", ".tox/", ".nox/"))


def pytest(printed: Printed) -> Iterator[Failure]:
    """Parse pytest's tracebacks of any style; of tests without one, the short summary."""
    told: set[str] = set()
    block: _Block | None = None
    for line in printed.lines:
        if head := _HEAD.match(line):
            if block is not None:
                yield block.failure(printed.root)
            block = _Block(_test_name(head["name"]))
            told.add(block.name)
        elif line.startswith("===") and block is not None:
            yield block.failure(printed.root)
            block = None
        elif block is not None:
            _add_line(block, line)
    if block is not None:
        yield block.failure(printed.root)
    yield from _of_summary(printed, told)


def python_failure(text: str, root: Path) -> Failure:
    """Return what pytest's text about one failed test says; its file is as it was printed."""
    block = _Block("")
    for line in text.split("\n"):
        _add_line(block, line[:2_000].rstrip())
    return block.failure(root)


def _add_line(block: _Block, line: str) -> None:
    block.over = block.over or line.startswith("-----")
    if block.over:
        return
    if said := _SAID.match(line):
        if place := _IN_FILE.match(said["said"]):
            block.places.append(place)  # a syntax error
        elif not block.said or _exception(said["said"]):
            block.said.append(said["said"])
    elif place := _PLACE.match(line):
        block.places.append(place)


def _test_name(head: str) -> str:
    for words in ("ERROR at setup of ", "ERROR at teardown of ", "ERROR collecting "):
        head = head.removeprefix(words)
    return head


def _of_summary(printed: Printed, told: set[str]) -> Iterator[Failure]:
    for line in printed.lines:
        match = _SUMMARY.match(line)
        if match is None:
            continue
        file, colons, test = match["node"].partition("::")
        name = test.replace("::", ".") if colons else file
        if name in told or not (colons or file.endswith(".py")):
            continue
        said = match["said"] or ("failed" if match["kind"] == "FAILED" else "error")
        yield found(None, said, file=file, test=name)


def unittest(printed: Printed) -> Iterator[Failure]:
    """Parse what unittest says of each test that failed."""
    block: _Block | None = None
    for line in printed.lines:
        if head := _UNITTEST_HEAD.match(line):
            if block is not None:
                yield block.failure(printed.root)
            block = _Block(head["name"])
        elif line.startswith(("===", "Ran ")):
            if block is not None:
                yield block.failure(printed.root)
            block = None
        elif block is not None:
            if place := _IN_FILE.match(line):
                block.places.append(place)
            elif block.places and not block.said and line[:1].strip() and _RAISED.match(line):
                block.said.append(line)
    if block is not None:
        yield block.failure(printed.root)


def tracebacks(printed: Printed) -> Iterator[Failure]:
    """Parse the tracebacks of any Python program, and its syntax errors."""
    block = _Block("")
    for line in printed.lines:
        if place := _IN_FILE.match(line):
            block.places.append(place)
        elif not block.places:
            continue
        elif _exception(line) and line[:1].strip():
            block.said.append(line)
            yield block.failure(printed.root)
            block = _Block("")
        elif line.startswith("Traceback "):
            block = _Block("")

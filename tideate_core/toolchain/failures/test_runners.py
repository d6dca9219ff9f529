"""Parsers of failed tests: pytest, unittest, jest, vitest, cargo, go; Python tracebacks."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from tideate_core.toolchain.failures.failure import AT, LONGEST_LINE, make_failure, project_path

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from tideate_core.toolchain.failures.failure import Failure, ToolOutput

_HEAD: Final = re.compile(r"_{1,200} (?P<name>[^\W_].{0,400}?) _{1,200}$")
_PLACE: Final = re.compile(r"(?P<file>[^\s:<>][^:\n]{0,300}):(?P<line>\d{1,7}): ?(?P<rest>.*)")
_SAID: Final = re.compile(r"E\s{3}(?P<said>.*)")
_IN_FILE: Final = re.compile(r"[ \t]{0,12}File \"(?P<file>[^\"\n]{1,400})\", line (?P<line>\d{1,7})")
_SUMMARY: Final = re.compile(
    r"(?P<kind>(?:SUB)?FAILED|ERROR)(?:\[.{0,200}?\])? "
    r"(?P<node>[^\s\[]{1,500}(?:\[.{0,500}?\])?)(?: - (?P<said>.*))?$"
)
"""Parameters, in brackets, may contain blanks."""
_OUTCOME: Final = re.compile(
    r"(?P<file>[^\s:]{1,300}\.py)::(?P<test>.{1,400}?) "
    r"(?P<word>PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS|SUB\w{4,8})\b.{0,200}?(?:\[ {0,2}\d{1,3}%\])?$"
)
"""A test's outcome on its own line."""
_BEGUN: Final = re.compile(r"(?P<file>[^\s:]{1,300}\.py)::(?P<test>\S.{0,400})")
_CONFTEST: Final = re.compile(r"ImportError while loading conftest '")
_USAGE: Final = re.compile(r".{1,200}?: error: (?P<said>.*)")
_INI_FILE: Final = re.compile(r"  inifile: (?P<file>.{1,300})")
_FATAL: Final = re.compile(r"Fatal Python error: (?P<said>.{1,200})")
_FATAL_FRAME: Final = re.compile(
    r"  File \"(?P<file>[^\"\n]{1,400})\", line (?P<line>\d{1,7}) in (?P<function>\S{1,200})"
)
_RAISED: Final = re.compile(r"(?P<code>[A-Za-z_][\w.]{0,120})(?:: (?P<message>.*))?$")
_UNITTEST_HEAD: Final = re.compile(r"(?P<kind>FAIL|ERROR): (?P<name>\S{1,300})")
_UNITTEST_BEGUN: Final = re.compile(r"(?P<test>\w{1,200}) \([\w.<>]{1,300}\) \.\.\.$")
_EXCEPTIONS: Final = ("Error", "Exception", "Warning", "Exit", "Interrupt", "Failed")
_BULLET: Final = re.compile(r"[ \t]{1,8}● (?P<name>\S.*)")
_VITEST_HEAD: Final = re.compile(r"[ \t]{0,8}FAIL[ \t]{1,4}(?P<file>[^\s>|]{1,300})(?: > (?P<name>.*))?")
_FRAME: Final = re.compile(
    r"[ \t]{1,12}(?:at (?:[^()\n]{0,300}\()?|\u276f )(?:file://)?"
    r"(?P<file>[^\s:()]{1,300}):(?P<line>\d{1,7}):(?P<column>\d{1,5})"
)
"""A stack frame of node or vitest; vitest's begins with a heavy angle."""
_THROWN: Final = re.compile(
    r"(?:# | ?(?P<mocha>Exception during run: ))?(?P<said>(?:\w{1,60})?Error(?: \[\w{1,60}\])?: .*)"
)
_PANIC: Final = re.compile(rf"thread '(?P<name>[^'\n]{{1,300}})' (?:\(\d{{1,12}}\) )?panicked at {AT}:?$")
_OLD_PANIC: Final = re.compile(
    r"thread '(?P<name>[^'\n]{1,300})' panicked at '(?P<message>.*)', "
    r"(?P<file>[^\s:,']{1,300}):(?P<line>\d{1,7}):(?P<column>\d{1,5})$"
)
_RUST_HEAD: Final = re.compile(r"---- (?P<name>\S{1,300}) stdout ----")
_RUST_FAILED: Final = re.compile(r"test (?P<name>\S{1,300})(?: - should panic)? \.\.\. FAILED")
_CALM: Final = re.compile(rf"note: test did not panic as expected(?: at {AT})?")
_RUNNING: Final = re.compile(
    r" {3,6}(?:Running (?:unittests )?(?P<file>\S{1,300}) \(|Doc-tests (?P<doc>\S{1,200}))"
)
_CRASH: Final = re.compile(
    r"  process didn't exit successfully: `.{1,600}` \((?P<said>(?!exit status: 101).{1,200})\)"
)
_GO_FAIL: Final = re.compile(r"[ \t]{0,40}--- FAIL: (?P<name>\S{1,300})")
GO_SAID: Final = re.compile(r"[ \t]{4,40}(?P<file>[^\s:/]{1,200}\.go):(?P<line>\d{1,7}): (?P<message>.*)")
_GO_PACKAGE: Final = re.compile(r"FAIL\t(?P<package>\S{1,300})")
_MODULE: Final = re.compile(r"^module[ \t]{1,20}(\S{1,300})", re.MULTILINE)


@dataclass(slots=True)
class _Block:
    """One failed test, or one traceback."""

    name: str
    places: list[re.Match[str]] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    over: bool = False
    """The rest is the test's own output."""

    def failure(self, root: Path) -> Failure:
        """Return the failure at the innermost location in the project."""
        # the last of chained exceptions
        raised = [match for text in self.said if (match := _exception(text))]
        code, message = "", self.said[0].strip() if self.said else "failed"
        if raised:
            code, message = raised[-1]["code"], raised[-1]["message"] or raised[-1]["code"]
        elif message.startswith("assert "):
            code = "AssertionError"
        own = [place for place in self.places if _is_own(place["file"], root)]
        places = own or self.places
        return make_failure(places[-1] if places else None, message, code=code, test=self.name)


def _exception(text: str) -> re.Match[str] | None:
    match = _RAISED.match(text.strip())
    return match if match is not None and match["code"].endswith(_EXCEPTIONS) else None


def _is_own(name: str, root: Path) -> bool:
    path = project_path(name, root)
    outside = path.startswith(("/", "<")) or "site-packages" in path
    return not outside and not path.startswith((".venv/", "venv/", "env/", ".tox/", ".nox/"))


def parse_pytest(output: ToolOutput) -> Iterator[Failure]:
    """Parse pytest's tracebacks in any style, and the short summary for tests without one."""
    blocks: list[_Block] = []
    inside = False
    for line in output.lines:
        if head := _HEAD.match(line):
            blocks.append(_Block(_test_name(head["name"])))
            inside = True
        elif line.startswith("==="):
            inside = False
        elif inside:
            _add_line(blocks[-1], line)
    yield from (block.failure(output.root) for block in blocks)
    named = {block.name for block in blocks}
    for failure in _of_summary(output, named):
        named.add(failure.test)
        yield failure
    for line in output.lines:
        if (match := _OUTCOME.match(line)) and match["word"] in ("FAILED", "ERROR"):
            name = match["test"].replace("::", ".")
            if name not in named:
                said = "failed" if match["word"] == "FAILED" else "error"
                yield make_failure(None, said, file=match["file"], test=name)
    yield from parse_early_ends(output)


def parse_early_ends(output: ToolOutput) -> Iterator[Failure]:
    """Parse errors that end pytest before its report: conftest, options, a crash, a timeout."""
    lines = output.lines
    crashed = False
    for number, line in enumerate(lines):
        rest = lines[number + 1 : number + 200]
        if _CONFTEST.match(line):
            block = _Block("")
            for said in rest:
                _add_line(block, said)
            yield block.failure(output.root)
        elif line.startswith("ERROR: usage: ") and rest and (wrong := _USAGE.match(rest[0])):
            ini = next((found["file"] for said in rest if (found := _INI_FILE.match(said))), "")
            yield make_failure(None, wrong["said"], file="" if ini == "None" else ini)
        elif fatal := _FATAL.search(line):
            crashed = True
            frames = [frame for said in rest if (frame := _FATAL_FRAME.match(said))]
            own = next((frame for frame in frames if _is_own(frame["file"], output.root)), None)
            test = own["function"] if own else ""
            yield make_failure(own, fatal["said"], code="fatal", test=test)
    last = next((line for line in reversed(lines) if line.startswith("=") or _BEGUN.match(line)), "")
    # a finished test has an outcome, and a line of `=` follows the last test
    if not crashed and (begun := _BEGUN.match(last)) and not _OUTCOME.match(last):
        name = begun["test"].strip().replace("::", ".")
        yield make_failure(None, "did not end", file=begun["file"], test=name)


def python_failure(text: str, root: Path) -> Failure:
    """Return the failure in pytest's text of one test; its path is unchanged."""
    block = _Block("")
    for line in text.split("\n"):
        _add_line(block, line[:LONGEST_LINE].rstrip())
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


def _of_summary(output: ToolOutput, known: set[str]) -> Iterator[Failure]:
    for line in output.lines:
        match = _SUMMARY.match(line)
        if match is None:
            continue
        file, colons, test = match["node"].partition("::")
        name = test.replace("::", ".") if colons else file
        if name in known or not (colons or file.endswith(".py")):
            continue
        said = match["said"] or ("failed" if match["kind"] == "FAILED" else "error")
        yield make_failure(None, said, file=file, test=name)


def parse_unittest(output: ToolOutput) -> Iterator[Failure]:
    """Parse unittest's reports of failed tests."""
    blocks: list[_Block] = []
    inside = False
    before = ""
    for line in output.lines:
        above, before = before, line
        # in a test's own output, no such line precedes it
        if above.startswith("======") and (head := _UNITTEST_HEAD.match(line)):
            blocks.append(_Block(head["name"]))
            inside = True
        elif line.startswith(("===", "Ran ")):
            inside = False
        elif inside and (place := _IN_FILE.match(line)):
            blocks[-1].places.append(place)
        elif (
            inside and blocks[-1].places and not blocks[-1].said and line[:1].strip() and _RAISED.match(line)
        ):
            blocks[-1].said.append(line)
    yield from (block.failure(output.root) for block in blocks)
    last = next((line for line in reversed(output.lines) if line), "")
    if begun := _UNITTEST_BEGUN.match(last):
        yield make_failure(None, "did not end", test=begun["test"])


def parse_tracebacks(output: ToolOutput) -> Iterator[Failure]:
    """Parse tracebacks and syntax errors of any Python program."""
    block = _Block("")
    for line in output.lines:
        if place := _IN_FILE.match(line):
            block.places.append(place)
        elif not block.places:
            continue
        elif _exception(line) and line[:1].strip():
            block.said.append(line)
            yield block.failure(output.root)
            block = _Block("")
        elif line.startswith("Traceback "):
            block = _Block("")


def stack_frame(stack: str) -> re.Match[str] | None:
    """Return the innermost stack frame outside packages: `file`, `line` and `column`."""
    for line in stack.split("\n"):
        frame = _FRAME.match(line[:LONGEST_LINE])
        if frame and _is_outside_packages(frame["file"]):
            return frame
    return None


def parse_node_tests(output: ToolOutput) -> Iterator[Failure]:
    """Parse failed tests of jest and vitest: name, message, first frame outside packages."""
    name, said, file = "", "", ""
    for line in output.lines:
        if head := _VITEST_HEAD.match(line) or _BULLET.match(line):
            if name:
                yield make_failure(None, said or "failed", file=file, test=name)
            file, name, said = head.groupdict().get("file", file), head["name"] or "", ""
        elif name and (frame := _FRAME.match(line)):
            if _is_outside_packages(frame["file"]):
                yield make_failure(frame, said or "failed", test=name)
                name = ""
        elif name and not said and line.strip():
            said = line.strip()
    if name:
        yield make_failure(None, said or "failed", file=file, test=name)


def parse_thrown(output: ToolOutput) -> Iterator[Failure]:
    """Parse errors that end a Node program: message, first frame outside packages."""
    said, mocha = "", False
    found: Failure | None = None
    for line in output.lines:
        if thrown := _THROWN.match(line):
            said, mocha, found = thrown["said"], bool(thrown["mocha"]), None
        elif said and (frame := _FRAME.match(line.removeprefix("# "))):
            if _is_outside_packages(frame["file"]):
                found, said = make_failure(frame, said), ""
                if mocha:
                    yield found
        elif found and line.removeprefix("# ").startswith("Node.js v"):
            yield found
            found = None


def _is_outside_packages(file: str) -> bool:
    return "node_modules" not in file and not file.startswith("node:")


def parse_panics(output: ToolOutput) -> Iterator[Failure]:
    """Parse failed tests of Rust: panics, returned errors, crashed programs."""
    found = [*_panics(output.lines), *_other_ends(output.lines)]
    named = {failure.test for failure in found}
    yield from found
    for line in output.lines:
        if (failed := _RUST_FAILED.match(line)) and failed["name"] not in named:
            named.add(failed["name"])
            yield make_failure(None, "failed", test=failed["name"])


def _panics(lines: Sequence[str]) -> Iterator[Failure]:
    for number, line in enumerate(lines):
        if match := _PANIC.match(line):
            said = lines[number + 1] if number + 1 < len(lines) else "panicked"
            yield make_failure(match, said, code="panic", test=match["name"])
        elif old := _OLD_PANIC.match(line):
            yield make_failure(old, old["message"], code="panic", test=old["name"])


def _other_ends(lines: Sequence[str]) -> Iterator[Failure]:
    name, source = "", ""
    for line in lines:
        if head := _RUST_HEAD.match(line):
            name = head["name"]
        elif name and (calm := _CALM.match(line)):
            yield make_failure(calm, "did not panic as expected", test=name)
        elif name and line.startswith("Error: "):
            yield make_failure(None, line.removeprefix("Error: "), test=name)
        elif running := _RUNNING.match(line):
            name, source = "", running["file"] or running["doc"]
        elif crash := _CRASH.match(line):
            yield make_failure(None, f"the program of these tests ended by {crash['said']}", file=source)


def parse_go_tests(output: ToolOutput) -> Iterator[Failure]:
    """Parse failed tests of go; file names are relative to the package printed after them."""
    waiting: list[tuple[str, re.Match[str]]] = []
    name = ""
    for line in output.lines:
        if head := _GO_FAIL.match(line):
            name = head["name"]
        elif name and (said := GO_SAID.match(line)):
            waiting.append((name, said))
        elif (package := _GO_PACKAGE.match(line)) and waiting:
            folder = go_folder(package["package"], go_module(output.root))
            yield from (_of_go(test, said, folder) for test, said in waiting)
            waiting, name = [], ""
    yield from (_of_go(test, said, "") for test, said in waiting)


def _of_go(test: str, said: re.Match[str], folder: str) -> Failure:
    file = posixpath.join(folder, said["file"])
    return make_failure(None, said["message"], file=file, line=int(said["line"]), test=test)


def go_module(root: Path) -> str:
    """Return the name of the root's Go module, empty if there is none."""
    try:
        module = _MODULE.search((root / "go.mod").read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return ""
    return module[1] if module else ""


def go_folder(package: str, module: str) -> str:
    """Return a package's folder in a module, empty if it is the module itself or elsewhere."""
    return package.removeprefix(module).strip("/") if module else ""

"""Failed tests of cargo and of go."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from tideate_core.toolchain.failures.printed import AT, found

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tideate_core.toolchain.failures.failure import Failure
    from tideate_core.toolchain.failures.printed import Printed

__all__ = ["GO_SAID", "folder_in", "go_module", "go_tests", "panics"]

_PANIC: Final = re.compile(rf"thread '(?P<name>[^'\n]{{1,300}})' (?:\(\d{{1,12}}\) )?panicked at {AT}:?$")
_OLD_PANIC: Final = re.compile(
    r"thread '(?P<name>[^'\n]{1,300})' panicked at '(?P<message>.*)', "
    r"(?P<file>[^\s:,']{1,300}):(?P<line>\d{1,7}):(?P<column>\d{1,5})$"
)
_GO_FAIL: Final = re.compile(r"[ \t]{0,40}--- FAIL: (?P<name>\S{1,300})")
GO_SAID: Final = re.compile(r"[ \t]{4,40}(?P<file>[^\s:/]{1,200}\.go):(?P<line>\d{1,7}): (?P<message>.*)")
_GO_PACKAGE: Final = re.compile(r"FAIL\t(?P<package>\S{1,300})")
_MODULE: Final = re.compile(r"^module[ \t]{1,20}(\S{1,300})", re.MULTILINE)


def panics(printed: Printed) -> Iterator[Failure]:
    """Parse the panics of Rust's tests."""
    lines = printed.lines
    for number, line in enumerate(lines):
        if match := _PANIC.match(line):
            said = lines[number + 1] if number + 1 < len(lines) else "panicked"
            yield found(match, said, code="panic", test=match["name"])
        elif old := _OLD_PANIC.match(line):
            yield found(old, old["message"], code="panic", test=old["name"])


def go_tests(printed: Printed) -> Iterator[Failure]:
    """Parse the failed tests of go; their files are named within a package that is named after them."""
    waiting: list[tuple[str, re.Match[str]]] = []
    name = ""
    for line in printed.lines:
        if head := _GO_FAIL.match(line):
            name = head["name"]
        elif name and (said := GO_SAID.match(line)):
            waiting.append((name, said))
        elif (package := _GO_PACKAGE.match(line)) and waiting:
            folder = _go_folder(package["package"], printed.root)
            yield from (_of_go(test, said, folder) for test, said in waiting)
            waiting, name = [], ""
    yield from (_of_go(test, said, "") for test, said in waiting)


def _of_go(test: str, said: re.Match[str], folder: str) -> Failure:
    file = f"{folder}/{said['file']}" if folder else said["file"]
    return found(None, said["message"], file=file, line=said["line"], test=test)


def _go_folder(package: str, root: Path) -> str:
    """Return a package's folder in the module of the root."""
    return folder_in(package, go_module(root))


def go_module(root: Path) -> str:
    """Return the name of the root's module, empty if it has none."""
    try:
        module = _MODULE.search((root / "go.mod").read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return ""
    return module[1] if module else ""


def folder_in(package: str, module: str) -> str:
    """Return a package's folder in a module, empty if it is not there."""
    return package.removeprefix(module).strip("/") if module else ""

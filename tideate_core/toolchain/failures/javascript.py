"""Failures of eslint, jest and vitest."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from tideate_core.toolchain.failures.printed import AT, found, is_path, severity_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tideate_core.toolchain.failures.failure import Failure
    from tideate_core.toolchain.failures.printed import Printed

__all__ = ["eslint", "eslint_json", "own_frame", "test_runners"]

_ROW: Final = re.compile(
    r"[ \t]{1,12}(?P<line>\d{1,7}):(?P<column>\d{1,5})[ \t]{1,8}(?P<word>error|warning)[ \t]{1,8}"
    r"(?P<rest>\S.*)"
)
_UNIX: Final = re.compile(rf"{AT}: (?P<rest>.*)")
_BULLET: Final = re.compile(r"[ \t]{1,8}● (?P<name>\S.*)")
_VITEST_HEAD: Final = re.compile(r"[ \t]{0,8}FAIL[ \t]{1,4}(?P<file>[^\s>|]{1,300})(?: > (?P<name>.*))?")
_FRAME: Final = re.compile(
    r"[ \t]{1,12}(?:at (?:[^()\n]{0,300}\()?|\u276f )(?:file://)?"
    r"(?P<file>[^\s:()]{1,300}):(?P<line>\d{1,7}):(?P<column>\d{1,5})"
)
"""A line of a stack, of node and of vitest, which begins its own with a heavy angle."""


def eslint(printed: Printed) -> Iterator[Failure]:
    """Parse eslint's formats `stylish` (its own) and `unix`."""
    file = ""
    for line in printed.lines:
        if row := _ROW.match(line):
            message, gap, rule = row["rest"].rpartition("  ")
            text = message if gap else row["rest"]
            failure = found(row, text, code=rule if gap else "", severity=severity_of(row["word"]), file=file)
            yield failure
        elif (match := _UNIX.match(line)) and line.endswith("]"):
            text, bracket, word = match["rest"][:-1].rpartition(" [")
            kind, _, rule = word.partition("/")
            if bracket and kind in ("Error", "Warning"):
                yield found(match, text, code=rule, severity=severity_of(kind))
        elif line and not line[0].isspace():
            file = line if is_path(line) else ""


def eslint_json(printed: Printed) -> Iterator[Failure]:
    """Parse eslint's format `json`."""
    for line in printed.text.split("\n"):
        if not line.startswith("[{") or '"filePath"' not in line:
            continue
        try:
            files = json.loads(line)
        except (ValueError, RecursionError):
            continue
        for file in files:
            if isinstance(file, dict) and isinstance(file.get("messages"), list):
                yield from (_of_eslint(str(file.get("filePath")), entry) for entry in file["messages"])


def _of_eslint(file: str, entry: Any) -> Failure:
    entry = entry if isinstance(entry, dict) else {}
    severity = severity_of("warning" if entry.get("severity") == 1 else "error")
    failure = found(None, str(entry.get("message")), code=str(entry.get("ruleId") or ""), file=file)
    line, column = (value if isinstance(value, int) else None for value in map(entry.get, ("line", "column")))
    return replace(failure, line=line, column=column, severity=severity)


def own_frame(stack: str) -> re.Match[str] | None:
    """Return the innermost place of a stack that is in no package: `file`, `line` and `column`."""
    for line in stack.split("\n"):
        frame = _FRAME.match(line[:2_000])
        if frame and "node_modules" not in frame["file"] and not frame["file"].startswith("node:"):
            return frame
    return None


def test_runners(printed: Printed) -> Iterator[Failure]:
    """Parse the failed tests of jest and vitest: a name, what was said, the first frame outside packages."""
    name, said, file = "", "", ""
    for line in printed.lines:
        if head := _VITEST_HEAD.match(line):
            if name:
                yield found(None, said or "failed", file=file, test=name)
            file, name, said = head["file"], head["name"] or "", ""
        elif bullet := _BULLET.match(line):
            if name:
                yield found(None, said or "failed", file=file, test=name)
            name, said = bullet["name"], ""
        elif name and (frame := _FRAME.match(line)):
            if "node_modules" not in frame["file"] and not frame["file"].startswith("node:"):
                yield found(frame, said or "failed", test=name)
                name = ""
        elif name and not said and line.strip():
            said = line.strip()
    if name:
        yield found(None, said or "failed", file=file, test=name)

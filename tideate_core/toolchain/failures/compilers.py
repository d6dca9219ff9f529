"""Parsers of one- or two-line findings: compilers, type checkers, linters."""

from __future__ import annotations

import contextlib
import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from tideate_core.toolchain.failures.failure import AT, is_path, make_failure, severity_of
from tideate_core.util.cutting import beginning

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tideate_core.toolchain.failures.failure import Failure, ToolOutput

_WORDS: Final = r"(?P<word>(?:fatal |internal compiler )?error|warning|note|info|hint|critical|severe)"
_LABELLED: Final = re.compile(rf"{AT}(?::\d{{1,7}}:\d{{1,7}})?: {_WORDS}: ?(?P<message>.*)", re.IGNORECASE)
_LAST_CODE: Final = re.compile(r"[ \t]\[(?P<code>[^\[\]\s]{1,80})\]$")
_DASHED: Final = re.compile(
    rf"[ \t]{{0,8}}{AT}[ \t]{{1,4}}-[ \t]{{1,4}}(?P<word>error|warning|information)"
    r"(?::| (?P<code>TS\d{1,6}):) ?(?P<message>.*)"
)
_RULE_AT_END: Final = re.compile(r"\((report\w{1,60})\)$")
_PARENTHESIZED: Final = re.compile(
    r"(?P<file>[^\s:][^:\n]{0,300}?)\((?P<line>\d{1,7}),(?P<column>\d{1,5})\): "
    r"(?P<word>error|warning) (?P<code>[A-Z]{1,6}\d{1,6}): (?P<message>.*)"
)
_CODE: Final = r"(?P<code>[A-Z]{1,8}\d{1,5}|invalid-syntax|SyntaxError)"
_CODED: Final = re.compile(rf"{AT}: {_CODE}:? (?:\[\*\] )?(?P<message>.*)")
_RULE_HEAD: Final = re.compile(rf"{_CODE}:? (?:\[\*\] )?(?P<message>.*)")
_LEVEL_HEAD: Final = re.compile(r"(?P<word>error|warning)(?:\[(?P<code>[\w:-]{1,60})\])?: (?P<message>.*)")
_ARROW: Final = re.compile(rf"[ \t]{{0,8}}--> {AT}")
_PLAIN: Final = re.compile(rf"(?:vet: )?{AT}:? (?P<message>.*)")
_ROW: Final = re.compile(
    r"[ \t]{1,12}(?P<line>\d{1,7}):(?P<column>\d{1,5})[ \t]{1,8}(?P<word>error|warning)[ \t]{1,8}"
    r"(?P<rest>\S.*)"
)
_UNIX: Final = re.compile(rf"{AT}: (?P<rest>.*)")


def parse_labelled(output: ToolOutput) -> Iterator[Failure]:
    """Parse ``file:1:2: error: text [code]``: mypy, gcc, clang, sphinx and similar tools; without notes."""
    for line in output.lines:
        match = _LABELLED.match(line)
        if match is None or severity_of(match["word"]) == "note":
            continue
        message, code = match["message"], ""
        if last := _LAST_CODE.search(message, max(0, len(message) - 90)):
            message, code = message[: last.start()], last["code"]
        yield make_failure(match, message, code=code, severity=severity_of(match["word"]))


def parse_dashed(output: ToolOutput) -> Iterator[Failure]:
    """Parse ``file:1:2 - error: text (rule)`` of pyright, and ``- error TS1: text`` of tsc."""
    found: list[Failure] = []
    inside = False
    for line in output.lines:
        if match := _DASHED.match(line):
            severity = severity_of(match["word"])
            found.append(make_failure(match, match["message"], code=match["code"] or "", severity=severity))
            inside = True
        elif inside and not found[-1].code and line.startswith("    "):
            found[-1] = replace(found[-1], message=beginning(f"{found[-1].message} {line.strip()}", 600))
        else:
            inside = False
    yield from map(_with_rule, found)


def _with_rule(failure: Failure) -> Failure:
    rule = _RULE_AT_END.search(failure.message, max(0, len(failure.message) - 80))
    if rule is None:
        return failure
    return replace(failure, message=failure.message[: rule.start()].rstrip(), code=rule[1])


def parse_parenthesized(output: ToolOutput) -> Iterator[Failure]:
    """Parse ``file(1,2): error TS1: text``: tsc, msbuild."""
    for line in output.lines:
        if match := _PARENTHESIZED.match(line):
            yield make_failure(
                match, match["message"], code=match["code"], severity=severity_of(match["word"])
            )


def parse_coded(output: ToolOutput) -> Iterator[Failure]:
    """Parse ``file:1:2: E501 text``: ruff's concise form, flake8."""
    for line in output.lines:
        if match := _CODED.match(line):
            yield make_failure(match, match["message"], code=match["code"])


def parse_arrows(output: ToolOutput) -> Iterator[Failure]:
    """Parse ``error[E1]: text`` or ``E501 text`` with ``--> file:1:2`` below: rustc, cargo, ruff."""
    head: re.Match[str] | None = None
    for line in output.lines:
        if match := _LEVEL_HEAD.match(line) or _RULE_HEAD.match(line):
            head = match
        elif head is not None and (place := _ARROW.match(line)):
            severity = severity_of(head.groupdict().get("word") or "error")
            yield make_failure(place, head["message"], code=head["code"] or "", severity=severity)
            head = None  # later arrows of a finding point to related code


def _json_lines(output: ToolOutput, start: str, key: str) -> Iterator[Any]:
    for line in output.text.split("\n"):
        if line.startswith(start) and key in line:
            with contextlib.suppress(ValueError, RecursionError):
                yield json.loads(line)


def parse_cargo_json(output: ToolOutput) -> Iterator[Failure]:
    """Parse the output of cargo and rustc with ``--message-format=json``."""
    for entry in _json_lines(output, "{", '"spans"'):
        message = entry.get("message")
        failure = _of_rustc(message if isinstance(message, dict) else entry)
        if failure is not None:
            yield failure


def _of_rustc(entry: dict[str, Any]) -> Failure | None:
    level, spans, code = entry.get("level"), entry.get("spans"), entry.get("code")
    if level not in ("error", "warning") or not isinstance(spans, list):
        return None
    for span in spans:
        if isinstance(span, dict) and span.get("is_primary"):
            name = code.get("code") if isinstance(code, dict) else ""
            return make_failure(
                None,
                str(entry.get("message")),
                code=str(name or ""),
                severity=severity_of(level),
                file=str(span.get("file_name")),
                line=span.get("line_start"),
                column=span.get("column_start"),
            )
    return None


def parse_plain(output: ToolOutput) -> Iterator[Failure]:
    """Parse ``file:1: text``, the common format of many tools: go vet, shellcheck, grep."""
    for line in output.lines:
        match = _PLAIN.match(line)
        if match is not None and is_path(match["file"]) and match["message"]:
            yield make_failure(match, match["message"])


def parse_eslint(output: ToolOutput) -> Iterator[Failure]:
    """Parse eslint's formats `stylish` (the default) and `unix`."""
    file = ""
    for line in output.lines:
        if row := _ROW.match(line):
            message, gap, rule = row["rest"].rpartition("  ")
            text = message if gap else row["rest"]
            severity = severity_of(row["word"])
            yield make_failure(row, text, code=rule if gap else "", severity=severity, file=file)
        elif (match := _UNIX.match(line)) and line.endswith("]"):
            text, bracket, word = match["rest"][:-1].rpartition(" [")
            kind, _, rule = word.partition("/")
            if bracket and kind in ("Error", "Warning"):
                yield make_failure(match, text, code=rule, severity=severity_of(kind))
        elif line and not line[0].isspace():
            file = line if is_path(line) else ""


def parse_eslint_json(output: ToolOutput) -> Iterator[Failure]:
    """Parse eslint's format `json`."""
    for files in _json_lines(output, "[{", '"filePath"'):
        for file in files:
            if isinstance(file, dict) and isinstance(file.get("messages"), list):
                yield from (_of_eslint(str(file.get("filePath")), entry) for entry in file["messages"])


def _of_eslint(file: str, entry: Any) -> Failure:
    entry = entry if isinstance(entry, dict) else {}
    return make_failure(
        None,
        str(entry.get("message")),
        code=str(entry.get("ruleId") or ""),
        severity="warning" if entry.get("severity") == 1 else "error",
        file=file,
        line=entry.get("line"),
        column=entry.get("column"),
    )

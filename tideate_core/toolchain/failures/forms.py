"""Parsers of multi-line findings, declared as patterns of their lines."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tideate_core.toolchain.failures.failure import AT, make_failure, severity_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tideate_core.toolchain.failures.failure import Failure, Parser, ToolOutput

_LINES: Final = 60
"""Maximum number of lines of one finding."""


@dataclass(frozen=True, slots=True)
class _Form:
    """The first line of a finding, and the lines after it.

    Groups: `file`, `line`, `column`, `name` (of a test), `more` (rest of the name), `said` (message), `code`,
    `word` (severity), `begin` and `at` (file and line of the test, used if there are no others). The first
    match of each group wins; a finding needs a message.
    """

    head: re.Pattern[str]
    rest: tuple[re.Pattern[str], ...] = ()
    ends: re.Pattern[str] | None = None
    """A line that ends the finding."""


def _form(head: str, *rest: str, ends: str = "") -> _Form:
    return _Form(re.compile(head), tuple(map(re.compile, rest)), re.compile(ends) if ends else None)


_STACK: Final = (
    r"[ \t]{1,12}(?:at )?(?:[^()\n]{1,200} )?\(?(?:file://)?"
    r"(?P<file>(?!node:)(?:(?!node_modules)[^\s:()]){1,300}):(?P<line>\d{1,7}):(?P<column>\d{1,5})\)?"
)
_EXCEPTION: Final = r"[ \t]{2,12}(?P<said>(?:\w{1,60}(?:Error|Exception))(?: \[\w{1,80}\])?(?:: .*)?)$"

_FORMS: Final[Mapping[str, _Form]] = {
    "mocha": _form(
        r" {2,3}\d{1,5}\) (?!test )(?P<name>\S.*?):?$",
        r" {7,40}(?P<more>\S.{0,300}):$",
        _EXCEPTION,
        r" {5,6}(?P<said>(?:Uncaught )?\w{0,60}Error\b.*)",
        _STACK,
    ),
    "node": _form(
        rf"test at {AT}$",
        r"\u2716 (?P<name>.{1,300}?)(?: \([\d.]{1,20}ms\))?$",
        _EXCEPTION,
        r" {2}'(?P<said>.{1,400})'$",
        r" {2}(?P<said>\S.*)",
        ends=r"$",
    ),
    "tap": _form(
        r" {0,40}not ok \d{1,6}(?: - (?P<name>.{1,300}?))?(?! # (?:TODO|SKIP))$",
        r" {0,60}location: '(?P<file>[^':]{1,300}):(?P<line>\d{1,7}):(?P<column>\d{1,5})'",
        r" {0,60}error: (?:\|-$|'(?P<said>.{1,400})'$)",
        r" {0,60}(?:failureType: '(?P<skip>subtestsFailed)')",
        r" {6,60}(?P<said>(?!---|\w{1,30}: )\S.*)",
        r" {2,60}code: '(?P<said>\w{1,60})'",
        ends=r" {0,40}\.\.\.$",
    ),
    "busted": _form(
        r"(?:Failure|Error) (?:->|\u2192) (?P<begin>.{1,300}?) @ (?P<at>\d{1,7})$",
        rf"{AT}: (?P<said>.*)",
        r"(?P<name>\S.*)",
        ends=r"$",
    ),
    "rspec": _form(
        r" {2}\d{1,5}\) (?!test )(?P<name>\S.*)",
        r" {5}Failure/Error: (?P<said>.*)",
        r" {5,7}# (?P<file>(?!/)[^\s:]{1,300}):(?P<line>\d{1,7}):in ",
    ),
    "mix": _form(
        r" {2}\d{1,5}\) (?P<name>(?:test|doctest|property) .{1,300})",
        r" {7,9}(?P<file>(?:test|lib|apps)/[^\s:]{1,300}):(?P<line>\d{1,7}): ",
        r" {5}(?P<begin>[^\s:]{1,300}\.exs?):(?P<at>\d{1,7})$",
        r" {5}(?P<said>\S.*)",
    ),
    "plenary": _form(
        r"Fail[ \t]{1,4}\|\|[ \t]{1,4}(?P<name>\S.*)",
        rf"[ \t]{{1,20}}{AT}: (?P<said>.*)",
        r"[ \t]{1,20}(?P<said>\S.*)",
    ),
    "mini.test": _form(
        r"FAIL in \"?(?P<name>(?P<begin>[^\"|:]{1,200}?)(?: \| [^\"]{0,300}?)?)\"?:$",
        rf"[ \t]{{1,12}}{AT}(?:: .*)?$",
        r" {2}(?P<said>\S.*)",
    ),
    "minitest": _form(
        r" {2}\d{1,5}\) (?:Failure|Error):$",
        r"(?P<name>\S{1,200}#.{1,200}?) \[(?P<file>[^\s:\]]{1,300}):(?P<line>\d{1,7})\]:$",
        r"(?P<name>\S{1,200}#.{1,200}?):$",
        r" {4}(?P<file>(?!/)[^\s:]{1,300}):(?P<line>\d{1,7}):in ",
        r"(?P<said>\S.*)",
        ends=r"$",
    ),
    "rspec-load": _form(
        r"An error occurred while loading (?P<begin>\S{1,300}?\.rb)\.(?: - .*)?$",
        r"# (?P<file>(?!/)[^\s:]{1,300}):(?P<line>\d{1,7}):in ",
        r" {2}(?P<said>\S.*)",
    ),
    "ruby": _form(
        r"(?P<begin>(?:<internal:)?[^\s:]{1,300}\.rb)>?:(?P<at>\d{1,7}):in ['`].{1,200}?': "
        r"(?P<said>.{1,400} \(\w{0,60}(?:Error|Exception)\))$",
        r"\tfrom (?P<file>(?!/usr/)(?:(?!gems/|lib/ruby/)[^\s:]){1,300}\.rb):(?P<line>\d{1,7}):in ",
    ),
    "mix-load": _form(
        r"\*\* \((?P<code>\w{1,60}Error)\) (?P<file>[^\s:]{1,300}\.exs?):(?P<line>\d{1,7}): (?P<said>.*)"
    ),
    "oxlint": _form(
        r" {2}(?P<word>[!\u00d7x\u26a0]) (?P<code>[\w-]{1,40}\([\w/@-]{1,80}\)): (?P<said>.*)",
        rf" {{2,8}}(?:,-|\u256d\u2500)\[{AT}\]",
    ),
    "biome": _form(
        rf"{AT} (?P<code>[a-z][\w-]{{1,30}}(?:/\w{{1,60}}){{1,3}})\s",
        r" {2}(?P<word>[!\u00d7i\u2716]) (?P<said>.*)",
    ),
    "luacheck": _form(
        r" {4}(?P<file>[^\s:]{1,300}):(?P<line>\d{1,7}):(?P<column>\d{1,5})(?:-\d{1,5})?: "
        r"(?:\((?P<code>[WE]\d{3})\) )?(?P<said>\S.*)"
    ),
}
"""Forms by tool; each pattern is anchored at the start of a line."""

_SIGNS: Final = {"!": "warning", "\u26a0": "warning", "i": "note"}


def _parser(form: _Form) -> Parser:
    def parse(output: ToolOutput) -> Iterator[Failure]:
        found: dict[str, str] | None = None
        left = 0
        for line in output.lines:
            if head := form.head.match(line):
                if found is not None:
                    yield from _finding(found)
                found, left = _groups(head), _LINES
            elif found is not None and left and (form.ends is None or not form.ends.match(line)):
                left -= 1
                _fill(found, form, line)
            elif found is not None:
                yield from _finding(found)
                found = None
        if found is not None:
            yield from _finding(found)

    return parse


def _groups(match: re.Match[str]) -> dict[str, str]:
    return {name: value for name, value in match.groupdict().items() if value}


def _fill(found: dict[str, str], form: _Form, line: str) -> None:
    """Add the unknown groups of the first pattern that matches any."""
    for expression in form.rest:
        if match := expression.match(line):
            more = _groups(match)
            if "file" in more and "line" in found:
                more = {name: value for name, value in more.items() if name not in ("file", "line", "column")}
            if new := {name: value for name, value in more.items() if name == "file" or name not in found}:
                found.update(new)
                return


def _finding(found: Mapping[str, str]) -> Iterator[Failure]:
    if "skip" in found or "said" not in found:  # the suite around a failed test, or another tool's format
        return
    name = " ".join(part for part in (found.get("name"), found.get("more")) if part)
    word, line = found.get("word", ""), found.get("line", found.get("at"))
    yield make_failure(
        None,
        found["said"],
        code=found.get("code", ""),
        severity=severity_of(_SIGNS.get(word, word)),
        file=found.get("file", found.get("begin", "")),
        line=int(line) if line else None,
        column=int(found["column"]) if "column" in found else None,
        test=name,
    )


FORM_PARSERS: Final[Mapping[str, Parser]] = {name: _parser(form) for name, form in _FORMS.items()}

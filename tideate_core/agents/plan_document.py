"""Plan documents: write a plan as Markdown that a person may edit, and parse it.

::

    ## Objective

    The aim of the change.

    ## Steps

    1. **edit** One thing to do.
       - files: src/a.py, src/b.py

    ## Files

    - src/a.py
    - src/b.py

    ## Rollback strategy

    How to roll it back.

Lines that begin with `>` are remarks and not part of the plan. A backslash at the start of a line escapes it;
the parser removes it. A name that is not simple is written as a JSON string.

The document is parsed line by line and not as CommonMark: every plan must be read back unchanged, even if its
texts hold an unclosed fence, a rule or a deeply nested list.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from tideate_core.errors import InvalidInput, did_you_mean
from tideate_core.gates import ExecutionPlan, PlanStep

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tideate_core.gates import AuditReport

_STEP: Final = re.compile(r"\*\*(?P<type>[^*]+)\*\*(?:[ \t]+(?P<rest>.*))?$", re.DOTALL)
"""Text of a step's list item: its type and its description."""
_SUB_ITEM: Final = re.compile(
    r"[-*+][ \t]+(?P<key>files|type)[ \t]*:(?P<rest>.*)$", re.IGNORECASE | re.DOTALL
)

_HEADING: Final = re.compile(r"##(?!#)[ \t]*(?P<name>.*?)[ \t]*#*[ \t]*$", re.DOTALL)
_ITEM: Final = re.compile(r"(?:[-*+]|\d{1,9}[.)])(?:[ \t]+(?P<rest>.*))?$", re.DOTALL)
_SECTIONS: Final = {
    "objective": "objective",
    "steps": "steps",
    "files": "files",
    "rollback strategy": "rollback strategy",
    "rollback": "rollback strategy",
}
_STEP_INDENT: Final = 2
"""Columns of indentation from which an item belongs to the step above."""
_SPECIAL: Final = re.compile(r"[\\>]|##(?!#)")
_PLAIN_TYPE: Final = re.compile(r"[^\s*\"\\](?:[^*\n\r]*[^\s*])?")
_QUOTED: Final = re.compile(r"[,`\n\r]|^\"")

_Lines = list[tuple[int, str]]


def plan_as_markdown(plan: ExecutionPlan, audit: AuditReport | None = None) -> str:
    """Return a plan as a document for `parse_plan_document`.

    :param audit: its remarks are quoted above the plan.
    """
    parts = ["# Plan", "", *_remarks(audit)]
    parts += ["## Objective", "", *_text(plan.objective), "", "## Steps", ""]
    for number, step in enumerate(plan.steps, 1):
        parts += _step(f"{number}. ", step)
    parts += ["", "## Files", "", *(f"- {_name(file)}" for file in plan.files), ""]
    parts += ["## Rollback strategy", "", *_text(plan.rollback_strategy)]
    return "\n".join(parts) + "\n"


def _remarks(audit: AuditReport | None) -> list[str]:
    if audit is None:
        return []
    said = [f"The audit: {audit.approval}."]
    for issue in audit.issues:
        place = f"step {issue.step}: " if issue.step else ""
        said.append(
            f"- {issue.severity}: {place}{issue.description}" + (f" ({issue.fix})" if issue.fix else "")
        )
    return [*(f"> {line}" for text in said for line in text.split("\n")), ""]


def _step(mark: str, step: PlanStep) -> list[str]:
    simple = _PLAIN_TYPE.fullmatch(step.type) is not None
    first, *rest = _text(step.description) or [""]
    if not simple and _STEP.match(first):
        first = f"\\{first}"  # it would be read as the type
    head = f"{mark}**{step.type}** {first}" if simple else f"{mark}{first}"
    indent = " " * len(mark)
    lines = [head.rstrip(" ") if not first else head, *(indent + line if line else "" for line in rest)]
    if step.type and not simple:
        lines.append(f"{indent}- type: {json.dumps(step.type, ensure_ascii=False)}")
    if step.files:
        lines.append(f"{indent}- files: {', '.join(map(_name, step.files))}")
    return lines


def _text(text: str) -> list[str]:
    """Return the lines of a text, escaped if they would be read as another element."""
    if not text:
        return []
    lines = text.split("\n")
    last = len(lines) - 1
    return [_line(line, at_edge=at in {0, last}) for at, line in enumerate(lines)]


def _line(line: str, *, at_edge: bool) -> str:
    if not line:
        return "\\" if at_edge else ""
    literal = line != line.strip() or _SPECIAL.match(line) or _SUB_ITEM.match(line)
    return f"\\{line}" if literal else line


def _name(name: str) -> str:
    simple = name and name == name.strip() and not _QUOTED.search(name)
    return name if simple else json.dumps(name, ensure_ascii=False)


@dataclass(slots=True)
class _Step:
    """A step being parsed."""

    type: str | None = None
    text: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)


def parse_plan_document(text: str) -> ExecutionPlan:
    """Parse a plan document. Missing parts are left to gate 1.

    :raises InvalidInput: a line cannot be parsed; the message names it.
    """
    if text.count("\n") == text.count("\r\n"):
        text = text.replace("\r\n", "\n")
    sections = _sections(text.removeprefix("\ufeff"))
    return ExecutionPlan(
        objective=_joined(line for _, line in sections.get("objective", [])),
        steps=list(_steps(sections.get("steps", []))),
        files=list(_files(sections.get("files", []))),
        rollback_strategy=_joined(line for _, line in sections.get("rollback strategy", [])),
    )


def _sections(text: str) -> dict[str, _Lines]:
    """Return the numbered lines of each section, without remarks."""
    found: dict[str, _Lines] = {}
    current: _Lines | None = None
    for number, line in enumerate(text.split("\n"), 1):
        if line.lstrip(" \t").startswith(">"):
            continue
        if heading := _HEADING.match(line):
            name = _SECTIONS.get(" ".join(heading["name"].casefold().split()).strip(":"))
            if name is None:
                near = did_you_mean(heading["name"].casefold(), _SECTIONS)
                known = "Objective, Steps, Files and Rollback strategy"
                raise _error(
                    number, f"{heading['name']!r} is not a section of a plan{near or f'; there are {known}'}"
                )
            if name in found:
                raise _error(number, f"the section {name!r} is given twice; merge the two")
            current = found[name] = []
        elif current is not None:
            current.append((number, line))
        elif line.strip() and not line.startswith("# "):
            raise _error(number, "this line is in no section; put it under a heading such as `## Objective`")
    return found


def _error(number: int, what: str) -> InvalidInput:
    return InvalidInput(f"line {number} of the plan: {what}")


def _joined(lines: Iterator[str] | list[str]) -> str:
    """Join the lines of a text, without blank lines around it and without escapes."""
    kept = list(lines)
    while kept and not kept[0].strip():
        kept.pop(0)
    while kept and not kept[-1].strip():
        kept.pop()
    return "\n".join(map(_unmarked, kept))


def _unmarked(line: str) -> str:
    bare = line.lstrip(" \t")
    return bare[1:] if bare.startswith("\\") else line.strip()


def _steps(lines: _Lines) -> Iterator[PlanStep]:
    current: _Step | None = None
    for number, line in lines:
        bare = line.lstrip(" \t")
        indent = len(line[: len(line) - len(bare)].expandtabs(4))
        item = _ITEM.match(bare)
        if item and indent < _STEP_INDENT and not (current and _SUB_ITEM.match(bare)):
            if current is not None:
                yield _finished_step(current)
            current = _new_step(item["rest"] or "")
        elif current is not None:
            _add_line(current, number, line)
        elif bare:
            raise _error(number, "this is not a step; write `1. **edit** the work to do`")
    if current is not None:
        yield _finished_step(current)


def _new_step(text: str) -> _Step:
    named = _STEP.match(text)
    if named is None:
        return _Step(None, [text])
    return _Step(named["type"].strip(), [named["rest"] or ""])


def _add_line(step: _Step, number: int, line: str) -> None:
    item = _SUB_ITEM.match(line.lstrip(" \t"))
    if item is None:
        step.text.append(line)
        return
    names = list(_names(item["rest"], number))
    if item["key"].lower() == "files":
        step.files += names
    else:
        step.type = ", ".join(names)


def _finished_step(step: _Step) -> PlanStep:
    return PlanStep(type=step.type or "", description=_joined(step.text), files=step.files)


def _files(lines: _Lines) -> Iterator[str]:
    for number, line in lines:
        if not line.strip():
            continue
        item = _ITEM.match(line.strip())
        if item is None:
            raise _error(number, f"{line.strip()!r} is not a list item with a file; write `- path/of/file`")
        yield from _names(item["rest"] or "", number)


def _names(text: str, number: int) -> Iterator[str]:
    """Yield the names of a comma-separated list; a JSON string may contain anything."""
    rest = text.strip(" \t")
    decoder = json.JSONDecoder(strict=False)
    while rest:
        if rest.startswith('"'):
            try:
                name, end = decoder.raw_decode(rest)
            except ValueError as error:
                raise _error(number, f"{rest!r} is not a valid JSON string") from error
            yield str(name)
            rest = rest[end:].lstrip(" \t")
            if rest and not rest.startswith(","):
                raise _error(number, f"a comma is missing before {rest!r}")
            rest = rest[1:].lstrip(" \t")
            continue
        name, _, rest = rest.partition(",")
        rest = rest.lstrip(" \t")
        if name.strip(" \t`"):
            yield name.strip().strip("`")

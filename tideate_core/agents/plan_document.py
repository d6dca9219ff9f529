"""A plan as a Markdown document that a person may edit, and back.

::

    ## Objective

    What is wanted.

    ## Steps

    1. **edit** What is going to be done.
       - files: src/a.py, src/b.py

    ## Files

    - src/a.py
    - src/b.py

    ## Rollback strategy

    How it is taken back.

Lines that begin with `>` are remarks and not part of the plan. A line of a text that would be read as
something else begins with a backslash, which is left out. What is not a simple name is in JSON's quotes.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

from tideate_core.agents.plan_reading import STEP, SUB_ITEM, read_plan

if TYPE_CHECKING:
    from tideate_core.gates import AuditReport, ExecutionPlan, PlanStep

__all__ = ["parse_plan_document", "plan_as_markdown"]

_SPECIAL: Final = re.compile(r"[\\>]|##(?!#)")
_PLAIN_TYPE: Final = re.compile(r"[^\s*\"\\](?:[^*\n\r]*[^\s*])?")
_QUOTED: Final = re.compile(r"[,`\n\r]|^\"")

parse_plan_document = read_plan


def plan_as_markdown(plan: ExecutionPlan, audit: AuditReport | None = None) -> str:
    """Return a plan as a document that `parse_plan_document` reads.

    :param audit: its remarks are put above the plan, as a quote.
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
    if not simple and STEP.match(first):
        first = f"\\{first}"  # it would be taken for the type
    head = f"{mark}**{step.type}** {first}" if simple else f"{mark}{first}"
    indent = " " * len(mark)
    lines = [head.rstrip(" ") if not first else head, *(indent + line if line else "" for line in rest)]
    if step.type and not simple:
        lines.append(f"{indent}- type: {json.dumps(step.type, ensure_ascii=False)}")
    if step.files:
        lines.append(f"{indent}- files: {', '.join(map(_name, step.files))}")
    return lines


def _text(text: str) -> list[str]:
    """Return a text's lines, those marked that would be read as something else."""
    if not text:
        return []
    lines = text.split("\n")
    last = len(lines) - 1
    return [_line(line, at_edge=at in {0, last}) for at, line in enumerate(lines)]


def _line(line: str, *, at_edge: bool) -> str:
    if not line:
        return "\\" if at_edge else ""
    literal = line != line.strip() or _SPECIAL.match(line) or SUB_ITEM.match(line)
    return f"\\{line}" if literal else line


def _name(name: str) -> str:
    simple = name and name == name.strip() and not _QUOTED.search(name)
    return name if simple else json.dumps(name, ensure_ascii=False)

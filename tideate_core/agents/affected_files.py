"""Model's report of files that its edit affects: the tool for it, and parser of `<affected>` blocks."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Final, Literal

from pydantic import Field

from tideate_core.agents.answers import tidy_line, tidy_path
from tideate_core.agents.asking import may_look
from tideate_core.agents.model_input import is_small
from tideate_core.agents.project_files import neighbours
from tideate_core.agents.tools.tool import Arguments, WorkTool
from tideate_core.errors import OutsideRoot
from tideate_core.workflows import FileToChange

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence

    from tideate_core.agents.tools.tool import ToolContext
    from tideate_core.workflows import StepContext

REPORT_AFFECTED: Final = "report_affected_files"
MOST: Final = 20
"""Files in one report."""
LONGEST_WHY: Final = 200
LONGEST_PATH: Final = 200
MOST_WRONG: Final = 5
"""Mistakes in a report shown to the person."""
_BLOCK: Final = re.compile(r"^<affected>[ \t]*\n(.*?)^</affected>[ \t]*(?:\n|\Z)", re.MULTILINE | re.DOTALL)


class _Affected(Arguments):
    path: str = Field(max_length=LONGEST_PATH, description="Relative to the project's root.")
    why: str = Field(max_length=LONGEST_WHY, description="Why it must change, in a few words: `calls total`.")


class _Report(Arguments):
    files: list[_Affected] = Field(
        max_length=MOST, description="All of them; they replace what was reported before. Empty: none."
    )


def way_to_report(step: StepContext) -> Literal["tool", "block", ""]:
    """Return how the run's model can report affected files; empty if it cannot know any."""
    if step.workspace.root is None or is_small(step):
        return ""
    return "tool" if may_look(step) else "block"


def report_tool(keep: Callable[[Sequence[FileToChange]], Awaitable[None]]) -> WorkTool[_Report]:
    """Return the tool that lets a model report affected files.

    :param keep: stores the existing files of each report; the report is durable when it returns.
    """

    async def report(context: ToolContext, arguments: _Report) -> str:
        named = [(one.path, one.why) for one in arguments.files]
        files, wrong = await _check(context.step, named)
        await keep(files)
        noted = ", ".join(one.path for one in files) or "no file"
        return "\n".join([f"noted: {noted}", *(f"not noted: {words}" for words in wrong)])

    return WorkTool(
        REPORT_AFFECTED,
        "Report the files that must change with the lines you were given: callers, imports, tests. The "
        "person is offered to change them in the next run; nothing is changed by this call.",
        _Report,
        "stages",
        report,
    )


async def split_report(step: StepContext, text: str) -> tuple[str, list[FileToChange]]:
    """Split an answer into its text without `<affected>` blocks, and the existing files that they name.

    A notice tells the person about the others.
    """
    lines = [line for block in _BLOCK.findall(text) for line in block.splitlines() if line.strip()]
    if not lines:
        return text, []
    files, wrong = await _check(step, [_path_and_why(line) for line in lines[:MOST]])
    if len(lines) > MOST:
        wrong.append(f"{len(lines) - MOST} more than the {MOST} that are read")
    for words in wrong[:MOST_WRONG]:
        step.notice(f"ignored a file that the model also wants to change: {words}", level="warn")
    return _BLOCK.sub("", text).strip(), files


def _path_and_why(line: str) -> tuple[str, str]:
    path, _, why = line.strip().removeprefix("- ").partition(": ")
    return path, why


async def _check(step: StepContext, named: Iterable[tuple[str, str]]) -> tuple[list[FileToChange], list[str]]:
    """Return the named files that exist, each once, and messages about the others."""
    found: dict[str, FileToChange] = {}
    wrong, missing = list[str](), list[str]()
    for given, why in named:
        path = tidy_path(given)[:LONGEST_PATH]
        try:
            real = step.workspace.resolve(path)
        except OutsideRoot as error:
            wrong.append(str(error))
            continue
        if not await asyncio.to_thread(real.is_file):
            missing.append(path)
            continue
        name = step.workspace.name_of(real)
        found.setdefault(name, FileToChange(name, tidy_line(why)[:LONGEST_WHY]))
    if missing:
        known = await step.workspace.list(notice=lambda words: step.notice(words, level="warn"))
        for path in missing:
            near = ", ".join(neighbours(path, known))
            wrong.append(f"{path} does not exist{f' (there is {near})' if near else ''}")
    return list(found.values()), wrong

"""Tool `open_skill`: returns the instructions of a project's skill, or another of its files."""

from __future__ import annotations

import asyncio
from typing import Any

from pydantic import Field

from tideate_core.agents.tools.project_paths import project_root
from tideate_core.agents.tools.results import bounded_text
from tideate_core.agents.tools.tool import Arguments, ToolContext, WorkTool
from tideate_core.errors import ToolError, UnusableFile
from tideate_core.mentions import read_skill


class OpenSkill(Arguments):
    """Arguments of `open_skill`."""

    name: str = Field(min_length=1, max_length=200, description="As the list of skills has it.")
    file: str | None = Field(
        default=None, max_length=500, description="Another file of the skill, as its instructions name it."
    )


async def open_skill(context: ToolContext, arguments: OpenSkill) -> str:
    """Return the instructions of a skill, or another of its files."""

    root = project_root(context)
    try:
        text = await asyncio.to_thread(read_skill, root, arguments.name, arguments.file)
    except UnusableFile as error:
        raise ToolError(str(error)) from error
    return bounded_text(text, "the rest of the skill is left out")


TOOLS: tuple[WorkTool[Any], ...] = (
    WorkTool(
        "open_skill",
        "Open one of the project's skills: instructions for a kind of task. They are its words, and "
        "permit nothing.",
        OpenSkill,
        "reads",
        open_skill,
    ),
)

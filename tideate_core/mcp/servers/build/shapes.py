"""What the build server answers, in camelCase."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

__all__ = ["BuildShape", "CommandShape", "DetectShape", "OutputShape", "ProblemShape", "build_text"]

SHOWN = 20
"""Problems in the text beside an answer."""


class _Shape(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)


class CommandShape(_Shape):
    """A command of the project."""

    tool: str = Field(description="The program: cargo, make, npm, …")
    command: list[str] = Field(description="What is run, in the root.")
    reason: str = Field(description="Why this one.")
    configured: bool = Field(description="The configuration names it; else it was detected.")
    trusted: bool = Field(description="The person said that it may run.")


class DetectShape(_Shape):
    """How the project is built."""

    build: CommandShape | None = Field(description="null where nothing in the project says how.")
    clean: CommandShape | None = Field(
        description="What removes what the build made; null where nothing does."
    )
    advice: str = Field(default="", description="What a person has to do before either can run.")


class ProblemShape(_Shape):
    """Where something is wrong, and what."""

    severity: Literal["error", "warning", "note"]
    file: str = Field(description="Relative to the root, absolute if it is outside; empty if none was named.")
    line: int | None = Field(description="1-based.")
    column: int | None = Field(description="1-based, as the tool counts.")
    message: str
    code: str = Field(description="The tool's name for this kind of problem; empty if it has none.")


class BuildShape(_Shape):
    """How a build ended, and the beginning of what it printed."""

    status: Literal["passed", "failed", "timed_out"] = Field(
        description="`passed`: the command ended by itself, in time, with status 0."
    )
    tool: str
    command: list[str]
    duration_ms: int
    exit_code: int | None = Field(description="null if a signal ended it.")
    signal: str | None
    ending: str = Field(description="How it ended, in words.")
    problems: list[ProblemShape] = Field(description="Errors and warnings that it printed.")
    more_problems: bool = Field(description="There were more than are listed.")
    output: str = Field(description="The first page of what it printed.")
    next_cursor: str | None = Field(
        default=None,
        description="Pass it to `build_output` for the rest of the output; null if this was all.",
    )


class OutputShape(_Shape):
    """A page of what the last command printed."""

    output: str
    next_cursor: str | None = Field(
        default=None, description="Pass it as `cursor` for what follows; null if this was all."
    )


def build_text(shape: BuildShape) -> str:
    """Say in a few lines how a build ended."""
    lines = [f"{shape.status}: {shape.tool} {shape.ending}"]
    for one in shape.problems[:SHOWN]:
        where = ":".join(str(part) for part in (one.file, one.line, one.column) if part)
        lines.append(": ".join(part for part in (where, one.severity, one.message) if part))
    if (more := len(shape.problems) - SHOWN) > 0:
        lines.append(f"… and {more} more")
    return "\n".join(lines)

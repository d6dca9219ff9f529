"""Build and clean a project, with the result models of the MCP build server."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

from tideate_core.mcp.servers.commands import (
    PAGE,
    OutputPage,
    choose_command,
    locked_for_command,
    report_while,
    require_commands,
)
from tideate_core.mcp.servers.schemas import ResultModel, page

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from mcp.server.mcpserver import Context

    from tideate_core.mcp.servers.commands import ChosenCommand
    from tideate_core.process import CommandResult, OutputLine
    from tideate_core.toolchain import Tool

SHOWN = 20
"""Problems in the text of an answer."""
_NO_CLEAN = (
    "the project has no command that removes the results of a build: no script or target `clean`, and no "
    "tool with such a command"
)


class CommandShape(ResultModel):
    """A command of the project."""

    tool: str = Field(description="The program: cargo, make, npm, …")
    command: list[str] = Field(description="What is run, in the root.")
    reason: str = Field(description="Why this one.")
    configured: bool = Field(description="The configuration names it; else it was detected.")
    trusted: bool = Field(description="The person said that it may run.")


class DetectShape(ResultModel):
    """The project's build commands."""

    build: CommandShape | None = Field(description="null where nothing in the project says how.")
    clean: CommandShape | None = Field(
        description="What removes what the build made; null where nothing does."
    )
    advice: str = Field(default="", description="What a person has to do before either can run.")


class ProblemShape(ResultModel):
    """A problem and its position."""

    severity: Literal["error", "warning", "note"]
    file: str = Field(description="Relative to the root, absolute if it is outside; empty if none was named.")
    line: int | None = Field(description="1-based.")
    column: int | None = Field(description="1-based, as the tool counts.")
    message: str
    code: str = Field(description="The tool's name for this kind of problem; empty if it has none.")


class BuildShape(ResultModel):
    """Result of a build and the beginning of its output."""

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


class OutputShape(OutputPage):
    """A page of the last command's output."""


def build_text(shape: BuildShape) -> str:
    """Summarize a build in a few lines."""
    lines = [f"{shape.status}: {shape.tool} {shape.ending}"]
    for one in shape.problems[:SHOWN]:
        where = ":".join(str(part) for part in (one.file, one.line, one.column) if part)
        lines.append(": ".join(part for part in (where, one.severity, one.message) if part))
    if (more := len(shape.problems) - SHOWN) > 0:
        lines.append(f"… and {more} more")
    return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class _Built:
    shape: BuildShape
    output: str


class ProjectBuild:
    """Builds and cleans one project."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self.output: str | None = None
        """Output of the last command."""
        self.last: BuildShape | None = None

    async def detect(self) -> DetectShape:
        """Return the build and clean commands without running them.

        :raises ToolError: the configuration cannot be read.
        """
        build = await choose_command(self._root, "build")
        clean = await self._clean_command(build)
        shapes = [_command(chosen) for chosen in (build, clean)]
        known = [one for one in shapes if one is not None]
        advice = ""
        if not known:
            advice = 'a person can set verify.build in .tideate/config.toml to a command, as ["make", "all"]'
        elif not all(one.trusted for one in known):
            advice = "a person has to look at the project and run `tideate trust` or `:Workflow trust`"
        return DetectShape(build=shapes[0], clean=shapes[1], advice=advice)

    async def run_build(self, context: Context[Any, Any], seconds: float | None) -> BuildShape:
        """Build the project.

        :raises ToolError: the project cannot be built, or a build is in progress.
        """
        chosen = await choose_command(self._root, "build")
        return await self._run_command(context, chosen, require_commands(chosen, self._root), seconds)

    async def run_clean(self, context: Context[Any, Any], seconds: float | None) -> BuildShape:
        """Remove the results of builds.

        :raises ToolError: there is no clean command, or it may not run now.
        """
        chosen = await self._clean_command(await choose_command(self._root, "build"))
        if chosen.tool is None:
            raise ToolError(_NO_CLEAN)
        return await self._run_command(context, chosen, require_commands(chosen, self._root), seconds)

    async def _clean_command(self, build: ChosenCommand) -> ChosenCommand:
        return await asyncio.to_thread(_clean_of, self._root, build)

    async def _run_command(
        self, context: Context[Any, Any], chosen: ChosenCommand, tools: Sequence[Tool], seconds: float | None
    ) -> BuildShape:
        from tideate_core.process import ProcessLimits, run_program
        from tideate_core.toolchain import tool_environment

        async def run_one(tool: Tool, tell: Callable[[int, str], None]) -> _Built:
            result = await run_program(
                tool.argv,
                cwd=self._root / tool.folder,
                environment=tool_environment(self._root, tool, chosen.environment),
                limits=ProcessLimits(timeout_ms=chosen.limit(seconds)),
                on_lines=_line_counter(tell),
                hint=f"install {tool.name}, or set verify.build in .tideate/config.toml",
            )
            return await asyncio.to_thread(_read, tool, result, self._root)

        async def work(tell: Callable[[int, str], None]) -> _Built:
            return _joined([await run_one(tool, tell) for tool in tools])

        async with locked_for_command(self._root, "build", "a build"):
            built = await report_while(context, self._root, work)
        self.last, self.output = built.shape, built.output
        return built.shape


def _joined(built: Sequence[_Built]) -> _Built:
    """Merge the results of several builds: the first that failed, with the output of all."""
    if len(built) == 1:
        return built[0]
    chosen = next((one.shape for one in built if one.shape.status != "passed"), built[-1].shape)
    output = "\n".join(one.output for one in built)
    shown, following = page(output, "", PAGE)
    update = {
        "duration_ms": sum(one.shape.duration_ms for one in built),
        "problems": [problem for one in built for problem in one.shape.problems],
        "more_problems": any(one.shape.more_problems for one in built),
        "output": shown,
        "next_cursor": following,
    }
    return _Built(chosen.model_copy(update=update), output)


def _clean_of(root: Path, build: ChosenCommand) -> ChosenCommand:
    from tideate_core.toolchain import ProjectTrust, detect_clean_command

    tool = detect_clean_command(root, build.environment)
    trusted = tool is not None and ProjectTrust(root).is_trusted(tool)
    return replace(build, tools=(tool,) if tool else (), off=False, configured=False, trusted=trusted)


def _command(chosen: ChosenCommand) -> CommandShape | None:
    if chosen.tool is None:
        return None
    return CommandShape(
        tool=chosen.tool.name,
        command=list(chosen.tool.argv),
        reason=chosen.tool.reason,
        configured=chosen.configured,
        trusted=chosen.trusted,
    )


def _line_counter(tell: Callable[[int, str], None]) -> Callable[[Sequence[OutputLine]], None]:
    number = 0

    def count(lines: Sequence[OutputLine]) -> None:
        nonlocal number
        number += len(lines)
        tell(number, next((line.text.strip() for line in reversed(lines) if line.text.strip()), ""))

    return count


def _read(tool: Tool, result: CommandResult, root: Path) -> _Built:
    """Convert the result of a build command."""
    from tideate_core.toolchain import parse_failures

    output = result.printed
    failures = parse_failures(output, root=root, folder=tool.folder, tool=tool.name)
    # the output of a successful build may look like errors
    found = [one for one in failures.found if not result.ok or one.severity == "warning"]
    shown, following = page(output, "", PAGE)
    status = "timed_out" if result.timed_out else "passed" if result.ok else "failed"
    shape = BuildShape(
        status=status,  # type: ignore[arg-type]
        tool=tool.name,
        command=list(tool.argv),
        duration_ms=result.duration_ms,
        exit_code=result.exit_code,
        signal=result.signal,
        ending=result.summary,
        problems=[ProblemShape.model_validate(one, from_attributes=True) for one in found],
        more_problems=failures.cut,
        output=shown,
        next_cursor=following,
    )
    return _Built(shape, output)

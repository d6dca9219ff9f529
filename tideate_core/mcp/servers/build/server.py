"""MCP build server: detects build commands, builds and cleans one project, pages the output."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

from tideate_core.mcp.servers.commands import (
    PAGE,
    RUNNING,
    Cursor,
    OutputPage,
    Timeout,
    choose_command,
    locked_for_command,
    output_page,
    report_while,
    require_commands,
    run_command,
)
from tideate_core.mcp.servers.schemas import ResultModel, page
from tideate_core.mcp.servers.tool_server import Call, ToolAnswer, ToolServer

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from mcp.server.mcpserver import MCPServer

    from tideate_core.mcp.servers.commands import ChosenCommand, Progress
    from tideate_core.process import CommandResult
    from tideate_core.toolchain import Tool

SHOWN = 20
"""Problems in the text of an answer."""
_NO_CLEAN = (
    "the project has no command that removes the results of a build: no script or target `clean`, and no "
    "tool with such a command"
)


INSTRUCTIONS = """\
This server builds one project with the project's own command. Begin with `build_detect`, which runs nothing.
`build_run` answers with each error's file, line, column and message. It runs the project's own code, so a
person must trust the project first (`tideate trust`)."""


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
    advice: str = Field(default="", description="What a person must do before either can run.")


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
        self.last: _Built | None = None
        """The last command's result."""

    async def commands(self) -> tuple[ChosenCommand, ChosenCommand]:
        """Return the build and the clean command.

        :raises ToolError: the configuration cannot be read.
        """
        build = await choose_command(self._root, "build")
        return build, await asyncio.to_thread(_clean_of, self._root, build)

    async def run(self, context: Call, chosen: ChosenCommand, seconds: float | None) -> BuildShape:
        """Build or clean the project.

        :raises ToolError: the command may not run, or another one is in progress.
        """
        tools = require_commands(chosen, self._root)

        async def run_one(tool: Tool, progress: Progress) -> _Built:
            result = await run_command(self._root, tool, chosen, seconds, progress)
            return await asyncio.to_thread(_read, tool, result, self._root)

        async def work(progress: Progress) -> _Built:
            return _joined([await run_one(tool, progress) for tool in tools])

        async with locked_for_command(self._root, "build", "a build"):
            self.last = await report_while(context, self._root, work)
        return self.last.shape


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
    tools = () if tool is None else (tool,)
    return replace(build, tools=tools, off=False, configured=False, trusted=trusted)


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


def build_server(root: Path) -> MCPServer[Any]:
    """Create the MCP server for the build of the project at a root.

    :param root: an existing absolute directory, without links.
    """
    builds = ProjectBuild(root)
    server = ToolServer(
        "tideate-build",
        title="tideate: build",
        description="Builds a project.",
        instructions=INSTRUCTIONS,
    )

    @server.add("Show how the project is built")
    async def build_detect() -> ToolAnswer[DetectShape]:
        """Show the commands that build and clean the project, why these, and whether they may run.

        Runs nothing.
        """
        build, clean = await builds.commands()
        return _detection(_command(build), _command(clean))

    @server.add("Show what the last build printed")
    async def build_output(cursor: Cursor = "") -> ToolAnswer[OutputPage]:
        """Show the output of the last `build_run` or `build_clean`, from its start or from a cursor on."""
        if builds.last is None:
            raise ToolError("nothing was built by this server so far; call `build_run`")
        return output_page(builds.last.output, cursor)

    @server.add("Build the project", RUNNING)
    async def build_run(context: Call, timeout: Timeout = None) -> ToolAnswer[BuildShape]:  # noqa: ASYNC109
        """Run the project's build.

        Answers how it ended, with the file, line, column and message of each error. A build that fails is an
        answer, not an error. One at a time; cancelling ends it.
        """
        build, _ = await builds.commands()
        shape = await builds.run(context, build, timeout)
        return shape, build_text(shape)

    @server.add("Remove what the build made", RUNNING)
    async def build_clean(context: Call, timeout: Timeout = None) -> ToolAnswer[BuildShape]:  # noqa: ASYNC109
        """Run the project's own command that removes the results of its builds."""
        _, clean = await builds.commands()
        if clean.tool is None:
            raise ToolError(_NO_CLEAN)
        shape = await builds.run(context, clean, timeout)
        return shape, build_text(shape)

    return server


def _detection(build: CommandShape | None, clean: CommandShape | None) -> ToolAnswer[DetectShape]:
    known = [one for one in (build, clean) if one is not None]
    advice = ""
    if not known:
        advice = 'a person can set verify.build in .tideate/config.toml to a command, as ["make", "all"]'
    elif not all(one.trusted for one in known):
        advice = "a person must look at the project and run `tideate trust` or `:Workflow trust`"
    lines = []
    for what, one in (("build", build), ("clean", clean)):
        if one is None:
            lines.append(f"{what}: nothing in the project says how")
        else:
            trusted = "trusted" if one.trusted else "not trusted"
            lines.append(f"{what}: {' '.join(one.command)} ({one.reason}; {trusted})")
    text = "\n".join([*lines, *([advice] if advice else [])])
    return DetectShape(build=build, clean=clean, advice=advice), text

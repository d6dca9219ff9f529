"""Tools of the build server: detect, run, clean, output."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ResourceNotFoundError, ToolError
from mcp_types import CallToolResult

from tideate_core.mcp.servers.build.project_build import (
    BuildShape,
    DetectShape,
    OutputShape,
    ProjectBuild,
    build_text,
)
from tideate_core.mcp.servers.commands import PAGE, RUNNING, Cursor, Timeout
from tideate_core.mcp.servers.schemas import page, tool_result
from tideate_core.mcp.servers.tool_server import READ_ONLY, ToolServer

if TYPE_CHECKING:
    from pathlib import Path

    from mcp.server.mcpserver import MCPServer

__all__ = ["build_server"]

INSTRUCTIONS = """\
This server builds one project with the project's own command. Begin with `build_detect`, which runs nothing.
`build_run` answers with each error's file, line, column and message. It runs the project's own code, so a
person has to trust the project first (`tideate trust`)."""

# The SDK evaluates the annotations of a tool's function, so what they name has to exist at run time.
Call: TypeAlias = Context[Any, Any]
Detected: TypeAlias = Annotated[CallToolResult, DetectShape]
Built: TypeAlias = Annotated[CallToolResult, BuildShape]
Printed: TypeAlias = Annotated[CallToolResult, OutputShape]


def build_server(root: Path) -> MCPServer[Any]:
    """Return a server for the build of the project at a root.

    :param root: an existing absolute directory, without links.
    """
    builds = ProjectBuild(root)
    server = ToolServer(
        "tideate-build",
        title="tideate: build",
        description="Builds a project.",
        instructions=INSTRUCTIONS,
    )
    _add_looking(server, builds)
    _add_running(server, builds)
    _add_resource(server, builds)
    return server


def _add_looking(server: ToolServer, builds: ProjectBuild) -> None:
    async def build_detect() -> Detected:
        shape = await builds.detect()
        return tool_result(shape, _detection_text(shape))

    async def build_output(cursor: Cursor = "") -> Printed:
        if builds.output is None:
            raise ToolError("nothing was built by this server so far; call `build_run`")
        output, following = page(builds.output, cursor, PAGE)
        return tool_result(OutputShape(output=output, next_cursor=following), output)

    server.add_tool(
        build_detect,
        title="Show how the project is built",
        description="Show the command that builds the project and the one that cleans it, why these, and "
        "whether they may run. Runs nothing.",
        annotations=READ_ONLY,
    )
    server.add_tool(
        build_output,
        title="Show what the last build printed",
        description="Show what the last `build_run` or `build_clean` printed, from its beginning or from a "
        "cursor on.",
        annotations=READ_ONLY,
    )


def _add_running(server: ToolServer, builds: ProjectBuild) -> None:
    async def build_run(context: Call, timeout: Timeout = None) -> Built:  # noqa: ASYNC109 of the program
        shape = await builds.run_build(context, timeout)
        return tool_result(shape, build_text(shape))

    async def build_clean(context: Call, timeout: Timeout = None) -> Built:  # noqa: ASYNC109
        shape = await builds.run_clean(context, timeout)
        return tool_result(shape, build_text(shape))

    server.add_tool(
        build_run,
        title="Build the project",
        description="Run the project's build. Answers how it ended, with the file, line, column and message "
        "of each error. A build that fails is an answer, not an error. One at a time; cancelling ends it.",
        annotations=RUNNING,
    )
    server.add_tool(
        build_clean,
        title="Remove what the build made",
        description="Run the project's own command that removes what its builds made.",
        annotations=RUNNING,
    )


def _add_resource(server: ToolServer, builds: ProjectBuild) -> None:
    @server.resource(
        "tideate://build/report",
        title="The last build",
        description="How the last build or clean of this server ended, as JSON.",
        mime_type="application/json",
    )
    async def report() -> str:
        if builds.last is None:
            raise ResourceNotFoundError("nothing was built by this server so far; call the tool `build_run`")
        return builds.last.model_dump_json(by_alias=True, indent=2)


def _detection_text(shape: DetectShape) -> str:
    lines = []
    for what, one in (("build", shape.build), ("clean", shape.clean)):
        if one is None:
            lines.append(f"{what}: nothing in the project says how")
        else:
            trusted = "trusted" if one.trusted else "not trusted"
            lines.append(f"{what}: {' '.join(one.command)} ({one.reason}; {trusted})")
    return "\n".join([*lines, *([shape.advice] if shape.advice else [])])

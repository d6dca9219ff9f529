"""Tools and resource of the MCP build server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp.server.mcpserver.exceptions import ResourceNotFoundError, ToolError

from tideate_core.mcp.servers.build.project_build import (
    BuildShape,
    DetectShape,
    OutputShape,
    ProjectBuild,
    build_text,
)
from tideate_core.mcp.servers.commands import PAGE, RUNNING, Cursor, Timeout
from tideate_core.mcp.servers.schemas import page
from tideate_core.mcp.servers.tool_server import Call, ToolAnswer, ToolServer

if TYPE_CHECKING:
    from pathlib import Path

    from mcp.server.mcpserver import MCPServer

INSTRUCTIONS = """\
This server builds one project with the project's own command. Begin with `build_detect`, which runs nothing.
`build_run` answers with each error's file, line, column and message. It runs the project's own code, so a
person has to trust the project first (`tideate trust`)."""


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
        shape = await builds.detect()
        return shape, _detection_text(shape)

    @server.add("Show what the last build printed")
    async def build_output(cursor: Cursor = "") -> ToolAnswer[OutputShape]:
        """Show the output of the last `build_run` or `build_clean`, from its start or from a cursor on."""
        if builds.output is None:
            raise ToolError("nothing was built by this server so far; call `build_run`")
        output, following = page(builds.output, cursor, PAGE)
        return OutputShape(output=output, next_cursor=following), output

    @server.add("Build the project", RUNNING)
    async def build_run(context: Call, timeout: Timeout = None) -> ToolAnswer[BuildShape]:  # noqa: ASYNC109
        """Run the project's build.

        Answers how it ended, with the file, line, column and message of each error. A build that fails is an
        answer, not an error. One at a time; cancelling ends it.
        """
        shape = await builds.run_build(context, timeout)
        return shape, build_text(shape)

    @server.add("Remove what the build made", RUNNING)
    async def build_clean(context: Call, timeout: Timeout = None) -> ToolAnswer[BuildShape]:  # noqa: ASYNC109
        """Run the project's own command that removes the results of its builds."""
        shape = await builds.run_clean(context, timeout)
        return shape, build_text(shape)

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

    return server


def _detection_text(shape: DetectShape) -> str:
    lines = []
    for what, one in (("build", shape.build), ("clean", shape.clean)):
        if one is None:
            lines.append(f"{what}: nothing in the project says how")
        else:
            trusted = "trusted" if one.trusted else "not trusted"
            lines.append(f"{what}: {' '.join(one.command)} ({one.reason}; {trusted})")
    return "\n".join([*lines, *([shape.advice] if shape.advice else [])])

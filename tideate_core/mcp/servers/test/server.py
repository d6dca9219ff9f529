"""Tools and resource of the MCP test server."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeAlias

from mcp.server.mcpserver.exceptions import ResourceNotFoundError, ToolError
from pydantic import Field

from tideate_core.mcp.servers.commands import PAGE, RUNNING, Cursor, Timeout
from tideate_core.mcp.servers.schemas import Line, RelativePath, page
from tideate_core.mcp.servers.test.project_tests import (
    REPORT_PATH,
    ListShape,
    OutputShape,
    ProjectTests,
    RunShape,
    run_text,
)
from tideate_core.mcp.servers.tool_server import Call, ToolAnswer, ToolServer
from tideate_core.mentions import hide_secrets

if TYPE_CHECKING:
    from pathlib import Path

    from mcp.server.mcpserver import MCPServer

MOST_FILES: Final = 500

INSTRUCTIONS = """\
This server lists and runs the tests of one project. `test_list` reads their files and runs nothing.
`test_run` runs all of them, or those of some files, or those whose names fit a pattern; it answers with
counts and with each failure's file, line and message. It runs the project's own code, so a person has to
trust the project first (`tideate trust`)."""

Files: TypeAlias = Annotated[
    list[RelativePath], Field(max_length=MOST_FILES, description="Relative to the root; none: all.")
]
Pattern: TypeAlias = Annotated[
    Line,
    Field(
        max_length=500,
        description="Which names, as the runner takes them: of pytest an expression as `login and not slow`, "
        "of jest, vitest, go and ctest a regular expression, of unittest and cargo a part of the name.",
    ),
]
OrAll: TypeAlias = Annotated[
    bool,
    Field(description="Where only all tests can be run, run all; `files` of the answer is empty then."),
]
Kind: TypeAlias = Annotated[Literal["tests", "files"], Field(description="Each test, or only their files.")]


def test_server(root: Path) -> MCPServer[Any]:
    """Create the MCP server for the tests of the project at a root.

    :param root: an existing absolute directory, without links.
    """
    tests = ProjectTests(root)
    server = ToolServer(
        "tideate-test",
        title="tideate: tests",
        description="Lists and runs a project's tests.",
        instructions=INSTRUCTIONS,
    )

    @server.add("List the tests")
    async def test_list(
        files: Files = [],  # noqa: B006 the SDK copies it
        kind: Kind = "tests",
        cursor: Cursor = "",
    ) -> ToolAnswer[ListShape]:
        """List the project's tests with their files and lines, or only the files.

        Reads the files and runs nothing, so tests that are generated at run time are not listed.
        """
        shape = await tests.listed(files, kind, cursor)
        lines = [
            ":".join(str(part) for part in (one.file, one.line, one.name) if part) for one in shape.tests
        ]
        more = f"\n{shape.total} in all; cursor for more: {shape.next_cursor}" if shape.next_cursor else ""
        return shape, ("\n".join(lines) or "no tests were found") + more

    @server.add("Run tests", RUNNING)
    async def test_run(
        context: Call,
        files: Files = [],  # noqa: B006
        pattern: Pattern = "",
        or_all: OrAll = False,
        timeout: Timeout = None,  # noqa: ASYNC109 of the program that is run
    ) -> ToolAnswer[RunShape]:
        """Run all tests of the project, or select them by file, by a pattern of names, or both.

        Answers how many passed, failed and were skipped, and where each failure is. Tests that fail are an
        answer, not an error. One run at a time; cancelling ends it.
        """
        ran = await tests.run_selected(context, files, pattern, timeout, or_all=or_all)
        output, following = page(ran.output, "", PAGE)
        shape = RunShape(**ran.results.model_dump(), output=output, next_cursor=following, report=REPORT_PATH)
        return shape, run_text(ran.results, ran.output)

    @server.add("Show what the last run printed")
    async def test_output(cursor: Cursor = "") -> ToolAnswer[OutputShape]:
        """Show the output of the last `test_run`, from its beginning or from a cursor on."""
        if tests.last is None:
            raise ToolError("no tests were run by this server so far; call `test_run`")
        output, following = page(tests.last.output, cursor, PAGE)
        return OutputShape(output=output, next_cursor=following), output

    @server.resource(
        "tideate://test/report",
        title="The last test report",
        description="How the last run of tests in this project ended, as JSON.",
        mime_type="application/json",
    )
    async def report() -> str:
        content = await asyncio.to_thread(tests.report)
        if content is None:
            raise ResourceNotFoundError("no tests were run in this project so far; call the tool `test_run`")
        return hide_secrets(content)

    return server


test_server.__test__ = False  # type: ignore[attr-defined] # not a test of pytest's

"""MCP test server: lists and runs the tests of one project, and returns their output in pages."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeAlias

from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

from tideate_core.errors import ConfigError, WorkspaceError
from tideate_core.mcp.servers.commands import (
    PAGE,
    RUNNING,
    Cursor,
    OutputPage,
    Timeout,
    choose_command,
    locked_for_command,
    output_page,
    refusal,
    report_while,
    require_commands,
    run_command,
)
from tideate_core.mcp.servers.schemas import NEXT, Line, RelativePath, ResultModel, page, short_repr
from tideate_core.mcp.servers.tool_server import Call, ToolAnswer, ToolServer
from tideate_core.mentions import hide_secrets
from tideate_core.project import Documents
from tideate_core.toolchain import TestResults
from tideate_core.workspace import Root

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from mcp.server.mcpserver import MCPServer

    from tideate_core.mcp.servers.commands import ChosenCommand, Progress
    from tideate_core.toolchain import CompletedTests, SelectedTests, Tool

SHOWN: Final = 20
"""Failures in the text of an answer."""
LAST: Final = 20
"""Last lines of output in the text of a failed run without listed failures."""
LONGEST: Final = 300
"""Characters of one of these lines."""
REPORT_PATH: Final = ".tideate/qa/reports/test_results.json"
LISTED: Final = 500
"""Tests on one page."""
_COUNTS: Final = ("passed", "failed", "skipped", "errors")
MOST_FILES: Final = 500

INSTRUCTIONS = """\
This server lists and runs the tests of one project. `test_list` reads their files and runs nothing.
`test_run` runs all of them, or those of some files, or those whose names fit a pattern; it answers with
counts and with each failure's file, line and message. It runs the project's own code, so a person must
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


class ListedShape(ResultModel):
    """A test or a test file."""

    file: str = Field(description="Relative to the root.")
    line: int | None = Field(default=None, description="1-based; null of a file.")
    name: str = Field(default="", description="Empty of a file.")


class ListShape(ResultModel):
    """A page of a project's tests."""

    runner: str | None = Field(description="What would run them; null where the project does not say.")
    command: list[str] = Field(description="What would be run for all of them, in the root.")
    trusted: bool = Field(description="Whether the person said that it may run.")
    tests: list[ListedShape]
    total: int = Field(description="How many there are on all pages.")
    next_cursor: str | None = NEXT


class RunShape(TestResults):
    """Result of a run and the beginning of its output."""

    output: str = Field(description="The first page of what it printed.")
    next_cursor: str | None = Field(
        default=None, description="Pass it to `test_output` for the rest of the output; null if this was all."
    )
    report: str = Field(description="The file with this result, relative to the root.")


def run_text(results: TestResults, output: str = "") -> str:
    """Summarize a run in a few lines."""
    counts = (
        (results.passed, "passed"),
        (results.failed, "failed"),
        (results.errors, "errors"),
        (results.skipped, "skipped"),
    )
    known = ", ".join(f"{number} {word}" for number, word in counts if number is not None)
    lines = [f"{results.status}: {known or 'no counts'} ({results.runner} {results.ending})"]
    for failure in results.failures[:SHOWN]:
        where = f"{failure.file}:{failure.line}" if failure.line else failure.file
        lines.append(
            ": ".join(
                part for part in (where, failure.name, hide_secrets(failure.message).split("\n")[0]) if part
            )
        )
    if (more := len(results.failures) - SHOWN) > 0:
        lines.append(f"… and {more} more")
    if results.status != "passed" and not results.failures and (said := hide_secrets(output).strip()):
        lines += ["it printed last:", *(line[:LONGEST] for line in said.splitlines()[-LAST:])]
    return "\n".join(lines)


class ProjectTests:
    """Lists and runs the tests of one project."""

    __test__ = False  # not a test of pytest's

    def __init__(self, root: Path) -> None:
        self._root = root
        self._paths = Root(root)
        self.last: CompletedTests | None = None
        """The last run."""

    async def listed(self, files: Sequence[str], kind: str, cursor: str) -> ListShape:
        """Return a page of tests or test files.

        :raises ToolError: a file does not exist, or the configuration cannot be read.
        """
        from tideate_core.toolchain import runner_name

        chosen = await choose_command(self._root, "tests")
        runner = runner_name(chosen.tool, configured=chosen.configured) if chosen.tool else None
        named = [self._file(file, folders=True) for file in files]
        found = await asyncio.to_thread(self._found, runner or "", named, kind)
        shown, following = page(found, cursor, LISTED)
        return ListShape(
            runner=runner,
            command=list(chosen.tool.argv) if chosen.tool else [],
            trusted=chosen.trusted,
            tests=[ListedShape(file=file, line=line, name=name) for file, line, name in shown],
            total=len(found),
            next_cursor=following,
        )

    def _found(self, runner: str, named: Sequence[str], kind: str) -> Sequence[tuple[str, int | None, str]]:
        from tideate_core.toolchain import find_test_files, list_tests

        files = find_test_files(self._root, runner)
        if named:
            files = [file for file in files if any(_below(file, name) for name in named)]
        if kind == "files":
            return [(file, None, "") for file in files]
        return [(one.file, one.line, one.name) for one in list_tests(self._root, files)]

    async def run_selected(
        self,
        context: Call,
        files: Sequence[str],
        pattern: str,
        seconds: float | None,
        *,
        or_all: bool = False,
    ) -> CompletedTests:
        """Run tests and write the report.

        :param or_all: run all tests if these cannot be run alone.
        :raises ToolError: the tests cannot be run, cannot be run alone, or another run is in progress.
        """
        from tideate_core.toolchain import (
            SelectedTests,
            make_runner_command,
            run_tests,
            tool_environment,
            write_report,
        )

        chosen = await choose_command(self._root, "tests")
        needed = require_commands(chosen, self._root)
        wanted = self._selections(chosen, files, pattern, or_all=or_all)

        async def run_one(tool: Tool, progress: Progress) -> CompletedTests:
            selected = wanted.get(tool, SelectedTests())
            return await run_tests(
                make_runner_command(tool, selected, configured=chosen.configured),
                selected,
                root=self._root,
                folder=tool.folder,
                environment=tool_environment(self._root, tool, chosen.environment),
                timeout_ms=chosen.limit(seconds),
                on_progress=progress.update,
            )

        async def work(progress: Progress) -> CompletedTests:
            done: list[CompletedTests] = []
            for tool in needed:
                if tool not in chosen.tools:
                    await self._build(tool, chosen, seconds)
                elif tool in wanted:
                    done.append(await run_one(tool, progress))
            ran = _merged(done)
            await asyncio.to_thread(write_report, self._root, ran.results)
            return ran

        async with locked_for_command(self._root, "test", "a run of tests"):
            await asyncio.to_thread(_refuse_unwritable, self._root)
            self.last = await report_while(context, self._root, work)
        return self.last

    async def _build(self, tool: Tool, chosen: ChosenCommand, seconds: float | None) -> None:
        """Run the build that the tests need.

        :raises ToolError: the build failed.
        """
        result = await run_command(self._root, tool, chosen, seconds)
        if not result.ok:
            last = "\n".join(line[:LONGEST] for line in hide_secrets(result.printed).splitlines()[-LAST:])
            raise ToolError(
                f"no tests were run: the build before them {result.summary}; it printed last:\n{last}"
            )

    def _selections(
        self, chosen: ChosenCommand, files: Sequence[str], pattern: str, *, or_all: bool
    ) -> dict[Tool, SelectedTests]:
        """Select the tests of each command, or all tests if these cannot be run alone.

        :raises ToolError: they cannot be run alone, and `or_all` is False.
        """
        from tideate_core.toolchain import (
            SelectedTests,
            UnsupportedSelection,
            accepts_directories,
            make_runner_command,
            runner_name,
            share_files,
        )

        configured = chosen.configured
        folders = any(accepts_directories(runner_name(tool, configured=configured)) for tool in chosen.tools)
        # a repeated file would run twice
        names = list(dict.fromkeys(self._file(file, folders=folders) for file in files))
        shares = share_files(chosen.tools, names, configured=configured)
        wanted = {tool: SelectedTests(share, pattern) for tool, share in shares.items()}
        try:
            for tool, selected in wanted.items():
                make_runner_command(tool, selected, configured=configured)
        except UnsupportedSelection as error:
            if not or_all:
                raise ToolError(f"{error}, or with `or_all`") from error
            return {tool: SelectedTests() for tool in chosen.tools}
        return wanted

    def _file(self, name: str, *, folders: bool) -> str:
        """Resolve a file to its path from the root, links followed.

        :raises ToolError: it does not exist, or is outside the root.
        """
        try:
            path = self._paths.resolve(name)
        except (WorkspaceError, OSError, ValueError):
            raise ToolError(f"{short_repr(name)} is not a file inside the root of this server") from None
        if not path.is_file() and not (folders and path.is_dir()):
            what = "file or directory" if folders else "file"
            raise ToolError(f"there is no {what} {short_repr(name)}; `test_list` shows which there are")
        return self._paths.relative(path)


def _merged(done: Sequence[CompletedTests]) -> CompletedTests:
    """Merge the results of several parts: the first that did not pass, with the counts of all."""
    if len(done) == 1:
        return done[0]
    results = [one.results for one in done]
    chosen = next((one for one in results if one.status != "passed"), results[-1])
    counts = {name: [getattr(one, name) for one in results] for name in _COUNTS}
    update = {
        # unknown in one part is unknown in total
        **{name: None if None in known else sum(known) for name, known in counts.items()},
        "files": [file for one in results for file in one.files],
        "duration_ms": sum(one.duration_ms for one in results),
        "failures": [failure for one in results for failure in one.failures],
        "more_failures": any(one.more_failures for one in results),
    }
    output = "\n".join(one.output for one in done)
    return replace(done[0], results=chosen.model_copy(update=update), output=output)


def _below(file: str, name: str) -> bool:
    return name == "." or file == name or file.startswith(f"{name}/")


def _refuse_unwritable(root: Path) -> None:
    """Reject a run if its report could not be written."""
    from tideate_core.toolchain import TEST_REPORT

    try:
        Documents(root).prepare(TEST_REPORT)
    except ConfigError as error:
        raise refusal(error, root) from error


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
    async def test_output(cursor: Cursor = "") -> ToolAnswer[OutputPage]:
        """Show the output of the last `test_run`, from its beginning or from a cursor on."""
        if tests.last is None:
            raise ToolError("no tests were run by this server so far; call `test_run`")
        return output_page(tests.last.output, cursor)

    return server


test_server.__test__ = False  # type: ignore[attr-defined] # not a test of pytest's

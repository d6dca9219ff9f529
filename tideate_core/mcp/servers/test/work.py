"""What the tools of the test server do."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from mcp.server.mcpserver.exceptions import ToolError

from tideate_core.errors import ConfigError, UnusableFile, WorkspaceError
from tideate_core.mcp.careful import short
from tideate_core.mcp.servers.commanding import choose, followed, one_at_a_time, refusal, require
from tideate_core.mcp.servers.paging import page
from tideate_core.mcp.servers.test.shapes import ListedShape, ListShape
from tideate_core.workspace import Root

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from mcp.server.mcpserver import Context

    from tideate_core.toolchain import Ran

__all__ = ["REPORT_PATH", "Tests"]

REPORT_PATH: Final = ".tideate/qa/reports/test_results.json"
LISTED: Final = 500
"""Tests on a page."""
_LARGEST_REPORT: Final = 4 << 20


class Tests:
    """A project's tests."""

    __test__ = False  # no test of pytest's

    def __init__(self, root: Path) -> None:
        self._root = root
        self._paths = Root(root)
        self.last: Ran | None = None
        """The last run of this server."""

    async def listed(self, files: Sequence[str], kind: str, cursor: str) -> ListShape:
        """Return a page of the tests, or of their files.

        :raises ToolError: a file is not there, or the configuration cannot be read.
        """
        from tideate_core.toolchain import runner_of

        chosen = await choose(self._root, "tests")
        runner = runner_of(chosen.tool, configured=chosen.configured) if chosen.tool else None
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
        from tideate_core.toolchain import list_tests, test_files

        files = test_files(self._root, runner)
        if named:
            files = [file for file in files if any(_below(file, name) for name in named)]
        if kind == "files":
            return [(file, None, "") for file in files]
        return [(one.file, one.line, one.name) for one in list_tests(self._root, files)]

    async def run(
        self,
        context: Context[Any, Any],
        files: Sequence[str],
        pattern: str,
        seconds: float | None,
        *,
        or_all: bool = False,
    ) -> Ran:
        """Run tests and write the report.

        :param or_all: where these cannot be run alone, run all.
        :raises ToolError: they cannot be run, or not these alone, or others are running.
        """
        from tideate_core.toolchain import (
            NotNarrowed,
            Wanted,
            command_for,
            run_tests,
            runner_of,
            takes_folders,
        )

        chosen = await choose(self._root, "tests")
        tool = require(chosen)
        folders = takes_folders(runner_of(tool, configured=chosen.configured))
        # the same file twice would be run twice
        names = dict.fromkeys(self._file(file, folders=folders) for file in files)
        wanted = Wanted(tuple(names), pattern)
        try:
            command = command_for(tool, wanted, configured=chosen.configured)
        except NotNarrowed as error:
            if not or_all:
                raise ToolError(f"{error}, or with `or_all`") from error
            wanted = Wanted()
            command = command_for(tool, wanted, configured=chosen.configured)

        async def work(tell: Callable[[int, str], None]) -> Ran:
            ran = await run_tests(
                command,
                wanted,
                root=self._root,
                environment=chosen.environment,
                timeout_ms=chosen.limit(seconds),
                on_progress=tell,
            )
            await asyncio.to_thread(_keep, self._root, ran)
            return ran

        async with one_at_a_time(self._root, "test", "a run of tests"):
            await asyncio.to_thread(_refuse_unwritable, self._root)
            self.last = await followed(context, self._root, work)
        return self.last

    def report(self) -> str | None:
        """Return the last report, None where there is none that can be read."""
        from tideate_core.project import Documents
        from tideate_core.toolchain import REPORT

        try:
            content = Documents(self._root).read(REPORT, _LARGEST_REPORT)
        except (FileNotFoundError, UnusableFile):
            return None
        return content.decode("utf-8", "replace")

    def _file(self, name: str, *, folders: bool) -> str:
        """Return a file's name from the root, links followed.

        :raises ToolError: it is not there, or not inside.
        """
        try:
            path = self._paths.resolve(name)
        except (WorkspaceError, OSError, ValueError):
            raise ToolError(f"{short(name)} is not a file inside the root of this server") from None
        if not path.is_file() and not (folders and path.is_dir()):
            what = "file or directory" if folders else "file"
            raise ToolError(f"there is no {what} {short(name)}; `test_list` shows which there are")
        return self._paths.relative(path)


def _below(file: str, name: str) -> bool:
    return name == "." or file == name or file.startswith(f"{name}/")


def _refuse_unwritable(root: Path) -> None:
    """Refuse to run anything where its report could not be written."""
    from tideate_core.project import Documents
    from tideate_core.toolchain import REPORT

    try:
        Documents(root).prepare(REPORT)
    except ConfigError as error:
        raise refusal(error, root) from error


def _keep(root: Path, ran: Ran) -> None:
    from tideate_core.toolchain import write_report

    write_report(root, ran.results)

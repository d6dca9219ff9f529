"""Run a project's own test and build commands for tool calls: choice, trust, lock, progress."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeAlias, TypeVar

from anyio import CancelScope
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations
from pydantic import Field

from tideate_core.errors import CommandError, ConfigError
from tideate_core.mcp.servers.locking import ended_before_cancelled, locked_root
from tideate_core.mcp.servers.schemas import NEXT, ResultModel, hide_outside_paths, page

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    from mcp.server.mcpserver import Context

    from tideate_core.config import VerifyConfig
    from tideate_core.mcp.servers.tool_server import ToolAnswer
    from tideate_core.process import CommandResult, OutputLine
    from tideate_core.toolchain import Check, ProjectTrust, Tool

PAGE: Final = 20_000
"""Characters of output on one page."""
PATIENCE: float = 4.0
"""Seconds that a call waits for the previous one; a cancelled one needs as long to end."""
PROGRESS_EVERY: Final = 0.2
"""Seconds between two progress notifications."""
_MESSAGE: Final = 200

# The SDK evaluates the annotations of a tool's function, so what they name has to exist at run time.
Cursor: TypeAlias = Annotated[
    str, Field(max_length=100, description="`nextCursor` of the answer before, for what follows it.")
]
Timeout: TypeAlias = Annotated[
    float | None,
    Field(
        gt=0, le=86_400, description="Seconds it may take; left out: `verify.timeout` of the configuration."
    ),
]

# a project's commands may write files or use the network
RUNNING = ToolAnnotations(
    read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=True
)

T = TypeVar("T")

log = logging.getLogger(__name__)


class OutputPage(ResultModel):
    """A page of the last command's output."""

    output: str
    next_cursor: str | None = NEXT


def output_page(output: str, cursor: str) -> ToolAnswer[OutputPage]:
    """Return a page of the last command's output from a cursor on."""
    shown, following = page(output, cursor, PAGE)
    return OutputPage(output=shown, next_cursor=following), shown


@dataclass(frozen=True, slots=True)
class ChosenCommand:
    """Commands of a project's check, their trust and their environment."""

    check: Check
    tools: tuple[Tool, ...]
    """One for each part of the project, the root's first; empty if there is none or the check is off."""
    off: bool
    configured: bool
    passed_over: bool
    """The project's untrusted configuration names another command."""
    trusted: bool
    """Whether all commands are trusted."""
    builds: tuple[Tool, ...]
    """Build commands that tests may need."""
    environment: dict[str, str]
    timeout_ms: int

    @property
    def tool(self) -> Tool | None:
        """The first command, or None."""
        return self.tools[0] if self.tools else None

    def limit(self, seconds: float | None) -> int:
        """Return the time limit of a run in milliseconds."""
        return self.timeout_ms if seconds is None else round(seconds * 1000)


async def choose_command(root: Path, check: Literal["tests", "build"]) -> ChosenCommand:
    """Return the commands of a check: configured, else detected.

    This is repeated for every call, as the project, its configuration and trust may change.

    :raises ToolError: the configuration or the trust store cannot be read.
    """
    try:
        return await asyncio.to_thread(_choose_command, root, check)
    except ConfigError as error:
        raise refusal(error, root) from error


def _choose_command(root: Path, name: str) -> ChosenCommand:
    from tideate_core.config import load_config
    from tideate_core.toolchain import (
        Check,
        ProjectTrust,
        declared_checks,
        select_tools,
        verification_environment,
    )

    config: VerifyConfig = load_config(root).config.verify
    check = Check(name)
    environment = verification_environment(root, config)
    tools = select_tools(root, config, environment)
    found = tools.get(check, ())
    trust: ProjectTrust = ProjectTrust(root)
    configured = getattr(config, check.value) is not None
    return ChosenCommand(
        check=check,
        tools=found,
        builds=tools.get(Check.BUILD, ()),
        off=check in tools and not found,
        configured=configured,
        passed_over=not configured and check.value in declared_checks(root),
        trusted=bool(found) and all(map(trust.allows, found)),
        environment=environment,
        timeout_ms=round(config.timeout * 1000),
    )


def require_commands(chosen: ChosenCommand, root: Path) -> tuple[Tool, ...]:
    """Return the commands to run, builds before the tests that need them, if all are trusted.

    :raises ToolError: there is no command, or one is not trusted.
    """
    from tideate_core.toolchain import ProjectTrust, untrusted_message

    if chosen.passed_over:
        raise ToolError(
            f"the project's .tideate/config.toml says how (verify.{chosen.check}) and is not trusted, so "
            "nothing is run: read it, then run `tideate trust` or `:Workflow trust`"
        )
    if chosen.off:
        raise ToolError(f'verify.{chosen.check} is "off" in the configuration: this project has none')
    if not chosen.tools:
        raise ToolError(
            f"nothing in the project says how; a person can set verify.{chosen.check} in "
            '.tideate/config.toml to a command, as ["make", "test"], and trust it'
        )
    built = {tool.folder for tool in chosen.tools if tool.after_build}
    builds = tuple(tool for tool in chosen.builds if tool.folder in built or (built and not tool.folder))
    if built and not builds:
        raise ToolError(
            "the tests run what is built, and no build is configured: set verify.build or verify.tests"
        )
    needed = (*builds, *chosen.tools)
    trust = ProjectTrust(root)
    for tool in needed:
        if not trust.allows(tool):
            raise ToolError(untrusted_message(tool))
    if not chosen.trusted:
        raise ToolError(untrusted_message(chosen.tools[0]))
    return needed


def refusal(error: CommandError | ConfigError, root: Path) -> ToolError:
    """Convert an error of ours to a tool error without paths outside the root."""
    return ToolError(hide_outside_paths(str(error), root))


def locked_for_command(root: Path, server: str, what: str) -> AbstractAsyncContextManager[None]:
    """Hold the lock that one running command of all servers in a root has.

    A call waits for a command that is ending, but not for a running one.

    :param what: the running command, for a message.
    :raises ToolError: another call holds the lock, or it cannot be created.
    """
    busy = f"{what} is in progress in this project; call again after it has ended, or cancel it"
    return locked_root(root, server, within=PATIENCE, busy=busy)


async def run_command(
    root: Path,
    tool: Tool,
    chosen: ChosenCommand,
    seconds: float | None,
    progress: Progress | None = None,
) -> CommandResult:
    """Run a build command.

    :param seconds: time limit; None: the configured one.
    :raises CommandError: the command cannot be run.
    """
    from tideate_core.process import ProcessLimits, run_program
    from tideate_core.toolchain import tool_environment

    return await run_program(
        tool.argv,
        cwd=root / tool.folder,
        environment=tool_environment(root, tool, chosen.environment),
        limits=ProcessLimits(timeout_ms=chosen.limit(seconds)),
        on_lines=progress.add_lines if progress else None,
        hint=f"install {tool.name}, or set verify.build in .tideate/config.toml",
    )


async def report_while(context: Context[Any, Any], root: Path, work: Callable[[Progress], Awaitable[T]]) -> T:
    """Run a command and report its progress to the client.

    On cancellation the work is cancelled once and awaited, so that all its processes are gone.

    :param work: called with the progress to update.
    :raises ToolError: the command cannot be run, or its report cannot be written.
    """
    progress = Progress()
    teller = asyncio.ensure_future(progress.report_to(context))
    try:
        return await ended_before_cancelled(work(progress))
    except (CommandError, ConfigError) as error:
        raise refusal(error, root) from error
    finally:
        teller.cancel()
        with CancelScope(shield=True):
            await asyncio.wait([teller])
        if not teller.cancelled() and (untold := teller.exception()):
            log.info("the client could not be told of the progress: %s", untold)


class Progress:
    """The latest progress, sent at limited intervals."""

    def __init__(self) -> None:
        self._number = 0
        self._words = ""
        self._news = asyncio.Event()

    def add_lines(self, lines: Sequence[OutputLine]) -> None:
        """Count lines of output and show the last one."""
        last = next((text for line in reversed(lines) if (text := line.text.strip())), "")
        self.update(self._number + len(lines), last)

    def update(self, number: int, words: str) -> None:
        self._number = max(number, self._number)
        self._words = words or self._words
        self._news.set()

    async def report_to(self, context: Context[Any, Any]) -> None:
        while True:
            await self._news.wait()
            self._news.clear()
            await context.report_progress(self._number, message=self._words[:_MESSAGE])
            await asyncio.sleep(PROGRESS_EVERY)

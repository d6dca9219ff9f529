"""What the servers share that run a project's own commands.

Which one, whether it may run, one at a time, telling how far it is, and ending it.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeAlias, TypeVar

from anyio import CancelScope
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import CallToolResult, TextContent, ToolAnnotations
from pydantic import BaseModel, Field

from tideate_core.errors import CommandError, ConfigError
from tideate_core.mcp.servers.locking import acquire, open_lock

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from pathlib import Path

    from mcp.server.mcpserver import Context

    from tideate_core.config import Verify
    from tideate_core.toolchain import Check, ProjectTrust, Tool

__all__ = [
    "LOOKING",
    "RUNNING",
    "Chosen",
    "Cursor",
    "Timeout",
    "answered",
    "choose",
    "followed",
    "one_at_a_time",
    "refusal",
    "require",
]

PAGE: Final = 20_000
"""Characters of output in one answer."""
PATIENCE: float = 4.0
"""Seconds that a call waits for the one before it: as long as one that was cancelled takes to end."""
TOLD_EVERY: Final = 0.2
"""Seconds between two notifications of progress."""
_MESSAGE: Final = 200
_OUTSIDE: Final = re.compile(r"(?<![\w./~-])/[^\s'\":,;]{1,500}")

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

LOOKING = ToolAnnotations(
    read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
# what a project's commands do is up to the project: they may well write files, or use the network
RUNNING = ToolAnnotations(
    read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=True
)

T = TypeVar("T")

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Chosen:
    """The command of one of a project's checks, and what it runs in."""

    check: Check
    tool: Tool | None
    """None where there is none, or it is turned off."""
    off: bool
    configured: bool
    passed_over: bool
    """The project's own configuration, which is not trusted, names another one."""
    trusted: bool
    environment: dict[str, str]
    timeout_ms: int

    def limit(self, seconds: float | None) -> int:
        """Return the milliseconds that a run may take."""
        return self.timeout_ms if seconds is None else round(seconds * 1000)


async def choose(root: Path, check: Literal["tests", "build"]) -> Chosen:
    """Return the command of a check: the configured one, else the one detected.

    Asked anew for every call: the project, its configuration, and what is trusted may change meanwhile.

    :raises ToolError: the configuration, or what is trusted, cannot be read.
    """
    try:
        return await asyncio.to_thread(_choose, root, check)
    except ConfigError as error:
        raise refusal(error, root) from error


def _choose(root: Path, name: str) -> Chosen:
    from tideate_core.config import load
    from tideate_core.toolchain import (
        Check,
        ProjectTrust,
        declared_checks,
        select_tools,
        verification_environment,
    )

    config: Verify = load(root).config.verify
    check = Check(name)
    environment = verification_environment(root, config)
    tools = select_tools(root, config, environment)
    tool = tools.get(check)
    trust: ProjectTrust = ProjectTrust(root)
    configured = getattr(config, check.value) is not None
    return Chosen(
        check=check,
        tool=tool,
        off=check in tools and tool is None,
        configured=configured,
        passed_over=not configured and check.value in declared_checks(root),
        trusted=tool is not None and trust.allows(tool),
        environment=environment,
        timeout_ms=round(config.timeout * 1000),
    )


def require(chosen: Chosen) -> Tool:
    """Return the command, if it may run.

    :raises ToolError: there is none, or the person has not said that it may run.
    """
    from tideate_core.toolchain import untrusted

    if chosen.passed_over:
        raise ToolError(
            f"the project's .tideate/config.toml says how (verify.{chosen.check}) and is not trusted, so "
            "nothing is run: read it, then run `tideate trust` or `:Workflow trust`"
        )
    if chosen.off:
        raise ToolError(f'verify.{chosen.check} is "off" in the configuration: this project has none')
    if chosen.tool is None:
        raise ToolError(
            f"nothing in the project says how; a person can set verify.{chosen.check} in "
            '.tideate/config.toml to a command, as ["make", "test"], and trust it'
        )
    if not chosen.trusted:
        raise ToolError(untrusted(chosen.tool))
    return chosen.tool


def refusal(error: CommandError | ConfigError, root: Path) -> ToolError:
    """Return an error of ours as one of a tool; no path outside the root is in it."""

    def shown(found: re.Match[str]) -> str:
        path = found[0]
        return path if path == str(root) or path.startswith(f"{root}/") else "(a path outside)"

    return ToolError(_OUTSIDE.sub(shown, str(error)))


@asynccontextmanager
async def one_at_a_time(root: Path, name: str, what: str) -> AsyncIterator[None]:
    """Hold the right to run something in a root, which one call of all servers has at a time.

    A call waits for one that is just ending, not for one that goes on.

    :param name: of the server, whose private folder has the lock.
    :param what: that goes on, for a message.
    :raises ToolError: another call has it, or the lock cannot be made.
    """
    descriptor = await asyncio.to_thread(_open, root, name)
    try:
        busy = f"{what} is going on in this project; call again when it has ended, or cancel it"
        await acquire(descriptor, PATIENCE, busy)
        yield
    finally:
        os.close(descriptor)  # gives the lock back


def _open(root: Path, name: str) -> int:
    try:
        return open_lock(root, name)
    except ConfigError as error:
        raise refusal(error, root) from error


async def followed(
    context: Context[Any, Any], root: Path, work: Callable[[Callable[[int, str], None]], Awaitable[T]]
) -> T:
    """Do what takes a while, and tell the client how far it is.

    A cancellation is told to it once, and it is waited for: what it started must be gone before this raises.

    :param work: is given what it calls with a number that grows and with words.
    :raises ToolError: its command cannot be run, or what it has to write cannot be written.
    """
    progress = _Progress()
    task = asyncio.ensure_future(work(progress.take))
    teller = asyncio.ensure_future(progress.tell(context))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        task.cancel()
        with CancelScope(shield=True):
            await asyncio.wait([task])
        if not task.cancelled() and (error := task.exception()):
            log.info("ended while it was cancelled: %s", error)
        raise
    except (CommandError, ConfigError) as error:
        raise refusal(error, root) from error
    finally:
        teller.cancel()
        with CancelScope(shield=True):
            await asyncio.wait([teller])
        if not teller.cancelled() and (untold := teller.exception()):
            log.info("the client could not be told of the progress: %s", untold)


class _Progress:
    """What is to be told next; what came meanwhile is told with it."""

    def __init__(self) -> None:
        self._number = 0
        self._words = ""
        self._news = asyncio.Event()

    def take(self, number: int, words: str) -> None:
        self._number = max(number, self._number)
        self._words = words or self._words
        self._news.set()

    async def tell(self, context: Context[Any, Any]) -> None:
        while True:
            await self._news.wait()
            self._news.clear()
            await context.report_progress(self._number, message=self._words[:_MESSAGE])
            await asyncio.sleep(TOLD_EVERY)


def answered(shape: BaseModel, text: str, *, error: bool = False) -> CallToolResult:
    """Return an answer with a text beside it."""
    return CallToolResult(
        content=[TextContent(text=text)],
        structured_content=shape.model_dump(by_alias=True, mode="json"),
        is_error=error,
    )

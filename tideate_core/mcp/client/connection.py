"""One open session with an MCP server, held by its own task: opens, lists tools, calls one, closes."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any, Final

import mcp.client.session
import mcp_types as types
from mcp.client.client import Client
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from tideate_core import __version__
from tideate_core.errors import (
    InvalidAnswer,
    ServerUnavailable,
    SessionExpired,
    TideateError,
    ToolError,
    ToolFailed,
    ToolInterrupted,
    ToolTimedOut,
)
from tideate_core.mcp.client.results import result_of, tool_of, translate
from tideate_core.mcp.client.server_text import is_tool_name, quoted, short_line
from tideate_core.mcp.client.stdio import ErrorOutput
from tideate_core.mcp.client.transports import ConnectionMonitor, open_transport
from tideate_core.mcp.protocol import MessageValidator

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from tideate_core.mcp.client.specs import ServerSpec
    from tideate_core.mcp.client.tools import Tool, ToolResult

    OnProgress = Callable[[float, float | None, str | None], None]
    """Called with progress, total and description of a call."""

log = logging.getLogger(__name__)

START: Final = 30.0
"""Seconds for a server to answer the handshake; some servers are downloaded first."""
PROBE: Final = 2.5
"""Seconds for a server to answer the newest protocol's first request before the older handshake.

The SDK waits 10 s. A newer server that starts slowly rejects the older request and is asked again.
"""
CLOSE: Final = 8.0
"""Seconds to close; transports end an unresponsive program within less."""
LIST: Final = 30.0
"""Seconds to list all tools."""
MOST_TOOLS: Final = 1000
LARGEST_LIST: Final = 4 * 1024 * 1024
"""Characters of all tool descriptions and schemas."""
LONGEST_ODD_NAME: Final = 200
"""Characters of an invalid name in a message."""
MOST_PAGES: Final = 100
STDERR_SHOWN: Final = 5
"""Lines of a server's standard error in an error message."""


class Connection:
    """Connection to one server; once ended, it is never reopened.

    :param strict: validate each message in both directions.
    """

    def __init__(self, spec: ServerSpec, *, strict: bool = False) -> None:
        self.spec = spec
        self.version = ""
        """The negotiated protocol version."""
        self._monitor = ConnectionMonitor(MessageValidator() if strict else None)
        self._stderr = ErrorOutput(spec.name)
        self._client: Client | None = None
        self._tools: dict[str, Tool] | None = None
        self._ready: asyncio.Future[None] | None = None
        self._task: asyncio.Task[None] | None = None

    @property
    def left_out(self) -> dict[str, str]:
        """Listed tools that cannot be used, with the reasons."""
        return self._monitor.left_out

    @property
    def alive(self) -> bool:
        return self._client is not None and not self._monitor.ended.is_set()

    async def open(self) -> None:
        """Start the server or connect to it.

        :raises ServerUnavailable: there was no valid answer; the message has the server's last lines.
        :raises TideateError: the program or token is missing.
        """
        self._ready = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._hold_open(self._ready), name=f"MCP server {self.spec.name}")
        try:
            async with self._monitor.answered_within(START):
                await asyncio.shield(self._ready)
        except BaseException as error:
            why = self._invalid_line_note() or f"no answer within {START:.0f} s of its start"
            await self.close()
            if isinstance(error, ToolInterrupted):
                why = "it ended before it answered"
            elif isinstance(error, ServerUnavailable | ToolFailed | InvalidAnswer | ToolTimedOut):
                why = str(error).partition(": ")[2]
            elif not isinstance(error, TimeoutError):
                raise
            raise self._unavailable(why) from error

    async def close(self) -> None:
        """End the connection within a time limit; a started program leaves no process behind."""
        task = self._task
        if task is None:
            return
        self._monitor.ended.set()
        if self._client is None:
            task.cancel()  # the task is waiting for an answer
        done, _ = await asyncio.wait({task}, timeout=CLOSE)
        if not done:
            task.cancel()
            await asyncio.wait({task}, timeout=CLOSE)
        if self._ready is not None and self._ready.done() and not self._ready.cancelled():
            self._ready.exception()  # mark as retrieved: no caller waits any longer

    async def tools(self, *, fresh: bool = False) -> dict[str, Tool]:
        """Return the tools by name; they are listed again after the server reported a change.

        :param fresh: list them again in any case.
        :raises ToolError: they cannot be listed.
        """
        if self._tools is None or fresh:
            self._tools = await self._list_in_time()
        return self._tools

    async def call(
        self,
        tool: Tool,
        arguments: Mapping[str, Any],
        *,
        timeout: float,  # noqa: ASYNC109 the caller's own limit, told in the error
        on_progress: OnProgress | None = None,
    ) -> ToolResult:
        """Call a tool; cancelling the task cancels the call.

        :param timeout: seconds.
        :raises ToolInterrupted: the connection ended during the call.
        :raises ToolTimedOut: the call timed out and was cancelled.
        :raises ToolFailed: the tool reported an error.
        :raises ToolError: the answer is unusable.
        """

        async def tell(progress: float, total: float | None, message: str | None) -> None:
            if on_progress is not None:
                on_progress(progress, total, None if message is None else short_line(message, 200))

        try:
            async with asyncio.timeout(timeout):
                client = self._require_client()
                answer = await self._translating(
                    client.call_tool(
                        tool.name, dict(arguments), progress_callback=tell if on_progress else None
                    )
                )
        except TimeoutError:
            raise ToolTimedOut(
                f"{tool.name!r} of the MCP server {self.spec.name!r} gave no answer within {timeout:g} s "
                f"and was cancelled; {self._invalid_line_note() or '`timeout` allows it more'}"
            ) from None
        return result_of(tool, answer)

    async def _hold_open(self, ready: asyncio.Future[None]) -> None:
        """Hold the connection open in one task, as the SDK's scopes require."""
        try:
            transport = open_transport(self.spec, self._stderr, self._monitor)
            info = types.Implementation(name="tideate", version=__version__)
            # the SDK's client has no option for this
            mcp.client.session.DISCOVER_TIMEOUT_SECONDS = PROBE
            async with Client(
                transport, client_info=info, message_handler=self._on_message, cache=None
            ) as client:
                _require_capabilities(self.spec, client)
                self._client, self.version = client, client.protocol_version
                self._monitor.version = self.version
                # the SDK validates results against the server's schemas without limits; `result_of` does it
                client.session.validate_tool_result = _accept_result  # type: ignore[method-assign]
                listening = asyncio.create_task(
                    self._follow_tool_changes(client), name=f"changes of {self.spec.name}"
                )
                ready.set_result(None)
                try:
                    await self._monitor.ended.wait()
                finally:
                    listening.cancel()
                    await asyncio.wait({listening})
        except Exception as error:  # noqa: BLE001 told to whoever waits, or when nobody does, to the log
            if not ready.done():
                ready.set_exception(self._failure_of(error))
            else:
                log.info("MCP server %s: the connection ended: %s", self.spec.name, quoted(str(error)))
        finally:
            self._monitor.ended.set()
            self._client = None

    def _failure_of(self, error: Exception) -> Exception:
        try:
            if self._monitor.failure is not None:
                return InvalidAnswer(f"MCP server {self.spec.name!r}: {quoted(str(self._monitor.failure))}")
            return translate(error, self.spec.name, self._monitor.secret)
        except Exception as mistake:  # noqa: BLE001 of ours; whoever waits is to see it
            return mistake

    async def _on_message(self, message: Any) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            self._tools = None

    async def _follow_tool_changes(self, client: Client) -> None:
        """Subscribe to changes of the tools, as the newest protocol requires."""
        able = client.server_capabilities.tools
        if client.protocol_version not in MODERN_PROTOCOL_VERSIONS or not (able and able.list_changed):
            return
        try:
            async with client.listen(tools_list_changed=True) as changes:
                async for _ in changes:
                    self._tools = None
        except Exception as error:  # noqa: BLE001 translated, or ours and raised
            log.info("MCP server %s: %s", self.spec.name, translate(error, self.spec.name))

    async def _list_in_time(self) -> dict[str, Tool]:
        """:raises ToolError: they cannot be listed."""
        try:
            async with self._monitor.answered_within(LIST):
                found: dict[str, Tool] = await self._translating(self._list())
        except TimeoutError:
            raise ToolTimedOut(
                f"the MCP server {self.spec.name!r} did not list its tools: "
                f"{self._invalid_line_note() or f'no answer within {LIST:.0f} s'}"
            ) from None
        return found

    async def _list(self) -> dict[str, Tool]:
        client = self._require_client()
        found: dict[str, Tool] = {}
        self._monitor.left_out.clear()
        cursor: str | None = None
        for _ in range(MOST_PAGES):
            page = await client.list_tools(cursor=cursor)
            for tool in page.tools:
                self._add(tool, found)
            if len(found) > MOST_TOOLS or sum(tool.size for tool in found.values()) > LARGEST_LIST:
                much = f"more than {MOST_TOOLS} tools, or with more than {LARGEST_LIST // 1024} KiB"
                raise InvalidAnswer(f"MCP server {self.spec.name!r} lists {much}")
            cursor = page.next_cursor
            if not cursor:
                return found
        raise InvalidAnswer(f"MCP server {self.spec.name!r} lists its tools on more than {MOST_PAGES} pages")

    def _add(self, listed: types.Tool, found: dict[str, Tool]) -> None:
        """Add a listed tool, unless it is invalid or ambiguous."""
        name = listed.name
        if not is_tool_name(name) or name in found:
            why = "listed twice" if name in found else "its name has invalid characters"
            self._leave_out(name, why)
            return
        try:
            found[name] = tool_of(self.spec, listed)
        except InvalidAnswer as error:
            self._leave_out(name, str(error).partition(": ")[2])

    def _leave_out(self, name: str, why: str) -> None:
        shown = name if is_tool_name(name) else repr(name[:LONGEST_ODD_NAME])
        if len(self._monitor.left_out) < MOST_TOOLS:
            self._monitor.left_out[shown] = why
        log.warning("MCP server %s: the tool %s is left out: %s", self.spec.name, shown, why)

    def _require_client(self) -> Client:
        if self._client is None:
            raise self._interrupted()
        return self._client

    async def _translating(self, work: Awaitable[Any]) -> Any:
        """Await a call of the SDK and translate its errors.

        :raises ToolError: the call failed.
        """
        try:
            return await work
        except TideateError:
            raise
        except Exception as error:
            if isinstance(error, TimeoutError):
                raise
            ended = self._monitor.ended.is_set()
            told = (
                self._failure_of(error) if ended else translate(error, self.spec.name, self._monitor.secret)
            )
            if isinstance(told, SessionExpired):
                self._monitor.ended.set()
            elif isinstance(told, ToolInterrupted):
                self._monitor.ended.set()
                raise self._interrupted() from error
            raise told from error

    def _interrupted(self) -> ToolInterrupted:
        return ToolInterrupted(
            f"the connection to the MCP server {self.spec.name!r} ended before the answer came"
            f"{self._stderr_tail()}"
        )

    def _unavailable(self, why: str) -> ServerUnavailable:
        what = self.spec.shown if not self.spec.own else "tideate's own server"
        return ServerUnavailable(f"MCP server {self.spec.name!r} ({what}): {why}{self._stderr_tail()}")

    def _invalid_line_note(self) -> str:
        """Describe a non-protocol line that the server wrote instead of an answer; empty if there is none."""
        line = self._monitor.invalid_line.decode("utf-8", "replace")
        shown = short_line(line, LONGEST_ODD_NAME)
        return f"it wrote lines that are not messages of MCP, as {shown!r}" if line else ""

    def _stderr_tail(self) -> str:
        lines = self._stderr.lines(STDERR_SHOWN)
        return f"; it wrote: {' | '.join(lines)}" if lines else ""


async def _accept_result(name: str, result: types.CallToolResult) -> None:
    pass


def _require_capabilities(spec: ServerSpec, client: Client) -> None:
    """:raises ToolError: the server lacks a capability that the configuration requires."""
    offered = sorted(client.server_capabilities.model_dump(exclude_none=True))
    if missing := [name for name in spec.capabilities if name not in offered]:
        raise ToolError(
            f"MCP server {spec.name!r} does not offer {', '.join(missing)}, which `capabilities` requires "
            f"(it offers: {', '.join(offered) or 'nothing'})"
        )

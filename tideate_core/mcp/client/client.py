"""`MCPClient`: all configured servers of a project by name; their status, permitted tools and calls."""

from __future__ import annotations

import asyncio
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Self

from tideate_core.errors import (
    InvalidAnswer,
    ServerNotTrusted,
    SessionExpired,
    ToolInterrupted,
    ToolNotPermitted,
    UnknownServer,
    UnknownTool,
)
from tideate_core.mcp.client.specs import servers_of
from tideate_core.mcp.client.supervisor import Supervisor
from tideate_core.mcp.client.tools import ToolPermissions, check_arguments

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from tideate_core.config import LoadedConfig
    from tideate_core.mcp.client.connection import Connection
    from tideate_core.mcp.client.specs import ServerSpec
    from tideate_core.mcp.client.supervisor import ServerState
    from tideate_core.mcp.client.tools import Tool, ToolResult

    OnProgress = Callable[[float, float | None, str | None], None]


@dataclass(frozen=True, slots=True)
class ConnectedServer:
    """Event of a new connection to a server."""

    server: str
    transport: str
    protocol: str

    def as_json(self) -> dict[str, str]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """State of one configured server."""

    name: str
    state: ServerState
    transport: str
    shown: str
    own: bool
    error: str = ""

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


class MCPClient:
    """Client of a project's servers; connections open on first use and stay open until `aclose`.

    :param untrusted: names of servers that only untrusted files define.
    :param permissions: the person's permissions in this project.
    :param strict: validate every message against the protocol.
    """

    def __init__(
        self,
        servers: Iterable[ServerSpec],
        *,
        permissions: ToolPermissions,
        untrusted: Iterable[str] = (),
        strict: bool = False,
    ) -> None:
        self.permissions = permissions
        self.untrusted = sorted(untrusted)
        """Names of servers that wait for trust."""
        self._listeners: list[Callable[[ConnectedServer], None]] = []
        self._servers = {spec.name: Supervisor(spec, self._connected, strict=strict) for spec in servers}

    @classmethod
    def of_project(
        cls, root: Path, loaded: LoadedConfig, *, project: bool = True, strict: bool = False
    ) -> Self:
        """Create the client of a project: tideate's own servers and the configured ones.

        :param project: False if `root` is a working directory outside any project.
        """
        return cls(
            servers_of(loaded.config.mcp, root, own=project),
            permissions=ToolPermissions(root),
            untrusted=loaded.untrusted_servers,
            strict=strict or loaded.config.mcp.strict,
        )

    @property
    def names(self) -> list[str]:
        return sorted(self._servers)

    def status(self) -> list[ServerStatus]:
        """Return the state of every server, without starting any."""
        return [
            ServerStatus(
                name,
                supervisor.state,
                supervisor.spec.transport,
                supervisor.spec.shown,
                supervisor.spec.own,
                supervisor.error,
            )
            for name, supervisor in sorted(self._servers.items())
        ]

    def on_connected(self, listener: Callable[[ConnectedServer], None]) -> Callable[[], None]:
        """Call a function on every new connection; return a function that stops this."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    async def tools(self, server: str) -> list[Tool]:
        """Return the permitted tools of a server, which is started if needed.

        :raises UnknownServer: there is no server of this name.
        :raises ServerNotTrusted: the server waits for trust.
        :raises ToolError: the server cannot be reached or does not answer.
        """
        spec, known = self._supervisor(server).spec, await self._tools(server)
        return [tool for name, tool in known.items() if spec.permits(name)]

    async def tool(self, server: str, name: str) -> Tool:
        """Return a tool by its name.

        :raises UnknownTool: the server has no such tool; the nearest name is given.
        :raises ToolNotPermitted: `permissions` in the configuration excludes the tool.
        :raises ToolError: as of `tools`.
        """
        spec = self._supervisor(server).spec
        for fresh in (False, True):  # a server need not announce new tools
            known = await self._tools(server, fresh=fresh)
            # `git/commit` stands for `git_commit`
            found = known.get(name) or known.get(name.replace("/", "_"))
            if found is not None and not spec.permits(found.name):
                raise ToolNotPermitted(
                    f"{found.name!r} of the MCP server {server!r} is not among `permissions` in "
                    f"[mcp.servers.{server}]; nothing was sent"
                )
            if found is not None:
                return found
        if why := (await self._supervisor(server).connection()).left_out.get(name):
            raise InvalidAnswer(f"the tool {name!r} of the MCP server {server!r} cannot be used: {why}")
        raise UnknownTool(server, name, filter(spec.permits, known))

    async def left_out(self, server: str) -> dict[str, str]:
        """Return the listed tools that cannot be used, with the reasons.

        :raises ToolError: as of `tools`.
        """
        await self._tools(server)
        return dict((await self._supervisor(server).connection()).left_out)

    async def call(
        self,
        server: str,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        permitted: Tool | None = None,
        timeout: float | None = None,  # noqa: ASYNC109 sent on to where it is told in the error
        on_progress: OnProgress | None = None,
    ) -> ToolResult:
        """Call a tool, without asking for permission, which a step does.

        If the server dies during the call, a repeatable call is retried once on a restarted server. A call
        refused
        because the session had expired is retried once in a new session.

        :param permitted: the tool as it was permitted; None if no permission was asked for.
        :param timeout: seconds; None for the server's default.
        :raises ToolNotPermitted: the tool has changed since it was permitted; nothing was sent.
        :raises InvalidArguments: the arguments do not match the tool's schema; nothing was sent.
        :raises ToolInterrupted: the server died; the effect of the call is unknown.
        :raises ToolTimedOut: the call timed out and was cancelled.
        :raises ToolFailed: the tool reported an error.
        :raises ToolError: as of `tool`, or the answer is unusable.
        """
        tool = await self._unchanged_tool(server, name, permitted)
        check_arguments(tool, arguments or {})
        supervisor = self._supervisor(server)
        limit = supervisor.spec.timeout if timeout is None else timeout
        try:
            return await self._call_once(supervisor, tool, arguments or {}, limit, on_progress)
        except ToolInterrupted as error:
            # a refused call had no effect
            if not (tool.repeatable or isinstance(error, SessionExpired)):
                raise
        # the restarted server may describe another tool
        tool = await self._unchanged_tool(server, name, tool)
        return await self._call_once(supervisor, tool, arguments or {}, limit, on_progress)

    execute_tool = call

    async def aclose(self) -> None:
        """End all servers concurrently, within a time limit."""
        await asyncio.gather(*(supervisor.close() for supervisor in self._servers.values()))

    async def _unchanged_tool(self, server: str, name: str, permitted: Tool | None) -> Tool:
        tool = await self.tool(server, name)
        if permitted is not None and permitted.digest != tool.digest:
            raise ToolNotPermitted(
                f"the MCP server {server!r} describes {tool.name!r} otherwise than when the call was "
                "permitted; nothing was sent"
            )
        return tool

    async def _call_once(
        self,
        supervisor: Supervisor,
        tool: Tool,
        arguments: Mapping[str, Any],
        limit: float,
        on_progress: OnProgress | None,
    ) -> ToolResult:
        connection = await supervisor.connection()
        result = await connection.call(tool, arguments, timeout=limit, on_progress=on_progress)
        supervisor.answered()
        return result

    async def _tools(self, server: str, *, fresh: bool = False) -> dict[str, Tool]:
        supervisor = self._supervisor(server)
        try:
            return await (await supervisor.connection()).tools(fresh=fresh)
        except ToolInterrupted:
            return await (await supervisor.connection()).tools()  # the server had died since its last use

    def _supervisor(self, server: str) -> Supervisor:
        known = self._servers.get(server)
        if known is not None:
            return known
        if server in self.untrusted:
            raise ServerNotTrusted(
                f"the MCP server {server!r} comes from this project's .tideate/config.toml, which is not "
                "trusted, so it was not started; read the file, then run :Workflow trust or `tideate trust`"
            )
        raise UnknownServer(server, self._servers)

    def _connected(self, spec: ServerSpec, connection: Connection) -> None:
        told = ConnectedServer(spec.name, spec.transport, connection.version)
        for listener in list(self._listeners):
            listener(told)

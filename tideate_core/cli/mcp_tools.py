"""`tideate mcp tools`: the MCP servers of a project, and the tools of one of them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from tideate_core.cli.exits import DONE, FAILED, USAGE
from tideate_core.cli.output import fail, print_json, results, tell, visible
from tideate_core.cli.wiring import log_to_file, open_project
from tideate_core.errors import ConfigError, TideateError, UnknownServer
from tideate_core.mcp.client import MCPClient, ToolPermissions, server_at

if TYPE_CHECKING:
    from tideate_core.cli.wiring import Project
    from tideate_core.mcp.client import Tool

__all__ = ["client_at", "client_of", "tools"]

ADDRESSES = ("http://", "https://", "ws://", "wss://")


def tools(name: str | None, root: str | None, *, token_env: str | None, strict: bool, as_json: bool) -> int:
    """Print the servers, or the tools of the one that is named; returns the exit status."""
    try:
        project = open_project(root)
        log_to_file()  # before the SDK is used: it would log to the terminal
        if name is None:
            _print_servers(client_of(project), as_json=as_json)
            return DONE
        return asyncio.run(
            _print_tools(client_at(project, name, token_env, strict=strict), name, as_json=as_json)
        )
    except TideateError as error:
        fail(error, as_json=as_json)
        return USAGE if isinstance(error, ConfigError | UnknownServer) else FAILED


def client_of(project: Project, *, strict: bool = False) -> MCPClient:
    """Return the client of a project; outside of any it has only the servers of the configuration."""
    in_project = project.root is not None
    return MCPClient.of_project(project.directory, project.loaded, project=in_project, strict=strict)


def client_at(project: Project, name: str, token_env: str | None, *, strict: bool = False) -> MCPClient:
    """Return the client that has the server of a name, or the one at an address.

    :raises ConfigError: the address cannot be used, or there is a token for what is none.
    """
    if name.startswith(ADDRESSES):
        return _at(project, name, token_env, strict=strict)
    if token_env is not None:
        raise ConfigError(f"--token-env is for a URL; of {name!r} the configuration says where its token is")
    return client_of(project, strict=strict)


async def _print_tools(client: MCPClient, name: str, *, as_json: bool) -> int:
    try:
        found = await client.tools(name)
        allowed = {tool.name: client.permissions.allows(tool) for tool in found}
    finally:
        await client.aclose()
    if as_json:
        shapes = [{**tool.as_json(), "allowed": allowed[tool.name]} for tool in found]
        print_json({"ok": True, "server": name, "tools": shapes})
    else:
        _print_list(found, allowed)
    return DONE


def _at(project: Project, url: str, token_env: str | None, *, strict: bool) -> MCPClient:
    try:
        spec = server_at(url, project.directory, token_env=token_env)
    except ValueError as error:
        raise ConfigError(f"{url!r} cannot be used: {_why(error)}") from error
    return MCPClient([spec], permissions=ToolPermissions(project.directory), strict=strict)


def _why(error: ValueError) -> str:
    from pydantic import ValidationError

    if not isinstance(error, ValidationError):
        return str(error)
    return "; ".join(detail["msg"].removeprefix("Value error, ") for detail in error.errors())


def _print_list(found: list[Tool], allowed: dict[str, bool]) -> None:
    """Print a paragraph for each tool: a table would leave its description a few letters of each line."""
    out = results()
    for tool in found:
        does = "reads" if tool.read_only else "writes, may destroy" if tool.destructive else "writes"
        asks = ("", "") if allowed[tool.name] else ("  asks", "yellow")
        tell(out, Text.assemble((visible(tool.name), "bold"), f"  {does}", asks))
        if said := " ".join((tool.description or tool.title).split()):
            tell(out, Text(f"  {visible(said)}"))
        if arguments := _arguments(tool):
            tell(out, Text(f"  {visible(arguments)}", style="dim"))


def _arguments(tool: Tool) -> str:
    return ", ".join(name if name in tool.required else f"[{name}]" for name in tool.properties)


def _print_servers(client: MCPClient, *, as_json: bool) -> None:
    if as_json:
        shapes = [one.as_json() for one in client.status()]
        print_json({"ok": True, "servers": shapes, "untrusted": client.untrusted})
        return
    rows = _table("server", "by", "is")
    for one in client.status():
        rows.add_row(Text(visible(one.name), style="bold"), one.transport, Text(visible(one.shown)))
    for name in client.untrusted:
        rows.add_row(
            Text(visible(name), style="bold"), "", Text("not trusted; `tideate trust`", style="yellow")
        )
    results().print(rows)


def _table(*names: str) -> Table:
    rows = Table(box=None, header_style="dim", padding=(0, 2, 0, 0))
    for name in names:
        rows.add_column(name, overflow="fold", no_wrap=name in ("tool", "server"))
    return rows

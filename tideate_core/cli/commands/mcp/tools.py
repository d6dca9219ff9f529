"""`tideate mcp tools`: list the MCP servers of a project, or the tools of one server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from rich.table import Table
from rich.text import Text

from tideate_core.app import Project, open_project
from tideate_core.cli.arguments import Json, Root
from tideate_core.cli.process import DONE, FAILED, USAGE, log_to_file, run_async
from tideate_core.cli.render.output import fail, note, print_json, results, tell
from tideate_core.errors import ConfigError, TideateError, UnknownServer
from tideate_core.util.escaping import visible

if TYPE_CHECKING:
    from cyclopts.completion import CompletionContext

    from tideate_core.mcp.client import MCPClient, Tool

ADDRESSES = ("http://", "https://", "ws://", "wss://")


def complete_servers(context: CompletionContext) -> list[str]:
    """Complete the names of the configured servers."""
    return client_of(open_project(None)).names


TokenEnv = Annotated[
    str | None,
    Parameter(name="--token-env", metavar="VARIABLE", help="For a URL: variable with its bearer token."),
]
Strict = Annotated[
    bool,
    Parameter(
        name="--strict",
        help="Check every message against the protocol's schema, and name invalid fields.",
    ),
]


def tools(
    name: Annotated[
        str | None,
        Parameter(
            metavar="NAME|URL",
            help="A configured server, or its address. Default: list them.",
            completer=complete_servers,
        ),
    ] = None,
    /,
    *,
    token_env: TokenEnv = None,
    strict: Strict = False,
    json: Json = False,
    root: Root = None,
) -> int:
    """Print the servers, or the tools of one server; return the exit status."""
    try:
        project = open_project(root)
        log_to_file()  # before the SDK is used: it would log to the terminal
        if name is None:
            _print_servers(client_of(project), as_json=json)
            return DONE
        return run_async(_print_tools(client_at(project, name, token_env, strict=strict), name, as_json=json))
    except TideateError as error:
        fail(error, as_json=json)
        return USAGE if isinstance(error, ConfigError | UnknownServer) else FAILED


def client_of(project: Project, *, strict: bool = False) -> MCPClient:
    """Create the client of a project; outside of one, it has only the configured servers."""
    from tideate_core.mcp.client import MCPClient

    in_project = project.root is not None
    return MCPClient.of_project(project.directory, project.loaded, project=in_project, strict=strict)


def client_at(project: Project, name: str, token_env: str | None, *, strict: bool = False) -> MCPClient:
    """Create a client for a configured server or for an address.

    :raises ConfigError: the address is invalid, or a token is given for a configured server.
    """
    if name.startswith(ADDRESSES):
        return _at(project, name, token_env, strict=strict)
    if token_env is not None:
        raise ConfigError(f"--token-env can only be used with a URL; the token of {name!r} is configured")
    return client_of(project, strict=strict)


async def _print_tools(client: MCPClient, name: str, *, as_json: bool) -> int:
    try:
        found = await client.tools(name)
        allowed = {tool.name: client.permissions.allows(tool) for tool in found}
        left_out = await client.left_out(name)
    finally:
        await client.aclose()
    if as_json:
        shapes = [{**tool.as_json(), "allowed": allowed[tool.name]} for tool in found]
        print_json({"ok": True, "server": name, "tools": shapes, "left_out": left_out})
    else:
        _print_list(found, allowed)
        for tool, why in left_out.items():
            note(f"{visible(tool)} cannot be used: {why}")
        if not found:
            note(f"{name} has no tool that may be used; see `permissions` in [mcp.servers.{name}]")
    return DONE


def _at(project: Project, url: str, token_env: str | None, *, strict: bool) -> MCPClient:
    from tideate_core.mcp.client import MCPClient, ToolPermissions, server_at

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
    """Print a paragraph for each tool: descriptions are too long for a table."""
    out = results()
    for tool in found:
        does = "reads" if tool.read_only else "writes, may destroy" if tool.destructive else "writes"
        asks = ("", "") if allowed[tool.name] else ("  asks", "yellow")
        tell(out, Text.assemble((visible(tool.name), "bold"), f"  {does}", asks))
        if said := " ".join((tool.description or tool.title).split()):
            tell(out, Text(f"  {visible(said)}"))
        names = (name if name in tool.required else f"[{name}]" for name in tool.properties)
        if arguments := ", ".join(names):
            tell(out, Text(f"  {visible(arguments)}", style="dim"))


def _print_servers(client: MCPClient, *, as_json: bool) -> None:
    if as_json:
        shapes = [one.as_json() for one in client.status()]
        print_json({"ok": True, "servers": shapes, "untrusted": client.untrusted})
        return
    rows = Table(box=None, header_style="dim", padding=(0, 2, 0, 0))
    for name in ("server", "transport", "state"):
        rows.add_column(name, overflow="fold", no_wrap=name == "server")
    for one in client.status():
        rows.add_row(Text(visible(one.name), style="bold"), one.transport, Text(visible(one.shown)))
    for name in client.untrusted:
        rows.add_row(
            Text(visible(name), style="bold"), "", Text("not trusted; `tideate trust`", style="yellow")
        )
    results().print(rows)

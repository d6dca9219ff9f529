"""The arguments of `tideate mcp tools`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from tideate_core.cli.arguments import Json, Root  # noqa: TC001 read when the command is added

if TYPE_CHECKING:
    from cyclopts import App

__all__ = ["add_to"]


def add_to(app: App) -> None:
    """Add the commands that use servers to `tideate mcp`."""
    app.command(tools, usage="tideate mcp tools [OPTIONS] [NAME|URL]")


def tools(
    name: Annotated[
        str | None,
        Parameter(
            metavar="NAME|URL", help="A server of the configuration, or its address. Default: list them."
        ),
    ] = None,
    /,
    *,
    token_env: Annotated[
        str | None,
        Parameter(name="--token-env", metavar="VARIABLE", help="For a URL: where its bearer token is."),
    ] = None,
    json: Json = False,
    root: Root = None,
) -> int:
    """List the MCP servers of a project, or start one and list its tools."""
    from tideate_core.cli.mcp_tools import tools as command

    return command(name, root, token_env=token_env, as_json=json)

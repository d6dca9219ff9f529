"""The arguments of `tideate mcp tools` and `tideate mcp call`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter, validators

from tideate_core.cli.arguments import Json, Root  # noqa: TC001 read when the command is added

if TYPE_CHECKING:
    from cyclopts import App
    from cyclopts.completion import CompletionContext

__all__ = ["add_to"]


def add_to(app: App) -> None:
    """Add the commands that use servers to `tideate mcp`."""
    app.command(tools, usage="tideate mcp tools [OPTIONS] [NAME|URL]")
    app.command(call, usage="tideate mcp call [OPTIONS] NAME|URL TOOL [KEY=VALUE...]")


def _servers(context: CompletionContext) -> list[str]:
    """Return the names of the servers."""
    from tideate_core.cli.mcp_tools import client_of
    from tideate_core.cli.wiring import open_project

    return client_of(open_project(None)).names


TokenEnv = Annotated[
    str | None,
    Parameter(name="--token-env", metavar="VARIABLE", help="For a URL: where its bearer token is."),
]


Strict = Annotated[
    bool,
    Parameter(
        name="--strict",
        help="Hold every message against the protocol's schema; the field that is wrong is named.",
    ),
]


def tools(
    name: Annotated[
        str | None,
        Parameter(
            metavar="NAME|URL",
            help="A server of the configuration, or its address. Default: list them.",
            completer=_servers,
        ),
    ] = None,
    /,
    *,
    token_env: TokenEnv = None,
    strict: Strict = False,
    json: Json = False,
    root: Root = None,
) -> int:
    """List the MCP servers of a project, or start one and list its tools."""
    from tideate_core.cli.mcp_tools import tools as command

    return command(name, root, token_env=token_env, strict=strict, as_json=json)


def call(
    server: Annotated[
        str,
        Parameter(
            metavar="NAME|URL", help="A server of the configuration, or its address.", completer=_servers
        ),
    ],
    tool: Annotated[str, Parameter(metavar="TOOL", help="As `tideate mcp tools NAME` lists it.")],
    /,
    *arguments: Annotated[
        str, Parameter(help="KEY=VALUE: text as it is, everything else as JSON (3, true, [1]).")
    ],
    given: Annotated[
        str | None,
        Parameter(
            name="--arguments",
            metavar="JSON",
            help="Arguments as one object; - reads it from stdin.",
            allow_leading_hyphen=True,
        ),
    ] = None,
    yes: Annotated[
        bool | None,
        Parameter(name="--yes", negative="--no", help="Answer so where the call needs permission."),
    ] = None,
    timeout: Annotated[
        float | None,
        Parameter(
            name="--timeout",
            metavar="SECONDS",
            help="How long it may take. Default: as of the server.",
            validator=validators.Number(gt=0),
        ),
    ] = None,
    token_env: TokenEnv = None,
    strict: Strict = False,
    json: Json = False,
    root: Root = None,
) -> int:
    """Call a tool of an MCP server and print what it gives."""
    from tideate_core.cli.mcp_call import CallOptions
    from tideate_core.cli.mcp_call import call as command

    return command(
        CallOptions(
            server, tool, arguments, given, yes, timeout, token_env, strict=strict, as_json=json, root=root
        )
    )

"""Specifications of the configured MCP servers: command or address, token, limits, readiness."""

from __future__ import annotations

import json
import os
import shlex
import sys
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import tideate_core
from tideate_core.config import OWN_SERVERS, McpServerConfig
from tideate_core.errors import CommandError, ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tideate_core.config import LoadedConfig, McpConfig

LONG: Final = 3600.0
"""Seconds for a call of a server that runs the project's own commands."""
SHORT: Final = 120.0
TIMEOUTS: Final = {"build": LONG, "test": LONG}
TOKEN_TIMEOUT: Final = 60_000
"""Milliseconds for a token command; a password manager may ask the person to unlock it."""


@dataclass(frozen=True, slots=True)
class ServerSpec:
    """Command or address of a server, with its settings."""

    name: str
    cwd: Path
    command: tuple[str, ...] = ()
    url: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    inherit: tuple[str, ...] = ()
    token_env: str | None = None
    token_command: tuple[str, ...] = ()
    timeout: float = SHORT
    """Seconds for a call, by default."""
    own: bool = False
    """Whether it is one of tideate's own servers."""
    capabilities: tuple[str, ...] = ()
    """Capabilities that the server must offer."""
    permissions: tuple[str, ...] | None = None
    """Patterns of permitted tools; None permits all."""

    def permits(self, tool: str) -> bool:
        """Tell whether the configuration permits a tool."""
        return self.permissions is None or any(fnmatchcase(tool, one) for one in self.permissions)

    @property
    def transport(self) -> str:
        if self.command:
            return "stdio"
        return "websocket" if self.url.startswith("ws") else "http"

    @property
    def shown(self) -> str:
        """Description for a person."""
        return "tideate's own" if self.own else (shlex.join(self.command) or self.url)

    @property
    def identity(self) -> str:
        """Identity for permissions, independent of the interpreter's location."""
        if self.own:
            return f"tideate:{self.name}"
        more = json.dumps([sorted(self.environment.items()), sorted(self.inherit)])
        asks_more = bool(self.command and (self.environment or self.inherit))
        return "\0".join((*self.command, self.url, *([more] if asks_more else [])))


def own_servers(root: Path, configured: Mapping[str, McpServerConfig] | None = None) -> list[ServerSpec]:
    """Return the specifications of tideate's own servers for a project.

    :param configured: the configured servers, which may disable them or set their timeouts.
    """
    found = []
    for name in OWN_SERVERS:
        said = (configured or {}).get(name)
        if said is not None and not said.enabled:
            continue
        given = said is not None and "timeout" in said.model_fields_set
        timeout = said.timeout if said is not None and given else TIMEOUTS.get(name, SHORT)
        found.append(
            ServerSpec(
                name,
                root,
                # -P: never import modules from the project's directory
                (
                    *(sys.executable, "-P", "-m", "tideate_core.cli"),
                    *("mcp", "serve", name, "--root", str(root)),
                ),
                # an editor's host may not share the import path of this package with its interpreter
                environment={"PYTHONPATH": str(Path(tideate_core.__file__).resolve().parent.parent)},
                timeout=timeout,
                own=True,
                **_bounds(said),
            )
        )
    return found


def servers_of(mcp: McpConfig, root: Path, *, own: bool = True) -> list[ServerSpec]:
    """Return the specifications of a project's servers: tideate's own, then the configured ones.

    :param own: False outside a project, where tideate's own servers would serve any directory.
    """
    others = [
        ServerSpec(
            name,
            root,
            tuple(server.command or ()),
            server.url or "",
            dict(server.environment),
            tuple(server.inherit),
            server.token_env,
            tuple(server.token_command or ()),
            server.timeout,
            **_bounds(server),
        )
        for name, server in mcp.servers.items()
        if name not in OWN_SERVERS and server.enabled
    ]
    return [*(own_servers(root, mcp.servers) if own else ()), *others]


def server_at(url: str, cwd: Path, *, token_env: str | None = None) -> ServerSpec:
    """Return the specification of a server at an address.

    :raises ValueError: the address is invalid.
    """
    McpServerConfig(url=url, token_env=token_env)
    return ServerSpec(url, cwd, url=url, token_env=token_env)


def _bounds(server: McpServerConfig | None) -> dict[str, Any]:
    if server is None:
        return {}
    permissions = None if server.permissions is None else tuple(server.permissions)
    return {"capabilities": tuple(server.capabilities), "permissions": permissions}


@dataclass(frozen=True, slots=True)
class ServerReadiness:
    """Readiness of one server, determined without starting it."""

    name: str
    ready: bool
    message: str
    """The server's description, or the missing part and the remedy."""


def server_readiness(root: Path | None, loaded: LoadedConfig) -> Iterator[ServerReadiness]:
    """Yield the readiness of each server of a project.

    :param root: the project's root; None outside a project.
    """
    for spec in servers_of(loaded.config.mcp, root or Path.cwd(), own=root is not None):
        yield _readiness_of(spec, of_project=spec.name in loaded.project_servers)
    for name in loaded.untrusted_servers:
        message = "it comes from this project's .tideate/config.toml, which is not trusted; `tideate trust`"
        yield ServerReadiness(name, False, message)


def _readiness_of(spec: ServerSpec, *, of_project: bool) -> ServerReadiness:
    from tideate_core.process import find_program, make_environment

    whose = " (of this project, trusted)" if of_project else ""
    if spec.command and not spec.own:
        try:
            find_program(spec.command[0], spec.cwd, make_environment(spec.environment, spec.inherit))
        except CommandError as error:
            return ServerReadiness(spec.name, False, f"{error}{whose}")
    return ServerReadiness(spec.name, True, f"{spec.shown}{whose}")


async def token_of(spec: ServerSpec) -> str | None:
    """Return the token of a server, or None if it needs none.

    :raises ConfigError: the variable is not set, the command failed or printed nothing, or the token cannot
        be sent in a header.
    :raises CommandError: the command's program is missing.
    """
    if spec.token_env:
        where = f"${spec.token_env}"
        token = os.environ.get(spec.token_env, "").strip()
        wrong = "" if token else f"{where} is not set; export it before you start the editor or the shell"
    elif spec.token_command:
        from tideate_core.process import ProcessLimits, run_program

        where = f"`{spec.token_command[0]}`"
        # a password manager needs the person's full environment
        result = await run_program(
            spec.token_command,
            cwd=spec.cwd,
            environment=dict(os.environ),
            limits=ProcessLimits(timeout_ms=TOKEN_TIMEOUT),
        )
        token = result.stdout.text.strip().partition("\n")[0].strip()
        printed = "" if token else " and printed nothing"
        wrong = "" if result.ok and token else f"its token_command {where} {result.ending}{printed}"
    else:
        return None
    if not (token.isascii() and token.isprintable()):
        wrong = wrong or f"the token from {where} has characters that no header can carry"
    if wrong:
        raise ConfigError(f"MCP server {spec.name!r}: {wrong}")
    return token

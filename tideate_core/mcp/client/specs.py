"""Server specifications from the configuration: command or address, token, readiness."""

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

__all__ = [
    "ServerReadiness",
    "ServerSpec",
    "own_servers",
    "server_at",
    "server_readiness",
    "servers_of",
    "token_of",
]

LONG: Final = 3600.0
"""Seconds for a call of the servers whose tools run what a project runs."""
SHORT: Final = 120.0
TIMEOUTS: Final = {"build": LONG, "test": LONG}
TOKEN_TIMEOUT: Final = 60_000
"""Milliseconds for a token's command: a password manager may ask the person to unlock it."""


@dataclass(frozen=True, slots=True)
class ServerSpec:
    """Specification of a server: a command or an address."""

    name: str
    cwd: Path
    command: tuple[str, ...] = ()
    url: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    inherit: tuple[str, ...] = ()
    token_env: str | None = None
    token_command: tuple[str, ...] = ()
    timeout: float = SHORT
    """Seconds for a call that does not say."""
    own: bool = False
    """It is one of tideate's own, for this project."""
    capabilities: tuple[str, ...] = ()
    """What it has to offer."""
    permissions: tuple[str, ...] | None = None
    """Patterns of the tools that may be used; None: all."""

    def permits(self, tool: str) -> bool:
        """Tell whether the configuration lets a tool be used at all."""
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
        """Identity that a permission is bound to: the same server, wherever this one's interpreter lies."""
        if self.own:
            return f"tideate:{self.name}"
        more = json.dumps([sorted(self.environment.items()), sorted(self.inherit)])
        asks_more = bool(self.command and (self.environment or self.inherit))
        return "\0".join((*self.command, self.url, *([more] if asks_more else [])))


def own_servers(root: Path, configured: Mapping[str, McpServerConfig] | None = None) -> list[ServerSpec]:
    """Return tideate's own servers for a project.

    :param configured: whose keys for them hold: whether they are wanted, and how long a call may take.
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
                _own_command(name, root),
                environment=_our_path(),
                timeout=timeout,
                own=True,
                **_bounds(said),
            )
        )
    return found


def servers_of(mcp: McpConfig, root: Path, *, own: bool = True) -> list[ServerSpec]:
    """Return a project's servers: tideate's own, then those of the configuration.

    :param own: false outside of a project, where a server of ours would serve whatever folder this is.
    """
    others = [
        _configured(name, server, root)
        for name, server in mcp.servers.items()
        if name not in OWN_SERVERS and server.enabled
    ]
    return [*(own_servers(root, mcp.servers) if own else ()), *others]


def server_at(url: str, cwd: Path, *, token_env: str | None = None) -> ServerSpec:
    """Return a server by its address alone.

    :raises ValueError: it is no address of a server.
    """
    checked = McpServerConfig(url=url, token_env=token_env)
    return ServerSpec(url, cwd, url=url, token_env=checked.token_env)


def _configured(name: str, server: McpServerConfig, root: Path) -> ServerSpec:
    return ServerSpec(
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


def _bounds(server: McpServerConfig | None) -> dict[str, Any]:
    if server is None:
        return {}
    permissions = None if server.permissions is None else tuple(server.permissions)
    return {"capabilities": tuple(server.capabilities), "permissions": permissions}


def _own_command(name: str, root: Path) -> tuple[str, ...]:
    # -P: a project's own folder is never where modules are looked for
    program = (sys.executable, "-P", "-m", "tideate_core.cli")
    return (*program, "mcp", "serve", name, "--root", str(root))


def _our_path() -> dict[str, str]:
    """Return where this package is: an editor's host may have it from elsewhere than its interpreter."""
    return {"PYTHONPATH": str(Path(tideate_core.__file__).resolve().parent.parent)}


@dataclass(frozen=True, slots=True)
class ServerReadiness:
    """Readiness of one server, as far as can be told without starting it."""

    name: str
    ready: bool
    message: str
    """Its description, or the missing part and the remedy."""


def server_readiness(root: Path | None, loaded: LoadedConfig) -> Iterator[ServerReadiness]:
    """Say of every configured server of a project how it stands.

    :param root: the project's, None outside of any.
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
    """Return a server's token, None if it needs none.

    :raises ConfigError: the variable is empty, the command failed or printed nothing, or what was found
        cannot be sent.
    :raises CommandError: the command's program is missing.
    """
    if spec.token_env:
        token = os.environ.get(spec.token_env, "").strip()
        where = f"${spec.token_env}"
        if not token:
            raise _no_token(spec, f"{where} is not set; export it before you start the editor or the shell")
    elif spec.token_command:
        where = f"`{spec.token_command[0]}`"
        token = await _token_printed(spec)
    else:
        return None
    if not (token.isascii() and token.isprintable()):
        raise _no_token(spec, f"the token from {where} has characters that no header can carry")
    return token


async def _token_printed(spec: ServerSpec) -> str:
    from tideate_core.process import ProcessLimits, run_program

    # a person's password manager needs more of the world than a server does
    result = await run_program(
        spec.token_command,
        cwd=spec.cwd,
        environment=dict(os.environ),
        limits=ProcessLimits(timeout_ms=TOKEN_TIMEOUT),
    )
    first = result.stdout.text.strip().partition("\n")[0].strip()
    if not result.ok or not first:
        printed = "" if first else " and printed nothing"
        raise _no_token(spec, f"its token_command {spec.token_command[0]!r} {result.ending}{printed}")
    return first


def _no_token(spec: ServerSpec, what: str) -> ConfigError:
    return ConfigError(f"MCP server {spec.name!r}: {what}")

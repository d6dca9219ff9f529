"""Which servers there are, and how each is reached."""

from __future__ import annotations

import json
import shlex
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

import tideate_core
from tideate_core.config import OWN_SERVERS, McpServer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tideate_core.config import Mcp

__all__ = ["ServerSpec", "own_servers", "server_at", "servers_of"]

LONG: Final = 3600.0
"""Seconds for a call of the servers whose tools run what a project runs."""
SHORT: Final = 120.0
TIMEOUTS: Final = {"build": LONG, "test": LONG}


@dataclass(frozen=True, slots=True)
class ServerSpec:
    """How a server is reached: by a command or by an address."""

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

    @property
    def transport(self) -> str:
        if self.command:
            return "stdio"
        return "websocket" if self.url.startswith("ws") else "http"

    @property
    def shown(self) -> str:
        """What a person is told that it is."""
        return "tideate's own" if self.own else (shlex.join(self.command) or self.url)

    @property
    def identity(self) -> str:
        """What a permission is bound to: the same server, wherever this one's interpreter lies."""
        if self.own:
            return f"tideate:{self.name}"
        more = json.dumps([sorted(self.environment.items()), sorted(self.inherit)])
        asks_more = bool(self.command and (self.environment or self.inherit))
        return "\0".join((*self.command, self.url, *([more] if asks_more else [])))


def own_servers(root: Path, configured: Mapping[str, McpServer] | None = None) -> list[ServerSpec]:
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
                name, root, _own_command(name, root), environment=_our_path(), timeout=timeout, own=True
            )
        )
    return found


def servers_of(mcp: Mcp, root: Path, *, own: bool = True) -> list[ServerSpec]:
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
    checked = McpServer(url=url, token_env=token_env)
    return ServerSpec(url, cwd, url=url, token_env=checked.token_env)


def _configured(name: str, server: McpServer, root: Path) -> ServerSpec:
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
    )


def _own_command(name: str, root: Path) -> tuple[str, ...]:
    # -P: a project's own folder is never where modules are looked for
    program = (sys.executable, "-P", "-m", "tideate_core.cli")
    return (*program, "mcp", "serve", name, "--root", str(root))


def _our_path() -> dict[str, str]:
    """Return where this package is: an editor's host may have it from elsewhere than its interpreter."""
    return {"PYTHONPATH": str(Path(tideate_core.__file__).resolve().parent.parent)}

"""Import of the protocol's library, an extra of tideate, when an agent is started."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tideate_core.adapters.libraries import IN_NEOVIM, PIP, import_aside
from tideate_core.errors import AdapterUnavailable

if TYPE_CHECKING:
    from acp.connection import Connection, MethodHandler

    from tideate_core.adapters.acp.pipes import AgentPipes

INSTALL: Final = f"`{PIP} install agent-client-protocol`{IN_NEOVIM.format(extra='acp')}"


async def connect(handler: MethodHandler, pipes: AgentPipes) -> Connection:
    """Return an open connection over an agent's pipes.

    :raises AdapterUnavailable: the library is missing.
    """

    def load() -> Any:
        from acp.connection import Connection

        return Connection

    try:
        kind = await import_aside(load)
    except ImportError as error:
        raise AdapterUnavailable(
            f"agents need the library agent-client-protocol, which cannot be imported ({error}): {INSTALL}"
        ) from error
    connection: Connection = kind(handler, pipes)
    return connection

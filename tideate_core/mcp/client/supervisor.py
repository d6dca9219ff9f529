"""Open one server's connection on demand; reconnect after its end with growing delays and a limit."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Final, Literal

from tideate_core.errors import ServerUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable

    from tideate_core.mcp.client.connection import Connection
    from tideate_core.mcp.client.specs import ServerSpec

ServerState = Literal["idle", "connecting", "connected", "failed"]

TRIES: Final = 3
"""Failed starts in a row until the server counts as failed."""
FIRST_WAIT: Final = 0.2
"""Seconds before the second attempt; doubled before each further one."""
LONGEST_WAIT: Final = 30.0
"""Maximum seconds between two starts, and until a failed server is tried again."""


class Supervisor:
    """Supervisor of one server across restarts.

    :param strict: validate every message against the protocol.
    :param on_connected: called on every new connection.
    """

    def __init__(
        self,
        spec: ServerSpec,
        on_connected: Callable[[ServerSpec, Connection], None],
        *,
        strict: bool,
    ) -> None:
        self.spec = spec
        self.state: ServerState = "idle"
        self._strict = strict
        self._on_connected = on_connected
        self._connection: Connection | None = None
        self._starting = asyncio.Lock()
        self._deaths = 0
        """Deaths in a row without an answered call in between."""
        self._failure: ServerUnavailable | None = None
        self._not_before = 0.0
        self._closed = False

    @property
    def error(self) -> str:
        """Why the server could not be started; empty if it could."""
        return str(self._failure or "")

    async def connection(self) -> Connection:
        """Return an open connection, started if needed.

        :raises ServerUnavailable: the server cannot be started or reached.
        :raises TideateError: its program or token is missing.
        """
        async with self._starting:
            known = self._connection
            if known is not None and known.alive:
                return known
            if known is not None:
                self._deaths += 1
                await self._drop()
            self._refuse()
            return await self._start()

    def answered(self) -> None:
        """Note an answered call, which resets the delays."""
        self._deaths = 0

    async def close(self) -> None:
        """End the server for good."""
        self._closed = True
        async with self._starting:
            await self._drop()
            self.state = "idle"

    def _refuse(self) -> None:
        if self._closed:
            raise ServerUnavailable(f"MCP server {self.spec.name!r}: the client is closing")
        left = self._not_before - time.monotonic()
        if self._failure is not None and left > 0:
            raise ServerUnavailable(f"{self._failure} (it is tried again in {left:.0f} s)")

    async def _start(self) -> Connection:
        # imported here as the SDK is slow to import, and in a thread so that other work continues
        connection_of = await asyncio.to_thread(_load)
        self.state = "connecting"
        failure: ServerUnavailable | None = None
        try:
            for attempt in range(TRIES):
                await asyncio.sleep(self._wait(attempt))
                connection = connection_of(self.spec, strict=self._strict)
                try:
                    await connection.open()
                except ServerUnavailable as error:
                    failure = error
                    continue
                self._connection, self._failure, self.state = connection, None, "connected"
                self._on_connected(self.spec, connection)
                return connection
        finally:
            if self.state != "connected":
                self.state = "failed" if failure else "idle"
        self._failure = ServerUnavailable(f"{failure} (tried {TRIES} times)")
        self._not_before = time.monotonic() + LONGEST_WAIT
        raise self._failure

    def _wait(self, attempt: int) -> float:
        """Return the seconds to wait before a start; the first one after a death is immediate."""
        steps = attempt + max(0, self._deaths - 1)
        return float(min(FIRST_WAIT * 2 ** (steps - 1), LONGEST_WAIT)) if steps else 0.0

    async def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()


def _load() -> type[Connection]:
    from tideate_core.mcp.client.connection import Connection

    return Connection

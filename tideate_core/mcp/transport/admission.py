"""Admission control for HTTP and WebSocket servers: loopback socket, bearer token, host and origin.

The token is kept in memory and never logged.
"""

from __future__ import annotations

import hmac
import secrets
import socket
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from tideate_core.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import MutableMapping

HOST: Final = "127.0.0.1"
PATH: Final = "/mcp"
TOKEN_VARIABLE: Final = "TIDEATE_MCP_TOKEN"  # noqa: S105 a variable's name
SHORTEST: Final = 16
"""Minimum characters of a token set by the person."""
DEFAULT_PORT: Final = 80
"""A client omits it from the `Host` header."""
CHALLENGE: Final = 'Bearer realm="tideate"'
REFUSAL: Final = "401: this server needs its token, in the header `Authorization: Bearer …`\n"


def listen_on_loopback(port: int) -> socket.socket:
    """Open a listening socket on the loopback interface.

    :param port: 0 chooses a free port.
    :raises OSError: the port is in use, or not allowed.
    """
    listening = socket.create_server((HOST, port))
    # asyncio sets this only for sockets with a named protocol; otherwise each answer would wait 40 ms
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


@dataclass(frozen=True, slots=True)
class Token:
    """A bearer token."""

    secret: str = field(repr=False)
    generated: bool = False
    """It was generated here, so the person has to be told."""

    def fits(self, authorization: str | None) -> bool:
        """Compare with an `Authorization` header in constant time."""
        scheme, _, given = (authorization or "").partition(" ")
        known = hmac.compare_digest(given.strip().encode(), self.secret.encode())
        return known and scheme.lower() == "bearer"


def token_from_environment(environment: MutableMapping[str, str]) -> Token:
    """Remove the token from the environment, hidden from child processes; generate one if there is none.

    :raises ConfigError: the token is too short, or has characters that a header cannot carry.
    """
    given = environment.pop(TOKEN_VARIABLE, "")
    if not given:
        return Token(secrets.token_urlsafe(32), generated=True)
    if len(given) < SHORTEST or not given.isascii() or not given.isprintable() or " " in given:
        raise ConfigError(
            f"the token in ${TOKEN_VARIABLE} cannot be used: it has to be {SHORTEST} characters or more, "
            "all of them printable ASCII and none a space; leave it out and one is made"
        )
    return Token(given)


@dataclass(frozen=True, slots=True)
class AdmissionPolicy:
    """Policy that admits requests by their headers.

    This stops DNS rebinding: a web page could otherwise resolve its own name to this address.
    """

    token: Token
    port: int

    @property
    def hosts(self) -> list[str]:
        """Accepted values of the `Host` header."""
        bare = [HOST, "localhost"]
        return [f"{host}:{self.port}" for host in bare] + (bare if self.port == DEFAULT_PORT else [])

    @property
    def origins(self) -> list[str]:
        """Accepted values of the `Origin` header."""
        return [f"http://{name}" for name in self.hosts]

    def refusal(self, host: list[str], origin: list[str], authorization: list[str]) -> tuple[int, str] | None:
        """Return the status and text of a refusal, or None if the request is admitted.

        Each header is a list, as it may be sent repeatedly. Host names are case-insensitive (RFC 9110,
        4.2.3).
        """
        if len(host) != 1 or host[0].lower() not in self.hosts:
            return 421, "421: this server has another name\n"
        if any(one.lower() not in self.origins for one in origin):
            return 403, "403: no page of another site may use this server\n"
        if len(authorization) != 1 or not self.token.fits(authorization[0]):
            return 401, REFUSAL
        return None

"""Admission control for a server at an address: loopback socket, bearer token, host and origin.

The same for HTTP and WebSocket, and independent of both. A token is kept in memory, and never logged.
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

__all__ = [
    "HOST",
    "PATH",
    "TOKEN_VARIABLE",
    "AdmissionPolicy",
    "Token",
    "listen_on_loopback",
    "token_from_environment",
]

HOST: Final = "127.0.0.1"
PATH: Final = "/mcp"
TOKEN_VARIABLE: Final = "TIDEATE_MCP_TOKEN"  # noqa: S105 a variable's name
SHORTEST: Final = 16
"""Characters of a token that a person chose."""
DEFAULT_PORTS: Final = {"http": 80, "ws": 80}
"""The port that a client leaves out of the name of a host."""
CHALLENGE: Final = 'Bearer realm="tideate"'
REFUSAL: Final = "401: this server needs its token, in the header `Authorization: Bearer …`\n"


def listen_on_loopback(port: int) -> socket.socket:
    """Open a server's port on the loopback interface.

    :param port: 0 takes a free one.
    :raises OSError: the port is in use, or not allowed.
    """
    listening = socket.create_server((HOST, port))
    # asyncio does it for sockets that name their protocol, and these do not: each answer would wait 40 ms
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


@dataclass(frozen=True, slots=True)
class Token:
    """A bearer token."""

    secret: str = field(repr=False)
    generated: bool = False
    """It was generated here, so that a person has to be told."""

    def fits(self, authorization: str | None) -> bool:
        """Compare with the header of a request, in a time that tells nothing of the token."""
        scheme, _, given = (authorization or "").partition(" ")
        known = hmac.compare_digest(given.strip().encode(), self.secret.encode())
        return known and scheme.lower() == "bearer"


def token_from_environment(environment: MutableMapping[str, str]) -> Token:
    """Take the token out of the environment, for programs that the server starts would see it; else make one.

    :raises ConfigError: it cannot be used as one.
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
    """Decides about a request by its headers.

    A page that a browser shows could otherwise have its own name point here and use the server.
    """

    token: Token
    port: int
    scheme: str = "http"

    @property
    def hosts(self) -> list[str]:
        """The names under which the server may be asked."""
        names = [f"{host}:{self.port}" for host in (HOST, "localhost")]
        bare = [HOST, "localhost"] if self.port == DEFAULT_PORTS[self.scheme] else []
        return names + bare

    @property
    def origins(self) -> list[str]:
        """The sites whose pages may ask."""
        return [f"http://{name}" for name in self.hosts]

    def refusal(self, host: list[str], origin: list[str], authorization: list[str]) -> tuple[int, str] | None:
        """Return the status and the words of a refusal, None where the request may come in.

        Each header is given as often as it was sent. Names of hosts are the same in upper case (RFC 9110,
        4.2.3).
        """
        if len(host) != 1 or host[0].lower() not in self.hosts:
            return 421, "421: this server has another name\n"
        if any(one.lower() not in self.origins for one in origin):
            return 403, "403: no page of another site may use this server\n"
        if len(authorization) != 1 or not self.token.fits(authorization[0]):
            return 401, REFUSAL
        return None

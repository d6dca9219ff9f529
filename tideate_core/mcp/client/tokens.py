"""The token of a server that has an address: held in memory only."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from tideate_core.errors import ConfigError
from tideate_core.process import Limits, run

if TYPE_CHECKING:
    from tideate_core.mcp.client.specs import ServerSpec

__all__ = ["token_of"]

WITHIN: Final = 60_000
"""Milliseconds for a command: a password manager may ask the person to unlock it."""


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
            raise _failed(spec, f"{where} is not set; export it before you start the editor or the shell")
    elif spec.token_command:
        where = f"`{spec.token_command[0]}`"
        token = await _printed(spec)
    else:
        return None
    if not (token.isascii() and token.isprintable()):
        raise _failed(spec, f"the token from {where} has characters that no header can carry")
    return token


async def _printed(spec: ServerSpec) -> str:
    # a person's password manager needs more of the world than a server does
    result = await run(
        spec.token_command, cwd=spec.cwd, environment=dict(os.environ), limits=Limits(timeout_ms=WITHIN)
    )
    first = result.stdout.text.strip().partition("\n")[0].strip()
    if not result.ok or not first:
        printed = "" if first else " and printed nothing"
        raise _failed(spec, f"its token_command {spec.token_command[0]!r} {result.ending}{printed}")
    return first


def _failed(spec: ServerSpec, what: str) -> ConfigError:
    return ConfigError(f"MCP server {spec.name!r}: {what}")

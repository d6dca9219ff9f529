"""Bundles and questions in the fleet's database: rows of one table, named by the hash of their content.

Everyone who can write to the database can add rows. Only those with a worker's seal count.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from blake3 import blake3
from sqlalchemy import text

from tideate_core.errors import FleetError
from tideate_core.fleet.database import SCHEMA

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy import Engine

    from tideate_core.fleet.authority import Authority, VerifiedLeg


class Kind(StrEnum):
    """Kind of an object."""

    QUESTION = "question"
    OPEN = "open"
    """Bundle of a run that goes on."""
    COMPLETED = "completed"
    ENDED = "ended"
    """Bundle of a run that ended otherwise; a retry begins with an older one."""


_BEGINS: Final = (Kind.OPEN, Kind.COMPLETED)
LARGEST: Final = 256 << 20
"""Maximum bytes of a bundle."""
_TABLE: Final = f"""
CREATE SCHEMA IF NOT EXISTS {SCHEMA};
CREATE TABLE IF NOT EXISTS {SCHEMA}.objects (
    run text NOT NULL,
    leg integer NOT NULL,
    hash text NOT NULL,
    kind text NOT NULL,
    seal text NOT NULL,
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
    authority: Authority

    def create(self) -> None:
        """Create the table if it is missing."""
        with self.engine.begin() as connection:
            # PostgreSQL checks the right to create a table that exists, too
            if connection.execute(text("SELECT to_regclass(:name)"), {"name": f"{SCHEMA}.objects"}).scalar():
                return
            # two workers that start at once would collide in PostgreSQL's catalog
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": 0x71DEA7E0B1EC75})
            connection.execute(text(_TABLE))

    def put(self, leg: VerifiedLeg, kind: Kind, content: bytes) -> str:
        """Store a bundle or a question of a leg; return its hash.

        :raises FleetError: it is too large.
        """
        run = leg.run
        if len(content) > LARGEST:
            size = f"{len(content) >> 20} MiB; the limit is {LARGEST >> 20} MiB"
            raise FleetError(f"the bundle of run {run[:8]} has {size}")
        name = blake3(content).hexdigest()
        seal = self.authority.sealed_object(leg, kind, leg.number, name)
        with self.engine.begin() as connection:
            connection.execute(
                text(
                    f"INSERT INTO {SCHEMA}.objects (run, leg, hash, kind, seal, content) "  # noqa: S608 a constant
                    "VALUES (:run, :leg, :hash, :kind, :seal, :content) ON CONFLICT (run, hash) DO UPDATE "
                    "SET leg = :leg, kind = :kind, seal = :seal, content = :content, created = now()"
                ),
                {"run": run, "leg": leg.number, "hash": name, "kind": kind, "seal": seal, "content": content},
            )
        return name

    def get(self, leg: VerifiedLeg, name: str) -> bytes:
        """Return a bundle or a question of a leg's run.

        :raises FleetError: it is missing, its content was changed, or no worker stored it.
        """
        query = (
            f"SELECT leg, kind, seal, content FROM {SCHEMA}.objects "  # noqa: S608 a constant
            "WHERE run = :run AND hash = :hash"
        )
        with self.engine.connect() as connection:
            row = connection.execute(text(query), {"run": leg.run, "hash": name}).first()
        if row is None or blake3(row.content).hexdigest() != name or not self._counts(leg, row, name):
            raise FleetError(
                f"the object {name[:12]} of run {leg.run[:8]} is missing in the database or was changed there"
            )
        return bytes(row.content)

    def newest(self, leg: VerifiedLeg) -> str | None:
        """Return the hash of the newest bundle that this leg can begin with; None if there is none."""
        query = (
            f"SELECT leg, kind, seal, hash FROM {SCHEMA}.objects WHERE run = :run AND leg <= :leg "  # noqa: S608
            "AND kind = ANY(:kinds) ORDER BY leg DESC, created DESC"
        )
        values = {"run": leg.run, "leg": leg.number, "kinds": list(_BEGINS)}
        with self.engine.connect() as connection:
            rows = connection.execute(text(query), values).all()
        return next((str(row.hash) for row in rows if self._counts(leg, row, row.hash)), None)

    def _counts(self, leg: VerifiedLeg, row: Any, name: str) -> bool:
        return self.authority.counts_object(leg, row.seal, row.kind, row.leg, name)

    def keep_only(self, run: str, names: Iterable[str]) -> None:
        """Delete the bundles and questions of a run, except the ones with these hashes."""
        query = f"DELETE FROM {SCHEMA}.objects WHERE run = :run AND NOT hash = ANY(:kept)"  # noqa: S608
        with self.engine.begin() as connection:
            connection.execute(text(query), {"run": run, "kept": list(names)})


def forget_objects(engine: Engine, runs: Iterable[str]) -> None:
    """Delete all bundles and questions of runs; blocking."""
    query = f"DELETE FROM {SCHEMA}.objects WHERE run = ANY(:runs)"  # noqa: S608 a constant
    with engine.begin() as connection:
        connection.execute(text(query), {"runs": list(runs)})

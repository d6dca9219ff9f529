"""One PostgreSQL for a session, and a database of its own for each test."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.fleet.site import Database, Site

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def database() -> Iterator[Database]:
    """A server of this session."""
    place = Path(tempfile.mkdtemp(prefix="tideate-pg-"))
    # not the tester's own; its programs run as another user if the tester is root
    place.chmod(0o711 if os.geteuid() == 0 else 0o700)
    server = Database(place / "data")
    yield server
    server.close()
    shutil.rmtree(place, ignore_errors=True)


@pytest.fixture
def site(database: Database, tmp_path: Path) -> Iterator[Site]:
    """A person, repositories and workers."""
    site = Site(tmp_path, database.new())
    yield site
    site.close()

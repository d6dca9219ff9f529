"""Records of a worker's log: one line each, without escape sequences, secrets and tracebacks."""

from __future__ import annotations

import io
import logging
from typing import TYPE_CHECKING

import pytest

from tests.fleet.proxy import Proxy
from tests.fleet.site import Database, Site, eventually
from tideate_core.fleet.logs import log_plainly

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SECRET = "hunter2hunter2xyz"


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> Iterator[io.StringIO]:
    """What a handler of this process writes."""
    written = io.StringIO()
    library = logging.getLogger("dbos")
    before = library.handlers[:], library.propagate, library.level
    monkeypatch.setattr(logging.getLogger(), "handlers", [logging.StreamHandler(written)])
    yield written
    library.handlers[:], library.propagate, library.level = before


def test_records_of_the_library_are_cleaned(lines: io.StringIO, capfd: pytest.CaptureFixture[str]) -> None:
    library = logging.getLogger("dbos")
    library.addHandler(logging.StreamHandler())
    log_plainly()
    log_plainly()
    for _ in range(3):
        try:
            raise ValueError(f"password = '{SECRET}'")
        except ValueError as error:
            library.error("row %s\nforged: password = '%s'", "\x1b]0;PWN\x07", SECRET, exc_info=error)
    written = lines.getvalue()
    assert written.count("\n") == 1
    assert SECRET not in written
    assert "\x1b" not in written
    assert "Traceback" not in written
    assert capfd.readouterr() == ("", "")


def test_the_terminal_tells_once_that_the_database_is_away_and_back(
    database: Database, tmp_path: Path
) -> None:
    name = database.new().partition("?")[0].rpartition("/")[2]
    target = database.place / ".s.PGSQL.5432"
    with Proxy(target) as proxy:
        site, port = Site(tmp_path, f"postgresql://postgres@127.0.0.1:{proxy.port}/{name}"), proxy.port
        worker = site.worker("first").wait_ready()
    eventually(lambda: "waiting until it is back" in worker.log.read_text())
    with Proxy(target, port):
        eventually(lambda: "the fleet's database is back" in worker.log.read_text())
        assert worker.stop() == 0
    said = worker.log.read_text()
    assert said.count("\n") == 4, said

"""`tideate cancel` while the database is locked: what it waits for is said."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from tests.cli.interrupted import held, only_run

if TYPE_CHECKING:
    from tests.cli.conftest import Shell
    from tests.support.model_server import ModelServer

pytestmark = pytest.mark.crash


def test_cancel_says_that_it_waits_for_a_locked_database_and_cancels_then(
    shell: Shell, answering: ModelServer
) -> None:
    process, gate = held(shell, answering)
    run = only_run(shell)["execution_id"]
    database = sqlite3.connect(shell.project / ".tideate" / "tideate.db", isolation_level=None)
    with closing(database) as other:
        other.execute("BEGIN IMMEDIATE")
        cancel = shell.start("cancel", run)
        assert cancel.stderr is not None
        assert "waiting for the database, which another process keeps locked" in cancel.stderr.readline()
        other.execute("ROLLBACK")
    _, words = cancel.communicate(timeout=20)
    assert (cancel.returncode, "is cancelled" in words) == (0, True), words
    gate.wait_disconnected()
    process.communicate(timeout=20)
    assert process.returncode == 3

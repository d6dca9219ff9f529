"""`tideate cancel` and `pause` with a locked database."""

from __future__ import annotations

import sqlite3
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING

import pytest

from tests.cli.interrupted import held_run, only_run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.harness.model_server import ModelServer
    from tests.harness.shell import Shell

pytestmark = [pytest.mark.crash, pytest.mark.slow]


@pytest.fixture
def locked(shell: Shell) -> Iterator[Callable[[], sqlite3.Connection]]:
    """Lock the project's database as a third process does, until the connection rolls back."""
    with ExitStack() as stack:

        def lock() -> sqlite3.Connection:
            path = shell.state / "tideate.db"
            other = stack.enter_context(closing(sqlite3.connect(path, isolation_level=None)))
            other.execute("BEGIN IMMEDIATE")
            return other

        yield lock


@pytest.mark.parametrize(
    ("command", "done"), [(("cancel",), "is cancelled"), (("pause", "--wait", "0"), "will pause after")]
)
def test_it_is_said_that_a_locked_database_is_waited_for_and_then_it_is_done(
    shell: Shell,
    answering: ModelServer,
    locked: Callable[[], sqlite3.Connection],
    command: tuple[str, ...],
    done: str,
) -> None:
    process, gate = held_run(shell, answering)
    run = only_run(shell)["execution_id"]
    other = locked()
    asking = shell.start(*command, run)
    assert asking.stderr is not None
    assert "waiting for the database, which another process keeps locked" in asking.stderr.readline()
    other.execute("ROLLBACK")
    _, words = asking.communicate(timeout=60)
    assert (asking.returncode, done in words) == (0, True), words
    if command[0] == "pause":
        shell.ok("cancel", run)
    gate.wait_disconnected()
    process.communicate(timeout=60)
    assert process.returncode == 3


def test_a_database_that_stays_locked_is_told_with_what_to_do(
    shell: Shell, answering: ModelServer, locked: Callable[[], sqlite3.Connection]
) -> None:
    process, gate = held_run(shell, answering)
    run = only_run(shell)["execution_id"]
    other = locked()
    refused = shell.run("cancel", run)
    assert refused.returncode == 1
    assert "is kept locked by another process; end it, or try again" in " ".join(refused.stderr.split())
    assert process.poll() is None
    other.execute("ROLLBACK")
    shell.ok("cancel", run)
    gate.wait_disconnected()
    process.communicate(timeout=60)
    assert process.returncode == 3

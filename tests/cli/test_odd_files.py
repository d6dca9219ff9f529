"""Pipes, directories and dangling links in place of files of the state and the person's configuration."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Shell
    from tests.support.model_server import ModelServer

pytestmark = pytest.mark.slow

KINDS: Final[dict[str, Callable[[Path], None]]] = {
    "a named pipe": os.mkfifo,
    "a directory": os.mkdir,
    "a link that leads to nothing": lambda path: path.symlink_to("nowhere"),
}
COMMANDS: Final = {
    "config/tideate/config.toml": ["list"],
    "{state}/tideate.db": ["history"],
    "{state}/tideate.db-wal": ["run", "ask", "hi"],
    "{state}/snapshots/lock": ["snapshot", "create"],
    "{state}/trust.json": ["trust", "--yes"],
    "{state}/trust.json.lock": ["trust", "--yes"],
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", COMMANDS)
def test_it_is_named_and_not_waited_for(shell: Shell, answering: ModelServer, name: str, kind: str) -> None:
    answering.answers("hi", "hello")
    shell.write(".tideate/workflows/w.yaml", "name: w\nsteps:\n  - id: a\n    task: hi\n")
    shell.run("run", "ask", "hi")
    shell.run("snapshot", "create")
    path = shell.home / name.format(state=shell.state)
    path.unlink(missing_ok=True)
    KINDS[kind](path)
    done = shell.run(*COMMANDS[name])
    assert done.returncode in (1, 2), done.stdout
    assert str(path) in done.stderr.replace("\n", "")
    assert "Traceback" not in done.stderr
    assert not (path.parent / "nowhere").exists()

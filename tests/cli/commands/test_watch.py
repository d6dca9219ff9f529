"""`tideate watch` in a terminal: snapshots as lines, and all of them usable after a kill."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.harness.project import git
from tests.harness.shell import COMMAND

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.harness.shell import Shell

pytestmark = pytest.mark.slow


@pytest.fixture
def watch(shell: Shell) -> Iterator[subprocess.Popen[str]]:
    shell.configure("[watch]\nsettle = 0.1\n")
    git(shell.project, "init", "--quiet")
    shell.write(".gitignore", ".env\n")
    shell.write(".env", "SECRET=1\n")
    with subprocess.Popen(
        [*COMMAND, "watch", "--json"],
        cwd=shell.project,
        env=shell.env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        yield process
        process.kill()


def next_line(process: subprocess.Popen[str]) -> dict[str, object]:
    assert process.stdout is not None
    return dict(json.loads(process.stdout.readline()))


def test_after_a_kill_the_destroyed_files_come_back(shell: Shell, watch: subprocess.Popen[str]) -> None:
    made = next_line(watch)["snapshot"]
    assert isinstance(made, dict)
    git(shell.project, "clean", "-fdx")
    assert next_line(watch)["gone"] == 3
    os.kill(watch.pid, signal.SIGKILL)
    watch.wait()
    diff = shell.run("snapshot", "diff", made["id"]).stdout
    assert diff == "D .env\nD .gitignore\nD pyproject.toml\n"
    shell.ok("snapshot", "restore", made["id"], ".env", "--yes")
    assert shell.read(".env") == "SECRET=1\n"
    assert not (shell.project / "pyproject.toml").exists()
    assert shell.run("snapshot", "restore", made["id"], "../x", "--yes").returncode == 2


def test_ctrl_c_ends_it_and_another_one_may_begin(shell: Shell, watch: subprocess.Popen[str]) -> None:
    next_line(watch)
    refused = shell.run("watch")
    assert refused.returncode == 1
    assert "another process watches" in refused.stderr
    watch.send_signal(signal.SIGINT)
    assert watch.wait(20) == 130
    assert watch.stderr is not None
    assert "Traceback" not in watch.stderr.read()


def test_outside_of_a_project_nothing_is_watched(shell: Shell) -> None:
    done = shell.run("watch", cwd=shell.home)
    assert done.returncode == 2
    assert "no project here to watch" in done.stderr

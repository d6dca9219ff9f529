"""What the shell's commands have in common, where it cannot be had."""

from __future__ import annotations

import shlex
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.cli.conftest import COMMAND
from tideate_core.cli.location import log_to_file
from tideate_core.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Shell


def test_a_log_is_not_kept_where_no_directory_can_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "state").write_text("a file")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with pytest.raises(ConfigError, match=r"state/tideate cannot be used .*TIDEATE_STATE or"):
        log_to_file()


@pytest.mark.slow
@pytest.mark.parametrize(
    "command", ["list", "doctor", "history", "run ask hi", "trust", "schema", "mcp serve git --root ."]
)
def test_a_deleted_working_directory_is_named(shell: Shell, command: str) -> None:
    gone = shell.home / "gone"
    gone.mkdir()
    script = f"cd {shlex.quote(str(gone))}; rmdir ../gone; exec {shlex.join(COMMAND)} {command}"
    done = subprocess.run(
        ["sh", "-c", script],
        env=shell.env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr == "error: the working directory was deleted; change to another one\n"

"""`tideate export`: runs as Markdown or JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cli.interrupted import object_of, refactored

if TYPE_CHECKING:
    from tests.harness.model_server import ModelServer
    from tests.harness.shell import Shell

pytestmark = pytest.mark.slow


def test_a_run_is_exported_with_its_conversation(shell: Shell, answering: ModelServer) -> None:
    run = refactored(shell, answering)
    done = shell.ok("export", run[:8])
    for part in (
        f"# `refactor` {run}\n",
        "## Step `analyze`: completed",
        "### Prompt\n\n````\n",
        "### Answer of `",
        "it adds up",
        "## Changed files\n\n- `a.py`\n",
    ):
        assert part in done.stdout
    written = shell.run("export", run, "--format", "json", "-o", "run.json")
    assert (written.returncode, written.stdout) == (0, "")
    (shape,) = object_of(shell.run("export", run, "--format=json"))["runs"]
    assert (shape["execution_id"], shape["files"]) == (run, ["a.py"])
    assert [one["role"] for one in shape["steps"][0]["said"]][-1] == "model"
    assert (shell.project / "run.json").stat().st_size > 1000
    assert shell.run("export").returncode == 2
    assert "\n- state: completed\n" in done.stdout
    assert shape["rolled_back"] is False
    shell.ok("rollback", "--yes", run)
    assert "\n- state: completed, rolled back\n" in shell.run("export", run).stdout

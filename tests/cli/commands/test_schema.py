"""`tideate schema`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.harness.shell import Shell


@pytest.mark.slow
def test_the_schema_is_printed_and_written(shell: Shell) -> None:
    (shell.project / ".tideate").mkdir()
    printed = shell.run("schema")
    assert json.loads(printed.stdout)["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert shell.run("schema", "workflow").stdout == printed.stdout
    written = shell.run("schema", "-o", ".tideate/workflow.schema.json")
    assert (written.returncode, written.stdout) == (0, "")
    assert (shell.project / ".tideate" / "workflow.schema.json").read_text() == printed.stdout


def test_there_is_no_other_schema(shell: Shell) -> None:
    assert shell.run("schema", "machine").returncode != 0

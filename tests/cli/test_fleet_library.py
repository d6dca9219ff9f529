"""Commands of a fleet without the libraries of the extra `fleet`."""

from __future__ import annotations

import subprocess
import sys

import pytest

BLOCKED = """
import importlib.util, sys
for name in ("dbos", "sqlalchemy", "psycopg", "croniter"):
    sys.modules[name] = None
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name == "dbos" else find(name, *rest)
from tideate_core.cli.main import main
sys.argv = ["tideate", *sys.argv[1:]]
sys.exit(main())
"""


@pytest.mark.parametrize(
    "words",
    [
        ("fleet", "list"),
        ("fleet", "show", "ab"),
        ("schedule", "list"),
        ("schedule", "create", "n", "0 3 * * *", "ask", "x", "--repo", "file:///r"),
        ("submit", "ask", "x", "--repo", "file:///r"),
        ("worker",),
    ],
)
def test_each_command_names_the_missing_extra(
    words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIDEATE_FLEET_DATABASE", "postgresql://h/d")
    done = subprocess.run(
        [sys.executable, "-c", BLOCKED, *words], capture_output=True, text=True, check=False
    )
    assert "extra `fleet`" in done.stderr
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: ")
    assert "Traceback" not in done.stderr

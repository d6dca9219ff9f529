"""Our servers, running: the real command, and the application that needs no header."""

from __future__ import annotations

import os
import re
import secrets
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from scripts.conformance.programs import ROOT, FailedError
from tideate_core.mcp.servers import SERVERS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

OWN = SERVERS
"""Those that work in a project."""


def serve(name: str, root: Path) -> list[str]:
    """Return the command of a server for a project."""
    return [sys.executable, "-m", "tideate_core.cli", "mcp", "serve", name, "--root", str(root)]


def project(directory: Path) -> Path:
    """Make a small project with something for each server; returns its root."""
    root = directory / "project"
    (root / "tests").mkdir(parents=True)
    (root / "Makefile").write_text("all:\n\t@echo built\nclean:\n\t@echo clean\n")
    (root / "pyproject.toml").write_text('[project]\nname = "small"\nversion = "1"\n')
    (root / "tests" / "test_small.py").write_text("def test_small() -> None:\n    assert True\n")
    person = ("-c", "user.name=Nora", "-c", "user.email=nora@example.com")
    for words in (("init", "-q"), ("add", "."), (*person, "commit", "-q", "-m", "begin")):
        subprocess.run(["git", *words], cwd=root, check=True)
    return root


@contextmanager
def at_address(command: Sequence[str], transport: str) -> Iterator[tuple[str, str]]:
    """Run a server with an address; gives that and the token."""
    token = secrets.token_urlsafe()
    environment = {**os.environ, "TIDEATE_MCP_TOKEN": token}
    with _running([*command, "--transport", transport, "--port", "0"], environment) as url:
        yield url, token


@contextmanager
def without_header(name: str, root: Path) -> Iterator[str]:
    """Run a server, or `everything`, over HTTP for a program that sends no token; gives the address."""
    with _running([sys.executable, "-m", "scripts.conformance.served", name, str(root)], None) as url:
        yield url


@contextmanager
def _running(command: Sequence[str], environment: dict[str, str] | None) -> Iterator[str]:
    process = subprocess.Popen(command, cwd=ROOT, env=environment, stderr=subprocess.PIPE, text=True)
    assert process.stderr
    try:
        line = process.stderr.readline()
        found = re.search(r"(http|ws)://\S+/mcp", line)
        if found is None:
            raise FailedError(f"the server did not start: {line}{process.stderr.read()}")
        yield found[0]
    finally:
        process.terminate()
        process.wait(timeout=10)
        process.stderr.close()

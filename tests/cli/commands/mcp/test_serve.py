"""The arguments of `tideate mcp serve`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.cli.conftest import Shell

SERVE = ("mcp", "serve", "transitions")


@pytest.mark.parametrize("transport", [(), ("--transport", "stdio")])
@pytest.mark.parametrize("port", ["0", "8000"])
def test_a_port_is_refused_over_stdio(shell: Shell, transport: tuple[str, ...], port: str) -> None:
    ended = shell.run(*SERVE, "--workflow", "PLANNER", *transport, "--port", port)
    assert ended.returncode == 2
    assert ended.stdout == ""
    assert "--port is for --transport http" in ended.stderr


@pytest.mark.parametrize("port", ["-1", "65536", "x"])
def test_a_port_that_is_none_is_refused(shell: Shell, port: str) -> None:
    ended = shell.run(*SERVE, "--workflow", "PLANNER", "--transport", "http", f"--port={port}")
    assert ended.returncode == 2
    assert "--port" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_the_help_says_what_obfuscation_does_not_hide(shell: Shell) -> None:
    words = " ".join(shell.run(*SERVE, "--help").stdout.replace("│", " ").split())
    assert "The workflow's own name is not hidden." in words
    assert "Default: 8000." in words

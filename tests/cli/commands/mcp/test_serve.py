"""The arguments of `tideate mcp serve`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.harness.shell import Shell

SERVE = ("mcp", "serve", "transitions")


@pytest.mark.parametrize("options", [("--port", "0"), ("--transport", "stdio", "--port", "8000")])
def test_a_port_is_refused_over_stdio(shell: Shell, options: tuple[str, ...]) -> None:
    ended = shell.fails(2, "--port is for --transport http", *SERVE, "--workflow", "PLANNER", *options)
    assert ended.stdout == ""


@pytest.mark.parametrize("port", ["-1", "65536", "x"])
def test_a_port_that_is_none_is_refused(shell: Shell, port: str) -> None:
    ended = shell.fails(2, "--port", *SERVE, "--workflow", "PLANNER", "--transport", "http", f"--port={port}")
    assert "Traceback" not in ended.stderr


def test_the_help_says_what_obfuscation_does_not_hide(shell: Shell) -> None:
    words = " ".join(shell.run(*SERVE, "--help").stdout.replace("│", " ").split())
    assert "The workflow's name is not hidden." in words
    assert "Default: 8000." in words

"""Errors for programs that cannot be run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.process.long_running import GUARDED
from tideate_core.errors import InvalidCommand, ProgramMissing, ProgramNotExecutable
from tideate_core.process import run_program

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("command", "error", "said"),
    [
        ([], InvalidCommand, "needs a program"),
        ([""], InvalidCommand, "needs a program"),
        (["true", "a\0b"], InvalidCommand, "argument 1 of 'true' contains a NUL"),
        (["no-such-program-here"], ProgramMissing, "is not installed: no directory of PATH has it; get it"),
        (["./none"], ProgramMissing, "none does not exist; get it"),
        (["./folder"], ProgramNotExecutable, "a directory"),
        (["./plain"], ProgramNotExecutable, "chmod [+]x"),
        (["./nowhere"], ProgramNotExecutable, "a link that leads nowhere"),
    ],
)
async def test_a_program_that_cannot_be_run_is_told_with_what_to_do(
    tmp_path: Path, command: list[str], error: type[Exception], said: str
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "plain").write_text("x")
    (tmp_path / "nowhere").symlink_to("nothing")
    with pytest.raises(error, match=said):
        await run_program(command, cwd=tmp_path, hint="get it")


@GUARDED
@pytest.mark.parametrize(
    ("content", "said"),
    [(b"hello", "with `#!` at its top"), (b"#!/no/such/shell\n", "an interpreter that is missing")],
)
async def test_a_file_that_is_no_program_is_told(
    tmp_path: Path, content: bytes, said: str, guarded: bool
) -> None:
    (tmp_path / "it").write_bytes(content)
    (tmp_path / "it").chmod(0o755)
    with pytest.raises(ProgramNotExecutable, match=said):
        await run_program(["./it"], cwd=tmp_path, guarded=guarded)


async def test_a_relative_directory_of_the_path_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tool").write_text("#!/bin/sh\ntouch ran\n")
    (tmp_path / "tool").chmod(0o755)
    with pytest.raises(ProgramMissing):
        await run_program(["tool"], cwd=tmp_path, environment={"PATH": ".::"})
    assert not (tmp_path / "ran").exists()


async def test_a_directory_of_the_path_that_cannot_be_looked_into_is_passed_over(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    environment["PATH"] = f"/{'n' * 300}:{environment['PATH']}"
    assert (await run_program(["true"], cwd=tmp_path, environment=environment)).ok

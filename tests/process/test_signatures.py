"""`ssh-keygen` is never a file of the working directory."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from tideate_core.errors import CommandError, ProgramMissing
from tideate_core.process import fingerprint_of_file, sign_data, signing_key

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def key(tmp_path: Path) -> Path:
    key = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    return key


def test_a_program_of_the_working_directory_does_not_run(
    key: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ssh-keygen").write_text("#!/bin/sh\ntouch ran\n")
    (tmp_path / "ssh-keygen").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    usual = os.environ["PATH"]
    monkeypatch.setenv("PATH", f".::{usual}")
    signature = sign_data(b"data", key, "n")
    assert signing_key(b"data", signature, "n") == fingerprint_of_file(key)
    monkeypatch.setenv("PATH", ".")
    with pytest.raises(ProgramMissing, match="OpenSSH"):
        sign_data(b"data", key, "n")
    assert not (tmp_path / "ran").exists()


def test_a_file_without_a_key_is_named(tmp_path: Path) -> None:
    (tmp_path / "none").write_text("no key")
    with pytest.raises(CommandError, match="has no key"):
        fingerprint_of_file(tmp_path / "none")

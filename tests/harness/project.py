"""A project's directory, its files and its git, in a private home."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import pytest

__all__ = ["Project", "git", "use_home", "write_files"]

IDENTITY = ("user.name=A Person", "user.email=a@b.example", "commit.gpgSign=false", "init.defaultBranch=main")
ISOLATED = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}
QUIET = ("advice.detachedHead=false", "protocol.file.allow=always")


def git(root: Path, *arguments: str, given: str | None = None, check: bool = True) -> str:
    """Run git with a test identity and no configuration of the tester's; return its output."""
    settings = [word for setting in (*IDENTITY, *QUIET) for word in ("-c", setting)]
    command = ["git", *settings, *arguments]
    done = subprocess.run(
        command,
        cwd=root,
        env={**os.environ, **ISOLATED},
        check=check,
        capture_output=True,
        input=given,
        text=True,
    )
    return done.stdout


def write_files(root: Path, files: Mapping[str, str]) -> None:
    """Write files byte for byte, with their directories."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())


class Project:
    """The files of a directory."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def write(self, name: str, text: str = "") -> Path:
        """Write a file byte for byte; return its path."""
        write_files(self.root, {name: text})
        return self.root / name

    def read(self, name: str) -> str:
        return (self.root / name).read_bytes().decode()

    def fingerprint(self) -> dict[str, bytes]:
        """Return the bytes of every file that is not the product's own."""
        return {
            str(path.relative_to(self.root)): path.read_bytes()
            for path in sorted(self.root.rglob("*"))
            if path.is_file() and ".tideate" not in path.relative_to(self.root).parts
        }


def use_home(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a directory the home of this process, with its own configuration and private state."""
    home.mkdir(exist_ok=True)
    monkeypatch.setenv("HOME", str(home))
    for name in ("config", "state"):
        monkeypatch.setenv(f"XDG_{name.upper()}_HOME", str(home / name))

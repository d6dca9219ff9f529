"""A repository with three files and a commit, in a private home, and a client of the server."""

from __future__ import annotations

import os
import subprocess
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from mcp import Client

from tests.mcp.servers.calling import Caller, held_open
from tideate_core.mcp.servers.git.server import git_server

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

GLOBAL = "[user]\n\tname = Ada\n\temail = ada@example.invalid\n[init]\n\tdefaultBranch = main\n"


@dataclass(frozen=True)
class Repo:
    """A test repository, with git as a person runs it."""

    root: Path
    home: Path

    def git(self, *arguments: str, check: bool = True, where: str = ".", given: str | None = None) -> str:
        done = subprocess.run(
            ["git", *arguments],
            cwd=self.root / where,
            check=False,
            capture_output=True,
            text=True,
            input=given,
            env={key: value for key, value in os.environ.items() if not key.startswith("GIT_")},
        )
        assert not check or done.returncode == 0, done.stderr
        return done.stdout

    def write(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def head(self) -> str:
        return self.git("rev-parse", "HEAD").strip()

    def short(self) -> list[str]:
        return self.git("status", "--short", "--untracked-files=all").splitlines()

    @asynccontextmanager
    async def client(self) -> AsyncIterator[Caller]:
        async with Client(git_server(self.root)) as client:
            yield Caller(client)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with a git configuration, isolated from this machine's."""
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text(GLOBAL)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / ".config"))
    (home / ".state").mkdir()
    monkeypatch.setenv("XDG_STATE_HOME", str(home / ".state"))
    monkeypatch.delenv("EMAIL", raising=False)
    return home


@pytest.fixture
def empty(tmp_path: Path, home: Path) -> Repo:
    """A repository without commits."""
    repo = Repo(Path(os.path.realpath(tmp_path)) / "project", home)
    repo.root.mkdir()
    repo.git("init", "--quiet")
    return repo


@pytest.fixture
def repo(empty: Repo) -> Repo:
    for name in ("one.py", "two.py", "sub/three.py"):
        empty.write(name, f"# {name}\nvalue = 1\n")
    empty.write(".gitignore", "*.log\n")
    empty.git("add", ".")
    empty.git("commit", "--quiet", "-m", "first")
    return empty


@pytest.fixture
async def call(empty: Repo) -> AsyncIterator[Caller]:
    """Call the tools of the server."""
    async with held_open(empty.client()) as caller:
        yield caller

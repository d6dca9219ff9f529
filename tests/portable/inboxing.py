"""Machines with clones of one repository, whose runs and answers are exchanged through its refs."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.cli.interrupted import LOOP, SHORT
from tests.harness.shell import Shell

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.harness.model_server import ModelServer

__all__ = ["CI", "LEAVING", "Machine", "Site", "site"]

LEAVING: Final = ("run", "edit", "shorten", "--file", "a.py:1-5", "--at-gate", "leave")
CI: Final = "the-ci-job"


class Machine(Shell):
    """A person's machine, or a job's container, with a clone of the repository."""

    def __init__(self, home: Path, remote: str, name: str) -> None:
        home.mkdir()
        super().__init__(home)
        self.name = name
        self.env["GIT_CONFIG_NOSYSTEM"] = "1"
        if name != CI:
            mail = f"{name.lower()}@example.org"
            (home / ".gitconfig").write_text(f"[user]\n\tname = {name}\n\temail = {mail}\n")
        (self.root / "pyproject.toml").unlink()
        self.git("init", "-q", "-b", "main")
        self.git("remote", "add", "origin", remote)

    def git(self, *arguments: str, check: bool = True, given: str | None = None) -> str:
        done = subprocess.run(
            ["git", *arguments],
            cwd=self.root,
            env=self.env,
            input=given,
            capture_output=True,
            text=True,
            check=False,
        )
        assert not check or done.returncode == 0, done.stderr
        return done.stdout.strip()

    def person(self, text: str) -> None:
        """Add to the person's git configuration."""
        with (self.home / ".gitconfig").open("a") as file:
            file.write(text)

    def settings(self, text: str) -> None:
        """Add to the person's configuration of tideate."""
        place = self.home / "config" / "tideate" / "config.toml"
        place.parent.mkdir(parents=True, exist_ok=True)
        with place.open("a") as file:
            file.write(text)

    def leaves(self, *more: str) -> dict[str, Any]:
        """Run an edit that is left at its review; return the line of JSON."""
        done = self.run(*LEAVING, *more)
        assert done.returncode == 4, (done.stdout, done.stderr)
        (line,) = done.stdout.splitlines()
        shape: dict[str, Any] = json.loads(line)
        return shape

    def waiting(self, *remotes: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.json("inbox", *remotes)["waiting"]
        return found

    def refs(self) -> list[str]:
        """Return the inbox's refs of the remote, without ids."""
        listed = self.git("ls-remote", "origin", "refs/tideate/*", "refs/heads/tideate/*").splitlines()
        return [line.partition("\t")[2] for line in listed]


class Site:
    """A bare repository with one file, and machines with clones of it.

    :param server: the model of all machines.
    """

    def __init__(self, place: Path, server: ModelServer) -> None:
        self.place = place
        self.server = server
        self.remote = place / "remote.git"
        self.url = f"file://{self.remote}"
        self._machines: list[Machine] = []
        self._git("init", "-q", "--bare", "-b", "main", str(self.remote))
        first = self.new("Founder")
        first.write("a.py", LOOP)
        first.write("pyproject.toml")
        first.git("add", ".")
        first.git("commit", "-qm", "begin")
        first.git("push", "-q", "origin", "main")

    def machine(self, name: str, *options: str) -> Machine:
        """Return a new machine with a clone.

        :param options: of `git fetch`.
        """
        made = self.new(name)
        made.git("fetch", "-q", *options, "origin")
        made.git("reset", "-q", "--hard", "origin/main")
        return made

    def hook(self, name: str, script: str) -> None:
        """Add a hook to the remote."""
        path = self.remote / "hooks" / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    def asks(self, code: str = SHORT) -> None:
        """Script the model for one edit."""
        self.server.answers("shorten", f"```python\n{code}```")

    def close(self) -> None:
        for machine in self._machines:
            machine.close()

    def new(self, name: str) -> Machine:
        """Return a new machine with an empty repository."""
        home = self.place / f"{len(self._machines)}-{name}"
        made = Machine(home, self.url, name)
        made.use(self.server)
        self._machines.append(made)
        return made

    def _git(self, *arguments: str) -> None:
        subprocess.run(["git", *arguments], check=True, capture_output=True)


@pytest.fixture
def site(tmp_path: Path, server: ModelServer) -> Iterator[Site]:
    made = Site(tmp_path, server)
    yield made
    made.close()

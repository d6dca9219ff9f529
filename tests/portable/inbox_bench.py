"""Inboxes of several persons on one remote, without runs: questions are made by hand."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from tests.harness.project import use_home
from tideate_core.config import InboxConfig
from tideate_core.engine import ConfirmationRequest
from tideate_core.portable import Inbox, inbox_git, open_inbox

if TYPE_CHECKING:
    from pathlib import Path

    from tideate_core.portable import FetchedQuestion, Published, RunRefs

__all__ = ["Desk", "Office", "asking", "office"]

RUN = "0123456789abcdef0123456789abcdef"
FILE = {
    "path": "a.py",
    "action": "modify",
    "filetype": "python",
    "before": "one\ntwo\nthree",
    "hunks": [{"start": 1, "old": ["two"], "new": ["TWO"]}],
}


def asking(message: str = "Apply the change?", **changed: Any) -> ConfirmationRequest:
    """Return the question of a review."""
    payload = {"files": [FILE], "demonstration": False, "revisable": True}
    known: dict[str, Any] = {"kind": "review", "message": message, "payload": payload}
    return ConfirmationRequest(RUN, "edit", "edit", **{**known, **changed})


@dataclass(slots=True)
class Desk:
    """One person's clone and private state."""

    root: Path
    private: Path
    config: InboxConfig

    async def inbox(self, **config: Any) -> Inbox:
        return await open_inbox(self.root, self.private, self.config.model_copy(update=config))

    async def publish(
        self, request: ConfirmationRequest | None = None, bundle: bytes = b"bundle"
    ) -> Published:
        inbox = await self.inbox()
        question, refs = await inbox.next_question("origin", RUN, request or asking(), "project")
        return await inbox.publish("origin", question, bundle, refs)

    async def see(self) -> tuple[Inbox, RunRefs, FetchedQuestion]:
        """Fetch the question."""
        inbox = await self.inbox()
        refs = await inbox.find("origin", RUN[:8])
        return inbox, refs, await inbox.question(refs)

    def git(self, *arguments: str, given: bytes = b"") -> str:
        return git(self.root, *arguments, given=given)

    async def objects(self) -> Path:
        """Return the private repository of the inbox."""
        return (await inbox_git(self.root, self.private)).place


class Office:
    """A bare remote, and the desks of persons."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.remote = place / "remote.git"
        git(place, "init", "-q", "--bare", "-b", "main", str(self.remote))
        self._count = 0

    def desk(self, name: str = "Ana", *clone: str, url: str | None = None) -> Desk:
        """Return a new person's clone.

        :param clone: options of `git clone`.
        """
        self._count += 1
        root = self.place / f"clone{self._count}"
        git(self.place, "clone", "-q", *clone, url or f"file://{self.remote}", str(root))
        git(root, "config", "user.name", name)
        git(root, "config", "user.email", f"{name.lower()}@example.org")
        return Desk(root, self.place / f"state{self._count}", InboxConfig())

    def hook(self, name: str, script: str) -> None:
        path = self.remote / "hooks" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    def refs(self) -> dict[str, str]:
        lines = git(self.remote, "for-each-ref", "--format=%(refname) %(objectname)").splitlines()
        return dict(line.split(" ") for line in lines)

    def forge(self, ref: str, files: dict[str, bytes], *, modes: dict[str, str] | None = None) -> str:
        """Put a commit of files on the remote, as anyone with access can; return its id."""
        entries = b""
        for name, data in files.items():
            blob = git(self.remote, "hash-object", "-w", "--stdin", given=data)
            mode = (modes or {}).get(name, "100644")
            entries += f"{mode} blob {blob}\t{name}\0".encode()
        tree = git(self.remote, "mktree", "-z", given=entries)
        commit = git(self.remote, "commit-tree", tree, "-m", "forged")
        git(self.remote, "update-ref", ref, commit)
        return commit


def git(root: Path, *arguments: str, given: bytes = b"") -> str:
    forger = {
        f"GIT_{who}_{what}": "m@x.example" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
    }
    done = subprocess.run(
        ["git", *arguments],
        cwd=root,
        env={**os.environ, **forger},
        input=given,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode().strip()


@pytest.fixture
def office(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Office:
    """A remote with one commit, in a private home."""
    use_home(tmp_path / "home", monkeypatch)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    made = Office(tmp_path)
    first = made.desk("Founder")
    (first.root / "a.py").write_text("one\ntwo\nthree\n")
    first.git("add", "a.py")
    first.git("commit", "-q", "-m", "begin")
    first.git("push", "-q", "origin", "HEAD:main")
    return made

"""A bare repository between two people: a job that leaves its questions there, and a reviewer's clone."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tests.harness.project import git, write_files
from tests.harness.shell import Shell
from tideate_core.engine import ConfirmationRequest, question_digest

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["SHOP", "Job", "clone_of", "forge", "name_person"]

SHOP = '''"""A small shop."""


def total(prices):
    result = 0
    for price in prices:
        result = result + price
    return result


def names(products):
    found = []
    for product in products:
        found.append(product["name"])
    return found
'''


def name_person(home: Path, name: str) -> None:
    """Write the git identity of a person: the name, and an address at `shop.example`."""
    address = f"{name.lower()}@shop.example"
    (home / ".gitconfig").write_text(f"[user]\n\tname = {name}\n\temail = {address}\n")


def clone_of(remote: Path, folder: Path) -> Path:
    """Clone a repository to a new folder."""
    git(folder.parent, "clone", "-q", str(remote), folder.name)
    return folder


def forge(remote: Path, run: str, author: str, **changes: str) -> None:
    """Replace the question of a published run, as everyone who can push to the remote can.

    :param changes: fields of the question; its digest fits again.
    """
    ref = f"refs/tideate/runs/{run}"
    question = {**json.loads(git(remote, "show", f"{ref}:question.json")), **changes}
    parts = ("run", "workflow", "step", "kind", "message", "details", "payload")
    question["digest"] = question_digest(ConfirmationRequest(*(question[part] for part in parts)))
    blob = git(remote, "hash-object", "-w", "--stdin", given=json.dumps(question)).strip()
    entries = git(remote, "ls-tree", ref).splitlines()
    kept = [line for line in entries if not line.endswith("\tquestion.json")]
    tree = git(
        remote, "mktree", given="\n".join([*kept, f"100644 blob {blob}\tquestion.json"]) + "\n"
    ).strip()
    by = f"{author} <x@example.org> 1 +0000"
    commit = f"tree {tree}\nauthor {by}\ncommitter {by}\n\nforged\n"
    git(
        remote,
        "update-ref",
        ref,
        git(remote, "hash-object", "-t", "commit", "-w", "--stdin", given=commit).strip(),
    )


class Job(Shell):
    """A job without a terminal, with its own home: a clone of a bare repository.

    :param home: a new directory; the repository is created beside it.
    """

    def __init__(self, home: Path, files: Mapping[str, str]) -> None:
        home.mkdir()
        super().__init__(home)
        self.remote = home.with_name("remote.git")
        git(home.parent, "init", "-q", "--bare", self.remote.name)
        name_person(home, "Robot")
        write_files(self.project, files)
        git(self.project, "init", "-q")
        git(self.project, "add", "-A")
        git(self.project, "commit", "-qm", "first")
        git(self.project, "remote", "add", "origin", str(self.remote))
        git(self.project, "push", "-q", "origin", "HEAD")

    def leave(self, *arguments: str) -> dict[str, Any]:
        """Run a workflow until it leaves a question in the remote; return the printed object."""
        done = self.run("run", *arguments, "--at-gate", "leave")
        assert done.returncode == 4, (done.returncode, done.stdout, done.stderr)
        left: dict[str, Any] = json.loads(done.stdout)
        return left

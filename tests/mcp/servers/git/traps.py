"""Configurations of a hostile repository that make plain git run a program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.mcp.servers.git.conftest import Repo

    Arm = Callable[[Repo, "Trap"], list[list[str]]]
    """Sets the trap up, and returns the plain commands of git that spring it."""

__all__ = ["TRAPS", "Trap"]


@dataclass(frozen=True)
class Trap:
    """A program that leaves a mark when it runs."""

    program: Path
    mark: Path

    @classmethod
    def make(cls, folder: Path) -> Trap:
        program, mark = folder / "trap", folder / "sprung"
        program.write_text(f'#!/bin/sh\necho "$0 $*" >> {mark}\ncat\n')
        program.chmod(0o755)
        return cls(program, mark)

    @property
    def sprung(self) -> str:
        return self.mark.read_text() if self.mark.exists() else ""


CHANGE = [["add", "one.py"], ["commit", "-m", "x"]]


def configured(springs: list[list[str]], **settings: str) -> Arm:
    """Set keys, with `__` for a dot."""

    def arm(repo: Repo, trap: Trap) -> list[list[str]]:
        for key, value in settings.items():
            repo.git("config", key.replace("__", "."), value.format(trap=trap.program))
        return springs

    return arm


def hook(name: str, springs: list[list[str]]) -> Arm:
    def arm(repo: Repo, trap: Trap) -> list[list[str]]:
        path = repo.root / ".git" / "hooks" / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(trap.program.read_bytes())
        path.chmod(0o755)
        return springs

    return arm


def attribute(line: str, springs: list[list[str]], **settings: str) -> Arm:
    """Configure a program for files with an attribute, set in the work tree."""

    def arm(repo: Repo, trap: Trap) -> list[list[str]]:
        repo.write(".git/info/attributes", f"*.py {line}\n")
        return configured(springs, **settings)(repo, trap)

    return arm


def included(repo: Repo, trap: Trap) -> list[list[str]]:
    repo.write(
        "more.config", f'[filter "evil"]\n\tclean = {trap.program}\n[core]\n\tfsmonitor = {trap.program}\n'
    )
    repo.write(".git/info/attributes", "*.py filter=evil\n")
    repo.git("config", "include.path", "../more.config")
    return [["diff"]]


def included_on_branch(repo: Repo, trap: Trap) -> list[list[str]]:
    repo.write("more.config", f'[filter "evil"]\n\tclean = {trap.program}\n')
    repo.write(".git/info/attributes", "*.py filter=evil\n")
    repo.git("config", "includeIf.onbranch:main.path", "../more.config")
    return [["diff"]]


def of_worktree(repo: Repo, trap: Trap) -> list[list[str]]:
    repo.git("config", "extensions.worktreeConfig", "true")
    repo.git("config", "--worktree", "filter.evil.clean", str(trap.program))
    repo.write(".git/info/attributes", "*.py filter=evil\n")
    return [["diff"]]


def other_hooks(repo: Repo, trap: Trap) -> list[list[str]]:
    repo.write("tools/pre-commit", trap.program.read_text())
    (repo.root / "tools/pre-commit").chmod(0o755)
    repo.git("config", "core.hooksPath", "tools")
    return CHANGE


def odd_filter(repo: Repo, trap: Trap) -> list[list[str]]:
    """A name with an equals sign, which `-c` cannot set."""
    repo.git("config", "filter.a=b.c.clean", str(trap.program))
    repo.write(".git/info/attributes", "*.py filter=a=b.c\n")
    return [["diff"]]


def of_submodule(repo: Repo, trap: Trap) -> list[list[str]]:
    """Create a nested repository with its own configuration."""
    repo.write("vendored/a.py", "a\n")
    repo.git("init", "--quiet", where="vendored")
    repo.git("add", ".", where="vendored")
    repo.git("commit", "--quiet", "-m", "a", where="vendored")
    repo.git("add", "vendored")
    repo.git("commit", "--quiet", "-m", "vendored")
    repo.write("vendored/.git/info/attributes", "*.py filter=evil\n")
    repo.git("config", "filter.evil.clean", str(trap.program), where="vendored")
    repo.write("vendored/a.py", "b\n")
    # a commit of this finds nothing, and git would show a status
    repo.write("gone.py", "")
    repo.git("add", "--intent-to-add", "gone.py")
    (repo.root / "gone.py").unlink()
    return [["status"]]


TRAPS: dict[str, Arm] = {
    "of a submodule": of_submodule,
    "monitor": configured([["status"]], core__fsmonitor="{trap}"),
    "signing": configured(CHANGE, commit__gpgSign="true", gpg__program="{trap}", user__signingKey="k"),
    "ssh signing": configured(
        CHANGE, commit__gpgSign="true", gpg__format="ssh", gpg__ssh__defaultKeyCommand="{trap}"
    ),
    "external diff": configured([["diff"]], diff__external="{trap}"),
    "diff command": attribute("diff=evil", [["diff"]], diff__evil__command="{trap}"),
    "textconv": attribute("diff=evil", [["diff"]], diff__evil__textconv="{trap}"),
    "clean": attribute(
        "filter=evil", [["diff"]], filter__evil__clean="{trap}", filter__evil__required="true"
    ),
    "process": attribute("filter=evil", [["diff"]], filter__evil__process="{trap}"),
    "smudge": attribute("filter=evil", [["stash"]], filter__evil__smudge="{trap}"),
    "included": included,
    "included on a branch": included_on_branch,
    "of the worktree": of_worktree,
    "odd filter": odd_filter,
    "other hooks": other_hooks,
    "pre-commit": hook("pre-commit", CHANGE),
    "commit-msg": hook("commit-msg", CHANGE),
    "post-commit": hook("post-commit", CHANGE),
    "prepare-commit-msg": hook("prepare-commit-msg", CHANGE),
    "reference-transaction": hook("reference-transaction", [["branch", "x"]]),
    "post-index-change": hook("post-index-change", [["add", "one.py"]]),
    "post-checkout": hook("post-checkout", [["switch", "-c", "x"]]),
    "trailer": configured(
        [["commit", "--allow-empty", "-m", "x", "--trailer", "a: b"]], trailer__a__command="{trap}"
    ),
    "editor": configured([["commit", "--allow-empty"]], core__editor="{trap}"),
    "alias": configured([["own"]], alias__own="!{trap}", alias__status="!{trap}", alias__commit="!{trap}"),
    "remote": configured(
        [["fetch", "far"]], core__sshCommand="{trap} </dev/null #", remote__far__url="ssh://host.invalid/x"
    ),
    "credentials": configured(
        [["credential", "fill"]], credential__helper="{trap}", credential__username="x"
    ),
    "signature shown": configured([], log__showSignature="true", gpg__program="{trap}"),
}

"""Repositories that configure programs: three uses of git run none of them."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from tideate_core.errors import WorkspaceError
from tideate_core.git import ask_git, git_environment, program, questions, without_filters
from tideate_core.mentions.git import read_changes
from tideate_core.snapshots.gitignore import IgnoreQuery
from tideate_core.workspace import Workspace

if TYPE_CHECKING:
    from pathlib import Path

FAR = "ssh://host.invalid/repository"


@dataclass(frozen=True)
class Hostile:
    """Repository in which a plain git command triggers the trap."""

    root: Path
    trap: Path
    sprung: Path
    """File that the trap writes."""

    def git(self, *arguments: str) -> None:
        subprocess.run(
            ["git", *arguments], cwd=self.root, env=git_environment(), check=True, stdout=subprocess.DEVNULL
        )

    def configure(self, **settings: str) -> None:
        for key, value in settings.items():
            self.git("config", key.replace("__", "."), value)

    def plainly(self, *arguments: str) -> None:
        """Run git without protection."""
        kept = git_environment()
        for guard in ("GIT_ALLOW_PROTOCOL", "GIT_NO_LAZY_FETCH"):
            kept.pop(guard, None)
        subprocess.run(["git", *arguments], cwd=self.root, env=kept, check=False, capture_output=True)


@pytest.fixture
def hostile(tmp_path: Path) -> Hostile:
    root, trap, sprung = tmp_path / "project", tmp_path / "trap", tmp_path / "sprung"
    trap.write_text(f'#!/bin/sh\necho "$0 $*" >> {sprung}\n')
    trap.chmod(0o755)
    (root / ".tideate").mkdir(parents=True)
    made = Hostile(root, trap, sprung)
    made.git("init", "--quiet")
    made.configure(user__name="T", user__email="t@example.invalid")
    (root / "one.py").write_text("one = 1\n")
    (root / ".gitignore").write_text("*.log\n.tideate/\n")
    (root / "a.log").write_text("ignored\n")
    made.git("add", ".")
    made.git("commit", "--quiet", "-m", "first")
    (root / "one.py").write_text("one = 2\n")
    (root / "new.py").write_text("new = 1\n")
    return made


Arm = Callable[[Hostile], list[str]]
"""Sets up a trap and returns the command that triggers it."""


def monitor(repository: Hostile) -> list[str]:
    repository.configure(core__fsmonitor=str(repository.trap))
    return ["status"]


def included(repository: Hostile) -> list[str]:
    (repository.root / "more.config").write_text(f'[core]\n\tfsmonitor = "{repository.trap}"\n')
    repository.configure(include__path="../more.config")
    return ["status"]


def hook(repository: Hostile) -> list[str]:
    hooks = repository.root.parent / "hooks"
    hooks.mkdir()
    repository.trap.rename(hooks / "post-index-change")
    repository.configure(core__hooksPath=str(hooks))
    return ["add", "."]


def external(repository: Hostile) -> list[str]:
    repository.configure(diff__external=str(repository.trap))
    return ["diff"]


def driver(line: str, **settings: str) -> Arm:
    """Configure a program that git runs for files with an attribute."""

    def arm(repository: Hostile) -> list[str]:
        (repository.root / ".git/info").mkdir(exist_ok=True)
        (repository.root / ".git/info/attributes").write_text(f"*.py {line}\n")
        for key, value in settings.items():
            repository.git("config", key.replace("__", "."), value.format(trap=repository.trap))
        return ["diff"]

    return arm


def included_filter(repository: Hostile) -> list[str]:
    (repository.root / "more.config").write_text(f'[filter "evil"]\n\tclean = "{repository.trap}"\n')
    return driver("filter=evil", include__path="../more.config")(repository)


def alias(repository: Hostile) -> list[str]:
    settings = {"alias.own": f"!{repository.trap}", "alias.ls-files": f"!{repository.trap}"}
    for key, value in {**settings, "alias.diff": f"!{repository.trap}"}.items():
        repository.git("config", key, value)
    return ["own"]


def connection(repository: Hostile) -> list[str]:
    repository.configure(core__sshCommand=str(repository.trap), remote__far__url=FAR)
    return ["fetch", "far"]


def missing(repository: Hostile, url: str) -> None:
    """Remove a blob that a diff needs and a remote promises."""
    blob = subprocess.run(
        ["git", "rev-parse", "HEAD:one.py"], cwd=repository.root, check=True, capture_output=True, text=True
    ).stdout.strip()
    repository.configure(
        core__repositoryFormatVersion="1",
        extensions__partialClone="far",
        remote__far__promisor="true",
        remote__far__url=url,
    )
    (repository.root / ".git/objects" / blob[:2] / blob[2:]).unlink()


def lazily_by_program(repository: Hostile) -> list[str]:
    missing(repository, f"ext::{repository.trap}")
    repository.configure(protocol__ext__allow="always")
    return ["diff"]


def lazily_by_ssh(repository: Hostile) -> list[str]:
    missing(repository, FAR)
    repository.configure(core__sshCommand=str(repository.trap), protocol__ssh__allow="always")
    return ["diff"]


def lazily_by_upload(repository: Hostile) -> list[str]:
    missing(repository, str(repository.root))
    repository.configure(remote__far__uploadpack=str(repository.trap), protocol__file__allow="always")
    return ["diff"]


TRAPS: dict[str, Arm] = {
    "monitor": monitor,
    "included": included,
    "hook": hook,
    "external": external,
    "command": driver("diff=evil", diff__evil__command="{trap}"),
    "textconv": driver("diff=evil", diff__evil__textconv="{trap}"),
    "clean": driver("filter=evil", filter__evil__clean="{trap}", filter__evil__required="true"),
    "process": driver("filter=evil", filter__evil__process="{trap}"),
    "included filter": included_filter,
    "alias": alias,
    "connection": connection,
    "lazily, by program": lazily_by_program,
    "lazily, by ssh": lazily_by_ssh,
    "lazily, by upload": lazily_by_upload,
}


@pytest.mark.parametrize("arm", TRAPS.values(), ids=TRAPS)
def test_every_trap_is_one(hostile: Hostile, arm: Arm) -> None:
    hostile.plainly(*arm(hostile))
    assert hostile.sprung.exists()


async def listed(root: Path) -> list[str]:
    return await Workspace(root).list()


async def ignored(root: Path) -> list[str]:
    with IgnoreQuery(root) as question:
        found = question.answer()
    assert found.files == {"a.log"}  # git answered
    return ["one.py"]


async def differing(root: Path) -> list[str]:
    try:
        return [*(await read_changes(root)).untracked, "one.py"]
    except WorkspaceError:  # a diff of a missing blob fails
        return ["one.py"]


async def asked(root: Path) -> list[str]:
    """Make git use the configuration of the repository."""
    with contextlib.suppress(WorkspaceError):  # a diff of a missing blob fails
        await ask_git(root, *await without_filters(root), "diff", "--no-ext-diff", "--no-textconv", "HEAD")
    return ["one.py"]


@pytest.mark.parametrize("use", [listed, ignored, differing, asked])
@pytest.mark.parametrize("arm", TRAPS.values(), ids=TRAPS)
async def test_no_place_that_asks_git_runs_what_a_repository_configures(
    hostile: Hostile, arm: Arm, use: Callable[[Path], Awaitable[list[str]]]
) -> None:
    arm(hostile)
    assert "one.py" in await use(hostile.root)
    assert not hostile.sprung.exists(), hostile.sprung.read_text()


@pytest.mark.parametrize("arm", [lazily_by_program, lazily_by_ssh, lazily_by_upload])
async def test_a_git_that_fetches_what_is_missing_may_speak_no_protocol(
    hostile: Hostile, arm: Arm, monkeypatch: pytest.MonkeyPatch
) -> None:
    arm(hostile)
    monkeypatch.delitem(program._OVERRIDES, "GIT_NO_LAZY_FETCH")  # as an older git
    monkeypatch.setattr(questions, "HARDENED", program.SAFE_OPTIONS)  # a second guard against ssh
    assert await differing(hostile.root) == ["one.py"]
    await asked(hostile.root)
    assert not hostile.sprung.exists(), hostile.sprung.read_text()
    monkeypatch.delitem(program._OVERRIDES, "GIT_ALLOW_PROTOCOL")
    await differing(hostile.root)
    assert not hostile.sprung.exists()  # the configuration is not read
    await asked(hostile.root)
    assert hostile.sprung.exists()  # by its own permission


async def test_a_filter_whose_name_no_setting_can_have_is_not_run(hostile: Hostile) -> None:
    driver("filter=a=b", **{"filter__a=b__clean": "{trap}"})(hostile)
    with pytest.raises(WorkspaceError, match="cannot be turned off"):
        await without_filters(hostile.root)
    await read_changes(hostile.root)
    assert not hostile.sprung.exists()
    hostile.plainly("diff")
    assert hostile.sprung.exists()


def test_variables_of_ours_do_not_lead_git_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_DIR", "/elsewhere")
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", "program")
    monkeypatch.setenv("HOME", "/home/of/ours")
    found = git_environment()
    assert "GIT_DIR" not in found
    assert "GIT_EXTERNAL_DIFF" not in found
    assert found["HOME"] == "/home/of/ours"

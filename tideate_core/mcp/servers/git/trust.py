"""Trust in programs that a repository brings: hooks, filters, commit signing.

A person trusts these as they are: every file of the hooks' directory, every setting that signing uses and
every filter. A change of any of them asks again.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from mcp.server.mcpserver.exceptions import ToolError

from tideate_core.mcp.servers.git.repository import Repositories
from tideate_core.project import Trust, real_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tideate_core.mcp.servers.git.repository import Repository

__all__ = [
    "COMMIT_HOOKS",
    "SWITCH_HOOKS",
    "RepositoryPrograms",
    "inspect_programs",
    "repository_programs",
    "trust_programs",
]

COMMIT_HOOKS: Final = (
    "pre-commit",
    "prepare-commit-msg",
    "commit-msg",
    "post-commit",
    "reference-transaction",
)
SWITCH_HOOKS: Final = ("post-checkout", "reference-transaction")
MOST_FILES: Final = 200
LARGEST: Final = 1 << 20
"""Bytes of one of them; a larger directory, or file, is never trusted."""


class _Unclear(Exception):
    """The programs that would run cannot be listed in full."""


@dataclass(frozen=True, slots=True)
class RepositoryPrograms:
    """Programs that a repository brings: hooks, filters, signing."""

    hooks: tuple[str, ...]
    top: Path
    """Of the repository's work tree."""
    folder: Path
    signing: bool
    filters: tuple[str, ...]
    trusted: bool
    """The person trusts exactly this."""
    meaning: str
    """The text that trust is bound to; empty where it cannot be told."""
    why: str
    """The reason not to run them; empty where they are trusted."""

    def labels(self) -> list[str]:
        """Say one by one what it is."""
        return [
            *(f"git hook {name}" for name in self.hooks),
            *(["signing of commits"] if self.signing else []),
            *(f"git {line}" for line in self.filters),
        ]

    def contents(self) -> str:
        """Return the texts of the hooks' files, each under its path, and the settings that run something."""
        parts = [f"# {line}\n" for line in self.filters]
        if self.hooks:
            for path in sorted(_files(self.folder))[:MOST_FILES]:
                text = path.read_bytes()[:LARGEST].decode("utf-8", "replace")
                parts.append(f"# {path}\n{text}" + ("" if text.endswith("\n") else "\n"))
        return "".join(parts)

    def hooks_report(self, names: Iterable[str]) -> str:
        """Say what becomes of the hooks among these."""
        found = ", ".join(name for name in names if name in self.hooks)
        if not found:
            return "none"
        return f"run: {found}" if self.trusted else f"not run: {found} ({self.why})"

    def signing_report(self) -> str:
        if not self.signing:
            return "none"
        return "signed" if self.trusted else f"not signed: {self.why}"

    def options(self) -> tuple[str, ...]:
        """Return the options of git with which it runs what is trusted."""
        if not self.trusted:
            return ("-c", "commit.gpgSign=false", "-c", "gpg.program=false")
        return ("-c", f"core.hooksPath={self.folder}")


def inspect_programs(repository: Repository, trust: Trust | None = None) -> RepositoryPrograms:
    """Return what a repository brings and whether the person trusts it.

    :raises ConfigError: what is trusted cannot be read.
    """
    folder, filters = _folder(repository), tuple(repository.settings.filters())
    top, hooks = repository.layout.top, _hooks(folder)
    signing = repository.settings.is_set("commit.gpgsign")
    try:
        contents = list(_contents(repository, folder))
    except _Unclear as error:
        return RepositoryPrograms(hooks, top, folder, signing, filters, False, "", str(error))
    lines = ["git", *contents, *(repository.settings.signing() if signing else ()), *filters]
    meaning = "\n".join(lines)
    trusted = (trust or Trust(top)).allows(meaning)
    why = (
        "" if trusted else "the project is not trusted, or changed since; `tideate trust` trusts it as it is"
    )
    return RepositoryPrograms(hooks, top, folder, signing, filters, trusted, meaning, why)


def repository_programs(root: Path) -> RepositoryPrograms | None:
    """Return what the repository at a root brings that could run, None for nothing.

    :raises ConfigError: what is trusted cannot be read.
    """
    try:
        with ThreadPoolExecutor(1) as thread:  # the caller's may have an event loop
            repository = thread.submit(asyncio.run, Repositories(real_path(root)).find()).result()
    except ToolError:
        return None  # where no tool works none could run it
    programs = inspect_programs(repository)
    return programs if programs.labels() and programs.meaning else None


def trust_programs(programs: RepositoryPrograms) -> None:
    """Let run what a repository brings, exactly as it was looked at.

    :raises ConfigError: what is trusted cannot be read or written.
    """
    Trust(programs.top).allow(programs.meaning, ", ".join(programs.labels()))


def _folder(repository: Repository) -> Path:
    """Return where git looks for hooks."""
    configured = repository.settings.value("core.hookspath")
    if configured is None:
        return repository.layout.common_dir / "hooks"
    return repository.layout.top / os.path.expanduser(configured)  # noqa: PTH111 never raises


def _hooks(folder: Path) -> tuple[str, ...]:
    names = dict.fromkeys((*COMMIT_HOOKS, *SWITCH_HOOKS))
    return tuple(name for name in names if os.access(folder / name, os.X_OK) and (folder / name).is_file())


def _contents(repository: Repository, folder: Path) -> Iterator[str]:
    """Yield a line for each file that a hook may consist of."""
    if not folder.is_dir():
        return
    if "core.hookspath" in repository.settings.local and not real_path(folder).is_relative_to(
        repository.root
    ):
        raise _Unclear("the repository's core.hooksPath leads out of the root")
    yield str(folder)
    for number, path in enumerate(_files(folder)):
        if number >= MOST_FILES or path.stat().st_size > LARGEST:
            raise _Unclear("there is more in the directory of the hooks than can be looked through")
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        yield f"{path.relative_to(folder)} {digest} {os.access(path, os.X_OK)}"


def _files(folder: Path) -> Iterator[Path]:
    for directory, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            path = Path(directory, name)
            if path.suffix != ".sample" and path.is_file():
                yield path

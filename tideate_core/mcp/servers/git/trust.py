"""Trust in programs that a repository configures: hooks, filters, commit signing.

Trust covers the exact contents: every file in the hooks directory, every filter, and every setting used for
signing. A change of any of them asks again.
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

from tideate_core.git import UNSIGNED, config_options
from tideate_core.mcp.servers.git.repository import open_repository
from tideate_core.project import Trust, real_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tideate_core.mcp.servers.git.repository import Repository

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
"""Bytes of one file; a directory with more, or larger, files is never trusted."""


class _NotListed(Exception):
    """The programs that would run cannot be listed completely."""


@dataclass(frozen=True, slots=True)
class RepositoryPrograms:
    """Programs that a repository configures, and whether the person trusts them."""

    hooks: tuple[str, ...]
    top: Path
    """The work tree."""
    folder: Path
    """The hooks directory."""
    signing: bool
    filters: tuple[str, ...]
    transfers: tuple[str, ...]
    """Settings for remotes and signatures, which start programs or choose where credentials go."""
    trusted: bool
    """The person trusts exactly these programs."""
    meaning: str
    """The text that trust is bound to; empty if the programs cannot be listed."""
    why: str
    """Why they do not run; empty if they are trusted."""

    def labels(self) -> list[str]:
        """Return a description of each program."""
        return [
            *(f"git hook {name}" for name in self.hooks),
            *(["signing of commits"] if self.signing else []),
            *(f"git {line}" for line in (*self.filters, *self.transfers)),
        ]

    def contents(self) -> str:
        """Return the filter settings and the text of each file in the hooks directory, for review."""
        parts = [f"# {line}\n" for line in (*self.filters, *self.transfers)]
        if self.hooks:
            for path in sorted(_files(self.folder))[:MOST_FILES]:
                text = path.read_bytes()[:LARGEST].decode("utf-8", "replace")
                parts.append(f"# {path}\n{text}" + ("" if text.endswith("\n") else "\n"))
        return "".join(parts)

    def hooks_report(self, names: Iterable[str]) -> str:
        """Describe which of these hooks exist and whether they run."""
        found = ", ".join(name for name in names if name in self.hooks)
        if not found:
            return "none"
        return f"run: {found}" if self.trusted else f"not run: {found} ({self.why})"

    def signing_report(self) -> str:
        if not self.signing:
            return "none"
        return "signed" if self.trusted else f"not signed: {self.why}"

    def options(self) -> tuple[str, ...]:
        """Return the git options that run trusted programs only."""
        if not self.trusted:
            return UNSIGNED
        return config_options(f"core.hooksPath={self.folder}")


def inspect_programs(repository: Repository, trust: Trust | None = None) -> RepositoryPrograms:
    """List a repository's programs and look up whether the person trusts them.

    :raises ConfigError: the trust store cannot be read.
    """
    folder, filters = _folder(repository), tuple(repository.settings.filters())
    names = dict.fromkeys((*COMMIT_HOOKS, *SWITCH_HOOKS))
    hooks = tuple(name for name in names if os.access(folder / name, os.X_OK) and (folder / name).is_file())
    top = repository.layout.top
    signing = repository.settings.is_set("commit.gpgsign")
    transfers = tuple(repository.settings.transfers(signing=not signing))
    try:
        contents = list(_contents(repository, folder))
    except _NotListed as error:
        return RepositoryPrograms(hooks, top, folder, signing, filters, transfers, False, "", str(error))
    signs = repository.settings.signing() if signing else ()
    lines = ["git", *contents, *signs, *filters, *transfers]
    meaning = "\n".join(lines)
    trusted = (trust or Trust(top)).allows(meaning)
    why = (
        "" if trusted else "the project is not trusted, or changed since; `tideate trust` trusts it as it is"
    )
    return RepositoryPrograms(hooks, top, folder, signing, filters, transfers, trusted, meaning, why)


def repository_programs(root: Path) -> RepositoryPrograms | None:
    """Return the programs of the repository at a root, or None if there are none to trust.

    :raises ConfigError: the trust store cannot be read.
    """
    try:
        with ThreadPoolExecutor(1) as thread:  # the caller's thread may have an event loop
            repository = thread.submit(asyncio.run, open_repository(real_path(root))).result()
    except ToolError:
        return None  # the tools refuse this repository, so nothing can run
    programs = inspect_programs(repository)
    return programs if programs.labels() and programs.meaning else None


def trust_programs(programs: RepositoryPrograms) -> None:
    """Trust a repository's programs exactly as they were inspected.

    :raises ConfigError: the trust store cannot be read or written.
    """
    Trust(programs.top).allow(programs.meaning, ", ".join(programs.labels()))


def _folder(repository: Repository) -> Path:
    """Return the directory in which git looks for hooks."""
    configured = repository.settings.value("core.hookspath")
    if configured is None:
        return repository.layout.common_dir / "hooks"
    return repository.layout.top / os.path.expanduser(configured)  # noqa: PTH111 never raises


def _contents(repository: Repository, folder: Path) -> Iterator[str]:
    """Yield path, digest and mode of each file in the hooks directory."""
    if not folder.is_dir():
        return
    if "core.hookspath" in repository.settings.local and not real_path(folder).is_relative_to(
        repository.root
    ):
        raise _NotListed("the repository's core.hooksPath leads out of the root")
    yield str(folder)
    for number, path in enumerate(_files(folder)):
        if number >= MOST_FILES or path.stat().st_size > LARGEST:
            raise _NotListed("the hooks directory has too many or too large files to check")
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        yield f"{path.relative_to(folder)} {digest} {os.access(path, os.X_OK)}"


def _files(folder: Path) -> Iterator[Path]:
    for directory, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            path = Path(directory, name)
            if path.suffix != ".sample" and path.is_file():
                yield path

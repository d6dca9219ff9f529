"""Compare saved files by content in a temporary repository, without the project's index and settings."""

from __future__ import annotations

import asyncio
import os
import re
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from tideate_core.errors import WorkspaceError
from tideate_core.git.layout import find_repository
from tideate_core.git.objects import object_id, objects_only
from tideate_core.git.parsing import join_names
from tideate_core.git.program import GitOutput, config_options, reasons_first
from tideate_core.git.questions import ask, ask_git, empty_tree
from tideate_core.project import real_path

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Collection, Sequence
    from pathlib import Path

    from tideate_core.git.program import Repository

LARGEST_LIST: Final = 256 << 20
"""Bytes of a list of all files."""
PATIENCE: Final = 60.0
"""Seconds to compare all files by content."""
_KEPT: Final = (b"core.autocrlf", b"core.eol", b"core.precomposeunicode")
_KEPT_VALUES: Final = frozenset({b"true", b"false", b"input", b"lf", b"crlf", b"native"})


@dataclass(frozen=True, slots=True)
class SavedFiles:
    """Saved files of a project in a repository without its own index and configuration."""

    root: Path
    repository: Repository
    settings: tuple[str, ...]
    """Options of git for line ends and file modes."""
    sparse: int = 0
    """Files that a sparse checkout leaves out."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on files that are not compared."""
        words = "files are not compared: the sparse checkout leaves them out"
        return (f"{self.sparse:,} {words}",) if self.sparse else ()

    async def ask(
        self, *arguments: str, largest: int | None = None, given: bytes = b""
    ) -> tuple[bytes, bool]:
        """Run a git command that must succeed; return its output, and True if the output is complete.

        :raises WorkspaceError: git cannot be run, times out or fails.
        """
        answer = await self._run(*arguments, largest=largest, given=given)
        if answer.status:
            said = "; ".join(reasons_first(answer.said))[:200]
            raise WorkspaceError(f"git cannot compare the files: {said}")
        return answer.out, answer.whole

    async def _run(self, *arguments: str, largest: int | None = None, given: bytes = b"") -> GitOutput:
        return await ask(
            self.root,
            *self.settings,
            *arguments,
            repository=self.repository,
            largest=largest,
            given=given,
            patience=PATIENCE,
        )

    async def index(self, commit: str) -> SavedFiles:
        """Build an index of a commit and of the files that only the repository's index has.

        Flags and times of the repository's index are not trusted, so every file is compared by content.
        """
        # entry: mode, id, stage; any stage of a conflict will do
        added = [re.sub(rb" [123]\t", b" 0\t", one, count=1) for one in (await self._staged()).split(b"\0")]
        tree, _ = await self.ask("ls-tree", "-r", "-z", "--full-name", commit, largest=LARGEST_LIST)
        return await self._with_index(b"\0".join(added) + tree)

    async def as_staged(self, head: str | None, compared: Sequence[str] = (".",)) -> SavedFiles:
        """Build an index of the staged files, against which saved files are compared by content.

        :param head: the id of the last commit.
        :param compared: paths of the saved files to read now; others are read when git needs them.
        """
        if head is not None:
            (self.repository.git_dir / "HEAD").write_text(f"{head}\n")
        entries = await self._staged()
        announced = await self._announced(entries)
        if announced:
            kept = (one for one in entries.split(b"\0") if one.partition(b"\t")[2] not in announced)
            entries = b"\0".join(kept)
        named = [
            path
            for path in compared
            if path == "." or any(b"\t%s%s" % (os.fsencode(path), end) in entries for end in (b"\0", b"/"))
        ]
        refresh = ("add", "--refresh", "--", *named) if named else ()
        return await self._with_index(entries, refresh, announced)

    async def _announced(self, entries: bytes) -> set[bytes]:
        """Return the files added by `git add -N`, which stages only their names."""
        empty = object_id("blob", b"", entries[7:].partition(b" ")[0].decode())
        found = {
            one.partition(b"\t")[2] for one in entries.split(b"\0") if one[7:].startswith(empty.encode())
        }
        if not found:
            return found
        tree = await empty_tree(self.root)
        options = ("--cached", "--name-only", "-z", "--ita-invisible-in-index")
        staged, _ = await ask_git(self.root, "diff-index", *options, tree, largest=LARGEST_LIST)
        return found.difference(staged.split(b"\0"))

    async def _staged(self) -> bytes:
        found, _ = await ask_git(self.root, "ls-files", "-s", "-z", "--full-name", largest=LARGEST_LIST)
        return found

    async def _with_index(
        self,
        entries: bytes,
        refresh: Sequence[str] = ("update-index", "-q", "--refresh"),
        announced: Collection[bytes] = (),
    ) -> SavedFiles:
        await self.ask("update-index", "-z", "--index-info", given=entries)
        if there := await asyncio.to_thread(_files, self.root, announced):
            listed = self.repository.git_dir / "announced"
            listed.write_bytes(b"\0".join(there))
            named = (f"--pathspec-from-file={listed}", "--pathspec-file-nul")
            await self.ask("add", "--intent-to-add", "--force", *named)
        absent = await asyncio.to_thread(_absent, self.root, await skipped_files(self.root))
        if absent:
            await self._run("update-index", "--skip-worktree", "-z", "--stdin", given=join_names(absent))
        if refresh:
            await self._run(*refresh, largest=LARGEST_LIST)
        return replace(self, sparse=len(absent))


async def skipped_files(root: Path) -> list[str]:
    """Return the files that the index marks as absent from the work tree (sparse checkout)."""
    listed, _ = await ask_git(root, "ls-files", "-t", "-z", largest=LARGEST_LIST)
    return [os.fsdecode(one[2:]) for one in listed.split(b"\0") if one.startswith(b"S ")]


def _files(root: Path, names: Collection[bytes]) -> list[bytes]:
    """Return the names that are files or links and have no link in their directories."""
    top = real_path(root)
    return [
        name
        for name in sorted(names)
        if real_path((path := top / os.fsdecode(name)).parent) == path.parent
        and (path.is_symlink() or path.is_file())
    ]


def _absent(root: Path, names: list[str]) -> list[str]:
    return [name for name in names if not os.path.lexists(root / name)]


@asynccontextmanager
async def saved_files(root: Path, some_id: str) -> AsyncIterator[SavedFiles]:
    """Create a repository with the same files and objects, and only the settings for line ends and modes.

    :param some_id: any object id of the repository.
    :raises WorkspaceError: there is no git or no repository, or git times out.
    """
    repository = await asyncio.to_thread(find_repository, real_path(root))
    listed, _ = await ask_git(root, "config", "--list", "-z")
    values = dict(entry.partition(b"\n")[::2] for entry in listed.split(b"\0") if entry)
    settings = [
        os.fsdecode(b"%s=%s" % (key, value)) for key in _KEPT if (value := values.get(key)) in _KEPT_VALUES
    ]
    # a file system without modes shows even this file as executable
    if values.get(b"core.filemode") == b"false" and os.access(repository.git_dir / "HEAD", os.X_OK):
        settings.append("core.fileMode=false")
    with objects_only(repository, some_id) as alone:
        yield SavedFiles(root, alone, config_options(*settings))

"""Run git for a question, so that nothing which the repository configures is run."""

from __future__ import annotations

import asyncio
import os
import re
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tideate_core.errors import AmbiguousCommit, InvalidInput, WorkspaceError
from tideate_core.git import (
    SAFE_OPTIONS,
    GitOutput,
    find_git,
    find_repository,
    git_environment,
    object_id,
    objects_only,
    query,
)
from tideate_core.project import real_path

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Collection, Sequence
    from pathlib import Path

    from tideate_core.git import Repository

__all__ = [
    "LARGEST",
    "SavedFiles",
    "ask_git",
    "check_place",
    "empty_tree",
    "find_commit",
    "refuse_commit",
    "saved_files",
    "without_filters",
]

TIMEOUT: Final = 10.0
"""Seconds that one call of git may take."""
LARGEST: Final = 4 * 1024 * 1024
"""Bytes of output that are read."""
LARGEST_LIST: Final = 256 << 20
"""Bytes of the names of all files."""
PATIENCE: Final = 60.0
"""Seconds to compare all files with their contents."""
LONGEST: Final = 250
"""Characters of the name of a commit."""
_FOREIGN_SCOPES: Final = frozenset({b"local", b"worktree"})
_REVISION: Final = re.compile(r"[^\x00-\x20\x7f:*?\[\\-][^\x00-\x20\x7f:*?\[\\]*")
_HARMLESS: Final = (
    # looking never writes: git would note in the index which files it found unchanged
    *("-c", "diff.autoRefreshIndex=false", "-c", "log.showSignature=false", "-c", "gpg.program=false"),
    *("-c", "core.quotePath=false", "-c", "diff.orderFile=/dev/null", "-c", "core.alternateRefsCommand=:"),
    *("-c", "color.ui=false", "-c", "status.submoduleSummary=false", "-c", "i18n.logOutputEncoding=UTF-8"),
    *("-c", "blame.ignoreRevsFile=", "-c", "core.warnAmbiguousRefs=true"),
)
_KEPT: Final = (b"core.autocrlf", b"core.eol", b"core.precomposeunicode")
_KEPT_VALUES: Final = frozenset({b"true", b"false", b"input", b"lf", b"crlf", b"native"})
_CERTAIN: Final = re.compile(r"(?:HEAD(?![\w/.-])|@|[0-9a-f]{40}(?:[0-9a-f]{24})?(?![\w/.-])).*")
"""Names that stand for the same commit whatever else is called so."""


async def check_place(root: Path) -> None:
    """Refuse a repository of which a part belongs to another project.

    :raises WorkspaceError: it is one, or there is none.
    """
    await asyncio.to_thread(find_repository, real_path(root))


async def find_commit(root: Path, name: str) -> str:
    """Return the id of the commit that a name stands for.

    :raises AmbiguousCommit: several things are called so: a tag and a branch, or the beginning of an id.
    :raises WorkspaceError: it is no such name, or stands for no commit.
    """
    # `^{/WORD}` would tell by its answer which words are in a message
    if len(name) > LONGEST or not _REVISION.fullmatch(name) or ".." in name or "^{" in name:
        raise WorkspaceError(
            f"{name[:LONGEST]!r} is not the name of a commit: give a branch, a tag, an id or HEAD, with ~N, "
            "^N or @{N} behind it if you like"
        )
    wanted = f"{name}^{{commit}}"
    # not quiet: of several things of one name git takes one, with a warning
    answer = await _answer(root, "rev-parse", "--verify", "--end-of-options", wanted)
    if answer.status:
        raise WorkspaceError(f"there is no commit {name!r}")
    if "is ambiguous" in answer.said and not _CERTAIN.fullmatch(name):
        raise AmbiguousCommit(
            f"several things here are called {name!r}: give heads/{name} for the branch, tags/{name} for the "
            "tag, or a whole id"
        )
    return answer.out.decode().strip()


async def refuse_commit(root: Path, path: str) -> None:
    """Refuse a path that may be meant as a commit.

    :raises InvalidInput: a commit goes by this name.
    """
    try:
        await find_commit(root, path)
    except AmbiguousCommit:
        pass
    except WorkspaceError:
        return
    raise InvalidInput(
        f"{path!r} is a file or folder here, and the name of a commit: give ./{path} for the one, "
        f"{path}~0 for the other"
    )


async def empty_tree(root: Path) -> str:
    """Return the id of the empty tree, with which all is compared that has nothing before it."""
    output, _ = await ask_git(root, "hash-object", "-t", "tree", "--stdin")
    return output.decode().strip()


async def without_filters(root: Path) -> list[str]:
    """Return settings that empty every filter that the repository itself brings.

    :raises WorkspaceError: one has a name that no such setting can have.
    """
    listed, _ = await ask_git(root, "config", "--list", "--show-scope", "--name-only", "-z")
    fields = listed.split(b"\0")
    settings: list[str] = []
    for scope, key in zip(fields[::2], fields[1::2], strict=False):
        if scope in _FOREIGN_SCOPES and key.lower().startswith(b"filter."):
            name = os.fsdecode(key)
            if "=" in name:  # git takes what is before the first as the name
                raise WorkspaceError(f"the repository configures {name!a}, which nothing can turn off")
            settings += ["-c", f"{name}={'false' if name.lower().endswith('.required') else ''}"]
    return settings


async def ask_git(
    root: Path, *arguments: str, largest: int | None = None, given: bytes = b""
) -> tuple[bytes, bool]:
    """Run git; return its output, and True if that is all of it.

    :param given: its standard input.
    :raises WorkspaceError: it cannot be run, does not answer, or fails.
    """
    answer = await _answer(root, *arguments, largest=largest, given=given)
    if answer.status:
        raise WorkspaceError("git finds no repository here that it can read; `git status` tells why")
    return answer.out, answer.whole


async def _answer(
    root: Path,
    *arguments: str,
    largest: int | None = None,
    given: bytes = b"",
    repository: Repository | None = None,
    patience: float | None = None,
) -> GitOutput:
    if repository is None:
        repository = await asyncio.to_thread(find_repository, real_path(root))
    return await query(
        [find_git(), *SAFE_OPTIONS, *_HARMLESS, *arguments],
        cwd=root,
        environment={**git_environment(), **repository.variables()},
        given=given,
        largest=LARGEST if largest is None else largest,
        patience=TIMEOUT if patience is None else patience,
    )


@dataclass(frozen=True, slots=True)
class SavedFiles:
    """A repository with the saved files, and without the index and the configuration that may hide them."""

    root: Path
    repository: Repository
    settings: tuple[str, ...]
    sparse: int = 0
    """Files that are not there because the index says so."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on files that are not compared."""
        words = "files are not compared: the sparse checkout leaves them out"
        return (f"{self.sparse:,} {words}",) if self.sparse else ()

    async def ask(
        self, *arguments: str, largest: int | None = None, given: bytes = b""
    ) -> tuple[bytes, bool]:
        """Run git as `ask_git` does."""
        answer = await self._run(*arguments, largest=largest, given=given)
        if answer.status:
            raise WorkspaceError(f"git cannot compare the files: {answer.said.strip()[:200]}")
        return answer.out, answer.whole

    async def _run(self, *arguments: str, largest: int | None = None, given: bytes = b"") -> GitOutput:
        told = (*self.settings, *arguments)
        return await _answer(
            self.root,
            *told,
            largest=largest,
            given=given,
            repository=self.repository,
            patience=PATIENCE,
        )

    async def index(self, commit: str) -> SavedFiles:
        """Make an index of a commit, and of the files that only the repository's index has.

        Each file is compared by its content: neither flags nor times of the repository's index are believed.
        """
        # an entry of the index: mode, id, stage; of a conflict any will do
        added = [re.sub(rb" [123]\t", b" 0\t", one, count=1) for one in (await self._staged()).split(b"\0")]
        tree, _ = await self.ask("ls-tree", "-r", "-z", "--full-name", commit, largest=LARGEST_LIST)
        return await self._with_index(b"\0".join(added) + tree)

    async def as_staged(self, head: str | None, compared: Sequence[str] = (".",)) -> SavedFiles:
        """Make an index of the staged files, with which the saved files are compared by content.

        :param head: id of the last commit, to which HEAD is set.
        :param compared: the paths whose saved files are read now; others only when git is asked about them.
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
        """Return the files that `git add -N` added: of them only the name is staged."""
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
        told, _ = await ask_git(self.root, "ls-files", "-t", "-z", largest=LARGEST_LIST)
        skipped = [one[2:] for one in told.split(b"\0") if one.startswith(b"S ")]
        absent = await asyncio.to_thread(_absent, self.root, skipped)
        if absent:
            names = b"".join(name + b"\0" for name in absent)
            await self._run("update-index", "--skip-worktree", "-z", "--stdin", given=names)
        if refresh:
            await self._run(*refresh, largest=LARGEST_LIST)
        return SavedFiles(self.root, self.repository, self.settings, len(absent))


def _files(root: Path, names: Collection[bytes]) -> list[bytes]:
    """Return the names of files, and of links, that are reached through no link."""
    top = real_path(root)
    return [
        name
        for name in sorted(names)
        if real_path((path := top / os.fsdecode(name)).parent) == path.parent
        and (path.is_symlink() or path.is_file())
    ]


def _absent(root: Path, names: list[bytes]) -> list[bytes]:
    return [name for name in names if not os.path.lexists(root / os.fsdecode(name))]


@asynccontextmanager
async def saved_files(root: Path, some_id: str) -> AsyncIterator[SavedFiles]:
    """Give a repository that has the same files and objects, and settings about line ends and names only.

    :param some_id: the id of an object.
    :raises WorkspaceError: there is no git, no repository, or it does not answer.
    """
    repository = await asyncio.to_thread(find_repository, real_path(root))
    listed, _ = await ask_git(root, "config", "--list", "-z")
    values = dict(entry.partition(b"\n")[::2] for entry in listed.split(b"\0") if entry)
    settings = [
        os.fsdecode(b"%s=%s" % (key, value)) for key in _KEPT if (value := values.get(key)) in _KEPT_VALUES
    ]
    # a file system without modes marks what git never makes executable
    if values.get(b"core.filemode") == b"false" and os.access(repository.git_dir / "HEAD", os.X_OK):
        settings.append("core.fileMode=false")
    with objects_only(repository, some_id) as alone:
        yield SavedFiles(root, alone, tuple(word for one in settings for word in ("-c", one)))

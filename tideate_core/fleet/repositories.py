"""Repositories of a worker: a mirror for each address, checkouts, and the pushed branches.

::

    STATE/fleet/home/          an empty repository, so that git uses only the worker's own settings
    STATE/fleet/mirrors/HASH/  objects of a repository, and the refs of its inbox
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import shutil
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from tideate_core.errors import RemoteFailed, WorkspaceError
from tideate_core.git import (
    ABSENT,
    HARDENED,
    UNSIGNED,
    RefChange,
    Repository,
    change_refs,
    fetch_refs,
    find_repository,
    list_refs,
    persons_git,
    query_git,
    without_repository,
)
from tideate_core.util.escaping import label
from tideate_core.util.file_locks import take_lock
from tideate_core.util.private_files import make_private_directory

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence
    from pathlib import Path

    from tideate_core.fleet.submission import Submission
    from tideate_core.git import PersonsGit

TRAILER: Final = "Tideate-Run"
_MIRRORED: Final = "refs/fleet/"
"""Prefix of a mirror's refs for the branches and tags that runs begin with."""
_PAUSE: Final = 0.05
"""Seconds between two attempts to take a lock."""
_LONGEST: Final = 300
"""Maximum characters that an error quotes from git."""


@dataclass(frozen=True, slots=True)
class Repositories:
    """Mirrors below one directory.

    :param place: `STATE/fleet`.
    """

    place: Path

    async def git(self, address: str) -> PersonsGit:
        """Return git for the mirror of a repository, which is created if necessary.

        :raises WorkspaceError: git cannot create it.
        """
        mirror, home = self._mirror(address), self.place / "home"
        if (mirror / "complete").exists():
            return await persons_git(home, mirror)
        async with _locked(self.place / "lock"):
            if not home.exists():
                new = self.place / "home-new"  # renamed when it is complete: git may be killed
                await asyncio.to_thread(shutil.rmtree, new, ignore_errors=True)
                await asyncio.to_thread(make_private_directory, new)
                await init_repository(new)
                new.rename(home)
            return await persons_git(home, mirror)

    def _mirror(self, address: str) -> Path:
        name = hashlib.sha256(address.encode(errors="surrogateescape")).hexdigest()[:32]
        return self.place / "mirrors" / name

    async def resolve(self, address: str, ref: str) -> str:
        """Return the present commit of a branch, a tag or HEAD of a repository.

        :raises RemoteFailed: git cannot reach it, or it has no such ref.
        """
        if ref == "HEAD":
            return await self._head(address)
        names = [ref, f"refs/tags/{ref}", f"refs/heads/{ref}"]
        found = await list_refs(await self.git(address), address, names)
        for name in reversed(names):
            if name in found:
                return found[name]
        raise RemoteFailed(f"{label(address)} has no branch and no tag {label(ref)}")

    async def _head(self, address: str) -> str:
        git = await self.git(address)
        done = await git.run("ls-remote", "--exit-code", "inbox", "HEAD", remote=address)
        words = done.out.decode("utf-8", "replace").split()
        if done.status or not words:
            said = " ".join(done.said.split())[:_LONGEST] or "it has no commit"
            raise RemoteFailed(f"{label(address)} cannot be read: {said}")
        return words[0]

    async def ensure(self, address: str, ref: str, commit: str) -> Path:
        """Fetch a commit into the mirror unless it is there; return the mirror.

        :raises RemoteFailed: git cannot reach the repository, or it no longer has the commit.
        """
        git = await self.git(address)
        if not await _has(git, commit):
            refs = {f"refs/{kind}/*": f"{_MIRRORED}{kind}/*" for kind in ("heads", "tags")}
            if ref.startswith("refs/"):
                refs[ref] = f"{_MIRRORED}other/{hashlib.sha256(ref.encode()).hexdigest()[:16]}"
            # two parallel fetches would collide at their refs
            async with _locked(git.place.with_suffix(".lock")):
                if not await _has(git, commit):
                    await fetch_refs(git, address, refs)
        if not await _has(git, commit):
            raise RemoteFailed(f"{label(address)} no longer has the commit {commit[:12]} of {label(ref)}")
        return git.place

    async def push(self, address: str, tree: Path, branch: str, commit: str, trailer: str) -> str:
        """Create a branch at a commit; return its commit, which an earlier attempt may have pushed.

        :param trailer: line of the commit message that identifies the run.
        :raises RemoteFailed: git cannot reach the repository, it refuses the branch, or the branch belongs to
            another run.
        """
        git = replace(await self.git(address), objects=tree / ".git" / "objects")
        ref = f"refs/heads/{branch}"
        (pushed,) = await change_refs(git, address, [RefChange(ref, commit, ABSENT)])
        if pushed.done:
            return commit
        if pushed.now and await self._is_same(git, address, ref, commit, trailer):
            return pushed.now
        why = pushed.refused or "the branch exists and belongs to another run"
        raise RemoteFailed(f"{label(address)} refuses the branch {branch}: {why}")

    async def _is_same(self, git: PersonsGit, address: str, ref: str, commit: str, trailer: str) -> bool:
        """Tell whether a branch has the change of a commit; another leg of the run may have made it."""
        kept = f"{_MIRRORED}landed/{commit}"
        await fetch_refs(git, address, {ref: kept})
        ours, theirs = [await git.ask("log", "-1", "--format=%T %P", one) for one in (commit, kept)]
        said = await git.ask("log", "-1", "--format=%B", kept)
        return ours == theirs and trailer in said.decode("utf-8", "replace").splitlines()


@asynccontextmanager
async def _locked(path: Path) -> AsyncIterator[None]:
    """Hold a lock that other tasks, event loops and workers of this machine share."""
    await asyncio.to_thread(make_private_directory, path.parent)
    while (handle := await asyncio.to_thread(take_lock, path)) is None:  # noqa: ASYNC110 of other processes
        await asyncio.sleep(_PAUSE)
    try:
        yield
    finally:
        os.close(handle)


async def _has(git: PersonsGit, commit: str) -> bool:
    return (await git.run("cat-file", "-e", f"{commit}^{{commit}}")).status == 0


async def init_repository(place: Path) -> None:
    """Create an empty repository in a directory.

    :raises WorkspaceError: git cannot create it.
    """
    await _git(
        without_repository(place),
        *("init", "--quiet", "--template="),
        cwd=place,
        variables={"GIT_DIR": str(place / ".git")},
    )


async def check_out(mirror: Path, commit: str, tree: Path) -> None:
    """Check out a commit into a new work tree that shares its object files with a mirror.

    :raises WorkspaceError: git cannot create it.
    """
    await asyncio.to_thread(make_private_directory, tree)
    await init_repository(tree)
    # hard links, not alternates: tideate rejects a repository that borrows objects
    await asyncio.to_thread(_link_objects, mirror / "objects", tree / ".git" / "objects")
    await _git(find_repository(tree), "checkout", "--quiet", "--detach", commit, cwd=tree)


def _link_objects(source: Path, target: Path) -> None:
    try:
        shutil.copytree(source, target, copy_function=_link, dirs_exist_ok=True)
    except OSError as error:
        raise WorkspaceError(f"the objects of {source.parent} cannot be copied: {error}") from error


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # another file system, or too many links
        shutil.copyfile(source, target)


async def commit_files(
    tree: Path, files: Sequence[str], submission: Submission, message: str, at: int
) -> str | None:
    """Commit files on top of the checked-out commit, without moving HEAD; return the commit.

    The same files, submission and time always give the same commit.

    :param at: time of the commit in milliseconds since the epoch.
    :returns: None if the files are unchanged.
    :raises WorkspaceError: git cannot commit.
    """
    repository = find_repository(tree)
    base = (await _git(repository, "rev-parse", "HEAD", cwd=tree)).decode().strip()
    known = await _git(repository, "ls-files", "-z", "--others", "--ignored", "--exclude-standard", cwd=tree)
    ignored = set(os.fsdecode(known).split("\0"))
    names = [name for name in sorted(files) if name not in ignored]
    if names:
        await _git(
            repository,
            *("add", "--all", "--pathspec-from-file=-", "--pathspec-file-nul"),
            cwd=tree,
            given=b"\0".join(map(os.fsencode, names)),
        )
    made = (await _git(repository, "write-tree", cwd=tree)).decode().strip()
    if made == (await _git(repository, "rev-parse", "HEAD^{tree}", cwd=tree)).decode().strip():
        return None
    text = f"{message.rstrip()}\n\n{TRAILER}: {submission.run}\n"
    arguments = ("commit-tree", made, "-p", base, "-F", "-")
    done = await _git(
        repository, *arguments, cwd=tree, given=text.encode(), variables=_author(submission, at)
    )
    return done.decode().strip()


def _author(submission: Submission, at: int) -> dict[str, str]:
    name, _, mail = submission.by.rpartition(" <")
    values = {"NAME": name, "EMAIL": mail.rstrip(">"), "DATE": f"@{at // 1000} +0000"}
    return {f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER") for what, value in values.items()}


def remove_tree(tree: Path) -> None:
    """Remove a work tree; blocking."""
    shutil.rmtree(tree, ignore_errors=True)


async def _git(
    repository: Repository,
    *arguments: str,
    cwd: Path,
    given: bytes = b"",
    variables: Mapping[str, str] | None = None,
) -> bytes:
    options = (*HARDENED, *UNSIGNED)
    done = await query_git(repository, *arguments, cwd=cwd, given=given, options=options, variables=variables)
    if done.status:
        said = " ".join(done.said.split())[:_LONGEST]
        raise WorkspaceError(f"`git {arguments[0]}` failed: {said}")
    return done.out

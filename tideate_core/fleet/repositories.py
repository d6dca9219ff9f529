"""Repositories of a worker: a mirror for each address, a work tree for each leg, and the pushed branches.

::

    STATE/fleet/home/                  an empty repository, so that git uses only the worker's own settings
    STATE/fleet/mirrors/HASH/          objects of a repository, and the refs of its inbox
    STATE/fleet/trees/WORKER/RUN-LEG/  a work tree with the objects of its mirror
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import shutil
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from tideate_core.errors import CommitGone, RemoteFailed, WorkspaceError
from tideate_core.fleet.mirrors import Mirrors, lock_of, locked
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
    query_git,
    without_repository,
    words_of,
)
from tideate_core.util.escaping import label
from tideate_core.util.private_files import make_private_directory

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from tideate_core.fleet.submission import Submission
    from tideate_core.git import PersonsGit

TRAILER: Final = "Tideate-Run"
_MIRRORED: Final = "refs/fleet/"
"""Prefix of a mirror's refs for the branches and tags that runs begin with."""
_REFUSED: Final = ("not our ref", "unadvertised object", "no such remote ref", "couldn't find remote ref")
"""Git's words for a commit that a remote does not have or does not give away by its id."""
_SHA1: Final = 40
"""Digits of a SHA-1 name."""
_NO_SUCH_REF: Final = "couldn't find remote ref"
_NO_REF: Final = 2
"""Exit status of `ls-remote --exit-code` without a match."""


@dataclass(frozen=True, slots=True)
class Repositories:
    """Mirrors below one directory.

    :param place: `STATE/fleet`.
    """

    place: Path

    @property
    def mirrors(self) -> Mirrors:
        """The mirrors of this machine."""
        return Mirrors(self.place)

    async def git(self, address: str) -> PersonsGit:
        """Return git for the mirror of a repository; see `Mirrors.git`."""
        return await self.mirrors.git(address)

    async def resolve(self, address: str, ref: str) -> str:
        """Return the present commit of a branch, a tag or HEAD of a repository.

        :raises RemoteFailed: git cannot reach it, or it has no such ref.
        """
        if ref == "HEAD":
            return _checked(address, await self._head(address))
        names = [ref, f"refs/tags/{ref}", f"refs/heads/{ref}"]
        found = await list_refs(await self.git(address), address, names)
        for name in reversed(names):
            if name in found:
                return _checked(address, found[name])
        raise RemoteFailed(f"{label(address)} has no branch and no tag {label(ref)}")

    async def _head(self, address: str) -> str:
        git = await self.git(address)
        done = await git.run("ls-remote", "--exit-code", "inbox", "HEAD", remote=address)
        words = done.out.decode("utf-8", "replace").split()
        if done.status or not words:
            said = words_of(done.said) if done.status != _NO_REF else "it has no commit"
            raise RemoteFailed(f"{label(address)} cannot be read: {said}")
        return words[0]

    async def ensure(self, address: str, ref: str, commit: str) -> Path:
        """Fetch a commit into the mirror unless it is there; return the mirror.

        :raises RemoteFailed: git cannot reach the repository.
        :raises CommitGone: it no longer has the commit.
        """
        git = await self.git(address)
        if not await _has(git, commit):
            refs = {f"refs/{kind}/*": f"{_MIRRORED}{kind}/*" for kind in ("heads", "tags")}
            if ref.startswith("refs/"):
                refs[ref] = f"{_MIRRORED}other/{hashlib.sha256(ref.encode()).hexdigest()[:16]}"
            await self._fetch(address, refs)
        if not await _has(git, commit):  # no ref has it now
            await _fetch_by_id(git, address, ref, commit)
        return git.place

    async def _fetch(self, address: str, refs: Mapping[str, str]) -> None:
        """Fetch refs into the mirror; if only the mirror can be at fault, create it anew."""
        git = await self.git(address)
        try:
            await fetch_refs(git, address, refs)
        except WorkspaceError as error:
            if _NO_SUCH_REF in str(error):
                raise
            await list_refs(git, address, ["HEAD"])  # raises if the repository cannot be read
            await fetch_refs(await self.mirrors.again(address), address, refs)

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
        if pushed.now and await self._is_ours(git, address, ref, trailer):
            return pushed.now
        why = pushed.refused or "the branch exists and belongs to another run"
        raise RemoteFailed(f"{label(address)} refuses the branch {branch}: {why}")

    async def _is_ours(self, git: PersonsGit, address: str, ref: str, trailer: str) -> bool:
        kept = f"{_MIRRORED}landed/{hashlib.sha256(ref.encode()).hexdigest()[:16]}"
        await fetch_refs(git, address, {ref: kept})
        said = await git.ask("log", "-1", "--format=%B", kept)
        return trailer in said.decode("utf-8", "replace").splitlines()


def _checked(address: str, commit: str) -> str:
    if len(commit) > _SHA1:
        raise RemoteFailed(f"{label(address)} has SHA-256 names of objects, which fleets do not support")
    return commit


async def _has(git: PersonsGit, commit: str) -> bool:
    return (await git.run("cat-file", "-e", f"{commit}^{{commit}}")).status == 0


async def _fetch_by_id(git: PersonsGit, address: str, ref: str, commit: str) -> None:
    try:
        await fetch_refs(git, address, {commit: f"{_MIRRORED}commits/{commit}"})
    except RemoteFailed as error:
        if not any(words in str(error) for words in _REFUSED):
            raise
        raise CommitGone(
            f"{label(address)} no longer has the commit {commit[:12]} of {label(ref)}; submit the run again"
        ) from error


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
    async with locked(lock_of(mirror)):
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


async def commit_files(tree: Path, files: Sequence[str], submission: Submission, message: str) -> str | None:
    """Commit files on top of the checked-out commit, without moving HEAD; return the commit.

    The same files and submission always give the same commit.

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
    done = await _git(repository, *arguments, cwd=tree, given=text.encode(), variables=_author(submission))
    return done.decode().strip()


def _author(submission: Submission) -> dict[str, str]:
    name, _, mail = submission.by.rpartition(" <")
    values = {"NAME": name, "EMAIL": mail.rstrip(">"), "DATE": f"@{submission.at // 1000} +0000"}
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
        raise WorkspaceError(f"`git {arguments[0]}` failed: {words_of(done.said)}")
    return done.out

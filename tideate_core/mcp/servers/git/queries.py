"""Status, diff, log, show and branches: read-only queries, paged.

Changes are found by the files' content: the repository's index, exclude file and configuration hide none.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from mcp.server.mcpserver.exceptions import ToolError

from tideate_core.mcp.servers.git import porcelain
from tideate_core.mcp.servers.git.program import GitFailed
from tideate_core.mcp.servers.git.repository import unknown_commit
from tideate_core.mcp.servers.git.schemas import (
    BranchesShape,
    BranchShape,
    CommitShape,
    DiffShape,
    FileShape,
    LogShape,
    ShowShape,
    StatusShape,
    now,
)
from tideate_core.mcp.servers.schemas import page, with_cursor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tideate_core.git import GitOutput
    from tideate_core.mcp.servers.git.porcelain import Commit, Entry
    from tideate_core.mcp.servers.git.repository import Repository

__all__ = ["LogQuery", "Untracked", "branches", "diff", "file_shape", "log", "read_status", "show", "status"]

FILES: Final = 500
BRANCHES: Final = 500
CHARACTERS: Final = 60_000
"""Characters of a list or a text in one answer."""
MESSAGE: Final = 4_000
"""Characters of a commit's message in a list."""

Untracked: TypeAlias = Literal["no", "normal", "all"]
Side: TypeAlias = Literal["head", "unstaged", "staged"]
Where: TypeAlias = Literal["local", "remote", "all"]

_STATUS: Final = ("--porcelain=v2", "-z", "--branch", "--ignored=no", "--ignore-submodules=dirty")
_PATCH: Final = (
    *("--patch", "--no-ext-diff", "--no-textconv", "--no-color", "--no-relative", "--submodule=short"),
    *("--ignore-submodules=dirty", "--src-prefix=a/", "--dst-prefix=b/", "--find-renames"),
)
_PLAIN: Final = ("--no-color", "--no-notes", "--no-mailmap", "--no-show-signature", "--no-decorate")
_REFS: Final = "%(refname)%00%(objectname)%00%(HEAD)%00%(upstream:short)%00%(symref)%00%(subject)%00"
_PLACES: Final = {
    "local": ("refs/heads",),
    "remote": ("refs/remotes",),
    "all": ("refs/heads", "refs/remotes"),
}


async def read_status(repository: Repository, untracked: Untracked) -> porcelain.Status:
    """Return the status."""
    from tideate_core.mentions import without_many

    believed = await _listed(repository, untracked)
    async with repository.saved() as saved:
        found = await _listed(saved, untracked)
    new = [entry.path for entry in found.entries if entry.index == "?"]
    kept, notes = without_many(new, [entry.path for entry in believed.entries])
    if notes:
        names = set(kept)
        found.entries = [one for one in found.entries if one.index != "?" or one.path in names]
    return replace(believed, entries=found.entries, notes=(*saved.notes, *notes))


async def _listed(repository: Repository, untracked: Untracked) -> porcelain.Status:
    answer = await repository.query("status", *_STATUS, f"--untracked-files={untracked}")
    if not answer.whole:
        raise ToolError(
            "more is changed than can be listed: leave out what git does not know (`untracked`: `no`), or "
            "have git ignore it"
        )
    return porcelain.parse_status(answer.out)


async def status(repository: Repository, untracked: Untracked, cursor: str) -> tuple[StatusShape, str]:
    """Return how the worktree stands, and as text."""
    found = await read_status(repository, untracked)
    files, following = page(found.entries, cursor, FILES)
    shape = StatusShape(
        branch=found.branch,
        commit=found.commit,
        upstream=found.upstream,
        ahead=found.ahead,
        behind=found.behind,
        has_changes=bool(found.entries),
        files=[file_shape(entry) for entry in files],
        total=len(found.entries),
        under_way=repository.under_way(),
        notes=list(found.notes),
        next_cursor=following,
        timestamp=now(),
    )
    return shape, _status_text(shape)


def file_shape(entry: Entry) -> FileShape:
    """Return a changed file as the tools report it, with names that are safe to print."""
    return FileShape(
        path=porcelain.printable_path(entry.path),
        staged=entry.index.strip("."),
        unstaged=entry.worktree.strip("."),
        original=None if entry.original is None else porcelain.printable_path(entry.original),
    )


def _status_text(shape: StatusShape) -> str:
    where = shape.branch or f"no branch, at {shape.commit}"
    against = (
        f" ({shape.ahead} ahead of {shape.upstream}, {shape.behind} behind)"
        if shape.ahead is not None
        else ""
    )
    lines = [f"on {where}{against}{'' if shape.commit else ', no commits yet'}"]
    if shape.under_way:
        lines.append(f"{shape.under_way} has not ended")
    if not shape.has_changes:
        lines.append("nothing is changed")
    for file in shape.files:
        origin = f"{file.original} -> " if file.original else ""
        lines.append(f"{file.staged or ' '}{file.unstaged or ' '} {origin}{file.path}")
    lines += [f"[{note}]" for note in shape.notes]
    return _with_rest(lines, shape.total - len(shape.files) if shape.next_cursor else 0, shape.next_cursor)


async def diff(
    repository: Repository, side: Side, target: str, paths: Sequence[str], context: int, cursor: str
) -> tuple[DiffShape, str]:
    """Return the changes between two sides.

    :param target: what the files are compared with; only where the side is `head`.
    """
    paths = [repository.path(path) for path in paths]
    options = (*_PATCH, f"--unified={context}", *(("--cached",) if side == "staged" else ()))
    compared = [await _id_of(repository, target)] if side == "head" else []
    async with repository.saved(() if side == "staged" else paths or (".",)) as saved:
        answer = await saved.query("diff", *options, *compared, "--", *paths)
        text = await _without_secrets(saved, answer, ("diff", *options, *compared), paths)
    text += "".join(f"[{note}]\n" for note in saved.notes)
    shown, following = page(text, cursor, CHARACTERS)
    shape = DiffShape(
        diff=shown, has_changes=bool(answer.out), whole=answer.whole, next_cursor=following, timestamp=now()
    )
    return shape, with_cursor(shown or "no changes", following)


async def _id_of(repository: Repository, target: str) -> str:
    """Return the id to compare files with: of a commit, or of the empty tree before the first."""
    if target == "HEAD" and not await repository.exists("HEAD"):
        return await repository.empty_tree()
    return await repository.commit_of(target)


async def _without_secrets(
    repository: Repository, answer: GitOutput, asked: Sequence[str], paths: Sequence[str]
) -> str:
    """Return a diff without the files that seem to hold secrets; its end says which.

    :param asked: the command that gave it, without the paths.
    """
    from tideate_core.mentions import ALL_LINES, LARGEST_LOOKED, HardLinks, secret_name, without_secrets

    if not answer.out.strip():
        return ""
    # a file that was moved is as secret as under its old name
    moved = ("--name-status", "-z", "--find-renames=30%", "--find-copies=30%", "-l1000")
    plain = [one for one in asked if one != "--patch" and not one.startswith("--unified=")]
    listed = (await repository.query(*_with(plain, *moved), "--", *paths)).out
    fields = iter(listed.strip(b"\n").split(b"\0"))
    named, links = set[str](), HardLinks(repository.root)
    for kind in fields:
        names = (
            [os.fsdecode(next(fields)) for _ in range(2 if kind[:1] in b"RC" else 1)] if kind.strip() else []
        )
        if any(secret_name(name) or links.reason(repository.layout.top / name) for name in names):
            named.update(names)
    looked = await repository.query(
        *_with(asked, f"--unified={ALL_LINES}"), "--", *paths, largest=LARGEST_LOOKED
    )
    texts = (porcelain.text_of(one.out).lstrip("\n") for one in (answer, looked))
    kept, left_out = without_secrets(*texts, cut=not looked.whole, named=named)
    return f"{kept}[left out, they seem to hold secrets: {', '.join(left_out)}]\n" if left_out else kept


def _with(asked: Sequence[str], *options: str) -> tuple[str, ...]:
    """Return a command with options behind its own, before the revisions."""
    at = next((at for at, one in enumerate(asked) if at and not one.startswith("-")), len(asked))
    at = asked.index("--end-of-options") if "--end-of-options" in asked else at
    return (*asked[:at], *options, *asked[at:])


@dataclass(frozen=True, slots=True)
class LogQuery:
    """Selection of commits."""

    revision: str = "HEAD"
    count: int = 10
    skip: int = 0
    since: str = ""
    until: str = ""
    path: str = ""


async def log(repository: Repository, query: LogQuery, cursor: str) -> tuple[LogShape, str]:
    """Return a page of the commits; one more is asked for, to know whether there are more."""
    start, skip = _from_cursor(query, cursor)
    found = await _commits(repository, query, start, skip)
    following = None
    if len(found) > query.count:
        # later pages begin at the same commit, whatever is committed meanwhile
        following = f"{await _anchor(repository, query, start, found)}+{skip + query.count}"
    shapes = [_commit_shape(commit, MESSAGE) for commit in found[: query.count]]
    text = "\n\n".join(_commit_text(shape) for shape in shapes) or "no commits"
    return LogShape(commits=shapes, next_cursor=following), with_cursor(text, following)


async def _anchor(repository: Repository, query: LogQuery, start: str, found: list[Commit]) -> str:
    """Return the id of the commit that the history begins at."""
    if query.skip or query.since or query.until or query.path:
        return await repository.commit_of(start)
    return found[0].commit if start == query.revision else start


def _from_cursor(query: LogQuery, cursor: str) -> tuple[str, int]:
    if not cursor:
        return query.revision, query.skip
    from tideate_core.mcp.servers.git.revisions import parse_log_cursor

    return parse_log_cursor(cursor)


async def _commits(repository: Repository, query: LogQuery, start: str, skip: int) -> list[Commit]:
    options = [f"--max-count={query.count + 1}", f"--skip={skip}"]
    if query.since:
        options.append(f"--since={query.since}")
    if query.until:
        options.append(f"--until={query.until}")
    paths = [query.path] if query.path else []
    try:
        answer = await repository.query(
            *("log", "-z", "--no-patch", f"--format={porcelain.COMMIT_FIELDS}", *_PLAIN, *options),
            *("--end-of-options", start, "--", *paths),
        )
    except GitFailed as error:
        if "bad revision" not in error.said and "unknown revision" not in error.said:
            raise
        if start == "HEAD" and not await repository.exists("HEAD"):
            return []
        raise unknown_commit(start) from None
    return list(porcelain.parse_commits(answer.out))


async def show(
    repository: Repository, name: str, paths: Sequence[str], context: int, cursor: str
) -> tuple[ShowShape, str]:
    """Return a commit with what it changed."""
    paths = [repository.path(path) for path in paths]
    options = (*_PLAIN, *_PATCH, f"--unified={context}", "--diff-merges=first-parent")
    named = ("--end-of-options", f"{name}^{{commit}}")
    try:
        answer = await repository.query(
            *("show", f"--format={porcelain.COMMIT_FIELDS}%x00", *options, *named, "--", *paths)
        )
    except GitFailed as error:
        if any(
            mark in error.said for mark in ("bad revision", "unknown revision", "bad object", "ambiguous")
        ):
            raise unknown_commit(name) from None
        raise
    commit, rest = porcelain.parse_commit(answer.out)
    asked = ("show", "--format=", *options, *named)
    text = await _without_secrets(repository, replace(answer, out=rest), asked, paths)
    shown, following = page(text, cursor, CHARACTERS)
    head = _commit_shape(commit, CHARACTERS)
    shape = ShowShape(**head.model_dump(), diff=shown, whole=answer.whole, next_cursor=following)
    return shape, with_cursor(f"{_commit_text(head)}\n\n{shown}", following)


async def branches(
    repository: Repository, where: Where, contains: str, not_contains: str, cursor: str
) -> tuple[BranchesShape, str]:
    """Return the branches."""
    options = [f"--format={_REFS}"]
    if contains:
        options.append(f"--contains={await repository.commit_of(contains)}")
    if not_contains:
        options.append(f"--no-contains={await repository.commit_of(not_contains)}")
    answer = await repository.query("for-each-ref", *options, "--end-of-options", *_PLACES[where])
    found = _read_branches(porcelain.text_of(answer.out))
    shown, following = page(found, cursor, BRANCHES)
    shape = BranchesShape(branches=list(shown), total=len(found), next_cursor=following)
    lines = [f"{'*' if one.current else ' '} {one.name} {one.commit[:12]} {one.subject}" for one in shown]
    return shape, _with_rest(lines or ["no branches"], len(found) - len(shown) if following else 0, following)


def _read_branches(pathspec_file: str) -> list[BranchShape]:
    found = []
    for line in pathspec_file.split("\0\n"):
        if not line:
            continue
        name, commit, head, upstream, points_to, subject = line.split("\0")
        if points_to and name.startswith("refs/remotes/"):
            continue  # a remote's HEAD is another name of one of its branches
        _, kind, short_name = name.split("/", 2)
        found.append(
            BranchShape(
                name=short_name,
                remote=kind == "remotes",
                current=head == "*",
                commit=commit,
                upstream=upstream or None,
                subject=subject,
            )
        )
    return found


def _commit_shape(commit: Commit, longest: int) -> CommitShape:
    from tideate_core.mentions import hide_secrets

    message = hide_secrets(commit.message)
    return CommitShape(
        commit_hash=commit.commit,
        parents=list(commit.parents),
        author=commit.author,
        email=commit.email,
        date=commit.date,
        message=message if len(message) <= longest else f"{message[:longest]}…",
    )


def _commit_text(shape: CommitShape) -> str:
    message = "\n".join(f"    {line}".rstrip() for line in shape.message.splitlines())
    return (
        f"commit {shape.commit_hash}\nAuthor: {shape.author} <{shape.email}>\nDate: {shape.date}\n\n{message}"
    )


def _with_rest(lines: list[str], left: int, cursor: str | None) -> str:
    return with_cursor("\n".join(lines) + (f"\n… {left} more" if left > 0 else ""), cursor)

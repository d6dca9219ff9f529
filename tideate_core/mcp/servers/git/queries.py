"""Read status, diff, log, commits and branches of a repository, in pages.

Files are compared by content, so the repository's index, exclude file and configuration cannot hide a change.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from mcp.server.mcpserver.exceptions import ToolError

from tideate_core.git import (
    COMMIT_FIELDS,
    parse_commit,
    parse_commits,
    parse_name_status,
    parse_status,
    printable_path,
    printable_text,
)
from tideate_core.mcp.servers.git.repository import GitFailed, unknown_commit
from tideate_core.mcp.servers.git.revisions import parse_log_cursor
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
from tideate_core.mentions import (
    ALL_LINES,
    LARGEST_LOOKED,
    LIST_CHANGES,
    HardLinks,
    hide_secrets,
    secret_reasons,
    without_many,
    without_secrets,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tideate_core.git import Commit, GitOutput, Status, StatusEntry
    from tideate_core.mcp.servers.git.repository import Repository

FILES: Final = 500
BRANCHES: Final = 500
CHARACTERS: Final = 60_000
"""Characters of a text on one page."""
MESSAGE: Final = 4_000
"""Characters of a commit message in a list."""

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


async def read_status(repository: Repository, untracked: Untracked) -> Status:
    """Read the status; changes that the repository itself hides are included."""
    believed = await _listed(repository, untracked)
    async with repository.saved() as saved:
        found = await _listed(saved, untracked)
    new = [entry.path for entry in found.entries if entry.index == "?"]
    kept, notes = without_many(new, [entry.path for entry in believed.entries])
    if notes:
        names = set(kept)
        found.entries = [one for one in found.entries if one.index != "?" or one.path in names]
    return replace(believed, entries=found.entries, notes=(*saved.notes, *notes))


async def _listed(repository: Repository, untracked: Untracked) -> Status:
    answer = await repository.query("status", *_STATUS, f"--untracked-files={untracked}")
    if not answer.whole:
        raise ToolError(
            "there are too many changes to list: leave out untracked files (`untracked`: `no`), or have git "
            "ignore them"
        )
    return parse_status(answer.out)


async def status(repository: Repository, untracked: Untracked, cursor: str) -> tuple[StatusShape, str]:
    """Return a page of the work tree's status, and its text."""
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


def file_shape(entry: StatusEntry) -> FileShape:
    """Convert a changed file to a result with printable names."""
    return FileShape(
        path=printable_path(entry.path),
        staged=entry.index.strip("."),
        unstaged=entry.worktree.strip("."),
        original=None if entry.original is None else printable_path(entry.original),
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
    """Return a page of a diff, and its text.

    :param side: what is compared: files with a commit, files with the index, or the index with HEAD.
    :param target: the commit, for the side `head`.
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
    """Resolve a revision; HEAD is the empty tree before the first commit."""
    if target == "HEAD" and not await repository.exists("HEAD"):
        return await repository.empty_tree()
    return await repository.commit_of(target)


async def _without_secrets(
    repository: Repository, answer: GitOutput, asked: Sequence[str], paths: Sequence[str]
) -> str:
    """Remove files with probable secrets from a diff; its last line names them.

    :param asked: the command that printed the diff, without paths.
    """
    if not answer.out.strip():
        return ""
    plain = [one for one in asked if one != "--patch" and not one.startswith("--unified=")]
    listed = (await repository.query(*_with(plain, *LIST_CHANGES), "--", *paths)).out
    names = (names for _, names in parse_name_status(listed.strip(b"\n")))
    named = secret_reasons(HardLinks(repository.root), repository.layout.top, names)
    looked = await repository.query(
        *_with(asked, f"--unified={ALL_LINES}"), "--", *paths, largest=LARGEST_LOOKED
    )
    texts = (printable_text(one.out).lstrip("\n") for one in (answer, looked))
    kept, left_out = without_secrets(*texts, cut=not looked.whole, named=named)
    return f"{kept}[left out, they seem to hold secrets: {', '.join(left_out)}]\n" if left_out else kept


def _with(asked: Sequence[str], *options: str) -> tuple[str, ...]:
    """Insert options into a command before its revisions."""
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
    """Return a page of commits, and its text; one commit more is read to know whether a page follows."""
    start, skip = parse_log_cursor(cursor) if cursor else (query.revision, query.skip)
    found = await _commits(repository, query, start, skip)
    following = None
    if len(found) > query.count:
        # later pages start at the same commit even if new commits are made meanwhile
        following = f"{await _anchor(repository, query, start, found)}+{skip + query.count}"
    shapes = [_commit_shape(commit, MESSAGE) for commit in found[: query.count]]
    text = "\n\n".join(_commit_text(shape) for shape in shapes) or "no commits"
    return LogShape(commits=shapes, next_cursor=following), with_cursor(text, following)


async def _anchor(repository: Repository, query: LogQuery, start: str, found: list[Commit]) -> str:
    """Return the id of the commit at which the history starts."""
    if query.skip or query.since or query.until or query.path:
        return await repository.commit_of(start)
    return found[0].commit if start == query.revision else start


async def _commits(repository: Repository, query: LogQuery, start: str, skip: int) -> list[Commit]:
    options = [f"--max-count={query.count + 1}", f"--skip={skip}"]
    if query.since:
        options.append(f"--since={query.since}")
    if query.until:
        options.append(f"--until={query.until}")
    paths = [query.path] if query.path else []
    try:
        answer = await repository.query(
            *("log", "-z", "--no-patch", f"--format={COMMIT_FIELDS}", *_PLAIN, *options),
            *("--end-of-options", start, "--", *paths),
        )
    except GitFailed as error:
        if "bad revision" not in error.said and "unknown revision" not in error.said:
            raise
        if start == "HEAD" and not await repository.exists("HEAD"):
            return []
        raise unknown_commit(start) from None
    return list(parse_commits(answer.out))


async def show(
    repository: Repository, name: str, paths: Sequence[str], context: int, cursor: str
) -> tuple[ShowShape, str]:
    """Return a commit with a page of its diff, and the text."""
    paths = [repository.path(path) for path in paths]
    options = (*_PLAIN, *_PATCH, f"--unified={context}", "--diff-merges=first-parent")
    named = ("--end-of-options", f"{name}^{{commit}}")
    try:
        answer = await repository.query(
            *("show", f"--format={COMMIT_FIELDS}%x00", *options, *named, "--", *paths)
        )
    except GitFailed as error:
        if any(
            mark in error.said for mark in ("bad revision", "unknown revision", "bad object", "ambiguous")
        ):
            raise unknown_commit(name) from None
        raise
    commit, rest = parse_commit(answer.out)
    asked = ("show", "--format=", *options, *named)
    text = await _without_secrets(repository, replace(answer, out=rest), asked, paths)
    shown, following = page(text, cursor, CHARACTERS)
    head = _commit_shape(commit, CHARACTERS)
    shape = ShowShape(**head.model_dump(), diff=shown, whole=answer.whole, next_cursor=following)
    return shape, with_cursor(f"{_commit_text(head)}\n\n{shown}", following)


async def branches(
    repository: Repository, where: Where, contains: str, not_contains: str, cursor: str
) -> tuple[BranchesShape, str]:
    """Return a page of branches, and its text."""
    options = [f"--format={_REFS}"]
    if contains:
        options.append(f"--contains={await repository.commit_of(contains)}")
    if not_contains:
        options.append(f"--no-contains={await repository.commit_of(not_contains)}")
    answer = await repository.query("for-each-ref", *options, "--end-of-options", *_PLACES[where])
    found = _read_branches(printable_text(answer.out))
    shown, following = page(found, cursor, BRANCHES)
    shape = BranchesShape(branches=list(shown), total=len(found), next_cursor=following)
    lines = [f"{'*' if one.current else ' '} {one.name} {one.commit[:12]} {one.subject}" for one in shown]
    return shape, _with_rest(lines or ["no branches"], len(found) - len(shown) if following else 0, following)


def _read_branches(output: str) -> list[BranchShape]:
    found = []
    for line in output.split("\0\n"):
        if not line:
            continue
        name, commit, head, upstream, points_to, subject = line.split("\0")
        if points_to and name.startswith("refs/remotes/"):
            continue  # a remote's HEAD is an alias of one of its branches
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

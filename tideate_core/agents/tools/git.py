"""Tools that read a project's git history and changes; no program set by the repository is run."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Any, Final

from pydantic import Field

from tideate_core.agents.model_input import why_hidden
from tideate_core.agents.tools.project_paths import name_in_project, project_root
from tideate_core.agents.tools.results import bounded_lines, bounded_text, cut_line, numbered
from tideate_core.agents.tools.tool import Arguments, WorkTool
from tideate_core.errors import ToolError, WorkspaceError
from tideate_core.git import ask_git, check_place, find_commit, without_filters
from tideate_core.mentions import commit_changes, compare, hidden_changes, hide_secrets, read_changes
from tideate_core.util.cutting import beginning
from tideate_core.util.escaping import label
from tideate_core.util.regular_files import read_bounded

if TYPE_CHECKING:
    from pathlib import Path

    from tideate_core.agents.tools.tool import ToolContext
    from tideate_core.mentions import Changes

MOST_COMMITS: Final = 200
MOST_LINES: Final = 500
"""Lines of one blame."""
LARGEST_FILE: Final = 2 << 20
"""Bytes of a file from a commit."""
LONGEST_MESSAGE: Final = 4_000
_PLAIN: Final = ("--no-color", "--no-notes", "--no-mailmap", "--no-show-signature", "--no-decorate")
_FIELDS: Final = "%h %as%x01%an%x01%B"
_UNSEEN: Final = dict.fromkeys([*(c for c in range(32) if c not in (9, 10)), *range(127, 160)])
_PATH: Final = "Only this file or folder."


async def status(context: ToolContext, _: Arguments) -> str:
    """Return the branch and the files that differ from the last commit."""
    root = project_root(context)
    await check_place(root)
    prefix = os.fsdecode((await ask_git(root, "rev-parse", "--show-prefix"))[0].rstrip(b"\n"))
    told = ("status", "--porcelain=v1", "-z", "--branch", "--untracked-files=no", "--no-renames")
    output, whole = await ask_git(
        root, *await without_filters(root), *told, "--ignore-submodules=dirty", "--", "."
    )
    branch, *entries = [os.fsdecode(one) for one in output.split(b"\0") if one]
    told_files = [(one[:2], one[3:].removeprefix(prefix)) for one in entries]
    # list real differences, even in files that the index or the exclude file hides
    hidden, notes = await hidden_changes(root, {name for _, name in told_files})
    told_files += [(kind.rjust(2), name) for kind, name in hidden]
    files = [f"{kind} {hide_secrets(label(name))}" for kind, name in told_files]
    lines = [f"on {hide_secrets(label(branch.removeprefix('## ')))}", *(files or ["nothing is changed"])]
    if staged := len(context.staged.changed_texts()):
        lines.append(f"[staged edits of {staged} file{'' if staged == 1 else 's'} are not in it yet]")
    lines += [f"[{note}]" for note in notes]
    if not whole:
        lines.append("[more is changed than can be listed]")
    return bounded_lines(lines, lambda shown: f"{len(lines) - shown} more lines; git_diff takes a path")


class Diff(Arguments):
    """Arguments of `git_diff`."""

    path: str = Field(default="", max_length=4_000, description=_PATH)
    revision: str = Field(
        default="",
        max_length=600,
        description="Default HEAD; or `A..B`, `A...B`.",
    )


async def diff(context: ToolContext, arguments: Diff) -> str:
    """Return the difference between saved files and a commit, or between two commits."""
    root, path = project_root(context), _path(context, arguments.path)
    if arguments.revision:
        await check_place(root)
        changes = await compare(root, await _sides(root, arguments.revision), path)
    else:
        changes = await read_changes(root, path)
    return _shown(changes)


async def _sides(root: Path, revision: str) -> tuple[str, ...]:
    """Return the ids of the commits in a revision or a range."""
    first, dots, second = revision.partition("..")
    if not dots:
        return (await find_commit(root, revision),)
    since_base = second.startswith(".")
    one = await find_commit(root, first or "HEAD")
    other = await find_commit(root, second.removeprefix(".") or "HEAD")
    if since_base:
        one = _text((await ask_git(root, "merge-base", one, other))[0]).strip()
    return one, other


def _shown(changes: Changes) -> str:
    notes = [f"new file, not in git yet: {hide_secrets(name)}" for name in changes.untracked[:100]]
    if len(changes.untracked) > len(notes):
        notes.append(f"{len(changes.untracked) - len(notes)} more new files")
    if changes.left_out:
        notes.append(f"left out, they seem to hold secrets: {', '.join(map(hide_secrets, changes.left_out))}")
    notes += changes.notes
    if not changes.whole:
        notes.append("the end of the diff was not read; ask for a path")
    text = bounded_text(changes.diff.rstrip("\n"), "ask for a path") if changes.diff else "no difference"
    return "\n".join([text, *(f"[{note}]" for note in notes)])


class Log(Arguments):
    """Arguments of `git_log`."""

    path: str = Field(default="", max_length=4_000, description=_PATH)
    revision: str = Field(default="HEAD", max_length=300, description="The newest commit.")
    count: int = Field(default=20, ge=1, le=MOST_COMMITS)


async def log(context: ToolContext, arguments: Log) -> str:
    """Return commits, the newest first."""
    root, path = project_root(context), _path(context, arguments.path)
    await check_place(root)
    commit = await find_commit(root, arguments.revision)
    told = ("log", *_PLAIN, f"--max-count={arguments.count}", f"--format={_FIELDS}", "-z", commit)
    output, whole = await ask_git(root, *told, "--", path or ".")
    commits = [one for one in output.split(b"\0") if one]
    lines = [_commit_line(one) for one in (commits if whole else commits[:-1])]
    if not lines:
        return f"no commit touches {path}" if path else "no commit touches the project"
    if len(lines) == arguments.count:
        lines.append("[there may be more; use a higher count, or a revision to begin at]")
    return bounded_lines(lines, lambda shown: f"{len(lines) - shown} more commits; use a lower count")


def _commit_line(fields: bytes) -> str:
    """Return the line of a commit: id and date, author, and the first paragraph of its message."""
    about, author, message = fields.split(b"\x01", 2)
    # hide secrets before lines are joined: a secret may span them
    subject = " ".join(hide_secrets(_text(message)).strip().partition("\n\n")[0].split("\n"))
    return cut_line(f"{_text(about)} {hide_secrets(_text(author))}: {subject}", 300)


class Show(Arguments):
    """Arguments of `git_show`."""

    revision: str = Field(max_length=300)
    path: str = Field(
        default="", max_length=4_000, description="Show this file as it was then, not the commit."
    )
    first: int = Field(default=1, ge=1, description="First line of that file.")


async def show(context: ToolContext, arguments: Show) -> str:
    """Return a commit with its diff, or a file as of a commit."""
    root = project_root(context)
    await check_place(root)
    commit = await find_commit(root, arguments.revision)
    if arguments.path:
        return await _file_of(context, commit, name_in_project(context, arguments.path), arguments.first)
    told = ("log", *_PLAIN, "--max-count=1", "--format=%H%n%an <%ae>, %ad%n%n%B", "--date=iso-strict", commit)
    about = hide_secrets(_text((await ask_git(root, *told))[0]).strip())
    return f"{beginning(about, LONGEST_MESSAGE)}\n\n{_shown(await commit_changes(root, commit))}"


async def _file_of(context: ToolContext, commit: str, name: str, first: int) -> str:
    """Return the lines of a file as of a commit."""
    root = project_root(context)
    listed, _ = await ask_git(root, "ls-tree", "-z", commit, "--", name)
    kind, _, rest = os.fsdecode(listed).partition("\0")[0].partition(" ")[2].partition(" ")
    if kind != "blob":
        raise ToolError(f"{name} is no file in {commit[:12]}; git_log with the path shows its commits")
    data, whole = await ask_git(root, "cat-file", "blob", rest.split("\t")[0], largest=LARGEST_FILE)
    if not whole or b"\0" in data:
        raise ToolError(f"{name} is {'binary' if whole else 'too large'} in {commit[:12]}")
    text = data.decode("utf-8", "replace").removesuffix("\n")
    if await why_hidden(context.step, name, text):
        raise ToolError(
            f"{name} seems to hold secrets in {commit[:12]}, and no person agreed to send it to the model"
        )
    lines = text.split("\n")
    if first > len(lines):
        raise ToolError(f"{name} has {len(lines)} lines in {commit[:12]}; there is no line {first}")
    body = bounded_lines(
        numbered(lines[first - 1 :], first),
        lambda shown: f"{len(lines) - first + 1 - shown} more lines; ask with first={first + shown}",
    )
    return f"{name} in {commit[:12]}, {len(lines)} lines\n{body}"


class Blame(Arguments):
    """Arguments of `git_blame`."""

    path: str
    first: int = Field(ge=1)
    last: int = Field(ge=1)


async def blame(context: ToolContext, arguments: Blame) -> str:
    """Return the lines of a saved file with the commits that last changed them."""
    root, name = project_root(context), name_in_project(context, arguments.path)
    first, last = arguments.first, min(arguments.last, arguments.first + MOST_LINES - 1)
    if last < first:
        raise ToolError(f"there are no lines {first} to {last}")
    await check_place(root)
    # search the whole file for secrets: the middle of a long one is as secret, and the range may cut it
    saved = await asyncio.to_thread(read_bounded, root / name, LARGEST_FILE)
    if saved is None:
        raise ToolError(f"{name} is no file, or too large to be looked through for secrets")
    if await why_hidden(context.step, name, saved.decode("utf-8", "replace")):
        raise ToolError(f"{name} seems to hold secrets, and no person agreed to send it to the model")
    try:
        output, _ = await ask_git(
            root,
            *await without_filters(root),
            *("blame", "--line-porcelain", "--no-textconv", "-L", f"{first},{last}", "--", name),
        )
    except WorkspaceError as error:
        raise ToolError(f"{name} has no lines {first} to {last} in git, or is not in it") from error
    note = ""
    if last < arguments.last:
        note = f"\n[at most {MOST_LINES} lines; ask again with first={last + 1}]"
    lines = _blamed(_text(output), first)
    return bounded_lines(lines, lambda shown: "the rest is left out; ask for fewer lines") + note


def _blamed(text: str, first: int) -> list[str]:
    """Return numbered lines, grouped below the commits that last changed them."""
    lines: list[str] = []
    commit, shown, number = {}, "", first
    for line in text.split("\n"):
        if not line.startswith("\t"):
            key, _, value = line.partition(" ")
            commit[key if len(key) < 40 else "id"] = value if len(key) < 40 else key
            continue
        author, summary = (hide_secrets(commit.get(key, "")) for key in ("author", "summary"))
        about = f"{commit['id'][:10]} {author}: {summary}"
        if about != shown:
            lines.append(cut_line("not committed yet" if not commit["id"].strip("0") else about, 200))
            shown = about
        lines.append(f"{number}\t{cut_line(line[1:])}")
        number += 1
    return lines


def _path(context: ToolContext, path: str) -> str:
    name = name_in_project(context, path) if path else ""
    return "" if name == "." else name


def _text(output: bytes) -> str:
    return output.decode("utf-8", "replace").translate(_UNSEEN)


TOOLS: tuple[WorkTool[Any], ...] = (
    WorkTool("git_status", "Branch, and saved files that differ from HEAD.", Arguments, "reads", status),
    WorkTool(
        "git_diff",
        "Diff of the saved files, without staged edits, and a commit; or of two commits.",
        Diff,
        "reads",
        diff,
    ),
    WorkTool("git_log", "List commits, the newest first.", Log, "reads", log),
    WorkTool("git_show", "Message and diff of a commit, or a file as it was then.", Show, "reads", show),
    WorkTool("git_blame", "Commit that each line of a saved file is from.", Blame, "reads", blame),
)

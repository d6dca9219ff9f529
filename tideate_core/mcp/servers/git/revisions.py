"""Validate branch names, revisions, times and cursors before they become arguments of git."""

from __future__ import annotations

import re
import unicodedata
from datetime import UTC, datetime
from typing import Final

from mcp.server.mcpserver.exceptions import ToolError

from tideate_core.mcp.servers.schemas import short_repr

LONGEST: Final = 240
"""Bytes of a branch name; with the suffix of its lock file, a longer one exceeds file name limits."""

_FORBIDDEN: Final = re.compile(
    r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|/\.|\.lock(?:/|\Z)|^[-/.]|[/.]\Z|^@\Z|^HEAD\Z"
)
"""Parts of names that `git check-ref-format --branch` rejects."""
_UNSEEN: Final = frozenset({"Cc", "Cf", "Co", "Cs", "Zl", "Zp", "Zs"})
"""Unicode categories of invisible characters, which make different names look the same."""
_SUFFIXES: Final = re.compile(r"(?:~\d{0,9}|\^\d{0,9}|@\{(?:\d{1,9}|u|upstream|push)\})*\Z")
_PREVIOUS: Final = re.compile(r"@(?:\{-\d{1,9}\})?\Z|HEAD\Z")
_AGO: Final = re.compile(r"(\d{1,6}) (second|minute|hour|day|week|month|year)s? ago\Z")
_WORDS: Final = ("now", "today", "yesterday")
_CURSOR: Final = re.compile(r"([0-9a-f]{40}(?:[0-9a-f]{24})?)\+(\d{1,9})\Z")


def checked_branch(name: str) -> str:
    """Validate the name of a branch.

    :raises ToolError: git or a reader would take it for something else.
    """
    if not name:
        raise ToolError("a branch needs a name")
    if _is_no_name(name):
        raise ToolError(
            f"{short_repr(name)} cannot be the name of a branch: no blanks, control or invisible characters, "
            "none of ~ ^ : ? * [ \\ .. @{ //, no `-` or `.` at its beginning, no `.` or `.lock` at its end"
        )
    return name


def checked_revision(name: str) -> str:
    """Validate a revision: a branch, a tag, an id or HEAD, optionally followed by `~2`, `^1` or `@{1}`.

    :raises ToolError: it is anything else, such as a range (`a..b`) or a path in a commit (`a:b`).
    """
    found = _SUFFIXES.search(name)
    base = name[: found.start()] if found else name
    if (
        not name
        or (base and not _PREVIOUS.match(base) and _is_no_name(base))
        or (not base and name[0] != "@")
    ):
        raise ToolError(
            f"{short_repr(name)} is not the name of a commit: give a branch, a tag, an id or HEAD, with ~N, "
            "^N or @{N} behind it if you like"
        )
    return name


def parse_time(text: str) -> str:
    """Convert a time for git, which itself would accept any word as a time.

    :param text: ISO 8601 (UTC by default), `3 days ago` or `yesterday`.
    :raises ToolError: the text has another format.
    """
    if text in _WORDS or _AGO.match(text):
        return text
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise ToolError(
            f"{short_repr(text)} is not a time: give ISO 8601 as 2026-01-31 or 2026-01-31T12:00:00+01:00, "
            "or `3 days ago`"
        ) from None
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).isoformat(timespec="seconds")


def _is_no_name(name: str) -> bool:
    return (
        len(name.encode("utf-8", "surrogatepass")) > LONGEST
        or _FORBIDDEN.search(name) is not None
        or any(unicodedata.category(character) in _UNSEEN for character in name)
    )


def parse_log_cursor(cursor: str) -> tuple[str, int]:
    """Parse a cursor of the log into a start commit and the number of commits to skip.

    :raises ToolError: the cursor is invalid.
    """
    found = _CURSOR.match(cursor)
    if found is None:
        raise ToolError("this is not a cursor of `git_log`: pass `nextCursor` unchanged, or none to start")
    return found[1], int(found[2])

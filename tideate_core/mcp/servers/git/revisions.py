"""Validate names of branches and commits, and times, before they become arguments of git."""

from __future__ import annotations

import re
import unicodedata
from datetime import UTC, datetime
from typing import Final

from mcp.server.mcpserver.exceptions import ToolError

from tideate_core.mcp.servers.schemas import short_repr

__all__ = ["checked_branch", "checked_revision", "commit_id", "parse_log_cursor", "parse_time"]

LONGEST: Final = 240
"""Bytes of a name: longer ones fit into no file system with the lock's suffix."""

_FORBIDDEN: Final = re.compile(
    r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|/\.|\.lock(?:/|\Z)|^[-/.]|[/.]\Z|^@\Z|^HEAD\Z"
)
"""The names that `git check-ref-format --branch` refuses."""
_UNSEEN: Final = frozenset({"Cc", "Cf", "Co", "Cs", "Zl", "Zp", "Zs"})
"""Categories of characters that a person does not see, so that two names look the same."""
_SUFFIXES: Final = re.compile(r"(?:~\d{0,9}|\^\d{0,9}|@\{(?:\d{1,9}|u|upstream|push)\})*\Z")
_PREVIOUS: Final = re.compile(r"@(?:\{-\d{1,9}\})?\Z|HEAD\Z")
_COMMIT: Final = re.compile(r"[0-9a-f]{4,64}\Z")
_AGO: Final = re.compile(r"(\d{1,6}) (second|minute|hour|day|week|month|year)s? ago\Z")
_WORDS: Final = ("now", "today", "yesterday")
_CURSOR: Final = re.compile(r"([0-9a-f]{40}(?:[0-9a-f]{24})?)\+(\d{1,9})\Z")


def checked_branch(name: str) -> str:
    """Return the name of a branch, if it may be one.

    :raises ToolError: git, or a person who reads it, would take it for something else.
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
    """Return the name of a commit: a branch, a tag, an id, HEAD, each with `~2`, `^1` or `@{1}` behind it.

    :raises ToolError: it is none of these; a range or a path in a commit (`a..b`, `a:b`) is not taken either.
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


def commit_id(name: str) -> str:
    """:raises ToolError: it is not the id of a commit."""
    if not _COMMIT.match(name):
        raise ToolError(f"{short_repr(name)} is not the id of a commit: 4 to 64 of 0-9 and a-f")
    return name


def parse_time(text: str) -> str:
    """Return a time as git takes it.

    :param text: ISO 8601 (without a zone: UTC), `3 days ago`, or `yesterday`.
    :raises ToolError: it is none of these; git itself would take any word for some time.
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
    """Return where a page of the log begins: a commit, and how many after it are left out.

    :raises ToolError: no answer gave this cursor.
    """
    found = _CURSOR.match(cursor)
    if found is None:
        raise ToolError("this is not a cursor of `git_log`: pass `nextCursor` as it is, or none to begin")
    return found[1], int(found[2])

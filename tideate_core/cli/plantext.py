"""A plan of files as text that a person can edit: one file a line."""

from __future__ import annotations

import re
import shlex
from typing import Any

__all__ = ["plan_from_text", "plan_to_text"]

HELP = """\
# One file a line: ACTION PATH [-> TARGET] [# WHY]
# The actions are create, modify, delete and move; only a move has a target.
# A line that is taken out takes its file out of the plan; a name with blanks or # stands in quotes.
"""
WORD = re.compile(r"""\s+|#.*|(?:"[^"]*"|'[^']*'|[^\s"'#])+""")
"""Blanks, a comment, or a word as a shell quotes it."""

ACTIONS = ("create", "modify", "delete", "move")


def plan_to_text(files: list[dict[str, Any]]) -> str:
    """Write a plan, with an explanation above it.

    :raises ValueError: a name would take more than its line.
    """
    lines = []
    for file in files:
        for name in (file["path"], file.get("move_to") or ""):
            if len(f"{name}.".splitlines()) > 1:
                raise ValueError(f"{name!r} cannot stand on one line; take the file out by its number")
        words = [file["action"], shlex.quote(file["path"])]
        if file.get("move_to"):
            words += ["->", shlex.quote(file["move_to"])]
        if file.get("why"):
            words += ["#", " ".join(file["why"].split())]
        lines.append(" ".join(words))
    return HELP + "\n".join(lines) + "\n"


def plan_from_text(text: str) -> list[dict[str, Any]]:
    """Read an edited plan.

    :raises ValueError: a line cannot be read; it is named.
    """
    files = []
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip() and not line.lstrip().startswith("#"):
            try:
                files.append(_file(line))
            except ValueError as error:
                raise ValueError(f"line {number}: {error}") from error
    return files


def _file(line: str) -> dict[str, Any]:
    words, why = _split(line)
    if words[0] not in ACTIONS:
        raise ValueError(f"{words[0]!r} is no action; known are {', '.join(ACTIONS)}")
    file: dict[str, Any] = {"action": words[0]}
    match words[1:]:
        case [path]:
            file["path"] = path
        case [path, "->", target]:
            file |= {"path": path, "move_to": target}
        case _:
            raise ValueError("expected ACTION PATH, or ACTION PATH -> TARGET")
    return file | ({"why": why} if why else {})


def _split(line: str) -> tuple[list[str], str]:
    words: list[str] = []
    at = 0
    while at < len(line):
        match = WORD.match(line, at)
        if match is None:
            raise ValueError("a quote is not closed")
        found = match[0]
        if found.startswith("#"):
            return words, found[1:].strip()
        words += shlex.split(found)
        at = match.end()
    return words, ""

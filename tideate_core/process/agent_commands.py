"""Programs that a command starts, as far as its words tell: behind `env`, `npx`, `sh -c`, `node` and more."""

from __future__ import annotations

import re
import shlex
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

RUNNERS: Final = (
    ("npx",),
    ("bunx",),
    ("pnpx",),
    ("uvx",),
    ("npm", "exec"),
    ("npm", "x"),
    ("pnpm", "exec"),
    ("pnpm", "dlx"),
    ("yarn", "exec"),
    ("yarn", "dlx"),
    ("bun", "x"),
    ("uv", "run"),
    ("uv", "tool", "run"),
    ("pipx", "run"),
    ("mise", "exec"),
    ("mise", "x"),
    ("env",),
    ("exec",),
    ("command",),
    ("nohup",),
    ("setsid",),
    ("nice",),
    ("time",),
)
"""Beginnings of commands that run the program after their options."""
INTERPRETERS: Final = ("node", "bun", "deno")
SHELLS: Final = ("sh", "bash", "dash", "zsh", "ksh", "fish")
VALUED: Final = {
    "env": ("-u", "-C", "--unset", "--chdir"),
    "nice": ("-n",),
    "node": ("-r", "--require", "--import", "--loader", "-C", "--conditions"),
    **dict.fromkeys(("npx", "npm", "pnpx", "pnpm", "bunx"), ("-p", "--package")),
    **dict.fromkeys(("uv", "uvx"), ("-p", "--python", "--from", "--with")),
    "pipx": ("--spec", "--python"),
}
"""Options whose value is the next word."""
SPLIT: Final = ("-S", "--split-string")
"""Option of `env` whose value is a whole command."""
SEPARATORS: Final = ";&|()\n"
DEEPEST: Final = 8
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_]\w*=")
_VERSION: Final = re.compile(r"(?<=\w)(?:@[\w.+-]+|-v?\d[\w.+-]*)$")
_MODULE: Final = re.compile(r"(?:^|/)node_modules/((?:@[^/]+/)?[^/]+)/")


def started_programs(command: Sequence[str], depth: int = DEEPEST) -> list[str]:
    """Return the names of the programs and packages that a command starts, without versions.

    A wrapper is in the list only if the program behind it is not plain.
    """
    words = _without_assignments(command)
    if not words or not depth:
        return []
    name = PurePosixPath(words[0]).name
    if name in SHELLS:
        commands = _of_script(words[1:])
        return [one for inner in commands for one in started_programs(inner, depth - 1)] or [name]
    for runner in RUNNERS:
        if (name, *words[1 : len(runner)]) == runner:
            rest = _after_options(words[len(runner) :], VALUED.get(name, ()))
            return started_programs(rest, depth - 1) or [name]
    if name in INTERPRETERS and (rest := _after_options(words[1:], VALUED["node"])):
        script = rest[0].removesuffix(".js").removesuffix(".mjs").removesuffix(".cjs")
        return [*_MODULE.findall(rest[0]), *_names(script)]
    return _names(words[0])


def _names(word: str) -> list[str]:
    """Return the names that a word may mean: a package in a scope, and the last part of a path."""
    name = _VERSION.sub("", word)
    scoped = [name] if name.startswith("@") else []
    base = PurePosixPath(name).name
    return [*scoped, *([base] if base else [])]


def _without_assignments(words: Sequence[str]) -> list[str]:
    left = list(words)
    while left and _ASSIGNMENT.match(left[0]):
        del left[0]
    return left


def _after_options(words: Sequence[str], valued: Sequence[str]) -> list[str]:
    """Return the words after options and, for `env`, assignments."""
    left = list(words)
    while left:
        word = left.pop(0)
        if word == "--":
            break
        if word in SPLIT and left:
            left = [*_split(left.pop(0)), *left]
        elif word in valued:
            del left[:1]
        elif not (word.startswith("-") or _ASSIGNMENT.match(word)):
            return [word, *left]
    return left


def _of_script(words: Sequence[str]) -> list[list[str]]:
    """Return the simple commands of a shell's `-c SCRIPT`."""
    for place, word in enumerate(words[:-1]):
        if not word.startswith("-"):
            break
        if not word.startswith("--") and "c" in word:
            commands: list[list[str]] = [[]]
            for part in _split(words[place + 1]):
                if not part.strip(SEPARATORS):
                    commands.append([])
                else:
                    commands[-1].append(part)
            return commands
    return []


def _split(script: str) -> list[str]:
    lexer = shlex.shlex(script, posix=True, punctuation_chars=SEPARATORS)
    lexer.whitespace, lexer.whitespace_split = " \t\r", True
    try:
        return list(lexer)
    except ValueError:  # an open quote
        return []

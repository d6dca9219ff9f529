"""Programs that search files: ripgrep if it is installed, else Python in a child process.

Neither follows links, and both have a time limit, so that no expression blocks the host.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import stat
import sys
import tempfile
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tideate_core.agents.tools.search_child import CUT_SHORT
from tideate_core.errors import CommandError, ToolError
from tideate_core.mentions import SIGNS_OF_SECRETS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tideate_core.process import CommandResult

SECONDS: Final = 10
"""Time limit of a search."""
LARGEST: Final = 2 << 20
"""Bytes of a file that is searched."""
MOST_OF_FILE: Final = 1_000
"""Matching lines of one file."""
OUTPUT: Final = 8 << 20
ARGUMENTS: Final = 400_000
"""Characters of file names in one call of ripgrep; systems accept at least a million."""
FORKS: Final = 1_500
"""Files from which two processes share the search."""
_CHILD: Final = str(Path(__file__).with_name("search_child.py"))
_RIPGREP: Final = (
    *("rg", "--no-config", "--no-heading", "--with-filename", "--line-number", "--column", "--color=never"),
    # only places are needed: the caller reads lines itself and checks them for secrets
    *("--max-columns=1", f"--max-count={MOST_OF_FILE}", f"--max-filesize={LARGEST}", "--no-messages"),
    *("--no-ignore", "--hidden", "--no-follow", "--crlf", "--no-mmap"),
)
_PLACE: Final = re.compile(r"(?P<file>.+):(?P<line>\d{1,9}):(?P<column>\d{1,9})(?::.*)?")


@dataclass(frozen=True, slots=True)
class Query:
    """An expression, and how it is interpreted."""

    pattern: str
    literal: bool = False
    any_case: bool = False
    word: bool = False
    """Match whole words only: no letter, digit or `_` beside the match."""
    secrets: bool = False
    """Find files that seem to hold secrets, among those that match the expression."""


@dataclass(slots=True)
class Found:
    """The lines that match an expression."""

    lines: dict[str, dict[int, int]] = field(default_factory=dict)
    """Columns (from 1, approximate) by line number, by file."""
    timed_out: bool = False
    """The search ended before it had searched all files."""
    seconds: int = 0
    """Time limit."""
    searched: int = 0
    """Files that were searched for certain."""
    too_large: list[str] = field(default_factory=list)
    """Files that were skipped."""
    cut: bool = False
    """The programs printed more output than was read."""

    def add(self, other: Found) -> None:
        """Add the matches in other files."""
        self.lines |= other.lines
        self.timed_out = self.timed_out or other.timed_out
        self.seconds = other.seconds
        self.searched += other.searched
        self.too_large += other.too_large
        self.cut = self.cut or other.cut

    @property
    def is_least(self) -> bool:
        """True if there may be more lines than were counted."""
        return self.cut or any(len(lines) >= MOST_OF_FILE for lines in self.lines.values())


async def find_lines(root: Path, names: Sequence[str], texts: Mapping[str, str], query: Query) -> Found:
    """Search files and texts for an expression, line by line.

    :param names: files on disk, relative to the root; links are skipped.
    :param texts: texts searched instead of the files on disk, by name.
    :raises ToolError: the expression is invalid, or no program can be run.
    """
    _refuse_invalid(query)
    try:
        with tempfile.TemporaryDirectory(prefix="tideate-search-") as folder:
            files, too_large = await asyncio.to_thread(_searched, Path(folder), root, names, texts)
            found = await _search(root, Path(folder), files, query)
            found.seconds, found.too_large = SECONDS, too_large
            return found
    except (CommandError, OSError) as error:
        raise ToolError(f"the search cannot be run: {error}") from error


async def files_with_secrets(root: Path, names: Sequence[str]) -> set[str]:
    """Return the files on disk that may hold secrets, including some that do not.

    :param names: paths relative to the root.
    :raises ToolError: no program can be run, or it takes too long.
    """

    found = await find_lines(root, names, {}, Query(SIGNS_OF_SECRETS, secrets=True))
    if found.timed_out:
        raise ToolError("it takes too long to look through so many files for secrets; use a glob")
    return set(found.lines)


def _refuse_invalid(query: Query) -> None:
    if not query.pattern:
        raise ToolError("the pattern is empty")
    if "\0" in query.pattern:
        raise ToolError("no text has a NUL character; leave it out of the pattern")
    if "\n" in query.pattern or (not query.literal and re.search(r"(?<!\\)(?:\\\\)*\\n", query.pattern)):
        raise ToolError("a pattern is looked for in single lines; search for one line, context=N shows more")


def _searched(
    folder: Path, root: Path, names: Sequence[str], texts: Mapping[str, str]
) -> tuple[dict[str, str], list[str]]:
    """Return the files to search, by the paths given to a program, and the files that are too large.

    Texts are written to files of their own.
    """
    found = {}
    too_large = []
    for index, (name, text) in enumerate(texts.items()):
        path = folder / str(index)
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        found[str(path)] = name
    for name in names:
        if name in texts:
            continue
        try:
            there = os.lstat(f"{root}/{name}")  # not Path: there may be many thousands
        except OSError:  # deleted meanwhile
            continue
        if stat.S_ISREG(there.st_mode):
            if there.st_size > LARGEST:
                too_large.append(name)
            else:
                found[f"./{name}"] = name
    return found, too_large


async def _search(root: Path, folder: Path, files: dict[str, str], query: Query) -> Found:
    from tideate_core.process import make_environment
    from tideate_core.util.programs import find_on_path

    found = None
    if await asyncio.to_thread(find_on_path, "rg", make_environment()) is not None:
        found = await _by_ripgrep(root, files, query)
    return found if found is not None else await _by_child(root, folder, files, query)


async def _by_ripgrep(root: Path, files: dict[str, str], query: Query) -> Found | None:
    """Search with ripgrep; None if it does not support the expression (it has no look-around)."""
    argv = [*_RIPGREP, "--ignore-case" if query.any_case else "--case-sensitive"]
    argv += ["--fixed-strings"] if query.literal else []
    argv += ["--word-regexp"] if query.word else []
    argv += ["--regexp", query.pattern, "--"]
    by_shown = {_as_printed(path): name for path, name in files.items()}
    found = Found()
    for part in _parts(list(files)):
        done = await _run([*argv, *part], root)
        if done.exit_code == 2 and done.stderr.text.strip():
            return None
        for match in filter(None, map(_PLACE.fullmatch, done.stdout.text.split("\n"))):
            if (name := by_shown.get(match["file"])) is not None:
                found.lines.setdefault(name, {})[int(match["line"])] = int(match["column"])
        found.cut = found.cut or bool(done.stdout.cut)
        if done.timed_out:
            found.timed_out = True
            break
        found.searched += len(part)
    return found


def _as_printed(path: str) -> str:
    from tideate_core.process import strip_control_sequences

    return path if path.isprintable() else strip_control_sequences(path)


def _parts(paths: list[str]) -> list[list[str]]:
    parts: list[list[str]] = [[]] if paths else []
    size = 0
    for path in paths:
        size += len(os.fsencode(path)) + 1
        if size > ARGUMENTS:
            parts.append([])
            size = 0
        parts[-1].append(path)
    return parts


async def _by_child(root: Path, folder: Path, files: dict[str, str], query: Query) -> Found:
    try:
        re.compile(re.escape(query.pattern) if query.literal else query.pattern)
    except (re.error, RecursionError, OverflowError) as error:
        raise ToolError(
            f"{query.pattern!r} is no regular expression: {error}; with literal=true it is taken as it is"
        ) from error
    paths = list(files)
    request = {
        **asdict(query),
        "root": str(root),
        "files": paths,
        "most": MOST_OF_FILE,
        "largest": LARGEST,
        "seconds": SECONDS,
        "workers": 2 if len(paths) > FORKS else 1,
        "secrets": sys.path if query.secrets else [],
    }
    place = folder / "request.json"
    await asyncio.to_thread(place.write_text, json.dumps(request))
    done = await _run([sys.executable, "-I", "-S", _CHILD, str(place)], root)
    found = Found(timed_out=done.timed_out or done.signal == "SIGALRM" or done.exit_code == CUT_SHORT)
    found.cut = bool(done.stdout.cut)
    for line in done.stdout.text.split("\n"):
        if line.startswith("+"):
            found.searched += int(line[1:])
        fields = line.split(":")
        if len(fields) == 3 and all(map(str.isdecimal, fields)):
            index, number, column = map(int, fields)
            found.lines.setdefault(files[paths[index]], {})[number] = column
    if not done.ok and not found.timed_out:
        raise ToolError(f"the search failed: {done.stderr.text.strip()[-500:] or done.ending}")
    return found


async def _run(argv: Sequence[str], root: Path) -> CommandResult:
    from tideate_core.process import ProcessLimits, make_environment, run_program

    # both programs end by themselves, even if this process is killed: no guard is needed
    limits = ProcessLimits(timeout_ms=SECONDS * 1000, grace_ms=100, output_bytes=OUTPUT)
    return await run_program(argv, cwd=root, environment=make_environment(), limits=limits, guarded=False)

"""Started programs, from strace's log."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

STRACE: Final = (
    "-f",
    "-qq",
    "-s",
    "4096",
    "--seccomp-bpf",
    "-e",
    "trace=execve,execveat",
    "-e",
    "signal=none",
)
_TRIED: Final = re.compile(
    rb'^(\d+) +execve(?:at)?\((?:\d+, |AT_FDCWD, )?"((?:[^"\\]|\\.)*)", \[(.*?)\](?:, |\.\.\.)'
)
_FAILED: Final = re.compile(rb"^(\d+) +.*(?:execve|resumed).*= -1 ")
_WORD: Final = re.compile(rb'"((?:[^"\\]|\\.)*)"')
_OWN_CODE: Final = ("tideate", "start_host", "importlib.util.find_spec")
"""Marks of the plugin's Python code: the host, and the check of installed packages."""
REPOSITORY: Final = str(Path(__file__).resolve().parents[2])


def strace_command(log: Path) -> list[str]:
    """Return the prefix that makes strace log a command's programs.

    :raises FileNotFoundError: strace is not installed.
    """
    strace = shutil.which("strace")
    if strace is None:
        raise FileNotFoundError("strace is needed: apt-get install strace, or what your system has for that")
    return [strace, *STRACE, "-o", str(log)]


@dataclass(frozen=True, slots=True)
class _Start:
    program: str
    words: tuple[str, ...]


class Programs:
    """Programs started since the last call."""

    def __init__(self, log: Path) -> None:
        self._log = log
        self._at = 0

    def skip(self) -> None:
        """Ignore all programs started so far."""
        self._at = self._log.stat().st_size

    def foreign(self, extra: frozenset[str] = frozenset()) -> list[str]:
        """Return the command lines of programs other than git and tideate's own Python.

        :param extra: real paths of other allowed programs.
        """
        with self._log.open("rb") as file:
            file.seek(self._at)
            lines = file.read().splitlines()
        starts: dict[bytes, list[_Start]] = {}
        for line in lines:
            if _FAILED.match(line):
                pid = line.split()[0]
                if starts.get(pid) and b"resumed" in line:
                    starts[pid].pop()
            elif found := _TRIED.match(line):
                words = tuple(_text(word) for word in _WORD.findall(found[3]))
                starts.setdefault(found[1], []).append(_Start(_text(found[2]), words))
        every = (start for of_one in starts.values() for start in of_one)
        return [" ".join(one.words) or one.program for one in every if not _is_own(one, extra)]


def _text(word: bytes) -> str:
    return word.decode("ascii", "replace").encode().decode("unicode_escape", "replace")


def _is_own(start: _Start, extra: frozenset[str]) -> bool:
    program = os.path.realpath(start.program)
    if start.words == ("uname", "-p"):
        return True  # Python's `platform`, which OpenAI's library uses
    if program in _gits() or program in extra or program.startswith(_git_programs()):
        return True
    return program == os.path.realpath(sys.executable) and _runs_tideate(start.words[1:])


def _runs_tideate(words: tuple[str, ...]) -> bool:
    """Return whether Python runs tideate's code: a module, a file, or an importing line."""
    rest = list(words)
    while rest and rest[0].startswith("-") and rest[0] not in ("-c", "-m"):
        rest.pop(0)
    match rest:
        case ["-m", module, *_]:
            return module.split(".")[0] == "tideate_core"
        case ["-c", code, *_]:
            return any(word in code for word in _OWN_CODE)
        case [script, *_]:
            return os.path.realpath(script).startswith(f"{REPOSITORY}/tideate_core/")
    return False


@cache
def _gits() -> frozenset[str]:
    return frozenset(os.path.realpath(found) for found in [shutil.which("git")] if found)


@cache
def _git_programs() -> str:
    done = subprocess.run(["git", "--exec-path"], capture_output=True, text=True, check=True)
    return os.path.join(os.path.realpath(done.stdout.strip()), "")  # noqa: PTH118 with the slash

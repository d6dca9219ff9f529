"""Find a program in PATH, or run it in namespaces; errors with advice for one that cannot start."""

from __future__ import annotations

import errno
import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tideate_core.errors import InvalidCommand, ProgramMissing, ProgramNotExecutable
from tideate_core.util.programs import find_on_path, within

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

GUARD_PROGRAM: Final = str(Path(__file__).with_name("guard.py"))
ENTER_PROGRAM: Final = str(Path(__file__).with_name("enter.py"))


def entering(namespace: int, cwd: Path, argv: Sequence[str]) -> list[str]:
    """Return a command that runs another command in the namespaces of a process; see `enter.py`.

    :param namespace: pid of that process.
    """
    return [sys.executable, "-I", "-S", ENTER_PROGRAM, str(namespace), str(cwd), *argv]


def check_argv(argv: Sequence[str]) -> None:
    """Reject a command that no system can run.

    :raises InvalidCommand: it is empty, or an argument contains a NUL character.
    """
    if not argv or not argv[0]:
        raise InvalidCommand("a command needs a program; give a list of program and arguments")
    for place, argument in enumerate(argv):
        if "\0" in argument:
            raise InvalidCommand(
                f"{_place(place)} of {argv[0][:80]!r} contains a NUL character; arguments cannot contain one"
            )


def _place(place: int) -> str:
    return f"argument {place}" if place else "the name"


def find_program(
    name: str, cwd: Path, environment: Mapping[str, str], *, hint: str = "", seen: Path | None = None
) -> str:
    """Return the absolute path of a program.

    :param name: with a slash, a path relative to `cwd`; otherwise looked up in the environment's PATH.
    :param hint: what to install or configure; added to the error.
    :param seen: location of the namespace's `/` in ours; None for our own.
    :raises ProgramMissing: there is none.
    :raises ProgramNotExecutable: it is a directory, or not executable.
    """
    if "/" in name:
        path = cwd / name
        if not os.path.lexists(within(seen, path)):
            raise ProgramMissing(f"{path} does not exist{_advice(name, hint)}")
    else:
        found = find_on_path(name, environment, seen)
        if found is None:
            raise ProgramMissing(f"{name} is not installed: no directory of PATH has it{_advice(name, hint)}")
        path = found
    there = within(seen, path)
    if not there.is_file():
        raise ProgramNotExecutable(f"{path} is not a program: {_kind(there)}{_advice(name, hint)}")
    if not os.access(there, os.X_OK):
        raise ProgramNotExecutable(f"{path} may not be run; `chmod +x {shlex.quote(str(path))}` allows it")
    return str(path)


def start_error(program: str, number: int) -> ProgramNotExecutable:
    """Return the error for an existing program that the system could not run.

    :param number: the system's `errno`.
    """
    reason = _START_ERRORS.get(number) or f"cannot be run: {os.strerror(number)}"
    return ProgramNotExecutable(f"{program} {reason}")


_START_ERRORS: Final = {
    errno.ENOEXEC: "is neither a program of this system nor a script with `#!` at its top",
    errno.ENOENT: "needs an interpreter that is missing; look at its first line",
    errno.E2BIG: "was given more arguments than the system takes; give it fewer",
}


def _kind(path: Path) -> str:
    if path.is_symlink() and not path.exists():
        return "a link that leads nowhere"
    return "a directory" if path.is_dir() else "no regular file"


def _advice(name: str, hint: str) -> str:
    return f"; {hint}" if hint else f"; install {Path(name).name}, or configure another command"

"""Atomic writing of output files named on the command line."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from tideate_core.cli.render.output import (
    messages,
    print_line,
    print_text,
)
from tideate_core.errors import InvalidInput, WorkspaceError
from tideate_core.project import expand_home, real_path
from tideate_core.util.atomic_files import write_atomic_at
from tideate_core.util.escaping import label

if TYPE_CHECKING:
    from pathlib import Path

MOST_LINKS = 40


def write_output(out: str | None, text: str, source: Path | None) -> None:
    """Write a text to the file of `-o`, or print it.

    :param out: output file; None and `-` mean stdout.
    :param source: the input file, which must not be replaced.
    :raises InvalidInput: OUT is the input file, or looks like an option.
    :raises WorkspaceError: the file cannot be written; it is unchanged.
    """
    if out is None or out == "-":
        print_text(text)
        return
    if not out or out.startswith("-"):
        raise InvalidInput(f"-o needs the name of a file, not {out!r}; one such is ./{out or 'machine'}")
    path = expand_home(out)
    if source is not None and path.exists() and path.samefile(source):
        raise InvalidInput(f"-o {out} is the FILE itself, which would be lost; choose another name")
    write_text(path, text)
    print_line(f"written: {label(out)}", console=messages())


def write_text(path: Path, text: str, *, replaces: str | None = None) -> None:
    """Write a file atomically; keep owner, mode, access control list and attributes of a replaced file.

    Links are followed. A file with several hard links is written in place, to keep them.

    :param replaces: expected current content of the file.
    :raises WorkspaceError: the file cannot be written, or its content has changed; it is unchanged.
    """
    if _is_device(path):
        raise WorkspaceError(f"{path} is not a regular file; `-` stands for stdout")
    target = real_path(path)
    try:
        _check_writable(target)
        if target.exists() and target.stat().st_nlink > 1:
            _check_unchanged(target, replaces)
            _write_in_place(target, text)
        else:
            _replace(target, text, replaces)
    except OSError as error:
        raise WorkspaceError(f"{path} cannot be written: {error.strerror}") from error


def _replace(target: Path, text: str, replaces: str | None) -> None:
    directory = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        # checked as late as possible: a text saved by an editor in the meantime must not be lost
        write_atomic_at(
            directory,
            target.name,
            text.encode(),
            mode=0o666,
            passes_on=True,
            check=lambda: _check_unchanged(target, replaces),
        )
    finally:
        os.close(directory)


def _write_in_place(target: Path, text: str) -> None:
    with target.open("r+b") as file:
        file.write(text.encode())
        file.truncate()
        file.flush()
        os.fsync(file.fileno())


def _check_unchanged(target: Path, replaces: str | None) -> None:
    if replaces is not None and target.read_bytes() != replaces.encode():
        raise WorkspaceError(f"{target} was changed since it was read, and is left as it is; try again")


def _is_device(path: Path) -> bool:
    """Return whether a path resolves through /dev or /proc; `/dev/stdin` may link to any file."""
    for _ in range(MOST_LINKS):
        place = real_path(path.parent) / path.name
        if place.is_relative_to("/proc") or (
            place.is_relative_to("/dev") and not place.is_relative_to("/dev/shm")  # noqa: S108 no file of ours
        ):
            return True
        if not place.is_symlink():
            return False
        path = place.parent / place.readlink()
    return False


def _check_writable(target: Path) -> None:
    if target.exists():
        if not target.is_file():
            raise WorkspaceError(f"{target} is not a regular file")
        if not os.access(target, os.W_OK):
            raise PermissionError(13, "it is read-only")

"""Errors of configuration, files, edits and snapshots."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.errors.base import TideateError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

__all__ = [
    "AmbiguousCommit",
    "ConfigError",
    "ContextResolutionError",
    "EditConflict",
    "NotText",
    "OutsideRoot",
    "RollbackConflict",
    "ScratchUnavailable",
    "SnapshotNotFound",
    "StateError",
    "UnusableAnswer",
    "UnusableFile",
    "WorkspaceError",
]


class ConfigError(TideateError):
    """A configuration file or `setup()` is wrong."""


class StateError(ConfigError):
    """The private state cannot be made or used; the message says why and what to do."""


class UnusableFile(ConfigError):
    """A file of a project is not used; the message says why.

    :param done: what was not done: used, or written.
    """

    def __init__(self, path: Path, reason: str, done: str = "used") -> None:
        self.reason = reason
        name = str(path)
        super().__init__(f"{name if name.isprintable() else repr(name)} was not {done}: {reason}")


class WorkspaceError(TideateError):
    """A file cannot be read or edited."""


class AmbiguousCommit(WorkspaceError):
    """Several commits of a repository go by one name."""


class OutsideRoot(WorkspaceError):
    """A path leaves the project's root, or is one that a workflow never writes."""


class NotText(WorkspaceError):
    """Binary, or not in the encoding it claims."""


class ContextResolutionError(WorkspaceError):
    """A mention stands for nothing that can be read.

    :param problem: what is wrong with it; empty where no mention is called so.
    :param known: the mentions that there are; the nearest is named.
    """

    def __init__(self, mention: str, problem: str = "", known: Iterable[str] = ()) -> None:
        names = sorted(known)
        near = did_you_mean(mention, names) or "; `tideate context list` shows them all"
        unknown = f"no mention is called {mention}{near}"
        super().__init__(f"{mention}: {problem}" if problem else unknown)
        self.mention = mention


class EditConflict(WorkspaceError):
    """The text changed where the edit goes; nothing was written.

    :param path: of the file, as the edit has it; empty where no place in a file is known.
    :param line: where the edit would go in the text as it is now, 1-based.
    """

    def __init__(self, message: str, *, path: str = "", line: int | None = None) -> None:
        super().__init__(message)
        self.path = path
        self.line = line


class NotParsed(WorkspaceError):
    """A text that the parser does not finish within its limits; the message is the reason."""


class UnusableAnswer(WorkspaceError):
    """A model's answer from which no edit can be made; the message tells the model why."""


class RollbackConflict(WorkspaceError):
    """A file that a rollback would restore was changed since.

    :param names: of the files and buffers that were left as they are, where that is known.
    """

    def __init__(self, message: str, names: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.names = tuple(names)


class ScratchUnavailable(WorkspaceError):
    """A scratch copy cannot be made, or is gone; the message says why and what to do."""


class SnapshotNotFound(WorkspaceError):
    """No snapshot has this id."""

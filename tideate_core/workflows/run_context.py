"""Context that a run is started in: a text with its selection, cursor and diagnostics, or an earlier run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from pydantic import BaseModel, ConfigDict, Field

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tideate_core.adapters import Conversation
    from tideate_core.workspace import FileChange

__all__ = [
    "BufferContext",
    "Cursor",
    "DiagnosticContext",
    "EarlierRun",
    "FileToChange",
    "NextRun",
    "RunContext",
    "Selection",
]


class _Input(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class BufferContext(_Input):
    """A text that the person is looking at: an editor's buffer, or a file named in the shell."""

    path: str = ""
    """Absolute; empty for a buffer without a name."""
    text: str = ""
    """The lines joined by ``\\n``, without the last line end."""
    filetype: str = ""
    number: int | None = None
    """The editor's buffer number, None outside it."""
    tick: int | None = None
    modifiable: bool = True
    binary: bool = False


class Selection(_Input):
    """Whole lines of the buffer, 1-based, both ends included."""

    start: int = Field(ge=1)
    end: int = Field(ge=1)


class Cursor(_Input):
    """The cursor: `line` 1-based, `column` a 0-based byte offset."""

    line: int = Field(ge=1)
    column: int = Field(default=0, ge=0)


class DiagnosticContext(_Input):
    """A language server's or linter's word on a line; `line` and `column` are 1-based."""

    line: int = Field(ge=1)
    column: int = Field(ge=1)
    severity: str
    message: str
    source: str = ""


class RunContext(_Input):
    """The context that a run was started in; further keys are handed on to handlers and templates."""

    model_config = ConfigDict(extra="allow")

    cwd: str = ""
    buffer: BufferContext | None = None
    selection: Selection | None = None
    cursor: Cursor | None = None
    diagnostics: tuple[DiagnosticContext, ...] | None = None
    """Of the buffer; None where nobody says, as outside of an editor."""


@dataclass(frozen=True, slots=True)
class FileToChange:
    """A file that a run leaves to the next one."""

    path: str
    """As the workspace names it."""
    why: str = ""
    """In one line."""


@dataclass(frozen=True, slots=True)
class NextRun:
    """A run that a step proposes to follow its own, in the same conversation.

    Front ends offer it once the run is completed; without a person's yes nothing of it begins.
    """

    workflow: str
    prompt: str
    message: str
    """What is left to do, in a few words."""
    files: tuple[FileToChange, ...] = ()
    done: str = ""
    """What was changed already, as a diff for the model."""

    def as_json(self) -> dict[str, Any]:
        """Return what `of_json` reads."""
        files = [{"path": one.path, "why": one.why} for one in self.files]
        return {name: getattr(self, name) for name in self.__slots__} | {"files": files}

    @classmethod
    def of_json(cls, shape: Mapping[str, Any]) -> Self:
        """Return what `as_json` gave."""
        return cls(**{**shape, "files": tuple(FileToChange(**one) for one in shape["files"])})


@dataclass(frozen=True, slots=True)
class EarlierRun:
    """The run that another goes on with."""

    execution_id: str
    workflow: str
    prompt: str
    """What was asked for, also in the runs that it went on with itself."""
    conversation: Conversation
    """Its last one, up to the turn after which it is gone on with."""
    staged: tuple[FileChange, ...]
    """Edits that were made in that conversation, whether they were written or not."""
    context: RunContext
    """In which it was started."""
    results: Mapping[str, Any]
    """Results of its completed steps, by step."""
    proposed: NextRun | None = None
    """The run that it proposed to follow it."""

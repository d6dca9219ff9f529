"""Context of a run: buffer, selection, cursor and diagnostics; earlier and proposed runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from pydantic import BaseModel, ConfigDict, Field

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tideate_core.adapters import Conversation
    from tideate_core.workspace import FileChange


class _Input(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class BufferContext(_Input):
    """The text in front of the person: an editor's buffer, or a file named in the shell."""

    path: str = ""
    """Absolute; empty for a buffer without a name."""
    text: str = ""
    """The lines joined by ``\\n``, without the last line end."""
    filetype: str = ""
    number: int | None = None
    """The editor's buffer number, None outside an editor."""
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
    """A message of a language server or linter; `line` and `column` are 1-based."""

    line: int = Field(ge=1)
    column: int = Field(ge=1)
    severity: str
    message: str
    source: str = ""


class RunContext(_Input):
    """The context in which a run was started; further keys are passed to handlers and templates."""

    model_config = ConfigDict(extra="allow")

    cwd: str = ""
    buffer: BufferContext | None = None
    selection: Selection | None = None
    cursor: Cursor | None = None
    diagnostics: tuple[DiagnosticContext, ...] | None = None
    """Diagnostics of the buffer; None if unknown, as outside an editor."""


@dataclass(frozen=True, slots=True)
class FileToChange:
    """A file left for the next run to change."""

    path: str
    """In the workspace's form."""
    why: str = ""
    """One line."""


@dataclass(frozen=True, slots=True)
class NextRun:
    """A run that a step proposes as a follow-up in the same conversation.

    Front ends offer it after the run completes; it starts only if the person accepts.
    """

    workflow: str
    prompt: str
    message: str
    """The remaining work, in a few words."""
    files: tuple[FileToChange, ...] = ()
    done: str = ""
    """Changes already made, as a diff for the model."""

    def as_json(self) -> dict[str, Any]:
        """Return the shape that `of_json` reads."""
        files = [{"path": one.path, "why": one.why} for one in self.files]
        return {name: getattr(self, name) for name in self.__slots__} | {"files": files}

    @classmethod
    def of_json(cls, shape: Mapping[str, Any]) -> Self:
        """Restore from the shape of `as_json`."""
        return cls(**{**shape, "files": tuple(FileToChange(**one) for one in shape["files"])})


@dataclass(frozen=True, slots=True)
class EarlierRun:
    """The run that another run continues."""

    execution_id: str
    workflow: str
    prompt: str
    """The request, including those of the runs that it continued."""
    conversation: Conversation
    """Its last conversation, up to the turn from which it is continued."""
    staged: tuple[FileChange, ...]
    """Edits of that conversation, written or not."""
    context: RunContext
    """The context in which it was started."""
    results: Mapping[str, Any]
    """Results of completed steps by step."""
    proposed: NextRun | None = None
    """The follow-up that it proposed."""

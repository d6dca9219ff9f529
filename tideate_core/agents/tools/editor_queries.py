"""Send the editor tools' queries to Neovim and validate its answers; show places with their lines."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar
from urllib.parse import unquote, urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tideate_core.agents.model_input import read_if_there, why_not_shown
from tideate_core.agents.tools.results import list_some
from tideate_core.agents.tools.tool import Arguments
from tideate_core.errors import OutsideRoot, ToolError, WorkspaceError
from tideate_core.mentions import hide_secrets
from tideate_core.util.cutting import beginning

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tideate_core.agents.tools.tool import ToolContext

LIMIT: Final = 15.0
"""Seconds that the editor waits for its language servers."""
GRACE: Final = 3.0
"""Additional seconds until an unresponsive editor is given up, for example one that shows a prompt."""
LONGEST_LINE: Final = 240
"""Characters of a file's line shown with a place."""

R = TypeVar("R")
T = TypeVar("T", bound=BaseModel)


class InFile(Arguments):
    """Arguments of a tool about a file."""

    path: str

    def as_query(self) -> dict[str, Any]:
        """Return the arguments of the editor's query, other than the path."""
        return self.model_dump(exclude={"path"}, exclude_none=True)


class AtSymbol(InFile):
    """Arguments of a tool about one symbol."""

    line: int = Field(ge=1, description="Line where the symbol stands.")
    symbol: str | None = Field(
        default=None, min_length=1, max_length=200, description="The name as it stands on that line."
    )
    column: int | None = Field(
        default=None, ge=1, description="Character on that line, from 1; only where there is no name."
    )

    def as_query(self) -> dict[str, Any]:
        """Return the arguments of the editor's query, other than the path.

        :raises ToolError: neither a name nor a column is given.
        """
        if self.symbol is None and self.column is None:
            raise ToolError("name the symbol that stands on the line: symbol=…")
        return super().as_query()


class _Answer(BaseModel):
    model_config = ConfigDict(frozen=True)


class ServerAnswer(_Answer, Generic[R]):
    """A language server's answer to a query."""

    client: str
    """Name of the server."""
    busy: str | None = None
    """Work in progress, such as indexing."""
    total: int = 0
    """Number of entries, even if the result has only some of them."""
    result: R


class ServerAnswers(_Answer, Generic[R]):
    """Answers of all language servers that could be asked."""

    answers: list[ServerAnswer[R]]
    errors: list[str]

    def notes(self) -> list[str]:
        """Return notes for a model about the answers: failures, and servers that are still busy."""
        busy = (
            f"{one.client} is still working ({one.busy}); this may not be all"
            for one in self.answers
            if one.busy
        )
        return [one_line(note) for note in (*self.errors, *busy)]


async def ask(
    context: ToolContext, name: str, arguments: dict[str, Any], shape: type[T], *, limit: float = LIMIT
) -> T:
    """Return the editor's answer to a query.

    :param limit: seconds.
    :raises ToolError: there is no editor, it does not answer in time, or its answer is invalid.
    """
    editor = context.step.editor
    if editor is None:
        raise ToolError(f"{name}: there is no running Neovim here; use tools that read files")
    answer = await editor.query(name, {**arguments, "limit": limit * 1000}, within=limit + GRACE)
    try:
        return shape.model_validate(answer)
    except ValidationError as error:
        raise ToolError(f"{name}: the language server's answer makes no sense") from error


async def ask_about(
    context: ToolContext, name: str, arguments: InFile, shape: type[T], **more: str
) -> tuple[str, T]:
    """Return a file's name in the project, and the editor's answer to a query about it."""
    file, path = await open_file(context, arguments.path)
    return file, await ask(context, name, {"path": path, **arguments.as_query(), **more}, shape)


async def open_file(context: ToolContext, path: str) -> tuple[str, str]:
    """Return the name and the absolute path of a file that the editor can be asked about.

    :raises ToolError: the file does not exist, is outside the project, or may not be shown to a model.
    """
    workspace = context.step.workspace
    try:
        real = workspace.resolve(path)
        source = await read_if_there(workspace, path)
    except WorkspaceError as error:
        raise ToolError(str(error)) from error
    name = workspace.name_of(real)
    if source is None:
        staged = name in context.staged.changed_texts()
        raise ToolError(
            f"{name} is only staged; language servers do not know it" if staged else f"{name} does not exist"
        )
    if why := await why_not_shown(context.step, name, source.text):
        raise ToolError(f"{name}: {why}, and no person agreed to send it to the model")
    return name, str(real)


def path_of_uri(uri: str) -> Path | None:
    """Return the absolute path of a file URI; None for any other URI."""
    parts = urlsplit(uri)
    path = unquote(parts.path)
    if parts.scheme != "file" or parts.netloc not in ("", "localhost") or "\0" in path:
        return None
    return Path(path) if path.startswith("/") else None


def one_line(text: str, longest: int = LONGEST_LINE) -> str:
    """Return a text on one line without secrets, cut if it is too long."""
    return beginning(" ".join(hide_secrets(text).split()), longest)


@dataclass(slots=True)
class EditorTexts:
    """Lines of files as the editor has them, to show a model with places; each file is read once."""

    context: ToolContext
    _lines: dict[str, list[str] | str] = field(default_factory=dict)
    """Lines by file name, or the reason why they are not shown."""

    def name_of(self, path: Path | None) -> str | None:
        """Return a file's name in the project; None if it is outside."""
        workspace = self.context.step.workspace
        if path is None or workspace.root is None:
            return None
        try:
            return workspace.name_of(workspace.resolve(path))
        except OutsideRoot:
            return None

    async def show(self, name: str, line: int) -> str:
        """Return a place with the text of its line.

        :param line: from 1.
        """
        lines = await self._lines_of(name)
        if isinstance(lines, str):
            return f"{name}:{line} [{lines}]"
        text = lines[line - 1].strip() if 0 < line <= len(lines) else ""
        return f"{name}:{line}: {beginning(text, LONGEST_LINE)}"

    async def may_show(self, name: str) -> bool:
        """Return whether a model may see the text of a file."""
        return not isinstance(await self._lines_of(name), str)

    async def _lines_of(self, name: str) -> list[str] | str:
        if name not in self._lines:
            self._lines[name] = await self._read(name)
        return self._lines[name]

    async def _read(self, name: str) -> list[str] | str:
        step = self.context.step
        try:
            source = await step.workspace.read(name)
        except WorkspaceError as error:
            return one_line(str(error))
        if why := await why_not_shown(step, name, source.text):
            return f"not shown: {why}"
        return source.text.split("\n")

    def staged_note(self, names: Iterable[str] = ()) -> list[str]:
        """Name the shown files, or `names`, with staged edits that the editor does not know."""
        shown = {*self._lines, *names}
        staged = sorted(shown.intersection(self.context.staged.changed_texts()))
        if not staged:
            return []
        return [
            f"{list_some(staged, 5)}: shown as in the editor; your staged edits are not in it, line numbers "
            "may differ"
        ]

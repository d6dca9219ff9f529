"""Edits proposed by language servers: stage an edit of many files, all or nothing."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from pydantic import BaseModel

from tideate_core.agents.model_input import read_if_there
from tideate_core.agents.tools.edit_report import describe_changes
from tideate_core.agents.tools.editor_queries import EditorTexts, one_line, path_of_uri
from tideate_core.agents.tools.results import bounded_text
from tideate_core.agents.tools.staged_diagnostics import report_changes
from tideate_core.agents.tools.workspace_edit import (
    CreateFile,
    DeleteFile,
    DocumentEdit,
    Encoding,
    Operation,
    RenameFile,
    apply_edits,
    parse_workspace_edit,
)
from tideate_core.errors import ToolError, UnusableAnswer, WorkspaceError
from tideate_core.workspace import FileChange, unified_diff

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tideate_core.agents.tools.tool import ToolContext

LONGEST_DIFF: Final = 12_000
"""Characters of a staged difference shown to a model."""


class Proposal(BaseModel):
    """A server's edit, not parsed yet."""

    client: str
    encoding: Encoding
    edit: str
    ticks: dict[str, int]
    """The editor's changedtick of each open file at the time of the request, by path."""
    command: str | None = None


async def stage_proposal(context: ToolContext, proposal: Proposal, *, brief: bool = False) -> str:
    """Stage a server's edit of the project's files, all or nothing; return a description for a model.

    :param brief: leave out a long difference that the model can infer.
    :raises ToolError: the edit does not fit the current texts, or cannot be written.
    """
    work = _Staging(context, proposal)
    for operation in parse_workspace_edit(proposal.edit):
        await work.take(operation)
    changes = work.changes()
    left_out = [f"[outside of the project, left out: {one_line(place)}]" for place in list(work.outside)[:10]]
    if not changes:
        return "\n".join(["the language server's edit changes nothing in the project", *left_out])
    await _check(context, changes)
    shown, is_all = await asyncio.to_thread(_difference, changes, brief=brief)
    _stage(context, changes, all_shown=is_all)
    names = ", ".join(change.move_to or change.path for change in changes[:20])
    more = f" and {len(changes) - 20} more" if len(changes) > 20 else ""
    syntax, problems = await report_changes(context, changes)
    notes = [*left_out, *problems]
    if proposal.command:
        notes.append(f"[its command {one_line(proposal.command)} was not run]")
    return "\n".join([f"staged by {one_line(proposal.client)}: {names}{more}{syntax}", *notes, *shown])


def _difference(changes: Sequence[FileChange], *, brief: bool) -> tuple[list[str], bool]:
    """Return the changes as lines for a model, and whether these are all changed lines."""
    if brief:
        return describe_changes(changes)
    diff = "".join(unified_diff(change) for change in changes)
    shown = bounded_text(diff.rstrip("\n"), "read_file shows files as they are staged", LONGEST_DIFF)
    return [shown], len(diff) <= LONGEST_DIFF


async def _check(context: ToolContext, changes: Sequence[FileChange]) -> None:
    """Reject files that the step may not change, and edits that cannot be written."""
    staged, workspace = context.staged.changed_texts(), context.step.workspace
    names = dict.fromkeys(path for change in changes for path in (change.path, change.move_to) if path)
    new = [name for name in names if name not in staged]
    if context.may_change is not None and new and (why := await context.may_change(new)):
        raise ToolError(f"the language server's edit changes more: {why}; nothing was staged")
    try:
        await workspace.stage(await workspace.attach(changes))
    except WorkspaceError as error:
        raise ToolError(f"the language server's edit cannot be staged: {error}") from error


def _stage(context: ToolContext, changes: Sequence[FileChange], *, all_shown: bool) -> None:
    staged = context.staged
    known = [change for change in changes if staged.was_shown(change.path)]
    staged.stage(changes)
    for change in known if all_shown else ():
        if change.after is not None:
            staged.note_shown(change.move_to or change.path)  # the model saw the difference


@dataclass(slots=True)
class _Staging:
    """Applies a server's operations to texts in memory, in order."""

    context: ToolContext
    proposal: Proposal
    before: dict[str, str | None] = field(default_factory=dict)
    now: dict[str, str | None] = field(default_factory=dict)
    moved: dict[str, str] = field(default_factory=dict)
    """Old names by new name."""
    outside: dict[str, None] = field(default_factory=dict)

    async def take(self, operation: Operation) -> None:
        """Apply one operation to the texts."""
        match operation:
            case DocumentEdit():
                await self._edit(operation)
            case CreateFile():
                await self._create(operation)
            case RenameFile():
                await self._rename(operation)
            case DeleteFile():
                await self._delete(operation)

    async def _edit(self, operation: DocumentEdit) -> None:
        name = await self._load(operation.text_document.uri)
        if name is None:
            return
        text = self.now[name]
        if text is None:
            raise ToolError(f"the language server edits {name}, which does not exist")
        try:
            self.now[name] = apply_edits(text, operation.edits, self.proposal.encoding)
        except ToolError as error:
            raise ToolError(f"{name}: {error}; nothing was staged") from error

    async def _create(self, operation: CreateFile) -> None:
        name = await self._load(operation.uri)
        if name is None or (self.now[name] is not None and operation.options.ignore_if_exists):
            return
        if self.now[name] is not None and not operation.options.overwrite:
            raise ToolError(f"the language server creates {name}, which exists; nothing was staged")
        self.now[name] = ""

    async def _rename(self, operation: RenameFile) -> None:
        old, new = await self._load(operation.old_uri), await self._load(operation.new_uri)
        if old is None or new is None:
            return
        if self.now[old] is None:
            raise ToolError(f"the language server moves {old}, which does not exist; nothing was staged")
        if self.now[new] is not None:
            if operation.options.ignore_if_exists:
                return
            raise ToolError(f"the language server moves {old} to {new}, which exists; nothing was staged")
        self.now[new], self.now[old] = self.now[old], None
        self.moved[new] = self.moved.pop(old, old)

    async def _delete(self, operation: DeleteFile) -> None:
        name = await self._load(operation.uri)
        if name is None or (self.now[name] is None and operation.options.ignore_if_not_exists):
            return
        if self.now[name] is None:
            raise ToolError(f"the language server deletes {name}, which does not exist; nothing was staged")
        self.now[name] = None

    async def _load(self, uri: str) -> str | None:
        """Load a file's text and return its name; None for a file outside the project.

        :raises ToolError: the language server's text of the file differs from the current one.
        """
        path = path_of_uri(uri)
        name = EditorTexts(self.context).name_of(path)
        if name is None:
            self.outside[str(path or uri)] = None
            return None
        if name not in self.now:
            self.before[name] = self.now[name] = await self._read(name)
        return name

    async def _read(self, name: str) -> str | None:
        step = self.context.step
        try:
            source = await read_if_there(step.workspace, name)
            wanted = await self.context.staged.read(step, name)
        except (WorkspaceError, UnusableAnswer) as error:
            raise ToolError(f"the language server's edit cannot be staged: {name}: {error}") from error
        if wanted != (source.text if source else None):
            raise ToolError(
                f"{name} has staged edits that the language server cannot see, so its edits do not fit. "
                "Nothing was staged; make this change with the edit tools"
            )
        if source and source.buffer is not None:
            asked = self.proposal.ticks.get(str(step.workspace.resolve(name)))
            if asked != source.tick:
                raise ToolError(
                    f"{name} was changed in the editor while the language server worked; call again"
                )
        return wanted

    def changes(self) -> list[FileChange]:
        """Return the combined changes of all operations."""
        moves = {old: new for new, old in self.moved.items() if self._is_move(old, new)}
        found = [self._change(name, moves.get(name)) for name in self.now if name not in set(moves.values())]
        return [change for change in found if change is not None]

    def _is_move(self, old: str, new: str) -> bool:
        texts = self.before[old], self.now[old], self.before[new], self.now[new]
        return [text is None for text in texts] == [False, True, True, False]

    def _change(self, name: str, move_to: str | None) -> FileChange | None:
        before, now = self.before[name], self.now[name]
        if move_to is not None:
            return FileChange(name, "move", before, self.now[move_to], move_to=move_to)
        if before == now:
            return None
        action = "create" if before is None else "delete" if now is None else "modify"
        return FileChange(name, action, before, now)  # type: ignore[arg-type]

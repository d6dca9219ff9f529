"""Stage a language server's edit of the project's files (rename, code action), all or nothing."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from pydantic import BaseModel

from tideate_core.agents.model_input import read_if_there
from tideate_core.agents.staged_files import StagedFiles
from tideate_core.agents.tools.edit_report import describe_changes
from tideate_core.agents.tools.editor_queries import EditorTexts, one_line, path_of_uri
from tideate_core.agents.tools.results import bounded_text, list_some
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
    changes = work.files.changes()
    left_out = [f"[outside of the project, left out: {one_line(place)}]" for place in list(work.outside)[:10]]
    if not changes:
        return "\n".join(["the language server's edit changes nothing in the project", *left_out])
    await _check(context, changes)
    shown, is_all = await asyncio.to_thread(_difference, changes, brief=brief)
    _stage(context, changes, all_shown=is_all)
    names = list_some([change.move_to or change.path for change in changes], 20)
    syntax, problems = await report_changes(context, changes)
    notes = [*left_out, *problems]
    if proposal.command:
        notes.append(f"[its command {one_line(proposal.command)} was not run]")
    return "\n".join([f"staged by {one_line(proposal.client)}: {names}{syntax}", *notes, *shown])


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
    files: StagedFiles = field(default_factory=StagedFiles)
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
        text = self.files.text(name)
        if text is None:
            raise ToolError(f"the language server edits {name}, which does not exist")
        try:
            after = apply_edits(text, operation.edits, self.proposal.encoding)
        except ToolError as error:
            raise ToolError(f"{name}: {error}; nothing was staged") from error
        self.files.stage([FileChange(name, "modify", text, after)])

    async def _create(self, operation: CreateFile) -> None:
        name = await self._load(operation.uri)
        if name is None:
            return
        text = self.files.text(name)
        if text is not None and operation.options.ignore_if_exists:
            return
        if text is not None and not operation.options.overwrite:
            raise ToolError(f"the language server creates {name}, which exists; nothing was staged")
        self.files.stage([FileChange(name, "create", text, "")])

    async def _rename(self, operation: RenameFile) -> None:
        old, new = await self._load(operation.old_uri), await self._load(operation.new_uri)
        if old is None or new is None:
            return
        text = self.files.text(old)
        if text is None:
            raise ToolError(f"the language server moves {old}, which does not exist; nothing was staged")
        if self.files.text(new) is None:
            self.files.stage([FileChange(old, "move", text, text, move_to=new)])
        elif not operation.options.ignore_if_exists:
            raise ToolError(f"the language server moves {old} to {new}, which exists; nothing was staged")

    async def _delete(self, operation: DeleteFile) -> None:
        name = await self._load(operation.uri)
        if name is None:
            return
        text = self.files.text(name)
        if text is not None:
            self.files.stage([FileChange(name, "delete", text, None)])
        elif not operation.options.ignore_if_not_exists:
            raise ToolError(f"the language server deletes {name}, which does not exist; nothing was staged")

    async def _load(self, uri: str) -> str | None:
        """Load a file's text and return its name; None for a file outside the project.

        :raises ToolError: the language server's text of the file differs from the current one.
        """
        path = path_of_uri(uri)
        name = EditorTexts(self.context).name_of(path)
        if name is None:
            self.outside[str(path or uri)] = None
        elif not self.files.knows(name):
            self.files.take(name, await self._read(name))
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

"""Tools of language servers that stage edits: rename and code actions; the editor is not changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, Field

from tideate_core.agents.tools.edit_proposals import Proposal, stage_proposal
from tideate_core.agents.tools.editor_queries import (
    AtSymbol,
    EditorTexts,
    ServerAnswers,
    ask,
    one_line,
    open_document,
)
from tideate_core.agents.tools.tool import Arguments

if TYPE_CHECKING:
    from tideate_core.agents.tools.tool import ToolContext

__all__ = ["ApplyCodeAction", "CodeActions", "Rename", "apply_code_action", "code_actions", "rename"]


class Rename(AtSymbol):
    """Arguments of `lsp_rename`."""

    new_name: str = Field(min_length=1, max_length=200)


class CodeActions(Arguments):
    """Arguments of `lsp_code_actions`."""

    path: str
    line: int = Field(ge=1, description="First line.")
    end_line: int | None = Field(default=None, ge=1, description="Last line, included.")
    symbol: str | None = Field(
        default=None, min_length=1, max_length=200, description="Only what stands there by this name."
    )

    def place(self) -> dict[str, Any]:
        """Return the position for the editor's query."""
        return self.model_dump(include={"line", "end_line", "symbol"}, exclude_none=True)


class ApplyCodeAction(CodeActions):
    """Arguments of `lsp_apply_code_action`."""

    title: str = Field(min_length=1, max_length=500, description="As lsp_code_actions shows it.")


class _Action(BaseModel):
    title: str
    kind: str | None = None
    preferred: bool = False
    disabled: str | None = None
    command: str | None = None


class _Actions(BaseModel):
    result: list[_Action]


async def rename(context: ToolContext, arguments: Rename) -> str:
    """Stage the renaming of a symbol in all files."""
    document = await open_document(context, arguments.path)
    wanted = {"path": str(document.path), "new_name": arguments.new_name, **arguments.place()}
    return await stage_proposal(context, await ask(context, "rename", wanted, Proposal), brief=True)


async def code_actions(context: ToolContext, arguments: CodeActions) -> str:
    """List the code actions that the language servers offer for lines."""
    document = await open_document(context, arguments.path)
    wanted = {"path": str(document.path), **arguments.place()}
    found = await ask(context, "code_actions", wanted, ServerAnswers)
    lines = []
    for answer in found.answers:
        actions = _Actions.model_validate({"result": answer.result}).result
        lines += [_action_line(action, answer.client) for action in actions]
        if answer.total > len(actions):
            lines.append(f"[{answer.total - len(actions)} more of {answer.client} are left out]")
    notes = [*found.notes(), *EditorTexts(context).staged_note([document.name])]
    return "\n".join([*(lines or ["there is no code action there"]), *(f"[{note}]" for note in notes)])


def _action_line(action: _Action, client: str) -> str:
    words = [action.kind or "", "preferred" if action.preferred else "", client]
    if action.disabled:
        words.append(f"not possible: {one_line(action.disabled)}")
    elif action.command:
        words.append("a command of the server, which is not run")
    return f"{one_line(action.title, 500)} [{', '.join(word for word in words if word)}]"


async def apply_code_action(context: ToolContext, arguments: ApplyCodeAction) -> str:
    """Stage the edits of a code action."""
    document = await open_document(context, arguments.path)
    wanted = {"path": str(document.path), "title": arguments.title, **arguments.place()}
    return await stage_proposal(context, await ask(context, "code_action", wanted, Proposal))

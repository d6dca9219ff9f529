"""Tools of Neovim for a model: language servers, diagnostics, open buffers, the quickfix list."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from pydantic import BaseModel, Field

from tideate_core.agents.model_input import why_not_shown
from tideate_core.agents.tools.edit_proposals import Proposal, stage_proposal
from tideate_core.agents.tools.editor_queries import (
    AtSymbol,
    EditorTexts,
    InFile,
    ServerAnswers,
    ask,
    ask_about,
    one_line,
    open_file,
    path_of_uri,
)
from tideate_core.agents.tools.tool import A, Arguments, Effect, ToolContext, WorkTool
from tideate_core.errors import ToolError, WorkspaceError
from tideate_core.mentions import hide_secrets
from tideate_core.util.cutting import beginning
from tideate_core.workspace import Document, FileChange, read_image, unified_diff

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

MOST_PLACES: Final = 100
MOST_SYMBOLS: Final = 300
LONGEST_HOVER: Final = 6000
"""Characters."""

Kind = Literal["definition", "implementation", "references"]
NOTHING: Final = {
    "definition": "no definition was found",
    "implementation": "no implementation was found",
    "references": "no reference was found",
}


class _Place(BaseModel):
    uri: str
    line: int


class _Symbol(BaseModel):
    name: str
    kind: str
    line: int
    depth: int = 0
    detail: str | None = None
    uri: str | None = None
    container: str | None = None


async def hover(context: ToolContext, arguments: AtSymbol) -> str:
    """Return the language servers' description of a symbol."""
    name, found = await ask_about(context, "hover", arguments, ServerAnswers[Any])
    texts = [str(answer.result or "").strip() for answer in found.answers]
    lines = [beginning(hide_secrets(text), LONGEST_HOVER) for text in texts if text]
    lines = lines or ["the language server says nothing of it"]
    return _text(lines, found, EditorTexts(context), [name])


async def locations(kind: Kind, context: ToolContext, arguments: AtSymbol) -> str:
    """Return the places that define, implement or use a symbol."""
    name, found = await ask_about(context, "locations", arguments, ServerAnswers[list[_Place]], kind=kind)
    texts = EditorTexts(context)
    places = [place for answer in found.answers for place in answer.result]
    inside, outside = _sorted(texts, places)
    lines = [await texts.show(*place) for place in inside[:MOST_PLACES]]
    more = max(len(places), *(answer.total for answer in found.answers), 0) - MOST_PLACES
    if more > 0:
        lines.append(f"[about {more} more places are left out; search for the name in one folder]")
    lines += [f"outside of the project, not shown: {place}" for place in outside[:5]]
    return _text(lines or [NOTHING[kind]], found, texts, [name])


def _sorted(texts: EditorTexts, places: list[_Place]) -> tuple[list[tuple[str, int]], list[str]]:
    """Return places in the project, sorted and each once, and places outside of it."""
    inside: set[tuple[str, int]] = set()
    outside: dict[str, None] = {}
    for place in places:
        path = path_of_uri(place.uri)
        name = texts.name_of(path)
        if name is not None:
            inside.add((name, place.line))
        else:
            outside[f"{path or one_line(place.uri)}:{place.line}"] = None
    return sorted(inside), list(outside)


async def document_symbols(context: ToolContext, arguments: InFile) -> str:
    """List the symbols of a file with their lines, indented by nesting."""
    name, found = await ask_about(context, "document_symbols", arguments, ServerAnswers[list[_Symbol]])
    symbols = [symbol for answer in found.answers for symbol in answer.result]
    lines = [_symbol_line(symbol) for symbol in symbols[:MOST_SYMBOLS]]
    if len(symbols) > MOST_SYMBOLS:
        lines.append("[further symbols are left out]")
    return _text(lines or ["the file has no symbols"], found, EditorTexts(context), [name])


def _symbol_line(symbol: _Symbol) -> str:
    detail = f" {one_line(symbol.detail, 100)}" if symbol.detail else ""
    return f"{'  ' * min(symbol.depth, 20)}{symbol.line}: {symbol.kind} {one_line(symbol.name)}{detail}"


class WorkspaceSymbols(Arguments):
    """Arguments of `lsp_workspace_symbols`."""

    query: str = Field(min_length=1, max_length=200, description="A name or a part of it.")


async def workspace_symbols(context: ToolContext, arguments: WorkspaceSymbols) -> str:
    """List the project's symbols with matching names."""
    root = context.step.workspace.root
    if root is None:
        raise ToolError("there is no project here; lsp_symbols lists the symbols of one file")
    wanted = {"root": str(root), "query": arguments.query}
    found = await ask(context, "workspace_symbols", wanted, ServerAnswers[list[_Symbol]])
    texts = EditorTexts(context)
    symbols = [symbol for answer in found.answers for symbol in answer.result]
    lines = []
    names = []
    for symbol in symbols:
        name = texts.name_of(path_of_uri(symbol.uri or ""))
        if name is not None:  # of libraries there are thousands
            names.append(name)
            inside = f" in {one_line(symbol.container)}" if symbol.container else ""
            lines.append(f"{name}:{symbol.line}: {symbol.kind} {one_line(symbol.name)}{inside}")
    shown = lines[:MOST_PLACES]
    if len(lines) > MOST_PLACES:
        shown.append(f"[{len(lines) - MOST_PLACES} more are left out; ask for a longer part of the name]")
    return _text(shown or [f"no symbol matches {arguments.query!r}"], found, texts, names[:MOST_PLACES])


def _text(lines: list[str], found: ServerAnswers[Any], texts: EditorTexts, names: Iterable[str]) -> str:
    notes = [*found.notes(), *texts.staged_note(names)]
    return "\n".join([*lines, *(f"[{note}]" for note in notes)])


Severity = Literal["error", "warning", "info", "hint"]
SEVERITIES: Final[tuple[Severity, ...]] = ("error", "warning", "info", "hint")
MOST_DIAGNOSTICS: Final = 100
MOST_DIFFS: Final = 8
LONGEST_DIFF: Final = 4000
"""Characters of one buffer's unsaved changes."""
QUICK: Final = 5.0
"""Seconds for queries that need no language server."""


class Diagnostics(Arguments):
    """Arguments of `diagnostics`."""

    path: str | None = Field(
        default=None,
        description="A file, relative to the project's root; without it, all that is known of the project.",
    )
    severity: Severity = Field(default="hint", description="The least severe ones that are wanted.")


class _Diagnostic(BaseModel):
    path: str
    line: int
    severity: Severity
    message: str
    source: str = ""
    code: str = ""


class _Diagnostics(BaseModel):
    diagnostics: list[_Diagnostic]
    total: int
    clients: list[str] = []
    silent: bool = False
    """No server has reported on the file yet, not even that it has no errors."""


async def diagnostics(context: ToolContext, arguments: Diagnostics) -> str:
    """List the diagnostics of language servers and linters, the worst first."""
    texts = EditorTexts(context)
    if arguments.path is None:
        root = context.step.workspace.root
        if root is None:
            raise ToolError("there is no project here; name a file")
        found = await ask(context, "diagnostics", {"root": str(root)}, _Diagnostics, limit=QUICK)
        about, names = "the files that language servers have looked at so far have", []
    else:
        name, path = await open_file(context, arguments.path)
        found = await ask(context, "diagnostics", {"path": path}, _Diagnostics)
        about, names = f"{name} has", [name]
    worst = SEVERITIES[: SEVERITIES.index(arguments.severity) + 1]
    kept = [one for one in found.diagnostics if one.severity in worst]
    lines = [line for one in kept[:MOST_DIAGNOSTICS] for line in await _shown(texts, one)]
    left = found.total - len(found.diagnostics) + max(0, len(kept) - MOST_DIAGNOSTICS)
    if left:
        lines.append(f"[{left} more are left out; ask for one file, or for severity=error]")
    if not lines:
        by = f" ({', '.join(found.clients)})" if found.clients else ""
        so_far = ": nothing was said of it so far" if found.silent else ""
        lines.append(f"{about} no diagnostics{by}{so_far}")
    return "\n".join([*lines, *(f"[{note}]" for note in texts.staged_note(names))])


async def _shown(texts: EditorTexts, one: _Diagnostic) -> list[str]:
    name = texts.name_of(Path(one.path))
    if name is None:
        return []
    if not await texts.may_show(name):
        return [await texts.show(name, one.line)]
    by = " ".join(word for word in (one.source, one.code) if word)
    message = one_line(one.message, 500)
    return [await texts.show(name, one.line), f"  {one.severity}: {message}{f' [{by}]' if by else ''}"]


class _Buffer(BaseModel):
    path: str
    filetype: str
    lines: int
    modified: bool
    visible: bool
    current: bool


class _Buffers(BaseModel):
    buffers: list[_Buffer]


async def buffers(context: ToolContext, _: Arguments) -> str:
    """List the files open in the editor, and their unsaved changes."""
    found = await ask(context, "buffers", {}, _Buffers, limit=QUICK)
    texts = EditorTexts(context)
    named = [(texts.name_of(Path(one.path)) if one.path else None, one) for one in found.buffers]
    inside = [(name, one) for name, one in named if name is not None]
    lines = [_buffer_line(name, one) for name, one in inside]
    unsaved = [name for name, one in inside if one.modified]
    for name in unsaved[:MOST_DIFFS]:
        lines += ["", await _unsaved_changes(context, name)]
    others = len(named) - len(inside)
    if others:
        lines.append(f"[{others} more without a file of this project]")
    return "\n".join(lines or ["no buffer is open"])


def _buffer_line(name: str, one: _Buffer) -> str:
    states = {
        "current": one.current,
        "in a window": one.visible and not one.current,
        "unsaved changes": one.modified,
    }
    words = [f"{one.lines} lines", *(word for word, holds in states.items() if holds)]
    return f"{name}: {', '.join(words)}"


async def _unsaved_changes(context: ToolContext, name: str) -> str:
    """Return the difference between a buffer and its file."""
    step = context.step
    try:
        source = await step.workspace.read(name)
        if why := await why_not_shown(step, name, source.text):
            return f"{name}: not shown: {why}"
        saved = await asyncio.to_thread(_saved_text, step.workspace.resolve(name), name)
    except WorkspaceError as error:
        return f"{name}: {one_line(str(error))}"
    if saved and (why := await why_not_shown(step, name, saved)):
        return f"{name}: not shown: {why}"
    diff = unified_diff(FileChange(name, "create" if saved is None else "modify", saved, source.text))
    cut = "\n[the rest is left out; read the file]" if len(diff) > LONGEST_DIFF else ""
    return f"Unsaved changes of {name}:\n{beginning(diff, LONGEST_DIFF).rstrip()}{cut}"


def _saved_text(path: Path, name: str) -> str | None:
    try:
        image = read_image(path)
    except OSError as error:
        raise WorkspaceError(f"{name} cannot be read: {error.strerror}") from error
    return Document.decode(image.data, name).text if image.state.kind == "file" else None


class _Entry(BaseModel):
    path: str
    line: int
    text: str
    type: str = ""


class _Quickfix(BaseModel):
    title: str
    total: int
    entries: list[_Entry]


async def quickfix(context: ToolContext, _: Arguments) -> str:
    """List the entries of the current quickfix list."""
    found = await ask(context, "quickfix", {}, _Quickfix, limit=QUICK)
    texts = EditorTexts(context)
    lines, outside = [], 0
    for entry in found.entries:
        name = texts.name_of(Path(entry.path)) if entry.path else ""
        if name is None:
            outside += 1
        elif name and not await texts.may_show(name):
            lines.append(f"{name}:{entry.line} [not shown]")
        else:
            place = f"{name}:{entry.line}: " if name else ""
            lines.append(f"{place}{one_line(entry.text)}")
    if outside:
        lines.append(f"[{outside} entries of files outside of the project are left out]")
    if found.total > len(found.entries):
        lines.append(f"[{found.total - len(found.entries)} more entries are left out]")
    if not lines:
        return "the quickfix list is empty"
    return "\n".join([one_line(found.title) or "quickfix list", *lines])


class Rename(AtSymbol):
    """Arguments of `lsp_rename`."""

    new_name: str = Field(min_length=1, max_length=200)


class CodeActions(InFile):
    """Arguments of `lsp_code_actions`."""

    line: int = Field(ge=1, description="First line.")
    end_line: int | None = Field(default=None, ge=1, description="Last line, included.")
    symbol: str | None = Field(
        default=None, min_length=1, max_length=200, description="Only what stands there by this name."
    )


class ApplyCodeAction(CodeActions):
    """Arguments of `lsp_apply_code_action`."""

    title: str = Field(min_length=1, max_length=500, description="As lsp_code_actions shows it.")


class _Action(BaseModel):
    title: str
    kind: str | None = None
    preferred: bool = False
    disabled: str | None = None
    command: str | None = None


async def rename(context: ToolContext, arguments: Rename) -> str:
    """Stage the renaming of a symbol in all files."""
    _, proposal = await ask_about(context, "rename", arguments, Proposal)
    return await stage_proposal(context, proposal, brief=True)


async def code_actions(context: ToolContext, arguments: CodeActions) -> str:
    """List the code actions that the language servers offer for lines."""
    name, found = await ask_about(context, "code_actions", arguments, ServerAnswers[list[_Action]])
    lines = []
    for answer in found.answers:
        lines += [_action_line(action, answer.client) for action in answer.result]
        if answer.total > len(answer.result):
            lines.append(f"[{answer.total - len(answer.result)} more of {answer.client} are left out]")
    return _text(lines or ["there is no code action there"], found, EditorTexts(context), [name])


def _action_line(action: _Action, client: str) -> str:
    words = [action.kind or "", "preferred" if action.preferred else "", client]
    if action.disabled:
        words.append(f"not possible: {one_line(action.disabled)}")
    elif action.command:
        words.append("a command of the server, which is not run")
    return f"{one_line(action.title, 500)} [{', '.join(word for word in words if word)}]"


async def apply_code_action(context: ToolContext, arguments: ApplyCodeAction) -> str:
    """Stage the edits of a code action."""
    _, proposal = await ask_about(context, "code_action", arguments, Proposal)
    return await stage_proposal(context, proposal)


def _tool(
    name: str,
    description: str,
    arguments: type[A],
    work: Callable[[ToolContext, A], Awaitable[str]],
    effect: Effect = "reads",
) -> WorkTool[A]:
    return WorkTool(name, description, arguments, effect, work, needs_editor=True)


TOOLS: tuple[WorkTool[Any], ...] = (
    _tool(
        "diagnostics",
        "Errors and warnings of language servers and linters, `PATH:LINE: text of the line` and the message: "
        "of a file now, or without a path what is known of the project. Your staged edits are not seen.",
        Diagnostics,
        diagnostics,
    ),
    _tool(
        "lsp_hover",
        "Type, signature and documentation of a symbol.",
        AtSymbol,
        hover,
    ),
    _tool(
        "lsp_definition",
        "Where a symbol that stands on a line is defined, by a language server, which tells apart what only "
        "has the same name.",
        AtSymbol,
        partial(locations, "definition"),
    ),
    _tool(
        "lsp_references",
        "All uses of a symbol that stands on a line, by a language server. Use it before you change a "
        "signature.",
        AtSymbol,
        partial(locations, "references"),
    ),
    _tool(
        "lsp_implementations",
        "Implementations of an interface, abstract method or trait that stands on a line.",
        AtSymbol,
        partial(locations, "implementation"),
    ),
    _tool(
        "lsp_symbols",
        "Symbols of a file with their lines, by a language server.",
        InFile,
        document_symbols,
    ),
    _tool(
        "lsp_workspace_symbols",
        "Find symbols of the project by a part of their name, by language servers.",
        WorkspaceSymbols,
        workspace_symbols,
    ),
    _tool(
        "lsp_rename",
        "Rename a symbol in all files, by a language server. The edits are staged. It refuses files that "
        "have staged edits already: rename first, edit then.",
        Rename,
        rename,
        "stages",
    ),
    _tool(
        "lsp_code_actions",
        "What language servers offer for some lines: quick fixes, missing imports, refactorings. "
        "lsp_apply_code_action stages one.",
        CodeActions,
        code_actions,
    ),
    _tool(
        "lsp_apply_code_action",
        "Stage the edits of a code action, named by its title as lsp_code_actions shows it. "
        "Returns the diff.",
        ApplyCodeAction,
        apply_code_action,
        "stages",
    ),
    _tool(
        "editor_buffers",
        "The project's files that the person has open, the one they look at, and their unsaved changes, "
        "which read_file shows, too.",
        Arguments,
        buffers,
    ),
    _tool(
        "editor_quickfix",
        "The person's quickfix list: places that a search, a compiler or a test left there.",
        Arguments,
        quickfix,
    ),
)

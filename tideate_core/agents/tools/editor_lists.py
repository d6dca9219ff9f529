"""Tools for lists of the editor: diagnostics, open buffers, the quickfix list."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from pydantic import BaseModel, Field

from tideate_core.agents.model_input import why_not_shown
from tideate_core.agents.tools.editor_queries import EditorTexts, ask, one_line, open_document
from tideate_core.agents.tools.tool import Arguments
from tideate_core.errors import ToolError, WorkspaceError
from tideate_core.util.cutting import beginning
from tideate_core.workspace import Document, FileChange, read_image, unified_diff

if TYPE_CHECKING:
    from tideate_core.agents.tools.tool import ToolContext

__all__ = ["Buffers", "Diagnostics", "Quickfix", "buffers", "diagnostics", "quickfix"]

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
        document = await open_document(context, arguments.path)
        wanted = {"path": str(document.path)}
        found = await ask(context, "diagnostics", wanted, _Diagnostics)
        about, names = f"{document.name} has", [document.name]
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


class Buffers(Arguments):
    """Arguments of `editor_buffers`: none."""


class _Buffer(BaseModel):
    path: str
    filetype: str
    lines: int
    modified: bool
    visible: bool
    current: bool


class _Buffers(BaseModel):
    buffers: list[_Buffer]


async def buffers(context: ToolContext, _: Buffers) -> str:
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


class Quickfix(Arguments):
    """Arguments of `editor_quickfix`: none."""


class _Entry(BaseModel):
    path: str
    line: int
    text: str
    type: str = ""


class _Quickfix(BaseModel):
    title: str
    total: int
    entries: list[_Entry]


async def quickfix(context: ToolContext, _: Quickfix) -> str:
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

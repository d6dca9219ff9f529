"""Tools of language servers that read: hover, definitions, references, implementations, symbols."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal

from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from tideate_core.agents.tools.editor_queries import (
    AtSymbol,
    EditorTexts,
    ServerAnswers,
    ask,
    one_line,
    open_document,
    path_of_uri,
)
from tideate_core.agents.tools.tool import Arguments
from tideate_core.errors import ToolError
from tideate_core.util.cutting import beginning

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tideate_core.agents.tools.tool import ToolContext

__all__ = [
    "DocumentSymbols",
    "WorkspaceSymbols",
    "definition",
    "document_symbols",
    "hover",
    "implementations",
    "references",
    "workspace_symbols",
]

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


_PLACES: Final = TypeAdapter(list[_Place])
_SYMBOLS: Final = TypeAdapter(list[_Symbol])


async def hover(context: ToolContext, arguments: AtSymbol) -> str:
    """Return the language servers' description of a symbol."""
    from tideate_core.mentions import hide_secrets

    document = await open_document(context, arguments.path)
    found = await ask(context, "hover", {"path": str(document.path), **arguments.place()}, ServerAnswers)
    texts = [str(answer.result or "").strip() for answer in found.answers]
    lines = [beginning(hide_secrets(text), LONGEST_HOVER) for text in texts if text]
    lines = lines or ["the language server says nothing of it"]
    return _text(lines, found, EditorTexts(context), [document.name])


async def definition(context: ToolContext, arguments: AtSymbol) -> str:
    """Return the places that define a symbol."""
    return await _locations(context, arguments, "definition")


async def references(context: ToolContext, arguments: AtSymbol) -> str:
    """Return the places that use a symbol, including its definition."""
    return await _locations(context, arguments, "references")


async def implementations(context: ToolContext, arguments: AtSymbol) -> str:
    """Return the implementations of an interface or a method."""
    return await _locations(context, arguments, "implementation")


async def _locations(context: ToolContext, arguments: AtSymbol, kind: Kind) -> str:
    document = await open_document(context, arguments.path)
    wanted = {"path": str(document.path), "kind": kind, **arguments.place()}
    found = await ask(context, "locations", wanted, ServerAnswers)
    texts = EditorTexts(context)
    places = [place for answer in found.answers for place in _parsed(_PLACES, answer.result)]
    inside, outside = _sorted(texts, places)
    lines = [await texts.show(name, line) for name, line in inside[:MOST_PLACES]]
    more = max(len(places), *(answer.total for answer in found.answers), 0) - MOST_PLACES
    if more > 0:
        lines.append(f"[about {more} more places are left out; search for the name in one folder]")
    lines += [f"outside of the project, not shown: {place}" for place in outside[:5]]
    return _text(lines or [NOTHING[kind]], found, texts, [document.name])


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


def _parsed(adapter: TypeAdapter[Any], result: Any) -> Any:
    try:
        return adapter.validate_python(result)
    except ValidationError as error:
        raise ToolError("the language server's answer makes no sense") from error


class DocumentSymbols(Arguments):
    """Arguments of `lsp_symbols`."""

    path: str


async def document_symbols(context: ToolContext, arguments: DocumentSymbols) -> str:
    """List the symbols of a file with their lines, indented by nesting."""
    document = await open_document(context, arguments.path)
    found = await ask(context, "document_symbols", {"path": str(document.path)}, ServerAnswers)
    symbols = [symbol for answer in found.answers for symbol in _parsed(_SYMBOLS, answer.result)]
    lines = [_symbol_line(symbol) for symbol in symbols[:MOST_SYMBOLS]]
    if len(symbols) > MOST_SYMBOLS:
        lines.append("[further symbols are left out]")
    return _text(lines or ["the file has no symbols"], found, EditorTexts(context), [document.name])


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
    found = await ask(
        context, "workspace_symbols", {"root": str(root), "query": arguments.query}, ServerAnswers
    )
    texts = EditorTexts(context)
    symbols = [symbol for answer in found.answers for symbol in _parsed(_SYMBOLS, answer.result)]
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


def _text(lines: list[str], found: ServerAnswers, texts: EditorTexts, names: Iterable[str]) -> str:
    notes = [*found.notes(), *texts.staged_note(names)]
    return "\n".join([*lines, *(f"[{note}]" for note in notes)])

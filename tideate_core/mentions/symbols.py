"""Outline of a file: a line for each class, function and constant, or each heading of a Markdown text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from tideate_core.process import parse_outside
from tideate_core.util.markdown import read_markdown
from tideate_core.workspace import language_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

LARGEST: Final = 1_000_000
"""Characters of a text to parse; a longer one is generated code."""
_LONGEST: Final = 160
"""Characters of a line of the outline."""

_SCRIPT: Final = "class_declaration function_declaration generator_function_declaration method_definition"
_TYPED: Final = (
    f"{_SCRIPT} abstract_class_declaration interface_declaration type_alias_declaration enum_declaration "
    "internal_module abstract_method_signature"
)
_KINDS: Final[Mapping[str, str]] = {
    "bash": "function_definition",
    "c": "function_definition struct_specifier enum_specifier union_specifier",
    "cpp": "function_definition class_specifier struct_specifier enum_specifier namespace_definition",
    "csharp": "namespace_declaration class_declaration interface_declaration struct_declaration "
    "enum_declaration record_declaration method_declaration constructor_declaration",
    "go": "function_declaration method_declaration type_declaration",
    "java": "class_declaration interface_declaration enum_declaration record_declaration method_declaration "
    "constructor_declaration",
    "javascript": _SCRIPT,
    "kotlin": "class_declaration object_declaration function_declaration",
    "lua": "function_declaration",
    "php": "class_declaration interface_declaration trait_declaration function_definition method_declaration",
    "python": "class_definition function_definition",
    "ruby": "module class method singleton_method",
    "rust": "struct_item enum_item trait_item impl_item function_item function_signature_item mod_item "
    "macro_definition",
    "scala": "class_definition object_definition trait_definition function_definition",
    "solidity": "contract_declaration function_definition",
    "swift": "class_declaration protocol_declaration function_declaration protocol_function_declaration",
    "tsx": _TYPED,
    "typescript": _TYPED,
}
"""Kinds of tree-sitter nodes that define names, by language as ast-grep names it."""
PARSED: Final = frozenset(_KINDS)
"""Languages that can be parsed."""
_WITH_BODY: Final = frozenset({"struct_specifier", "enum_specifier", "union_specifier", "class_specifier"})
"""Kinds that define a type only if they have a body; otherwise they mention it."""


@dataclass(frozen=True, slots=True)
class OutlineEntry:
    """A definition or a heading with its body; both lines are 1-based and part of it."""

    first: int
    last: int
    depth: int
    text: str
    """Its first line."""


_NAME: Final = re.compile(r"[^\W\d][\w$]*[?!]?\Z")
_WRAPPERS: Final = frozenset(
    {
        "expression_statement",
        "export_statement",
        "lexical_declaration",
        "variable_declaration",
        "const_declaration",
        "var_declaration",
        "var_spec_list",
    }
)
_VALUES: Final = {
    "assignment": "left",
    "variable_declarator": "name",
    "const_spec": "name",
    "var_spec": "name",
    "const_item": "name",
    "static_item": "name",
    "type_item": "name",
    "preproc_def": "name",
}
"""Kinds of nodes that define a value outside functions, and the field with its name."""


def can_outline(path: str, filetype: str = "") -> bool:
    """Tell whether files of this language have an outline."""
    language = language_of(path, filetype)
    return language in _KINDS or language == "markdown"


def outline(text: str, path: str, filetype: str = "") -> list[str]:
    """Return the outline's lines, each with its line number (1-based), indented by nesting.

    Empty if the language is unknown, the text is too long, or it defines nothing.

    :raises NotParsed: the text takes too long to parse.
    """
    return [_line(one.first, one.depth, one.text) for one in outline_entries(text, path, filetype)]


def outline_entries(text: str, path: str, filetype: str = "") -> list[OutlineEntry]:
    """Return the entries of a file's outline in order; see `outline`.

    :raises NotParsed: the text takes too long to parse.
    """
    language = language_of(path, filetype)
    if len(text) > LARGEST:
        return []
    if language == "markdown":
        return _sections(text)
    if language not in _KINDS:
        return []
    return [OutlineEntry(*row) for row in parse_outside(f"{__name__}:entries_of_code", text, language)]


def _sections(text: str) -> list[OutlineEntry]:
    found, entries = read_markdown(text).headings, list[OutlineEntry]()
    end = text.count("\n") + bool(not text.endswith("\n"))
    for at, one in enumerate(found):
        after = (other.start for other in found[at + 1 :] if other.level <= one.level)
        entries.append(OutlineEntry(one.start + 1, next(after, end), one.level - 1, one.title))
    return entries


def entries_of_code(text: str, language: str) -> list[tuple[int, int, int, str]]:
    """Return the fields of each outline entry of a text in a language of `PARSED`.

    Runs in the parser process. Of several entries of one line, the longest is kept.
    """
    lines, root = text.split("\n"), parse(text, language)
    found = [(*span_of(node), depth) for node, depth in defining_nodes(root, language)]
    found += [(first, last, 0) for _, first, last in values_in(root)]
    longest: dict[tuple[int, int], int] = {}
    for first, last, depth in sorted(found):
        longest[first, depth] = last
    return [(first, last, depth, lines[first - 1].strip()) for (first, depth), last in longest.items()]


def parse(text: str, language: str) -> Any:
    """Parse a text in a language of `PARSED`; return the root node; runs in the parser process."""
    from ast_grep_py import SgRoot

    return SgRoot(text, language).root()


def defining_nodes(root: Any, language: str) -> Iterator[tuple[Any, int]]:
    """Yield the nodes that define classes, functions and the like, in order, each with its depth."""
    kinds: Any = [{"kind": kind} for kind in _KINDS[language].split()]
    around = list[int]()
    for node in sorted(root.find_all(any=kinds), key=_place):
        start, end = node.range().start, node.range().end
        if node.kind() in _WITH_BODY and node.field("body") is None:
            continue
        while around and around[-1] <= start.index:
            around.pop()
        yield node, len(around)
        around.append(end.index)


def values_in(body: Any) -> Iterator[tuple[str, int, int]]:
    """Yield the constants and variables defined directly in a body, with first and last line (from 1)."""
    for node in body.children():
        kind = node.kind()
        if kind in _WRAPPERS:
            yield from values_in(node)
        elif (field := _VALUES.get(kind)) and (named := node.field(field)) is not None:
            name = named.text()
            if _NAME.match(name):
                yield name, span_of(named)[0], span_of(node)[1]


def span_of(node: Any) -> tuple[int, int]:
    """Return the first and last line of a node, from 1."""
    place = node.range()
    # some grammars include the line end in the node
    ends_before = place.end.column == 0 and place.end.line > place.start.line
    return place.start.line + 1, place.end.line + (0 if ends_before else 1)


def _place(node: Any) -> tuple[int, int]:
    return node.range().start.index, -node.range().end.index


def _line(number: int, depth: int, text: str) -> str:
    shown = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
    return f"{number}: {'  ' * depth}{shown}"

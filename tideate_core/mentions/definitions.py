"""Find the definitions of names in a file, by tree-sitter, and the lines that use a name."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from tideate_core.mentions.symbols import LARGEST, PARSED, defining_nodes, parse, span_of, values_in
from tideate_core.process import parse_outside
from tideate_core.workspace import language_of

if TYPE_CHECKING:
    from collections.abc import Iterator

_WORD: Final = re.compile(r"[^\W\d]\w*")
_OUTER: Final = ("class", "struct", "interface", "trait", "impl", "object", "module", "namespace", "contract")
"""Parts of node kinds whose bodies also define values."""
_WORDS_ASIDE: Final = ("comment", "string")
"""Parts of node kinds whose text does not use names."""


@dataclass(frozen=True, slots=True)
class Definition:
    """The definition of a name."""

    name: str
    line: int
    """From 1."""
    last: int
    """Its last line."""
    container: str = ""
    """The innermost enclosing definition."""


@lru_cache(maxsize=50_000)
def code_language(path: str) -> str:
    """Return the language of a file if it can be parsed, else an empty text."""
    language = language_of(path)
    return language if language in PARSED else ""


def definitions_in(text: str, path: str) -> list[Definition]:
    """Return the definitions in a text; empty if its language is unknown or it is too long.

    :raises NotParsed: the text takes too long to parse.
    """
    language = code_language(path)
    if not language or len(text) > LARGEST:
        return []
    return [Definition(*row) for row in parse_outside(f"{__name__}:definition_rows", text, language)]


def definition_rows(text: str, language: str) -> list[tuple[str, int, int, str]]:
    """Return the fields of each definition; runs in the parser process."""
    return list(dict.fromkeys(_definitions(parse(text, language), language)))


def may_define(text: str, path: str, name: str) -> bool:
    """Tell quickly whether a text may define a name; False is certain."""
    word = re.escape(name)
    match code_language(path):
        case "python":
            pattern = rf"(?m)\b(?:def|class)\s+{word}(?!\w)|^[ \t]*{word}[ \t]*[:=]"
        case "lua":
            pattern = rf"(?<!\w){word}(?!\w)"
        case _:  # a name after a dot is a use
            pattern = rf"(?<![\w.]){word}(?!\w)"
    return re.search(pattern, text) is not None


def _definitions(root: Any, language: str) -> Iterator[tuple[str, int, int, str]]:
    around: list[str] = []
    for name, first, last in values_in(root):
        yield name, first, last, ""
    for node, depth in defining_nodes(root, language):
        del around[depth:]
        names = _names_of(node)
        container = around[-1] if around else ""
        for name in names:
            yield name, *span_of(node), container
        around.append(names[0] if names else "")
        if any(part in node.kind() for part in _OUTER) and (body := node.field("body")) is not None:
            for name, first, last in values_in(body):
                yield name, first, last, around[-1]


def _names_of(node: Any) -> list[str]:
    """Return the names that a node defines; several only for a group of types."""
    specs = [child for child in node.children() if child.kind() == "type_spec"]
    if specs:
        return [name for spec in specs for name in _names_of(spec)]
    named = node.field("name")
    if named is None and node.field("declarator") is not None:
        named = node
        while (inner := named.field("declarator")) is not None:
            named = inner
    if named is None:
        named = node.field("type")
    if named is None:
        named = next((child for child in node.children() if "identifier" in child.kind()), None)
    words = _WORD.findall(named.text()) if named is not None else []
    return words[-1:] if named is None or node.kind() != "impl_item" else words[:1]


def places_of_name(text: str, path: str, name: str, *, parsed: bool = True) -> list[int]:
    """Return the numbers (from 1) of the lines that use a name.

    Comments and strings are skipped if the text can be parsed.

    :param parsed: False returns all lines with the word, including comments and strings.
    :raises NotParsed: the text takes too long to parse.
    """
    whole = re.compile(rf"(?<![\w$]){re.escape(name)}(?![\w$])")
    if whole.search(text) is None:
        return []
    language = code_language(path)
    if parsed and language and len(text) <= LARGEST:
        return list(parse_outside(f"{__name__}:lines_of_name", text, language, name))
    return [number for number, line in enumerate(text.split("\n"), 1) if whole.search(line)]


def lines_of_name(text: str, language: str, name: str) -> list[int]:
    """Return the lines (from 1) with a name outside comments and strings; runs in the parser process."""
    lines = {
        node.range().start.line + 1
        for node in parse(text, language).find_all(regex=f"^{re.escape(name)}$")
        if not any(part in node.kind() for part in _WORDS_ASIDE)
    }
    return sorted(lines)

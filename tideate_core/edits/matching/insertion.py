"""Choose the place of new code by its kind: definitions beside definitions, methods in classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from tideate_core.edits.indentation import first_indent, indent_of, shift
from tideate_core.edits.matching.placement import closes_block, fit_to_place, indent_at, level_of, opens_block
from tideate_core.errors import NotParsed, UnusableAnswer
from tideate_core.process import parse_outside

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

GRAMMARS: Final = frozenset({"javascript", "lua", "python", "tsx", "typescript"})
CLASSES: Final = frozenset({"abstract_class_declaration", "class", "class_declaration", "class_definition"})
FUNCTIONS: Final = frozenset(
    {
        "arrow_function",
        "function_declaration",
        "function_definition",
        "function_expression",
        "generator_function_declaration",
    }
)
DEFINITIONS: Final = (
    CLASSES | FUNCTIONS | {"decorated_definition", "enum_declaration", "interface_declaration"}
)
HOLDERS: Final = frozenset(
    {
        "assignment_expression",
        "assignment_statement",
        "export_statement",
        "expression_list",
        "expression_statement",
        "lexical_declaration",
        "variable_declaration",
        "variable_declarator",
    }
)
"""Nodes that count as definitions if a child is one."""
MEMBERS: Final = frozenset({"comment", "field_definition", "method_definition", "public_field_definition"})
OF_CLASSES: Final = ("classmethod", "property", "staticmethod")

PLACE: Final = f"{__name__}:place_of"

Kind = Literal["definition", "method", "statement"]


@dataclass(frozen=True, slots=True)
class Insertion:
    """New lines, indented and separated for their place, before line `at` (0-based)."""

    at: int
    lines: list[str]


def insertion_of(
    code: Sequence[str], lines: Sequence[str], at: int, language: str, replaced: int = 0
) -> Insertion:
    """Return the place of new code that was requested before line `at`.

    Code that takes too long to parse counts as a statement.

    :param code: new code without blank lines at the edges.
    :param replaced: number of blank lines above that the new code replaces.
    """
    plain = [line.rstrip("\r") for line in code]
    outer = first_indent(plain)
    found = None
    if language in GRAMMARS:
        try:
            found = parse_outside(PLACE, "\n".join(shift(plain, outer, "")), list(lines), at, language)
        except (NotParsed, UnusableAnswer):  # UnusableAnswer: uneven indentation
            found = None
    if found is None or (outer and outer != found[1]):  # the model's own indentation wins
        return Insertion(at, fit_to_place(code, lines, at))
    place, indent = found
    fitted = fit_to_place(code, lines, place, indent=indent)
    end = "\r" if fitted[0].endswith("\r") else ""
    rest = [*lines[: at - replaced], *lines[at:]] if place == at else lines
    apart = 2 if language == "python" and not indent else 1
    above, below = _missing_blanks(rest, place - replaced if place == at else place, apart)
    return Insertion(place, [*[end] * above, *fitted, *[end] * below])


def place_of(code: str, lines: Sequence[str], at: int, language: str) -> tuple[int, str] | None:
    """Return line and indentation for new code, None for a statement; runs in the parser process."""
    kind = _kind_of(code, language)
    if kind == "statement":
        return None
    root = _parsed("\n".join(line.rstrip("\r") for line in lines), language)
    found = _place_in_class(root, lines, max(at - 1, 0)) if kind == "method" else None
    return found or _place_of_definition(root, lines, at, language)


def _parsed(text: str, language: str) -> Any:
    from ast_grep_py import SgRoot

    return SgRoot(text, language).root()


def _kind_of(code: str, language: str) -> Kind:
    root = _parsed(code, language)
    defined = [child for child in root.children() if _defines(child)]
    if defined:
        of_class = language == "python" and all(map(_belongs_to_class, defined))
        return "method" if of_class else "definition"
    return "method" if language != "python" and _holds_members(code, language) else "statement"


def _defines(node: Any) -> bool:
    return node.kind() in DEFINITIONS or (node.kind() in HOLDERS and any(map(_defines, node.children())))


def _belongs_to_class(node: Any) -> bool:
    """Tell whether a Python function is a method, by its first parameter or decorators."""
    header = str(node.text()).split(":", 1)[0]
    if node.kind() == "decorated_definition":
        decorators = [str(child.text()) for child in node.children() if child.kind() == "decorator"]
        if any(word in decorator for decorator in decorators for word in OF_CLASSES):
            return True
        node = node.children()[-1]
        header = str(node.text()).split(":", 1)[0]
    first = header.partition("(")[2].lstrip().partition(",")[0].partition(")")[0].strip()
    return node.kind() == "function_definition" and first in ("cls", "self")


def _holds_members(code: str, language: str) -> bool:
    """Tell whether JavaScript or TypeScript code is a class member."""
    if language == "lua":
        return False
    root = _parsed(f"class X {{\n{code}\n}}", language)
    if root.find(kind="ERROR") is not None or len(root.children()) != 1:
        return False
    members = [node.kind() for node in _body_of(root.children()[0]).children() if node.is_named()]
    return "method_definition" in members and MEMBERS.issuperset(members)


def _rows(node: Any) -> tuple[int, int]:
    return node.range().start.line, node.range().end.line


def _around(node: Any, row: int) -> Iterator[Any]:
    """Yield the nodes that contain a row, outermost first."""
    for child in node.children():
        first, last = _rows(child)
        if first <= row <= last and child.is_named():
            yield child
            yield from _around(child, row)


def _body_of(of_class: Any) -> Any:
    return next(child for child in of_class.children() if child.kind() in ("block", "class_body"))


def _place_of_definition(root: Any, lines: Sequence[str], at: int, language: str) -> tuple[int, str]:
    """Return the line below the enclosing definition, or the place itself outside one."""
    around = list(_around(root, max(at - 1, 0)))
    definition = next(filter(_defines, around), None)
    if definition is None and language == "python":
        definition = next(iter(around), None)
    if definition is not None:
        first, last = _rows(definition)
        return last + 1, indent_of(lines[first])
    inside = any(_rows(node)[0] < _rows(node)[1] for node in around)
    return at, indent_at(lines, at) if inside else ""


def _place_in_class(root: Any, lines: Sequence[str], row: int) -> tuple[int, str] | None:
    """Return a method's place in the class around a row or directly above it; None without one."""
    filled = row
    while filled > 0 and not lines[filled].strip():
        filled -= 1
    classes = [node for node in _around(root, filled) if node.kind() in CLASSES]
    if not classes:
        return None
    first, last = _rows(classes[-1])
    body = _body_of(classes[-1])
    members = [child for child in body.children() if child.is_named()]
    if not members:
        return first + 1, indent_of(lines[first]) + level_of(lines)
    indent = indent_of(lines[_rows(members[0])[0]])
    member = next((one for one in members if _rows(one)[0] <= row <= _rows(one)[1]), None)
    if member is not None:
        return _rows(member)[1] + 1, indent
    if row >= last:
        return (last if body.kind() == "class_body" else last + 1), indent
    is_text = body.kind() == "block" and str(members[0].text()).lstrip("rbuRBU")[:1] in ("'", '"')
    return (_rows(members[0])[1] + 1 if is_text and row <= _rows(members[0])[0] else row + 1), indent


def _missing_blanks(lines: Sequence[str], at: int, wanted: int) -> tuple[int, int]:
    """Return the number of blank lines to add above and below a definition."""
    above = next((count for count, line in enumerate(reversed(lines[:at])) if line.strip()), None)
    below = next((count for count, line in enumerate(lines[at:]) if line.strip()), None)
    first = 0 if above is None or opens_block(lines[at - 1 - above]) else wanted - above
    last = 0 if below is None or closes_block(lines[at + below]) else wanted - below
    return max(first, 0), max(last, 0)

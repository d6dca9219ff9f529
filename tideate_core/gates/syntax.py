"""Syntax errors that an edit brings; each text is parsed once."""

from __future__ import annotations

import json
import logging
import re
import tomllib
import warnings
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from tideate_core.errors import NotParsed
from tideate_core.process import parse_outside
from tideate_core.workspace import language_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

log = logging.getLogger(__name__)

_LANGUAGES = (
    "bash", "c", "cpp", "csharp", "css", "elixir", "go", "haskell", "hcl", "html", "java", "javascript",
    "json", "kotlin", "lua", "nix", "php", "python", "ruby", "rust", "scala", "solidity", "swift", "tsx",
    "typescript", "yaml",
)  # fmt: skip
_GRAMMARS = {language: language for language in _LANGUAGES} | {"jsonc": "json"}
"""Languages and their tree-sitter grammars in ast-grep, which panics on an unknown grammar."""

_MOST_SHOWN = 60
_MOST_KEPT = 128
"""Texts with cached errors: a run's edits are checked when they are made, at gate 3 and in the review."""
_LARGEST_STRICT_YAML = 200_000
"""Characters; the strict parser takes a second for as many, the grammar a hundredth of it."""
_TEMPLATE = re.compile(r"\{\{|\{%|<%|<\?(?!xml)|\$\{\{|^#(?:if|end|foreach)\b", re.MULTILINE)
"""Marks of templates, which have no syntax of their own until they are filled in."""
_JSON_TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*(?:.*?\*/|.*\Z)|\S', re.DOTALL)
_NAMED_TOKENS = ("identifier", "name", "number", "word", "constant")
"""Suffixes of named tokens; other empty nodes (`raw_text`, `block`) may be valid."""


@dataclass(frozen=True, slots=True)
class SyntaxProblem:
    """A syntax error. `line` and `column` are 1-based, `column` in characters."""

    line: int
    column: int
    message: str
    source: str = ""
    """The text of the line, without its indentation."""

    def __str__(self) -> str:
        return f"line {self.line}: {self.message}" + (f" in {self.source!r}" if self.source else "")


def new_errors(language_or_path: str, before: str, after: str) -> list[SyntaxProblem]:
    """Return the syntax errors of `after` that `before` does not have.

    Errors are equal if message and line text are equal; line numbers do not count. A text in an unknown
    language is treated as JSON, XML or YAML if `before` is valid in it, regardless of the file's name; other
    texts have no errors. Texts that take too long to parse have no errors either.

    :param language_or_path: a language of `language_of`, or a file's path.
    """
    if before == after:
        return []
    language = _language_by_name(language_or_path) or _language_by_content(before, after)
    if language == "json" and _errors("json", before) and not _errors("jsonc", before):
        language = "jsonc"
    if not language:
        return []
    found = _errors(language, after)
    if not found:
        return []
    had = _errors(language, before)
    if had is None:
        return []
    new = _not_in(found, had)
    if had and language in _STRICT and language in _GRAMMARS:
        # these parsers stop at the first error, so an old error hides new ones after it
        more = _errors(language, after, in_tree=True)
        old = _errors(language, before, in_tree=True) if more else None
        if more and old is not None:
            new += _not_in(more, old)
    return new


def is_checked(language_or_path: str, before: str, after: str) -> bool:
    """Return whether `new_errors` can find errors: both texts can be parsed in time."""
    language = _language_by_name(language_or_path) or _language_by_content(before, after)
    found = _errors(language, after) if language else None
    return found is not None and (not found or _errors(language, before) is not None)


@lru_cache(maxsize=_MOST_KEPT)
def _errors(language: str, text: str, *, in_tree: bool = False) -> tuple[SyntaxProblem, ...] | None:
    """Return the errors of a text; None if it takes too long to parse.

    :param in_tree: use the grammar even if there is a strict parser.
    """
    strict = None if in_tree else _STRICT.get(language)
    try:
        return tuple(_tree_problems(language, text) if strict is None else strict(text))
    except NotParsed as error:
        log.warning("syntax of a %s text of %d characters is not checked: %s", language, len(text), error)
        return None


def _language_by_name(language_or_path: str) -> str:
    for name in (language_or_path, language_of("", language_or_path), language_of(language_or_path)):
        if name in _STRICT or name in _GRAMMARS:
            return name
    return ""


def _language_by_content(before: str, after: str) -> str:
    """Return the language of a text by its beginning and syntax; empty if it is uncertain."""
    if _TEMPLATE.search(after):
        return ""
    start = before.lstrip("\ufeff \t\r\n")
    if start.startswith(("{", "[")) and after.lstrip("\ufeff \t\r\n").startswith(start[0]):
        return next((name for name in ("json", "jsonc") if not _errors(name, before)), "")
    if start.startswith("<?xml") and not _errors("xml", before):
        return "xml"
    return "yaml" if start.startswith("%YAML") and not _errors("yaml", before) else ""


def _not_in(found: Iterable[SyntaxProblem], had: Iterable[SyntaxProblem]) -> list[SyntaxProblem]:
    left = Counter((problem.message, problem.source) for problem in had)
    new = []
    for problem in found:
        key = (problem.message, problem.source)
        if left[key]:
            left[key] -= 1
        else:
            new.append(problem)
    return new


def _problem(text: str, line: int | None, column: int | None, message: str) -> SyntaxProblem:
    lines = text.split("\n")
    number = min(max(line or 1, 1), len(lines))
    return SyntaxProblem(number, max(column or 1, 1), message, lines[number - 1].strip()[:_MOST_SHOWN])


def _python(text: str) -> list[SyntaxProblem]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            warnings.simplefilter("ignore", DeprecationWarning)
            # compiled, not only parsed: a `return` outside a function is an error too
            compile(text, "<edit>", "exec", dont_inherit=True)
    except SyntaxError as error:
        message = re.sub(r" \(<edit>, line \d+\)| on line \d+", "", error.msg)
        return [_problem(text, error.lineno, error.offset, message)]
    except (ValueError, RecursionError, MemoryError) as error:
        return [_problem(text, 1, 1, f"cannot be parsed: {error or type(error).__name__}")]
    return []


def _json(text: str) -> list[SyntaxProblem]:
    if not text.strip():
        return []
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        return [_problem(text, error.lineno, error.colno, error.msg)]
    except RecursionError:
        return [_problem(text, 1, 1, "cannot be parsed: nested too deeply")]
    return []


def _toml(text: str) -> list[SyntaxProblem]:
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        at = re.search(r" \(at (?:line (\d+), column (\d+)|end of document)\)$", str(error))
        message = str(error)[: at.start()] if at else str(error)
        line, column = (int(at[1]), int(at[2])) if at and at[1] else (text.count("\n") + 1, 1)
        return [_problem(text, line, column, message)]
    except RecursionError:
        return [_problem(text, 1, 1, "cannot be parsed: nested too deeply")]
    return []


def _yaml(text: str) -> list[SyntaxProblem]:
    if len(text) > _LARGEST_STRICT_YAML:
        return _tree_problems("yaml", text)
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    reader = YAML(typ="safe", pure=True)
    try:
        # composed, not constructed: tags of other programs are not errors
        for _ in reader.compose_all(text):
            pass
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        return [_problem(text, line, column, error.problem or error.context or "invalid YAML")]
    except (YAMLError, ValueError, RecursionError) as error:
        return [_problem(text, 1, 1, str(error).split("\n", 1)[0] or "invalid YAML")]
    return []


def _xml(text: str) -> list[SyntaxProblem]:
    if not text.strip():
        return []
    from xml.parsers import expat

    reader = expat.ParserCreate("utf-8")
    try:
        # the text is decoded already; its encoding declaration must not apply
        reader.Parse(text.encode("utf-8", "surrogatepass"), True)
    except expat.ExpatError as error:
        if error.code == expat.errors.codes[expat.errors.XML_ERROR_UNDEFINED_ENTITY]:
            return []  # another file may define it
        return [_problem(text, error.lineno, error.offset + 1, expat.ErrorString(error.code))]
    return []


_STRICT: dict[str, Callable[[str], list[SyntaxProblem]]] = {
    "python": _python,
    "json": _json,
    "toml": _toml,
    "yaml": _yaml,
    "xml": _xml,
}


def _tree_problems(language: str, text: str) -> list[SyntaxProblem]:
    if not text.strip():
        return []
    return [SyntaxProblem(*row) for row in parse_outside(f"{__name__}:tree_rows", language, text)]


def tree_rows(language: str, text: str) -> list[tuple[int, int, str, str]]:
    """Return line, column, message and source of each error in the tree; for the parser process."""
    from ast_grep_py import SgRoot

    parsed = _without_last_commas(text) if language == "jsonc" else text
    root = SgRoot(parsed, _GRAMMARS[language]).root()
    found = [_node_problem(text, node, _unexpected(node)) for node in root.find_all(kind="ERROR")]
    if root.kind() == "ERROR" and not found:
        found.append(_node_problem(text, root, _unexpected(root)))
    # tree-sitter inserts an empty token where one is missing
    empty = [node for node in root.find_all(regex="^$") if node.is_leaf()]
    missing = [node for node in empty if not node.is_named() or node.kind().endswith(_NAMED_TOKENS)]
    found += [_node_problem(text, node, f"missing {node.kind()!r}") for node in missing]
    found.sort(key=lambda problem: (problem.line, problem.column))
    return [(one.line, one.column, one.message, one.source) for one in found]


def _without_last_commas(text: str) -> str:
    """Replace each trailing comma before a closing bracket by a blank."""
    blanked = list(text)
    comma, before = -1, ""
    for found in _JSON_TOKEN.finditer(text):
        sign = found[0]
        if sign.startswith(("//", "/*")):
            continue
        if sign in ("]", "}") and comma >= 0:
            blanked[comma] = " "
        comma = found.start() if sign == "," and before not in (",", "[", "{", ":", "") else -1
        before = sign
    return "".join(blanked)


def _unexpected(node: Any) -> str:
    first = str(node.text()).strip().split("\n", 1)[0][:_MOST_SHOWN]
    return f"unexpected {first!r}" if first else "unexpected text"


def _node_problem(text: str, node: Any, message: str) -> SyntaxProblem:
    start = node.range().start
    return _problem(text, start.line + 1, start.column + 1, message)

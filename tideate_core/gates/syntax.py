"""Syntax errors that an edit would bring into a text."""

from __future__ import annotations

import json
import re
import tomllib
import warnings
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from tideate_core.workspace import language_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["SyntaxProblem", "new_errors"]

_GRAMMARS = {
    "bash": "bash",
    "c": "c",
    "cpp": "cpp",
    "csharp": "csharp",
    "css": "css",
    "elixir": "elixir",
    "go": "go",
    "haskell": "haskell",
    "hcl": "hcl",
    "html": "html",
    "java": "java",
    "javascript": "javascript",
    "json": "json",
    "jsonc": "json",
    "kotlin": "kotlin",
    "lua": "lua",
    "nix": "nix",
    "php": "php",
    "python": "python",
    "ruby": "ruby",
    "rust": "rust",
    "scala": "scala",
    "solidity": "solidity",
    "swift": "swift",
    "tsx": "tsx",
    "typescript": "typescript",
    "yaml": "yaml",
}
"""Our names of languages, and tree-sitter's grammars in ast-grep. Asking for one that it lacks panics."""

_MOST_SHOWN = 60
_LARGEST_STRICT_YAML = 200_000
"""Characters; the strict reader takes a second for as many, the grammar a hundredth of it."""
_NAMED_TOKENS = ("identifier", "name", "number", "word", "constant")
"""Ends of the kinds of named tokens: other empty nodes (`raw_text`, `block`) may rightly be empty."""


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

    Errors are the same if their message and the text of their line are; where they stand does not count.
    A language without a parser has none.

    :param language_or_path: a language of `language_of`, or a file's path.
    """
    language = _known(language_or_path)
    return list(_new_errors(language, before, after)) if language and before != after else []


# the agent, the gate and the review look at the same text, one after the other
@lru_cache(maxsize=4)
def _new_errors(language: str, before: str, after: str) -> Sequence[SyntaxProblem]:
    strict = _STRICT.get(language)
    if strict is None:
        return _absent_before(_tree_problems(language, after), _tree_problems(language, before))
    found = strict(after)
    if not found:
        return []
    had = strict(before)
    new = _absent_before(found, had)
    if had and language in _GRAMMARS:
        # these parsers stop at the first error, so that an old one hides the new ones behind it
        new += _absent_before(_tree_problems(language, after), _tree_problems(language, before))
    return new


def _known(language_or_path: str) -> str:
    for name in (language_or_path, language_of("", language_or_path), language_of(language_or_path)):
        if name in _STRICT or name in _GRAMMARS:
            return name
    return ""


def _absent_before(found: list[SyntaxProblem], had: list[SyntaxProblem]) -> list[SyntaxProblem]:
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
            # compiled, not only parsed: a `return` that slipped out of its function is an error too
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
        # composed, not constructed: tags of other programs are no errors
        for _ in reader.compose_all(text):
            pass
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        return [_problem(text, line, column, error.problem or error.context or "invalid YAML")]
    except (YAMLError, ValueError, RecursionError) as error:
        return [_problem(text, 1, 1, str(error).split("\n", 1)[0] or "invalid YAML")]
    return []


_STRICT: dict[str, Callable[[str], list[SyntaxProblem]]] = {
    "python": _python,
    "json": _json,
    "toml": _toml,
    "yaml": _yaml,
}


def _tree_problems(language: str, text: str) -> list[SyntaxProblem]:
    if not text.strip():
        return []
    # 45 MB of grammars: loaded with the first edit, not with the program
    from ast_grep_py import SgRoot

    root = SgRoot(text, _GRAMMARS[language]).root()
    found = [_node_problem(text, node, _unexpected(node)) for node in root.find_all(kind="ERROR")]
    if root.kind() == "ERROR" and not found:
        found.append(_node_problem(text, root, _unexpected(root)))
    # tree-sitter puts in an empty token where one is missing
    empty = [node for node in root.find_all(regex="^$") if node.is_leaf()]
    missing = [node for node in empty if not node.is_named() or node.kind().endswith(_NAMED_TOKENS)]
    found += [_node_problem(text, node, f"missing {node.kind()!r}") for node in missing]
    return sorted(found, key=lambda problem: (problem.line, problem.column))


def _unexpected(node: Any) -> str:
    first = str(node.text()).strip().split("\n", 1)[0][:_MOST_SHOWN]
    return f"unexpected {first!r}" if first else "unexpected text"


def _node_problem(text: str, node: Any, message: str) -> SyntaxProblem:
    start = node.range().start
    return _problem(text, start.line + 1, start.column + 1, message)

"""Translate ruamel.yaml's errors into plain messages with hints."""

from __future__ import annotations

import re
from typing import Final

from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.reader import ReaderError

from tideate_core.workflows.mistakes import Problem

__all__ = ["explain_error"]

QUOTES: Final = "put the text in quotes"
TABLE: Final[tuple[tuple[str, str, str], ...]] = (
    (
        r"found undefined alias ['\"](.+)['\"]",
        "`*{0}` stands for nothing above",
        "write `&{0}` before the value that it should stand for",
    ),
    (r"found another document", "a second document begins here", "a file has one workflow: remove the `---`"),
    (
        r"mapping values are not allowed",
        "this `:` makes a key where none can stand",
        f"{QUOTES}, or check the indentation",
    ),
    (
        r"sequence entries are not allowed",
        "a list cannot begin here",
        "begin it in a line of its own, or " + QUOTES,
    ),
    (r"character '\\t'", "a tab cannot indent", "indent with spaces"),
    (r"character '%'", "a text cannot begin with '%'", QUOTES),
    (r"character ('.+') that cannot start", "a text cannot begin with {0}", QUOTES),
    (r"could not find expected ':'", "a `:` is missing after this key", "write `key: value`"),
    (
        r"unknown escape character ('.+')",
        "{0} cannot follow a backslash",
        r"write `\\`, or use single quotes",
    ),
    (r"expected escape sequence", "this escape has too few digits", r"write `\\`, or use single quotes"),
    (r"unexpected document separator", "`---` stands before this text is closed", "close the quote"),
    (
        r"expected <block end>, but found '<scalar>'",
        "a text goes on behind its closing quote",
        "put all of it in quotes",
    ),
    (
        r"expected <block end>, but found '-'",
        "this `-` does not fit the lines above",
        "indent it as the other items",
    ),
    (r"expected <block end>", "this line does not fit the lines above", "check its indentation"),
    (
        r"expected ',' or '([\]}])', but got '<stream end>'",
        "a bracket is never closed",
        "close it with `{0}`",
    ),
    (
        r"expected ',' or '([\]}])', but got '(.+)'",
        "a `,` or `{0}` is missing before `{1}`",
        QUOTES + ", or close the bracket",
    ),
    (r"unexpected ':'", "this `:` cannot stand in a bracket", QUOTES),
    (
        r"chomping or indentation indicators",
        "behind `|` or `>` only a line end can follow",
        "put the text in the next line",
    ),
    (r"undefined tag handle", "tags are not used in a workflow", "remove it, or " + QUOTES),
    (
        r"(?:parsing|scanning) an? tag|expected URI",
        "tags are not used in a workflow",
        "remove it, or " + QUOTES,
    ),
    (r"expected .?<document start>", "more follows after the end of the workflow", "a file has one workflow"),
    (r"expected alphabetic or numeric", "a name is missing after `&` or `*`", QUOTES),
    (r"directive|incompatible YAML document", "this directive cannot be used", "remove the line"),
)
"""Patterns of ruamel.yaml's messages; our message and hint. The first match counts."""


def explain_error(error: YAMLError, text: str) -> Problem:
    """Return a parser's error as a located problem."""
    if isinstance(error, ReaderError):
        character = text[error.position]
        message = f"the character U+{ord(character):04X} cannot stand in YAML"
        return Problem(error.position, error.position + 1, message, "remove it, or write it as an escape")
    if not isinstance(error, MarkedYAMLError) or error.problem_mark is None:
        return Problem(0, 0, f"this is not valid YAML: {' '.join(str(error).split())[:200]}")
    at = error.problem_mark.index
    if "quoted scalar" in (error.context or "") and "end of stream" in (error.problem or ""):
        at = error.context_mark.index if error.context_mark else at
        return Problem(at, at + 1, "this quote is never closed", "close it, or remove it")
    said = f"{error.problem or ''} {error.context or ''}"
    for pattern, message, hint in TABLE:
        if match := re.search(pattern, said):
            groups = match.groups()
            if "never closed" in message and error.context_mark:
                at = error.context_mark.index
            return Problem(at, at + 1, message.format(*groups), hint.format(*groups))
    return Problem(at, at + 1, f"this is not valid YAML: {said.strip()}")

"""YAML 1.2 parser that keeps the position of every value and accepts only values that JSON has.

ruamel.yaml composes the nodes and resolves plain scalars; its constructors, which can make any Python object,
are never used. Time, depth and size are limited. A mistake ends the reading only if the rest cannot be read.
"""

from __future__ import annotations

import re
from typing import Any, Final

from ruamel.yaml import YAML
from ruamel.yaml.composer import Composer
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import AliasEvent, CollectionStartEvent, ScalarEvent
from ruamel.yaml.nodes import MappingNode, ScalarNode
from ruamel.yaml.reader import ReaderError
from ruamel.yaml.resolver import VersionedResolver

from tideate_core.util.deadline import Deadline
from tideate_core.workflows.limits import LIMITS
from tideate_core.workflows.mistakes import Located, Problem
from tideate_core.workflows.reading import (
    DEEPEST,
    NO_KEY,
    STANDARD,
    Alias,
    Builder,
    Stop,
    empty_file,
    too_deep,
)

MOST_SECONDS: Final = LIMITS.read_seconds
PARSER_SLIPS: Final = (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError)
"""Errors that ruamel.yaml raises besides its own, as for the escape of a character that does not exist."""

STR: Final = f"{STANDARD}str"
TAGS: Final = frozenset(f"{STANDARD}{name}" for name in ("str", "int", "float", "bool", "null", "map", "seq"))
QUOTES: Final = "put the text in quotes"
TABLE: Final[tuple[tuple[str, str, str], ...]] = (
    (
        r"found undefined alias ['\"](.+)['\"]",
        "`*{0}` has no anchor above",
        "write `&{0}` before the value",
    ),
    (r"found another document", "a second document begins here", "a file has one workflow: remove the `---`"),
    (
        r"mapping values are not allowed",
        "this `:` makes a key where none is allowed",
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
    (r"unexpected document separator", "`---` appears before this text is closed", "close the quote"),
    (
        r"expected <block end>, but found '<scalar>'",
        "the text continues after its closing quote",
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
    (r"unexpected ':'", "this `:` is not allowed in a bracket", QUOTES),
    (
        r"chomping or indentation indicators",
        "only a line end may follow `|` or `>`",
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


def read_yaml(text: str) -> tuple[Located | None, list[Problem]]:
    """Return the value of a text, None if it is invalid or empty, and its mistakes."""
    yaml: Any = YAML(typ="safe", pure=True)
    yaml.Resolver, yaml.Composer = _Resolver, _Composer
    composer: _Composer = yaml.composer
    problems = composer.problems
    try:
        root = yaml.compose(text)
        if root is None:
            raise empty_file(0)
        return Builder(text, problems).build(root), problems
    except Stop as stop:
        return None, [*problems, stop.problem]
    except YAMLError as error:
        return None, [*problems, explain_error(error, text)]
    except PARSER_SLIPS:
        at = composer.reached
        words = "the YAML parser cannot read the text from here"
        return None, [*problems, Problem(at, at, words, "rewrite it")]


class _Resolver(VersionedResolver):
    """Resolves scalars as YAML 1.2 even after a `%YAML` line: `yes` is a text."""

    @property
    def processing_version(self) -> tuple[int, int]:
        return 1, 2


class _Composer(Composer):
    """ruamel.yaml's composer with limits on time and depth, positions of aliases, and checked tags."""

    def __init__(self, loader: Any) -> None:
        super().__init__(loader)
        self.warn_double_anchors = False
        self.problems: list[Problem] = []
        self.reached = 0
        """Offset after the last parsed event."""
        self._deadline = Deadline(MOST_SECONDS)

    def compose_node(self, parent: Any, index: Any) -> Any:
        event = self.parser.peek_event()
        self.reached = end = event.end_mark.index
        start = event.start_mark.index
        if self._deadline.is_over:
            raise Stop(start, end, "reading this takes too long", "make it smaller")
        if isinstance(event, CollectionStartEvent):
            if index is None and isinstance(parent, MappingNode):
                raise _no_key(start, end, opened=parent.start_mark.index)
            if self.depth >= DEEPEST:
                raise too_deep(start, end)
        node = super().compose_node(parent, index)
        if isinstance(event, AliasEvent):
            return Alias(event.anchor, node, start, end)
        if event.tag is not None:
            self._check_tag(event, node)
        return node

    def _check_tag(self, event: Any, node: Any) -> None:
        """Report a tag that is not a standard one, or does not match its text."""
        start, end = node.start_mark.index, node.end_mark.index
        tag = str(event.tag)
        if tag != "!" and tag not in TAGS:
            message = f"the tag {tag.replace(STANDARD, '!!')} is not used in a workflow"
            hint = "remove it; values are what JSON has"
            self.problems.append(Problem(start, start + 1, message, hint))
        elif isinstance(event, ScalarEvent) and tag not in {"!", STR}:
            fits = str(self.resolver.resolve(ScalarNode, event.value, (True, False)))
            if fits == tag or {fits, tag} == {f"{STANDARD}int", f"{STANDARD}float"}:
                return
            message = f"{event.value!r} is no `!!{tag.removeprefix(STANDARD)}`"
            self.problems.append(Problem(start, end, message, "remove the tag"))
        if isinstance(event, ScalarEvent):
            node.tag = STR


def _no_key(start: int, end: int, opened: int | None = None) -> Stop:
    if opened == start - 1:
        message, hint = "a text that begins with `{{` is a mapping to YAML", "put the whole text in quotes"
        return Stop(opened, end, message, hint)
    return Stop(start, end, *NO_KEY)


def explain_error(error: YAMLError, text: str) -> Problem:
    """Return a parser's error as a located problem."""
    if isinstance(error, ReaderError):
        character = text[error.position]
        message = f"the character U+{ord(character):04X} is not allowed in YAML"
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

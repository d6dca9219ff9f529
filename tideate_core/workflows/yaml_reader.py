"""YAML 1.2 parser that keeps the position of every value and accepts only values that JSON has.

ruamel.yaml composes the nodes and resolves plain scalars; its constructors, which can make any Python object,
are never used. Time, depth and size are limited. A mistake ends the reading only if the rest cannot be read.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from typing import Any, Final

from ruamel.yaml import YAML
from ruamel.yaml.composer import Composer
from ruamel.yaml.error import YAMLError
from ruamel.yaml.events import AliasEvent, CollectionStartEvent, ScalarEvent
from ruamel.yaml.nodes import MappingNode, ScalarNode, SequenceNode
from ruamel.yaml.resolver import VersionedResolver

from tideate_core.util.deadline import Deadline
from tideate_core.workflows.json_reader import DEEPEST, LARGEST_INTEGER, text_problem
from tideate_core.workflows.limits import LIMITS
from tideate_core.workflows.mistakes import Located, Problem
from tideate_core.workflows.yaml_errors import explain_error

__all__ = ["HEAVIEST", "PARSER_SLIPS", "read_yaml"]

HEAVIEST: Final = 300_000
"""Maximum number of values, plus one for each 32 characters of a text, with every alias expanded."""
MOST_SECONDS: Final = LIMITS.read_seconds
MOST_DIGITS: Final = 24
"""Maximum digits of an integer; converting longer ones takes long."""

PARSER_SLIPS: Final = (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError)
"""Errors that ruamel.yaml raises besides its own, as for the escape of a character that does not exist."""

STANDARD: Final = "tag:yaml.org,2002:"
STR: Final = f"{STANDARD}str"
TAGS: Final = frozenset(f"{STANDARD}{name}" for name in ("str", "int", "float", "bool", "null", "map", "seq"))
NOT_CORE: Final = re.compile(r"[-+]?0b|.*_")
"""Numbers to ruamel.yaml, texts in YAML 1.2's core schema: `0b11`, `1_000`."""
QUOTES: Final = "put it in quotes if it is a text"
BASES: Final = {"0o": 8, "0x": 16}


def read_yaml(text: str) -> tuple[Located | None, list[Problem]]:
    """Return the value of a text, None if it is invalid or empty, and its mistakes."""
    yaml: Any = YAML(typ="safe", pure=True)
    yaml.Resolver, yaml.Composer = _Resolver, _Composer
    composer: _Composer = yaml.composer
    problems = composer.problems
    try:
        root = yaml.compose(text)
        if root is None:
            raise _Stop(0, 0, "the file is empty", "a workflow has at least one step, in `steps`")
        return _Builder(text, problems).build(root), problems
    except _Stop as stop:
        return None, [*problems, stop.problem]
    except YAMLError as error:
        return None, [*problems, explain_error(error, text)]
    except PARSER_SLIPS:
        at = composer.reached
        words = "YAML's parser cannot read what follows here"
        return None, [*problems, Problem(at, at, words, "write it in another way")]


class _Stop(Exception):
    """A mistake that ends the reading."""

    def __init__(self, start: int, end: int, message: str, hint: str) -> None:
        super().__init__(message)
        self.problem = Problem(start, end, message, hint)


@dataclass(frozen=True, slots=True)
class _Alias:
    """The use of an anchor, which ruamel.yaml replaces by the node that has it."""

    name: str
    node: Any
    start: int
    end: int


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
            raise _Stop(start, end, "reading this takes too long", "make it smaller")
        if isinstance(event, CollectionStartEvent):
            if index is None and isinstance(parent, MappingNode):
                raise _no_key(start, end, opened=parent.start_mark.index)
            if self.depth >= DEEPEST:
                raise _too_deep(start, end)
        node = super().compose_node(parent, index)
        if isinstance(event, AliasEvent):
            return _Alias(event.anchor, node, start, end)
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


class _Builder:
    """Builds located values from nodes; aliases are expanded."""

    def __init__(self, text: str, problems: list[Problem]) -> None:
        self._text = text
        self._problems = problems
        self._anchored: dict[int, Located] = {}

    def build(self, node: Any) -> Located:
        """Return a node's value with its position."""
        if isinstance(node, _Alias):
            return self._alias(node)
        start = node.start_mark.index
        # ruamel.yaml ends a block where the next one begins
        end = start + len(self._text[start : node.end_mark.index].rstrip())
        if isinstance(node, ScalarNode):
            made = self._scalar(node, start, end)
        elif isinstance(node, SequenceNode):
            items = [self.build(item) for item in node.value]
            made = _whole([item.value for item in items], start, end, items)
        else:
            made = self._mapping(node, start, end)
        if made.weight > HEAVIEST:
            raise _Stop(start, end, "there is too much in this file", "write less, or fewer `*aliases`")
        if made.depth > DEEPEST:
            raise _too_deep(start, end)
        if node.anchor:
            self._anchored[id(node)] = made
        return made

    def _alias(self, alias: _Alias) -> Located:
        target = self._anchored.get(id(alias.node))
        if target is None:
            message = f"`*{alias.name}` stands for what it is itself a part of"
            raise _Stop(alias.start, alias.end, message, "write it out")
        return replace(target, start=alias.start, end=alias.end)

    def _mapping(self, node: Any, start: int, end: int) -> Located:
        items: dict[str, Located] = {}
        keys: dict[str, tuple[int, int]] = {}
        merged: list[Located] = []
        for key_node, value_node in node.value:
            key = self._key(key_node)
            value = self.build(value_node)
            if getattr(key_node, "tag", None) == f"{STANDARD}merge":
                merged.append(value)
            elif key.value in items:
                message = f"the key {key.value!r} is given twice"
                self._problems.append(Problem(key.start, key.end, message, "keep one of them"))
            else:
                if value.start == value.end:
                    # a value that is not written begins where the next thing does
                    value = replace(value, start=key.start, end=key.end)
                items[key.value], keys[key.value] = value, (key.start, key.end)
        self._merge(merged, items, keys)
        return _whole({key: item.value for key, item in items.items()}, start, end, items, keys)

    def _key(self, node: Any) -> Located:
        key = self.build(node)
        if isinstance(key.value, dict | list):
            raise _no_key(key.start, key.end)
        if not isinstance(key.value, str):
            written = self._text[key.start : key.end]
            message = f"the key {written or 'before this `:`'} is not text"
            self._problems.append(Problem(key.start, key.end, message, "put it in quotes"))
            return replace(key, value=written)
        return key

    def _merge(
        self, merged: list[Located], items: dict[str, Located], keys: dict[str, tuple[int, int]]
    ) -> None:
        """Insert the keys given by `<<`; the mapping's own keys win."""
        for given in merged:
            for source in given.items if isinstance(given.items, list) else [given]:
                if not isinstance(source.items, dict):
                    message = "`<<` is for a mapping, or a list of them"
                    self._problems.append(Problem(given.start, given.end, message, "write `<<: *name`"))
                    continue
                for key, item in source.items.items():
                    if key not in items:
                        items[key], keys[key] = item, source.keys[key]

    def _scalar(self, node: Any, start: int, end: int) -> Located:
        try:
            value = _value_of(node.value, node.tag.removeprefix(STANDARD))
        except _Unkept as error:
            self._problems.append(Problem(start, end, str(error), error.hint))
            value = error.instead
        weight = 1 + len(value) // 32 if isinstance(value, str) else 1
        return Located(value, start, end, weight=weight)


class _Unkept(Exception):
    """A scalar that cannot be stored as JSON."""

    def __init__(self, message: str, hint: str, instead: Any = 0) -> None:
        super().__init__(message)
        self.hint = hint
        self.instead = instead


def _value_of(text: str, kind: str) -> Any:
    """Return the value of a scalar; times and dates remain texts.

    :raises _Unkept: JSON has no such value.
    """
    if kind == "null":
        return None
    if kind == "bool":
        return text.lower() == "true"
    if kind in {"int", "float"} and not NOT_CORE.match(text):
        return _integer(text) if kind == "int" else _real(text)
    if problem := text_problem(text):
        raise _Unkept(problem, "write the character itself", text.encode(errors="replace").decode())
    return text


def _integer(text: str) -> int:
    digits = text.lstrip("+-")
    if len(digits) <= MOST_DIGITS:
        whole = int(text, BASES.get(digits[:2], 10))
        if abs(whole) <= LARGEST_INTEGER:
            return whole
    raise _Unkept("the number is too large", QUOTES)


def _real(text: str) -> float:
    try:
        real = float(text)
    except ValueError:  # `.inf` and `.nan`
        real = math.nan
    if not math.isfinite(real):
        raise _Unkept(f"{text[:40]} is not a number that can be kept", QUOTES)
    return real


def _whole(
    value: Any,
    start: int,
    end: int,
    items: dict[str, Located] | list[Located],
    keys: dict[str, tuple[int, int]] | None = None,
) -> Located:
    parts = list(items.values()) if isinstance(items, dict) else items
    weight = 1 + sum(part.weight for part in parts)
    depth = 1 + max((part.depth for part in parts), default=0)
    return Located(value, start, end, items, keys or {}, weight, depth)


def _no_key(start: int, end: int, opened: int | None = None) -> _Stop:
    if opened == start - 1:
        message, hint = "a text that begins with `{{` is a mapping to YAML", "put the whole text in quotes"
        return _Stop(opened, end, message, hint)
    return _Stop(start, end, "a list or mapping cannot be a key", "a key is a text")


def _too_deep(start: int, end: int) -> _Stop:
    return _Stop(start, end, f"lists and mappings are more than {DEEPEST} levels deep", "keep them flatter")

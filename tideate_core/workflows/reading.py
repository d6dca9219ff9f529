"""Shared part of the YAML and JSON readers: build values with their positions, within limits."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from typing import Any, Final

from tideate_core.workflows.mistakes import Located, Problem

DEEPEST: Final = 60
"""Maximum nesting of lists and mappings in a definition."""
HEAVIEST: Final = 300_000
"""Maximum number of values, plus one for each 32 characters of a text, with every alias expanded."""
LARGEST_INTEGER: Final = 2**63 - 1
MOST_DIGITS: Final = 24
"""Maximum digits of an integer; converting longer ones takes long."""

STANDARD: Final = "tag:yaml.org,2002:"
NOT_CORE: Final = re.compile(r"[-+]?0b|.*_")
"""Numbers to ruamel.yaml, texts in YAML 1.2's core schema: `0b11`, `1_000`."""
NO_KEY: Final = ("a list or mapping cannot be a key", "a key is a text")
BASES: Final = {"0o": 8, "0x": 16}


class Stop(Exception):
    """A mistake that ends the reading."""

    def __init__(self, start: int, end: int, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.problem = Problem(start, end, message, hint)


def empty_file(at: int) -> Stop:
    """Return the error for a text without any value."""
    return Stop(at, at, "the file is empty", "a workflow has at least one step, in `steps`")


def too_deep(start: int, end: int) -> Stop:
    """Return the error for a value beyond the maximum nesting."""
    return Stop(start, end, f"lists and mappings are more than {DEEPEST} levels deep", "keep them flatter")


def too_much(start: int, end: int) -> Stop:
    """Return the error for more values than a file may have."""
    return Stop(start, end, "there are too many values in this file", "shorten it, or use fewer `*aliases`")


@dataclass(frozen=True, slots=True)
class Alias:
    """A use of an anchor, which ruamel.yaml replaces by the anchored node."""

    name: str
    node: Any
    start: int
    end: int


class Builder:
    """Builds located values from nodes of ruamel.yaml or their like; aliases are expanded."""

    def __init__(self, text: str, problems: list[Problem]) -> None:
        self._text = text
        self._problems = problems
        self._anchored: dict[int, Located] = {}

    def build(self, node: Any) -> Located:
        """Return a node's value with its position."""
        if isinstance(node, Alias):
            return self._alias(node)
        start = node.start_mark.index
        # ruamel.yaml ends a block at the start of the next one
        end = start + len(self._text[start : node.end_mark.index].rstrip())
        if node.id == "scalar":
            made = self._scalar(node, start, end)
        elif node.id == "sequence":
            made = _whole(start, end, [self.build(item) for item in node.value])
        else:
            made = self._mapping(node, start, end)
        if made.weight > HEAVIEST:
            raise too_much(start, end)
        if made.depth > DEEPEST:
            raise too_deep(start, end)
        if node.anchor:
            self._anchored[id(node)] = made
        return made

    def _alias(self, alias: Alias) -> Located:
        target = self._anchored.get(id(alias.node))
        if target is None:
            message = f"`*{alias.name}` refers to a value that contains it"
            raise Stop(alias.start, alias.end, message, "write it out")
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
                    # a missing value would start at the next token
                    value = replace(value, start=key.start, end=key.end)
                items[key.value], keys[key.value] = value, (key.start, key.end)
        self._merge(merged, items, keys)
        return _whole(start, end, items, keys)

    def _key(self, node: Any) -> Located:
        key = self.build(node)
        if isinstance(key.value, dict | list):
            raise Stop(key.start, key.end, *NO_KEY)
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
        kind, text = node.tag.removeprefix(STANDARD), node.value
        value: Any = text
        if kind == "null":
            value = None
        elif kind == "bool":
            value = text.lower() == "true"
        elif kind in {"int", "float"} and not NOT_CORE.match(text):
            value = _number(text, kind)
            if value is None:
                message = f"{text[:40]} cannot be stored as a number"
                self._problems.append(Problem(start, end, message, "put it in quotes if it is a text"))
                value = 0
        elif not text.isascii():
            value = text.encode(errors="replace").decode()
            if value != text:
                message = "the text has half of a surrogate pair without its other half"
                hint = "write both halves, or the character itself"
                self._problems.append(Problem(start, end, message, hint))
        weight = 1 + len(value) // 32 if isinstance(value, str) else 1
        return Located(value, start, end, weight=weight)


def _number(text: str, kind: str) -> int | float | None:
    """Return a number that JSON has, None for any other."""
    digits = text.lstrip("+-")
    if kind == "int" and len(digits) <= MOST_DIGITS:
        whole = int(text, BASES.get(digits[:2], 10))
        return whole if abs(whole) <= LARGEST_INTEGER else None
    try:
        real = float(text)
    except ValueError:  # `.inf` and `.nan`
        return None
    return real if kind == "float" and math.isfinite(real) else None


def _whole(
    start: int,
    end: int,
    items: dict[str, Located] | list[Located],
    keys: dict[str, tuple[int, int]] | None = None,
) -> Located:
    value: Any
    if isinstance(items, dict):
        parts, value = list(items.values()), {key: item.value for key, item in items.items()}
    else:
        parts, value = items, [item.value for item in items]
    weight = 1 + sum(part.weight for part in parts)
    depth = 1 + max((part.depth for part in parts), default=0)
    return Located(value, start, end, items, keys or {}, weight, depth)

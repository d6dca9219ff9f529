"""Parse the front matter of rules files and skills as leniently as other tools.

It resembles YAML but often is invalid: `globs: *.ts,*.tsx` would be an alias. One level of keys with texts,
lists
and blocks is read; anything else is ignored.
"""

from __future__ import annotations

import re
from itertools import takewhile
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

MARK: Final = "---"
_KEY: Final = re.compile(r"(?P<key>[A-Za-z][\w-]*)[ \t]*:(?:[ \t]+(?P<value>.*))?$")
_BLOCK: Final = re.compile(r"(?P<kind>[|>])[+-]?[0-9]?$")
_COMMENT: Final = re.compile(r"[ \t]#.*$")


def read_front_matter(text: str) -> tuple[dict[str, list[str]], str]:
    """Split a text into front matter, as lists of texts by key, and the rest.

    Without a complete front matter there are no keys, and the text is returned unchanged.

    :param text: with ``\\n`` as line end.
    """
    lines = text.split("\n")
    if lines[0].rstrip() != MARK:
        return {}, text
    end = next((at for at, line in enumerate(lines) if at and line.rstrip() == MARK), None)
    if end is None:
        return {}, text
    return _keys(lines[1:end]), "\n".join(lines[end + 1 :]).lstrip("\n")


def _keys(lines: Sequence[str]) -> dict[str, list[str]]:
    keys: dict[str, list[str]] = {}
    for at, line in enumerate(lines):
        found = _KEY.match(line)
        if found:
            more = list(takewhile(_continues, lines[at + 1 :]))
            keys[found["key"]] = _texts((found["value"] or "").strip(), more)
    return keys


def _continues(line: str) -> bool:
    """Tell whether a line belongs to the key above it."""
    return not line.strip() or line[0] in " \t" or line.startswith(("- ", "#"))


def _texts(value: str, more: Sequence[str]) -> list[str]:
    block = _BLOCK.match(value)
    if block:
        lines = [line.strip() for line in more]
        return [("\n" if block["kind"] == "|" else " ").join(lines).strip()]
    if value.startswith("["):
        whole = " ".join([value, *(line.strip() for line in more)])
        return [text for one in whole.strip().strip("[]").split(",") if (text := _plain(one))]
    items = [line.strip() for line in more if line.strip() and not line.strip().startswith("#")]
    if not value and items and all(item.startswith("-") for item in items):
        return [text for item in items if (text := _plain(item[1:]))]
    text = _plain(" ".join([value, *items]))
    return [text] if text else []


def _plain(text: str) -> str:
    """Remove the quotes, or the trailing comment, of a text."""
    text = text.strip()
    for quote in ('"', "'"):
        if text.startswith(quote) and (end := text.find(quote, 1)) > 0:
            return text[1:end].strip()
    return "" if text.startswith("#") else _COMMENT.sub("", text).strip()

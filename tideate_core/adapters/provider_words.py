"""Extraction of a provider's error message from a body of any shape."""

from __future__ import annotations

import html
import json
import re
from typing import Any, Final

_KEYS: Final = (
    *("error", "message", "detail", "details", "errors", "msg", "error_message", "errorMessage"),
    *("error_description", "error_msg", "description", "reason", "title"),
)
_DEEPEST: Final = 8
_MOST: Final = 8
"""Errors of a list that are reported."""
_LONGEST: Final = 4_000
_LONGEST_BODY: Final = 1 << 20
_PAGE: Final = re.compile(r"\s*<(?:!doctype|html|head|body|\?xml)\b", re.IGNORECASE)
_UNSEEN: Final = re.compile(r"<(script|style)\b.*?</\1\s*>|<!--.*?-->|<[^>]*>", re.IGNORECASE | re.DOTALL)


def words_of(body: Any, depth: int = 0) -> str:
    """Return the message in a body; empty without one."""
    if depth > _DEEPEST:
        return ""
    match body:
        case str():
            return _words_of_text(body[:_LONGEST_BODY], depth)
        case list():
            return "; ".join(filter(None, (words_of(one, depth + 1) for one in body[:_MOST])))
        case dict():
            return _words_of_object(body, depth)
        case _:
            return ""


def _words_of_text(text: str, depth: int) -> str:
    if text.lstrip().startswith(("{", "[")):
        try:
            if words := words_of(json.loads(text), depth + 1):
                return words
        except (ValueError, RecursionError):
            pass
    start = text[:_LONGEST]
    if _PAGE.match(start):
        return " ".join(html.unescape(_UNSEEN.sub(" ", start)).split())
    return start.strip()


def _words_of_object(body: dict[str, Any], depth: int) -> str:
    said = next(filter(None, (words_of(body.get(key), depth + 1) for key in _KEYS)), "")
    place = body.get("loc")
    if said and isinstance(place, list):
        said = f"{'.'.join(map(str, place))}: {said}"
    metadata = body.get("metadata")
    raw = words_of(metadata.get("raw"), depth + 1) if isinstance(metadata, dict) else ""
    return f"{said}: {raw}" if said and raw and raw not in said else said or raw

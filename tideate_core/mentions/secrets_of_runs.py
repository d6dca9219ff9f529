"""Probable secrets in the values of a run, such as a prompt, a tool's arguments, or a result."""

from __future__ import annotations

import contextlib
import json
import re
from typing import TYPE_CHECKING, Any, Final

from tideate_core.mentions.secrets import secret_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

LEFT_OUT: Final = "[a line that seems to hold a secret is left out]"
_NAMES: Final = (
    r"(?:pass(?:words?|wd|phrase)|secrets?|(?:api|access|secret|private|auth)[_-]?key|token"
    r"|authorization|cookie|credentials?)"
)
_SECRET_KEY: Final = re.compile(rf"(?i){_NAMES}\Z")
_SECRET_FIELD: Final = re.compile(
    rf"(?i){_NAMES}\\?['\"]?[ \t]{{0,4}}[:=][ \t]{{0,4}}"
    # a quoted value with a digit, or one word with a digit that is no call and no variable
    r"(?:\\?['\"](?=[^'\"\n]{0,100}\d)[^'\"\n]{6,}|(?!\$|[\w.]*\()(?=[^\s'\"]{0,100}\d)[^\s'\"]{6,})"
)
"""Fields of tool arguments and settings files; the pattern is too wide for texts sent to models."""


def value_without_secrets(value: Any) -> Any:
    """Return a value with likely secrets replaced by a notice."""
    if isinstance(value, str):
        return _text_without_secrets(value)
    if isinstance(value, dict):
        return {
            value_without_secrets(key): _without_texts(one)
            if _SECRET_KEY.search(key)
            else value_without_secrets(one)
            for key, one in value.items()
        }
    return [value_without_secrets(one) for one in value] if isinstance(value, list) else value


def _without_texts(value: Any) -> Any:
    """Return the value of a secret key with every text replaced; names and numbers stay."""
    if isinstance(value, dict):
        return {value_without_secrets(key): _without_texts(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_without_texts(one) for one in value]
    return LEFT_OUT if isinstance(value, str) and value else value


def _text_without_secrets(text: str) -> str:
    if text.lstrip()[:1] in ("{", "["):
        try:
            value = json.loads(text)
            clean = value_without_secrets(value)
        except (ValueError, RecursionError):
            value = clean = None  # not JSON, or too deep: search its lines
        if clean != value:
            return json.dumps(clean, ensure_ascii=False, indent=2 if "\n" in text else None)
    numbers = secret_lines(text)
    lines = text.split("\n")
    return "\n".join(
        LEFT_OUT if at in numbers or _SECRET_FIELD.search(line) else line
        for at, line in enumerate(lines, start=1)
    )


def secrets_within(value: Any) -> Iterator[str]:
    """Yield the texts and lines that an export would leave out."""
    if isinstance(value, str):
        yield from _secrets_of_text(value)
    elif isinstance(value, list):
        for one in value:
            yield from secrets_within(one)
    elif isinstance(value, dict):
        for key, one in value.items():
            yield from secrets_within(key)
            yield from _texts_within(one) if _SECRET_KEY.search(key) else secrets_within(one)


def _texts_within(value: Any) -> Iterator[str]:
    if isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _texts_within(one)
    elif isinstance(value, str) and value:
        yield value


def _secrets_of_text(text: str) -> Iterator[str]:
    if text.lstrip()[:1] in ("{", "["):
        with contextlib.suppress(ValueError, RecursionError):  # not JSON, or too deep: its lines are searched
            yield from secrets_within(json.loads(text))
    numbers = secret_lines(text)
    for at, line in enumerate(text.split("\n"), start=1):
        if at in numbers or _SECRET_FIELD.search(line):
            yield line

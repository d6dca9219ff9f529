"""Parse `.tideate/context.json`: names for mentions, and their targets."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from tideate_core.errors import ConfigError, UnusableFile, did_you_mean
from tideate_core.mentions.extraction import BUILT_IN, NAME
from tideate_core.project import read_document

if TYPE_CHECKING:
    from pathlib import Path

CONTEXT_FILE: Final = ".tideate/context.json"
LARGEST: Final = 1024 * 1024
"""Bytes of the file."""
MOST_NAMES: Final = 1_000
"""Names in the file; each is resolved whenever an editor lists all of them."""
_VERSION: Final = re.compile(r"1(?:\.\d+)*")
_KEYS: Final = ("$schema", "version", "mappings")


@dataclass(frozen=True, slots=True)
class Target:
    """Target of a name: a path, optionally with `#` and a heading, or a text."""

    path: str = ""
    text: str | None = None


class _Mistake(Exception):
    """A mistake in the value of a key, or in the whole file."""

    def __init__(self, words: str, key: str = "") -> None:
        super().__init__(words)
        self.key = key


def read_context_map(root: Path | None) -> dict[str, Target]:
    """Return the targets by name, in the order of the file; empty without a file.

    :raises ConfigError: the file cannot be read or is malformed; with line and column.
    """
    if root is None:
        return {}
    try:
        content = read_document(root, CONTEXT_FILE, LARGEST)
    except FileNotFoundError:
        return {}
    except UnusableFile as error:
        raise ConfigError(f"{CONTEXT_FILE} cannot be used: {error.reason}") from error
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _error(content[: error.start].decode("utf-8-sig"), "not UTF-8; save it as UTF-8") from error
    return parse_context_map(text)


def parse_context_map(text: str) -> dict[str, Target]:
    """Return the targets by name; see `read_context_map`."""
    try:
        return _targets(json.loads(text, object_pairs_hook=_distinct))
    except json.JSONDecodeError as error:
        raise _error(text[: error.pos], f"not valid JSON: {error.msg}") from None
    except RecursionError:
        raise _error("", "lists and objects are nested too deeply; keep them flat") from None
    except _Mistake as mistake:
        key = json.dumps(mistake.key, ensure_ascii=False)
        found = re.search(rf"{re.escape(key)}\s*:", text) if mistake.key else None
        raise _error(text[: found.start()] if found else "", str(mistake)) from None


def _error(before: str, words: str) -> ConfigError:
    """Return the error at the place after a part of the file."""
    line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
    return ConfigError(f"{CONTEXT_FILE}:{line}:{column}: {words}")


def _distinct(items: list[tuple[str, Any]]) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for key, one in items:
        if key in value:
            raise _Mistake(f"the key {key!r} is given twice; keep one of them", key)
        value[key] = one
    return value


def _targets(whole: Any) -> dict[str, Target]:
    if not isinstance(whole, dict):
        raise _Mistake('this is not an object; write {"version": "1.0.0", "mappings": {}}')
    for key in whole:
        if key not in _KEYS:
            raise _Mistake(f"unknown key {key!r}{did_you_mean(key, _KEYS)}", key)
    version, mappings = whole.get("version", "1.0.0"), whole.get("mappings", {})
    if not isinstance(version, str) or not _VERSION.fullmatch(version):
        hint = 'this tideate reads "1.0.0"; update tideate, or write that version'
        raise _Mistake(f"the version {version!r} is not known; {hint}", "version")
    if not isinstance(mappings, dict):
        raise _Mistake('`mappings` is not an object; write {"@Name": "path/to/file.md"}', "mappings")
    if len(mappings) > MOST_NAMES:
        words = f"{len(mappings):,} names, and at most {MOST_NAMES:,} are read; remove unused names"
        raise _Mistake(words, "mappings")
    return {name: _target(name, value) for name, value in mappings.items()}


def _target(name: str, value: object) -> Target:
    if not NAME.fullmatch(name):
        word = re.sub(r"\W+", "_", name.lstrip("@")).strip("_") or "Name"
        hint = f'write "@{word}"'
        raise _Mistake(f"{name!r} is not a mention: `@` and letters, digits or `_`; {hint}", name)
    if name in BUILT_IN:
        raise _Mistake(f"{name!r} is built in; choose another name", name)
    if isinstance(value, str) and value.strip():
        return Target(path=value)
    if isinstance(value, dict) and value.keys() == {"text"} and isinstance(value["text"], str):
        return Target(text=value["text"])
    hint = f'write "{name}": "path/to/file.md", or "{name}": {{"text": "…"}}'
    raise _Mistake(f"{name!r} is neither a path nor a text; {hint}", name)

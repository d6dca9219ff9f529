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
    from collections.abc import Mapping
    from pathlib import Path

CONTEXT_FILE: Final = ".tideate/context.json"
LARGEST: Final = 1024 * 1024
"""Bytes of the file."""
MOST_NAMES: Final = 1_000
"""Names in the file; each is resolved whenever an editor lists all of them."""
_VERSION: Final = re.compile(r"1(?:\.\d+)*")
_KEYS: Final = ("$schema", "version", "mappings")
_PIECE: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]:,]|[^\s{}\[\]:,"]+')

_Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Target:
    """Target of a name: a path, optionally with `#` and a heading, or a text."""

    path: str = ""
    text: str | None = None


def read_context_map(root: Path | None) -> dict[str, Target]:
    """Return the targets by name, in the order of the file; empty without a file.

    :raises ConfigError: the file cannot be read or is malformed; with line and column.
    """
    if root is None:
        return {}
    content = _read(root)
    return {} if content is None else _Reader(content).targets()


def _read(root: Path) -> str | None:
    try:
        content = read_document(root, CONTEXT_FILE, LARGEST)
    except FileNotFoundError:
        return None
    except UnusableFile as error:
        raise ConfigError(f"{CONTEXT_FILE} cannot be used: {error.reason}") from error
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        column = error.start - (content.rfind(b"\n", 0, error.start) + 1) + 1
        raise ConfigError(f"{CONTEXT_FILE}:{line}:{column}: not UTF-8; save it as UTF-8") from error


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._keys: dict[_Path, int] = {}
        self._values: dict[_Path, int] = {}

    def targets(self) -> dict[str, Target]:
        whole = self._parse()
        self._locate()
        if not isinstance(whole, dict):
            raise self._error(0, "this is not an object", 'write {"version": "1.0.0", "mappings": {}}')
        for key in whole:
            if key not in _KEYS:
                raise self._error(self._keys[(key,)], f"unknown key {key!r}{did_you_mean(key, _KEYS)}")
        self._check_version(whole.get("version", "1.0.0"))
        mappings = whole.get("mappings", {})
        if not isinstance(mappings, dict):
            hint = 'write {"@Name": "path/to/file.md"}'
            raise self._error(self._values[("mappings",)], "`mappings` is not an object", hint)
        if len(mappings) > MOST_NAMES:
            message = f"{len(mappings):,} names, and at most {MOST_NAMES:,} are read"
            raise self._error(self._values[("mappings",)], message, "remove unused names")
        return {name: self._target(name, value) for name, value in mappings.items()}

    def _parse(self) -> Any:
        try:
            return json.loads(self._text)
        except json.JSONDecodeError as error:
            raise self._error(
                error.pos, f"not valid JSON: {error.msg}", _hint_for(self._text, error.pos)
            ) from None
        except RecursionError:
            raise self._error(0, "lists and objects are nested too deeply", "keep them flat") from None

    def _check_version(self, version: object) -> None:
        if isinstance(version, str) and _VERSION.fullmatch(version):
            return
        hint = 'this tideate reads "1.0.0"; update tideate, or write that version'
        raise self._error(self._values[("version",)], f"the version {version!r} is not known", hint)

    def _target(self, name: str, value: object) -> Target:
        key = self._keys[("mappings", name)]
        if not NAME.fullmatch(name):
            word = re.sub(r"\W+", "_", name.lstrip("@")).strip("_") or "Name"
            hint = f'write "@{word}"'
            raise self._error(key, f"{name!r} is not a mention: `@` and letters, digits or `_`", hint)
        if name in BUILT_IN:
            raise self._error(key, f"{name!r} is built in", "choose another name")
        at = self._values[("mappings", name)]
        if isinstance(value, str) and value.strip():
            return Target(path=value)
        if isinstance(value, dict) and value.keys() == {"text"} and isinstance(value["text"], str):
            return Target(text=value["text"])
        hint = f'write "{name}": "path/to/file.md", or "{name}": {{"text": "…"}}'
        raise self._error(at, f"{name!r} is neither a path nor a text", hint)

    def _error(self, at: int, message: str, hint: str = "") -> ConfigError:
        line = self._text.count("\n", 0, at) + 1
        column = at - (self._text.rfind("\n", 0, at) + 1) + 1
        words = f"{message}; {hint}" if hint else message
        return ConfigError(f"{CONTEXT_FILE}:{line}:{column}: {words}")

    def _locate(self) -> None:
        """Record the positions of keys and values; the text must be valid JSON.

        :raises ConfigError: a key is given twice.
        """
        path: list[str] = []
        is_object: list[bool] = []
        key: str | None = None
        pieces = [(match.start(), match[0]) for match in _PIECE.finditer(self._text)]
        for place, (start, piece) in enumerate(pieces):
            if piece in "}]":
                is_object.pop()
                path.pop()
            elif piece == ",":
                key = None
            elif piece != ":" and is_object and is_object[-1] and key is None:
                key = json.loads(piece)
                if all(is_object):
                    self._note((*path[1:], key), start, pieces[place + 2][0])
            if piece in "{[":
                path.append(key or "")
                is_object.append(piece == "{")
                key = None

    def _note(self, path: _Path, start: int, value: int) -> None:
        if path in self._keys:
            raise self._error(start, f"the key {path[-1]!r} is given twice", "keep one of them")
        self._keys[path], self._values[path] = start, value


def _hint_for(text: str, at: int) -> str:
    """Return a hint for a common mistake, or an empty text."""
    rest = text[at : at + 2]
    before = text[:at].rstrip()[-1:]
    slips: Mapping[str, bool] = {
        "JSON has no comments": rest.startswith(("//", "#", "/*")),
        "JSON's texts are in double quotes": rest.startswith("'"),
        "remove the comma before it": before == "," and rest[:1] in ("}", "]"),
        "a comma is missing before it": rest.startswith('"') and before in ('"', "}"),
        "the file ends too early": not rest,
    }
    return next((hint for hint, holds in slips.items() if holds), "")

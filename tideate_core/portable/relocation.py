"""Conversion of this machine's paths in a run's values to *places*, which another machine can resolve.

A text is converted only if all of it is a path: the project's root, the home directory, or a path below them.
Other texts of people, models and tools stay as they are.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tideate_core.errors import InvalidBundle

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_ROOT: Final = "\0root"
_HOME: Final = "\0home"
_PLAIN: Final = "\0="
"""Escapes a text that begins with the sign of a place."""
_LONGEST: Final = 4096


class Relocation:
    """Directories of one machine.

    :param roots: the project's directory, as given and with links resolved; none outside of a project.
    """

    def __init__(self, roots: tuple[Path, ...], home: Path | None = None) -> None:
        self._home = str(home or Path.home())
        # longest first: a project is often below the home directory
        self._bases = [(str(root), _ROOT) for root in dict.fromkeys(roots)]
        if len(self._home) > 1:
            self._bases.append((self._home, _HOME))
        self._root = str(roots[-1]) if roots else ""

    def leave(self, value: Any) -> Any:
        """Return a value with places instead of paths."""
        return _mapped(value, self._left)

    def arrive(self, value: Any) -> Any:
        """Return a value with the paths of this machine.

        :raises InvalidBundle: a place is not below its directory.
        """
        return _mapped(value, self._arrived)

    def _left(self, text: str) -> str:
        if text.startswith("\0"):
            return f"{_PLAIN}{text}"
        if not text.startswith("/") or len(text) > _LONGEST or not text.isprintable():
            return text
        for base, sign in self._bases:
            if text == base or text.startswith(f"{base}/"):
                return f"{sign}{text[len(base) :]}"
        return text

    def _arrived(self, text: str) -> str:
        if not text.startswith("\0"):
            return text
        if text.startswith(_PLAIN):
            return text[len(_PLAIN) :]
        for sign, base in ((_ROOT, self._root), (_HOME, self._home)):
            if text.startswith(sign):
                return f"{base}{_checked(text[len(sign) :])}"
        raise InvalidBundle("a text names an unknown place")


def _checked(rest: str) -> str:
    parts = rest.split("/")
    if parts[0] or any(part in (".", "..") or "\0" in part for part in parts):
        raise InvalidBundle("a path leads out of its directory")
    return rest


def _mapped(value: Any, change: Callable[[str], str]) -> Any:
    """Return a JSON value with all its texts and keys changed."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {change(key): _mapped(one, change) for key, one in value.items()}
    return [_mapped(one, change) for one in value] if isinstance(value, list) else value


def texts_within(value: Any) -> Iterator[str]:
    """Yield the texts of a JSON value, without its keys."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from texts_within(one)

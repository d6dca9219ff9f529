"""Names as the most careless file system reads them: it may take different ones for the same file."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

__all__ = ["plain_name", "plain_path"]

_SHORT: Final = re.compile(r"(?P<stem>[a-z]{1,6})~\d+")
"""A short name that Windows gives: `GIT~1` is `.git`."""
_OURS: Final = ("git", "tideat")


def plain_name(name: str) -> str:
    """Return a name without what some file system ignores in it.

    That is case, marks that are not seen (HFS+), a form of composing (APFS), blanks and dots at the end and a
    stream's name after a colon (Windows).
    """
    if name.isascii():
        plain = name.casefold()
    else:
        seen = "".join(c for c in unicodedata.normalize("NFKC", name) if unicodedata.category(c) != "Cf")
        plain = unicodedata.normalize("NFKC", seen.casefold())
    plain = plain.partition(":")[0].rstrip(" .") or plain
    short = _SHORT.fullmatch(plain)
    if short is not None and short["stem"] in _OURS:
        return {"git": ".git", "tideat": ".tideate"}[short["stem"]]
    return plain


def plain_path(path: str) -> str:
    """Return a path with each of its names so, with ``/`` between them."""
    return "/".join(map(plain_name, path.replace("\\", "/").split("/")))

"""Addresses of repositories in submissions: complete, and without passwords and tokens."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import urlsplit

_URL: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_SCP: Final = re.compile(r"(?P<host>[^\s/:-][^\s/:]*):(?!:)\S+")
_SCP_PASSWORD: Final = re.compile(r"[^/@]*:[^/@]*@[^/]*:")
_WHOLE: Final = "give the URL or the absolute path of a git repository"
_NO_SECRETS: Final = (
    "give the URL without a user name, password or token; each worker has its own credentials"
)


def check_address(address: str) -> str:
    """Return the address of a repository if a submission may have it.

    :raises ValueError: it is relative, or may contain a password or a token.
    """
    if not address.isprintable() or re.search(r"\s", address):
        raise ValueError(_WHOLE)
    if _URL.match(address):
        _check_url(address)
    elif not address.startswith("/") and not _SCP.fullmatch(address):
        raise ValueError(_WHOLE)
    elif _SCP_PASSWORD.match(address):
        raise ValueError(_NO_SECRETS)
    return address


def _check_url(address: str) -> None:
    parts = urlsplit(address)
    user, at, _ = parts.netloc.rpartition("@")
    if at and (parts.scheme in ("http", "https") or ":" in user or "%3a" in user.lower()):
        raise ValueError(_NO_SECRETS)
    if parts.scheme != "file" and ("?" in address or "#" in address):
        raise ValueError("give the URL without a query and a fragment; each worker has its own credentials")

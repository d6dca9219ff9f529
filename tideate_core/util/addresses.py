"""Names, passwords and tokens within addresses."""

from __future__ import annotations

import re
from typing import Final

_USER: Final = re.compile(r"//[^/\s]*@")


def without_user(words: str) -> str:
    """Replace the user part of each address in a text; it may be a token."""
    return _USER.sub("//…@", words)

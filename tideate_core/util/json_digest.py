"""Digest of JSON values, independent of the order of their keys."""

from __future__ import annotations

import hashlib
import json
from typing import Any


def digest_of(*parts: Any) -> str:
    """Return 32 hexadecimal digits that identify these JSON values."""
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()

"""How git is asked about a repository of anybody's: nothing that the repository configures is run."""

from __future__ import annotations

import os
from typing import Final

__all__ = ["NOT_OURS", "SAFE", "environment"]

SAFE: Final = (
    "git",
    *("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "protocol.allow=never"),
    *("-c", "core.untrackedCache=false", "--no-pager", "--literal-pathspecs"),
)
"""What every command begins with. A diff has programs of its own, which its options keep from being run."""

NOT_OURS: Final = ("-x", ".tideate")
"""For `ls-files`, which then does not look in there: a pipe called `.gitignore` would hold it up for ever."""

_SET: Final = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    # a repository of which a part is missing must not fetch it, nor start what fetches: not every git knows
    # the first, and the second counts before what the repository allows itself
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    "LC_ALL": "C",
}


def environment() -> dict[str, str]:
    """Return what git gets of our environment: no variable of ours leads it elsewhere."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    return kept | _SET

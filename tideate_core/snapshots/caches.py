"""Cache directories of tools: `__pycache__`, and directories with a `CACHEDIR.TAG`."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from tideate_core.util.regular_files import read_bounded

if TYPE_CHECKING:
    from pathlib import Path

SIGNATURE: Final = b"Signature: 8a477f597d28d172789f06886806bc55"
"""First bytes of a `CACHEDIR.TAG`."""
LARGEST_TAG: Final = 64 * 1024


class CacheDirectories:
    """Cache directories of one project; changes in them are no edits.

    :param root: of the project.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._known: dict[str, bool] = {}

    def contain(self, path: str) -> bool:
        """Return whether a path is a cache directory or inside one; blocking.

        :param path: relative to the root; a directory may end with `/`.
        """
        parts = path.rstrip("/").split("/")
        return any(self._is_cache("/".join(parts[:end])) for end in range(1, len(parts) + 1))

    def _is_cache(self, directory: str) -> bool:
        if directory not in self._known:
            tag = read_bounded(self._root / directory / "CACHEDIR.TAG", LARGEST_TAG) or b""
            named = PurePosixPath(directory).name == "__pycache__"
            self._known[directory] = named or tag.startswith(SIGNATURE)
        return self._known[directory]

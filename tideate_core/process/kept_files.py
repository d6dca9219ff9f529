"""Files of the home directory that an enclosed program replaces: their last contents are kept."""

from __future__ import annotations

import base64
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tideate_core.util.atomic_files import write_atomic_at
from tideate_core.util.regular_files import open_regular

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Self

CHANGED: Final = "it was changed outside meanwhile"


class _ChangedMeanwhile(Exception):
    pass


@dataclass(frozen=True, slots=True)
class KeptFiles:
    """Contents of files before a program starts; None for a missing one."""

    before: Mapping[Path, bytes | None]

    @classmethod
    def read(cls, paths: Iterable[Path]) -> Self:
        """Read the files; blocking. Changes of links and other special files are not kept."""
        found = {}
        for path in (Path(os.path.realpath(one.parent), one.name) for one in paths):
            try:
                found[path] = _content(path)
            except OSError:
                continue
        return cls(found)

    def keep(self, changed: Mapping[str, str]) -> dict[str, str]:
        """Write a program's changes to the files; blocking. Only a file that is as before is replaced.

        :param changed: contents by path, in Base64.
        :returns: reason for each change that is not kept, by path.
        """
        refused = {}
        for name, content in changed.items():
            try:
                self._keep(Path(name), base64.b64decode(content, validate=True))
            except _ChangedMeanwhile:
                refused[name] = CHANGED
            except ValueError:
                refused[name] = "its content cannot be read"
            except OSError as error:
                refused[name] = error.strerror or str(error)
        return refused

    def _keep(self, path: Path, content: bytes) -> None:
        if path not in self.before:
            raise OSError("it is not a regular file")
        before = self.before[path]

        def check() -> None:
            if _content(path) != before:
                raise _ChangedMeanwhile

        if _content(path) == content:
            return
        directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            write_atomic_at(
                directory, path.name, content, replace=before is not None, passes_on=True, check=check
            )
        except FileExistsError as error:
            raise _ChangedMeanwhile from error
        finally:
            os.close(directory)


def _content(path: Path) -> bytes | None:
    """Return the content of a file; None if it is missing.

    :raises OSError: it is a link or another special file, or cannot be read.
    """
    try:
        with os.fdopen(open_regular(path, os.O_RDONLY | os.O_NOFOLLOW), "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None

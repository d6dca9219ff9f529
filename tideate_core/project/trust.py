"""Trust store of a project: trusted file contents, and allowed commands and tools.

It is kept in the private state of the project's real path, so that trust never applies to another project.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from tideate_core.errors import ConfigError
from tideate_core.project.documents import list_documents, read_document
from tideate_core.project.roots import DEFINITION_SUFFIXES, real_path
from tideate_core.project.state import make_project_state, project_state
from tideate_core.util.atomic_files import write_atomic
from tideate_core.util.private_files import open_private
from tideate_core.util.regular_files import read_regular

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FILE: Final = "trust.json"
CONFIG_NAME: Final = ".tideate/config.toml"
LARGEST_TRUSTED: Final = 1024 * 1024
"""Bytes of a file that can be trusted."""
_DIRECTORIES: Final = ((".tideate/prompts", (".md",)), (".tideate/agents", (".md",)))
"""Files that are trusted by content besides the configuration and workflows."""


class Trust:
    """The user's trust in one project.

    :param root: of the project, or the directory that replaces one.
    """

    def __init__(self, root: Path) -> None:
        self._root = real_path(root)

    def is_trusted(self, name: str, content: bytes) -> bool:
        """Return whether exactly this content is trusted under this name.

        :param name: relative to the root, read with `read_document`, so that no link is on its path.
        :param content: the content about to be used, so that it cannot change in between.
        :raises ConfigError: the store cannot be read.
        """
        return self._load()["files"].get(name) == _digest(content)

    def last_trusted(self, name: str) -> bytes | None:
        """Return the last trusted content of a name, or None.

        :raises ConfigError: the store cannot be read.
        """
        digest = self._load()["files"].get(name)
        if digest is None:
            return None
        try:
            content = read_regular(self._contents / digest)
        except OSError:
            return None  # only for display: the digest decides
        return content if _digest(content) == digest else None

    def kept(self, name: str) -> bytes | None:
        """Return the content last kept for a name, or None."""
        try:
            return read_regular(self._contents / _kept_as(name))
        except OSError:
            return None

    def keep(self, name: str, content: bytes) -> None:
        """Keep the parts of a command, to show later changes; this grants no trust.

        :raises ConfigError: it cannot be written.
        """
        path = make_project_state(self._root) / "trusted" / _kept_as(name)
        try:
            write_atomic(path, content)
        except OSError as error:
            raise ConfigError(f"{path} cannot be written: {error.strerror}") from error

    def trust(self, name: str, content: bytes) -> None:
        """Trust a content under a name, replacing the earlier one.

        :raises ConfigError: the store cannot be written.
        """
        digest = _digest(content)
        with self._changed() as entries:
            if not (path := self._contents / digest).exists():
                write_atomic(path, content)
            entries["files"][name] = digest

    def allows(self, meaning: str) -> bool:
        """Return whether a command or tool is allowed in its current form.

        :param meaning: complete identity: a command with the project file's part in it, or a tool.
        :raises ConfigError: the store cannot be read.
        """
        return _digest(meaning.encode("utf-8", "surrogateescape")) in self._load()["allowed"]

    def allow(self, meaning: str, words: str) -> None:
        """Allow a command or tool in its current form.

        :param words: description for lists.
        :raises ConfigError: the store cannot be read or written.
        """
        if not self.allows(meaning):
            with self._changed() as entries:
                entries["allowed"][_digest(meaning.encode("utf-8", "surrogateescape"))] = words

    def allowed(self) -> list[str]:
        """Return the descriptions of allowed commands and tools, sorted.

        :raises ConfigError: the store cannot be read.
        """
        return sorted(self._load()["allowed"].values())

    def names(self) -> list[str]:
        """Return the names of trusted files, sorted; the files may have changed since.

        :raises ConfigError: the store cannot be read.
        """
        return sorted(self._load()["files"])

    def revoke(self, name: str) -> bool:
        """Revoke the trust in a file; return False if it was not trusted.

        :raises ConfigError: the store cannot be read or written.
        """
        if name not in self._load()["files"]:
            return False
        with self._changed() as entries:
            return entries["files"].pop(name, None) is not None

    def revoke_allowed(self) -> list[str]:
        """Revoke all allowed commands and tools; return their descriptions.

        :raises ConfigError: the store cannot be read or written.
        """
        was = self.allowed()
        if was:
            with self._changed() as entries:
                entries["allowed"].clear()
        return was

    @property
    def _contents(self) -> Path:
        return project_state(self._root) / "trusted"

    def _load(self) -> dict[str, dict[str, str]]:
        place = project_state(self._root) / FILE
        try:
            entries = json.loads(read_regular(place))
        except (FileNotFoundError, NotADirectoryError):
            return {"files": {}, "allowed": {}}
        except (OSError, ValueError) as error:
            raise ConfigError(f"{place} cannot be read ({error}); remove it to trust nothing") from error
        if not _is_store(entries):
            raise ConfigError(f"{place} is not a trust store; remove it to trust nothing")
        return {"files": entries["files"], "allowed": entries["allowed"]}

    @contextmanager
    def _changed(self) -> Iterator[dict[str, dict[str, str]]]:
        """Yield the entries for changes and write them, under a lock."""
        state = make_project_state(self._root)
        try:
            lock = open_private(state / f"{FILE}.lock", os.O_RDWR | os.O_CREAT)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX)
                entries = self._load()
                yield entries
                write_atomic(state / FILE, json.dumps(entries, indent=1, sort_keys=True).encode())
            finally:
                os.close(lock)
        except OSError as error:
            raise ConfigError(
                f"{error.filename or state / FILE} cannot be written: {error.strerror}"
            ) from error


def files_to_trust(root: Path) -> dict[str, bytes]:
    """Return the contents of the project's files that need trust, by name.

    :raises UnusableFile: a file or directory is a link, a pipe, too large or unreadable.
    """
    names = [CONFIG_NAME]
    for directory, suffixes in (*_DIRECTORIES, (".tideate/workflows", DEFINITION_SUFFIXES)):
        found = list_documents(root, directory)
        names += [f"{directory}/{name}" for name in found if name.lower().endswith(suffixes)]
    contents: dict[str, bytes] = {}
    for name in names:
        try:
            content = read_document(root, name, LARGEST_TRUSTED)
        except FileNotFoundError:
            continue
        contents[name] = content
    return contents


def name_in_project(root: Path, path: Path) -> str:
    """Return the name of a file relative to the root.

    :param path: as the user gave it; it may contain links to the root.
    :raises ConfigError: it is outside of the project.
    """
    absolute = type(path)(os.path.abspath(path))  # noqa: PTH100 links on the way must be seen later
    top = real_path(root)
    for above in absolute.parents:
        if real_path(above) == top:
            return absolute.relative_to(above).as_posix()
    raise ConfigError(f"{path} is not in the project {root}")


def _is_store(entries: Any) -> bool:
    if not isinstance(entries, dict) or entries.keys() != {"files", "allowed"}:
        return False
    return all(
        isinstance(section, dict) and all(isinstance(value, str) for value in section.values())
        for section in entries.values()
    )


def _kept_as(name: str) -> str:
    return f"command-{_digest(name.encode('utf-8', 'surrogateescape'))}"


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()

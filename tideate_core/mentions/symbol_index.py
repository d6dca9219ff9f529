"""Index of a project's symbols in its private state, updated by time and content of files.

It has the words of all code files. Definitions in a file are read when one of its names is looked up.
"""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import stat
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tideate_core.errors import StoreError
from tideate_core.mentions.code_files import MOST_NOT_PARSED, NOT_PARSED, read_files
from tideate_core.mentions.definitions import code_language, word_hash

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tideate_core.store import SymbolStore

FILE: Final = "symbols.db"
AT_ONCE: Final = 40
"""Maximum files to read in a thread; more are read in another process."""
FORKS: Final = 400
"""Files above which two processes read them."""
RECENT: Final = 2_000_000_000
"""Nanoseconds after a write in which a file may change without a new time."""
MINUTES: Final = 10
_PROGRAM: Final = str(Path(__file__).with_name("symbol_program.py"))


@dataclass(frozen=True, slots=True)
class Place:
    """Location of a definition."""

    path: str
    line: int
    """From 1."""
    container: str
    """The innermost enclosing definition."""


class SymbolIndex:
    """Index of the symbols of one project.

    :param root: the project's root, without links.
    :param private: the project's private directory.
    """

    def __init__(self, root: Path, private: Path) -> None:
        self._root = root
        self._file = private / FILE
        self._known: dict[str, tuple[int, int, bytes]] = {}
        self._identity: int | None = None
        """Inode of the database that `_known` was read from."""
        self._updating = asyncio.Lock()

    async def update(self, names: Sequence[str], notice: Callable[[str], None] | None = None) -> int:
        """Update the index for all files of the project.

        :param names: relative to the root.
        :param notice: called with a message if the update may take seconds.
        :returns: the number of files read.
        :raises StoreError: the index cannot be written.
        """
        async with self._updating:
            wanted = await asyncio.to_thread(self._changed, names)
            if notice is not None and len(wanted) > FORKS:
                notice(f"reading {len(wanted):,} files for the index of symbols")
            if wanted:
                found = await self._read(list(wanted))
                await asyncio.to_thread(self._note_words, wanted, found)
            return len(wanted)

    def _changed(self, names: Sequence[str]) -> dict[str, tuple[int, int]]:
        """Return size and time of the files that may have changed; remove deleted files from the index."""
        self._load()
        now, root = time.time_ns(), os.fspath(self._root)
        read, there = {}, set()
        for name in names:
            if not code_language(name) or (found := _stat(f"{root}/{name}")) is None:
                continue
            there.add(name)
            had = self._known.get(name)
            if had is None or had[0] != found[0] or had[1] != found[1]:
                size, mtime = found
                read[name] = (size, mtime if now - mtime > RECENT else 0)
        if gone := [name for name in self._known if name not in there]:
            with self._store() as store:
                store.put([], gone)
            for name in gone:
                del self._known[name]
        return read

    def _load(self) -> None:
        """Load the indexed files once, and again if the database was replaced."""
        if self._identity is not None and self._identity == _inode(self._file):
            return
        with self._store() as store:
            self._known = store.known()
        self._identity = _inode(self._file)

    def _note_words(self, changed: dict[str, tuple[int, int]], found: list[list[Any]]) -> None:
        from tideate_core.store import IndexedFile

        new, same = [], []
        for name, digest_text, words in found:
            digest = bytes.fromhex(digest_text)
            size, mtime = changed[name]
            if name in self._known and self._known[name][2] == digest:
                same.append((name, size, mtime))
            else:
                new.append(IndexedFile(name, size, mtime, digest, bytes.fromhex(words)))
            self._known[name] = (size, mtime, digest)
        with self._store() as store:
            store.put(new)
            store.touch(same)

    async def files_with(self, name: str) -> list[str]:
        """Return the files that probably use a name, sorted.

        :raises StoreError: the index cannot be read.
        """
        return await asyncio.to_thread(self._files_with, name)

    def _files_with(self, name: str) -> list[str]:
        with self._store() as store:
            return store.files_with(word_hash(name))

    async def definitions(self, name: str) -> list[Place]:
        """Return the definitions of a name, in order.

        After too many slow files, the rest is left for the next call; see `unread`.

        :raises StoreError: the index cannot be written.
        """
        if unread := await asyncio.to_thread(self._unread, name):
            found = await self._read(unread, name)
            await asyncio.to_thread(self._note_definitions, name, found)
        return await asyncio.to_thread(self._definitions, name)

    async def unread(self, name: str) -> list[str]:
        """Return the files that may define a name but were not read yet.

        :raises StoreError: the index cannot be read.
        """
        return await asyncio.to_thread(self._unread, name)

    async def not_parsed(self) -> list[str]:
        """Return the files without definitions in the index because they take too long to parse.

        :raises StoreError: the index cannot be read.
        """
        return [one.path for one in await asyncio.to_thread(self._definitions, NOT_PARSED[0])]

    def _unread(self, name: str) -> list[str]:
        with self._store() as store:
            return store.unread_files_with(word_hash(name), name)

    def _note_definitions(self, name: str, found: list[list[Any]]) -> None:
        with self._store() as store:
            store.put_definitions((path, rows) for path, rows in found if rows is not None)
            store.put_absent(name, [path for path, rows in found if rows is None])

    def _definitions(self, name: str) -> list[Place]:
        with self._store() as store:
            return [Place(*row) for row in store.definitions(name)]

    async def _read(self, names: list[str], wanted: str = "") -> list[list[Any]]:
        """Read the words of files, or the definitions of the files that define a wanted name."""
        if len(names) <= AT_ONCE:
            return await asyncio.to_thread(self._read_here, names, wanted)
        return await self._read_outside(names, wanted)

    def _read_here(self, names: list[str], wanted: str) -> list[list[Any]]:
        return list(read_files(self._root, names, wanted, MOST_NOT_PARSED))

    async def _read_outside(self, names: list[str], wanted: str) -> list[list[Any]]:
        from tideate_core.process import ProcessLimits, run_program

        with tempfile.TemporaryDirectory(prefix="tideate-symbols-") as folder:
            request = {
                "path": sys.path,
                "root": str(self._root),
                "wanted": wanted,
                "files": names,
                "workers": 2 if len(names) > FORKS else 1,
            }
            place = Path(folder) / "request.json"
            await asyncio.to_thread(place.write_text, json.dumps(request))
            limits = ProcessLimits(timeout_ms=MINUTES * 60_000)
            done = await run_program(
                [sys.executable, "-I", _PROGRAM, str(place)], cwd=self._root, limits=limits
            )
            if not done.ok:
                raise StoreError(
                    f"the symbols of {len(names)} files could not be read: the program {done.ending}"
                    f"{done.stderr.text[-500:] and ': '}{done.stderr.text.strip()[-500:]}"
                )
            return await asyncio.to_thread(_results, Path(folder))

    @contextmanager
    def _store(self) -> Iterator[SymbolStore]:
        from tideate_core.store import SymbolStore

        try:
            with SymbolStore(self._file) as store:
                yield store
        except (OSError, sqlite3.Error) as error:
            raise StoreError(
                f"{self._file} cannot be used: {error}; it may be deleted at any time"
            ) from error


def _stat(path: str) -> tuple[int, int] | None:
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return (found.st_size, found.st_mtime_ns) if stat.S_ISREG(found.st_mode) else None


def _inode(path: Path) -> int | None:
    try:
        return path.stat().st_ino
    except OSError:
        return None


def _results(folder: Path) -> list[list[Any]]:
    return [json.loads(line) for path in folder.glob("*.jsonl") for line in path.open(encoding="utf-8")]

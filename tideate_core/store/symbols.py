"""Symbol index `symbols.db`: words and definitions of a project's files; a cache that may be lost."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self

from tideate_core.store.database import make_database_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

_VERSION: Final = 2
"""Version of the tables and their content; another version is rebuilt."""
_BUSY: Final = 5.0
"""Seconds to wait for another process."""
_TABLES: Final = """
DROP TABLE IF EXISTS definitions;
DROP TABLE IF EXISTS words;
DROP TABLE IF EXISTS files;
CREATE TABLE files (
    id INTEGER PRIMARY KEY, path TEXT UNIQUE, size INTEGER, mtime INTEGER, digest BLOB,
    is_parsed INTEGER DEFAULT 0
);
CREATE TABLE words (id INTEGER PRIMARY KEY REFERENCES files ON DELETE CASCADE, words BLOB);
CREATE TABLE definitions (
    id INTEGER REFERENCES files ON DELETE CASCADE, name TEXT, line INTEGER, container TEXT
);
CREATE INDEX definitions_by_name ON definitions (name);
CREATE INDEX definitions_by_file ON definitions (id);
"""


@dataclass(frozen=True, slots=True)
class IndexedFile:
    """A file as of its indexing."""

    path: str
    """Relative to the root."""
    size: int
    mtime: int
    """Nanoseconds; 0 if the file was written just before, so that its time proves nothing."""
    digest: bytes
    words: bytes
    """Hashes of four bytes each."""


class SymbolStore:
    """An open index for one thread. A damaged index, or one of another version, is rebuilt.

    :raises sqlite3.Error: it cannot be used at all.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> Self:
        try:
            try:
                self._database = self._open()
            except sqlite3.DatabaseError:
                for suffix in ("", "-wal", "-shm"):
                    self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)
                self._database = self._open()
        except OSError as error:
            raise sqlite3.OperationalError(f"{self._path}: {error.strerror}") from error
        return self

    def _open(self) -> sqlite3.Connection:
        make_database_file(self._path)
        database = sqlite3.connect(self._path, timeout=_BUSY, isolation_level="IMMEDIATE")
        try:
            # a power loss may lose the last updates; they are repeated
            database.executescript("PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF")
            if database.execute("PRAGMA user_version").fetchone()[0] != _VERSION:
                database.executescript(f"BEGIN IMMEDIATE; {_TABLES} PRAGMA user_version = {_VERSION}; COMMIT")
            database.execute("PRAGMA foreign_keys = ON")
        except sqlite3.Error:
            database.close()
            raise
        return database

    def __exit__(self, *_: object) -> None:
        self._database.close()

    def known(self) -> dict[str, tuple[int, int, bytes]]:
        """Return size, time and digest of all indexed files by path."""
        rows = self._database.execute("SELECT path, size, mtime, digest FROM files")
        return {path: (size, mtime, digest) for path, size, mtime, digest in rows}

    def put(self, files: Iterable[IndexedFile], gone: Iterable[str] = ()) -> None:
        """Replace files, without their definitions, and remove deleted ones."""
        with self._database:
            self._database.executemany("DELETE FROM files WHERE path = ?", [(path,) for path in gone])
            for one in files:
                self._database.execute("DELETE FROM files WHERE path = ?", (one.path,))
                row = self._database.execute(
                    "INSERT INTO files (path, size, mtime, digest) VALUES (?, ?, ?, ?)",
                    (one.path, one.size, one.mtime, one.digest),
                )
                self._database.execute("INSERT INTO words VALUES (?, ?)", (row.lastrowid, one.words))

    def touch(self, files: Iterable[tuple[str, int, int]]) -> None:
        """Update the times of files with unchanged content.

        :param files: path, size and time of each.
        """
        with self._database:
            self._database.executemany(
                "UPDATE files SET size = ?, mtime = ? WHERE path = ?",
                [(size, mtime, path) for path, size, mtime in files],
            )

    def put_absent(self, name: str, files: Iterable[str]) -> None:
        """Record that files contain a name but do not define it."""
        with self._database:
            self._database.executemany(
                "INSERT INTO definitions SELECT id, ?, 0, '' FROM files WHERE path = ?",
                [(name, path) for path in files],
            )

    def put_definitions(self, found: Iterable[tuple[str, Sequence[tuple[str, int, str]]]]) -> None:
        """Record the definitions of files: name, line and container of each, by path."""
        with self._database:
            for path, rows in found:
                known = self._database.execute("SELECT id FROM files WHERE path = ?", (path,)).fetchone()
                if known is None:
                    continue
                self._database.execute("DELETE FROM definitions WHERE id = ?", known)
                self._database.executemany(
                    "INSERT INTO definitions VALUES (?, ?, ?, ?)", [(*known, *row) for row in rows]
                )
                self._database.execute("UPDATE files SET is_parsed = 1 WHERE id = ?", known)

    def files_with(self, word: bytes) -> list[str]:
        """Return the files that probably contain a word, sorted."""
        rows = self._database.execute(
            "SELECT path FROM words JOIN files USING (id) WHERE instr(words, ?) ORDER BY path", (word,)
        )
        return [path for (path,) in rows]

    def unread_files_with(self, word: bytes, name: str) -> list[str]:
        """Return the files with a word that are not yet indexed for definitions of a name, sorted."""
        rows = self._database.execute(
            "SELECT path FROM words JOIN files USING (id) WHERE NOT is_parsed AND instr(words, ?) "
            "AND id NOT IN (SELECT id FROM definitions WHERE name = ?) ORDER BY path",
            (word, name),
        )
        return [path for (path,) in rows]

    def definitions(self, name: str) -> list[tuple[str, int, str]]:
        """Return path, line and container of each known definition of a name, sorted."""
        rows = self._database.execute(
            "SELECT path, line, container FROM definitions JOIN files USING (id) WHERE name = ? AND line > 0 "
            "ORDER BY path, line",
            (name,),
        )
        return rows.fetchall()

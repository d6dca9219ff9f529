"""Tables of the symbol index."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

from tideate_core.store import IndexedFile, SymbolStore

if TYPE_CHECKING:
    from pathlib import Path


def file(path: str, words: bytes = b"wordname") -> IndexedFile:
    return IndexedFile(path, 1, 2, b"digest", words)


def test_a_file_that_is_put_again_has_no_definitions_any_more(tmp_path: Path) -> None:
    with SymbolStore(tmp_path / "symbols.db") as store:
        store.put([file("a"), file("b")])
        store.put_definitions([("a", [("f", 3, "A")]), ("unknown", [("f", 1, "")])])
        assert store.definitions("f") == [("a", 3, "A")]
        assert store.unread_files_with(b"word", "f") == ["b"]
        store.put([file("a", b"new.")])
        assert store.definitions("f") == []
        assert store.files_with(b"word") == ["b"]
        assert store.unread_files_with(b"new.", "f") == ["a"]


def test_a_file_that_does_not_define_a_name_is_not_read_for_it_again(tmp_path: Path) -> None:
    with SymbolStore(tmp_path / "symbols.db") as store:
        store.put([file("a"), file("b")])
        store.put_absent("f", ["a"])
        assert store.unread_files_with(b"word", "f") == ["b"]
        assert store.unread_files_with(b"word", "g") == ["a", "b"]
        assert store.definitions("f") == []


def test_files_that_are_gone_and_times_are_noted(tmp_path: Path) -> None:
    with SymbolStore(tmp_path / "symbols.db") as store:
        store.put([file("a"), file("b")])
        store.touch([("a", 10, 20)])
        store.put([], ["b"])
    with SymbolStore(tmp_path / "symbols.db") as store:
        assert store.known() == {"a": (10, 20, b"digest")}


def test_an_index_of_another_version_is_made_anew(tmp_path: Path) -> None:
    with SymbolStore(tmp_path / "symbols.db") as store:
        store.put([file("a")])
    database = sqlite3.connect(tmp_path / "symbols.db")
    database.execute("PRAGMA user_version = 99")
    database.close()
    with SymbolStore(tmp_path / "symbols.db") as store:
        assert store.known() == {}


def test_a_damaged_index_is_made_anew(tmp_path: Path) -> None:
    path = tmp_path / "symbols.db"
    with SymbolStore(path) as store:
        store.put([file("a")])
    path.write_bytes(b"no database at all" * 500)
    with SymbolStore(path) as store:
        assert store.known() == {}
        store.put([file("b")])
    with SymbolStore(path) as store:
        assert list(store.known()) == ["b"]

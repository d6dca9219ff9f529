"""Databases of earlier versions, which were kept in projects: recognising the person's own by its name."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["is_own_database"]

_NAME: Final = re.compile(r"[0-9a-f]{32}")
_MOST_NAMES: Final = 1000


def is_own_database(copy: Path, stores: Path) -> bool:
    """Tell whether this person's tideate made a database; its log is moved into it then.

    Such a database has random names, and the person's state knows one of them.

    :param copy: of the database, with its log beside it, in a directory of the person's.
    :param stores: the directory with a file for each name that is known.
    """
    try:
        with closing(sqlite3.connect(copy, isolation_level=None)) as connection:
            connection.execute("PRAGMA trusted_schema = OFF")
            found = connection.execute("SELECT name FROM store_names LIMIT ?", (_MOST_NAMES,)).fetchall()
            names = [name for (name,) in found if isinstance(name, str) and _NAME.fullmatch(name)]
            if not any((stores / name).is_file() for name in names):
                return False
            whole = connection.execute("PRAGMA quick_check").fetchone()
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            return bool(whole == ("ok",))
    except sqlite3.Error:
        return False

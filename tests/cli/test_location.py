"""What the shell's commands have in common, where it cannot be had."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tideate_core.cli.location import log_to_file
from tideate_core.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path


def test_a_log_is_not_kept_where_no_directory_can_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "state").write_text("a file")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with pytest.raises(ConfigError, match=r"state/tideate cannot be used .*TIDEATE_STATE or"):
        log_to_file()

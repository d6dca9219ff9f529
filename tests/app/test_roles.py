"""Names, origin and ejection of the roles of a gated task."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tideate_core.agents import Roles
from tideate_core.app import eject_role, role_json, role_origin
from tideate_core.errors import TideateError, WorkspaceError

if TYPE_CHECKING:
    from pathlib import Path


def test_an_unknown_role_is_not_ejected_and_nothing_is_written_through_a_link(
    root: Path, tmp_path: Path
) -> None:
    with pytest.raises(TideateError, match="planer"):
        eject_role(root, "planer")
    assert not (root / ".tideate").exists()
    (elsewhere := tmp_path / "elsewhere").mkdir()
    (root / ".tideate").mkdir()
    (root / ".tideate" / "agents").symlink_to(elsewhere)
    with pytest.raises(WorkspaceError):
        eject_role(root, "planner")
    assert list(elsewhere.iterdir()) == []


def test_origins_are_in_the_order_in_which_they_count(root: Path, home: Path) -> None:
    role = Roles(None).get("planner")
    assert role_origin(role, root) == ["built-in"]
    own = home / "config" / "tideate" / "agents" / "planner.md"
    own.parent.mkdir(parents=True)
    own.write_text("mine\n")
    eject_role(root, "planner")
    assert role_origin(role, root) == ["built-in", "yours", "the project's"]
    assert role_json(role, None)["from"] == ["built-in", "yours"]

"""A run can be rolled back after a kill at any moment, and a rollback can be continued."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.workspace.killed import forget
from tests.workspace.project import tree
from tests.workspace.test_transaction import EVERYTHING
from tideate_core.workspace import Workspace

if TYPE_CHECKING:
    from pathlib import Path

    from tests.workspace.killed import Killed

pytestmark = pytest.mark.slow


async def test_an_apply_killed_at_any_moment_is_rolled_back(
    root: Path, private: Path, killed: Killed
) -> None:
    before = tree(root)
    half_done = 0
    for _ in killed.ever_later("apply", step=3):
        half_done += tree(root) != before
        await Workspace(root, private=private).rollback("run")
        assert tree(root) == before
    assert half_done > 2
    assert tree(root) != before


async def test_a_rollback_killed_at_any_moment_goes_on_where_it_stopped(
    root: Path, private: Path, workspace: Workspace, killed: Killed
) -> None:
    before = tree(root)
    await workspace.apply(EVERYTHING, execution_id="run")
    after = tree(root)
    half_done = 0
    for _ in killed.ever_later("roll back", step=3):
        half_done += tree(root) not in (before, after)
        await workspace.rollback("run")
        assert tree(root) == before
        forget(private)
        await workspace.apply(EVERYTHING, execution_id="run")
        assert tree(root) == after
    assert half_done > 2
    assert tree(root) == before

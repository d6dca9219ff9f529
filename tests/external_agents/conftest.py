"""Agents of the tests: those that `make test-agents` installed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.external_agents.agents import PROGRAMS, READY
from tests.external_agents.rig import Rig

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

collect_ignore_glob = [] if PROGRAMS else ["test_*.py"]


@pytest.fixture(params=READY, ids=lambda agent: agent.name)
def rig(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Rig]:
    """A home and a project for each agent in turn."""
    with Rig(tmp_path, request.param) as rig:
        yield rig

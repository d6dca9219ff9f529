"""The reference run without a kill, and the runner of the engine's tests."""

from __future__ import annotations

import pytest

from tests.crash.site import Site, Unkilled
from tests.harness.elsewhere import state_home

__all__ = ["state_home", "unkilled"]


@pytest.fixture(scope="package")
def unkilled(tmp_path_factory: pytest.TempPathFactory) -> Unkilled:
    """Reference run for comparison with faulty ones."""
    site = Site(tmp_path_factory.mktemp("unkilled") / "site")
    ended = site.go()
    assert ended is not None
    assert ended.result["ok"], ended.result
    return Unkilled(site, ended)

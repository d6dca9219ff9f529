"""Engine test bench for tests of the built-in workflows."""

from __future__ import annotations

from tests.engine.conftest import bench, tools

__all__ = ["bench", "tools"]

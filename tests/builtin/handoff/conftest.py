"""A bench as the engine's tests have it."""

from __future__ import annotations

from tests.engine.conftest import bench, tools

__all__ = ["bench", "tools"]

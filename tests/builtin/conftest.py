"""A bench as the engine's tests have it."""

from __future__ import annotations

from tests.engine.conftest import bench

__all__ = ["bench"]

"""Fixtures for test programs, and a check for leftover processes."""

from __future__ import annotations

from tests.process.conftest import environment, program, running

__all__ = ["environment", "program", "running"]

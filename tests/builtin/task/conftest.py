"""A desk as the end-to-end tests have it."""

from __future__ import annotations

from tests.builtin.task.runs.conftest import desk

__all__ = ["desk"]

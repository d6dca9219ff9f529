"""Desk of the end-to-end tests."""

from __future__ import annotations

from tests.builtin.task.runs.conftest import desk

__all__ = ["desk"]

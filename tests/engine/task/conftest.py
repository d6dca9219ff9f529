"""A desk as the end-to-end tests have it."""

from __future__ import annotations

from tests.cli.conftest import server
from tests.task.conftest import desk

__all__ = ["desk", "server"]

"""Test runners: their command lines, lists of tests, runs, and results in one form."""

from __future__ import annotations

__all__: list[str] = []

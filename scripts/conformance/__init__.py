"""MCP conformance against other implementations."""

from __future__ import annotations

from scripts.conformance.programs import FailedError, environment, provide

__all__ = ["FailedError", "environment", "provide"]

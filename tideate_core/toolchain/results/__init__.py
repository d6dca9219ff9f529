"""What a project's tests found: one form for all runners, read off their reports and off what they print."""

from __future__ import annotations

__all__: list[str] = []

"""Running a project's tests: all, or some by file or by name; and which there are."""

from __future__ import annotations

__all__: list[str] = []

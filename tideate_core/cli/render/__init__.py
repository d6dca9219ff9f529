"""Terminal rendering: messages, tables, diffs, and the live view of a run."""

from __future__ import annotations

"""The `tideate` command: parse arguments, render results, ask the person."""

from __future__ import annotations

"""The `tideate` command: argument parsing, rendering, questions to the person."""

from __future__ import annotations

"""The commands of `tideate`, a module each, imported when they run."""

from __future__ import annotations

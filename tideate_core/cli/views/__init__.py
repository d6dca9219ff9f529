"""Use cases of the command line, free of parsing and rendering: views of runs and their JSON form."""

from __future__ import annotations

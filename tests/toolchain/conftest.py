"""Fixtures for test programs, and a check for leftover processes."""

from __future__ import annotations

import os

from tests.process.conftest import environment, program, running

__all__ = ["environment", "program", "running"]

# `make test-runners`: what the runners print is kept in reports/, and they are programs of other languages
collect_ignore = [] if "TIDEATE_RUNNERS" in os.environ else ["testing/test_execution.py"]

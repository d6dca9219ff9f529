"""What holds for all tests: Hypothesis' profiles, and which tests are `make crash`."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings

# No deadline: several tests share two cores, and a slow example is not a wrong one.
settings.register_profile("test", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("test"), derandomize=True, print_blob=True)
examples = int(os.environ.get("TIDEATE_EXAMPLES") or 5000)
settings.register_profile("fuzz", settings.get_profile("test"), max_examples=examples, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "test")

CRASH_FILES = ("test_crash", "test_faults", "test_host_faults", "test_signals")
"""Modules whose tests kill a process, cut a stream or break a write; others carry the marker themselves."""


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "crash: kills a process, cuts a stream, breaks a write (`make crash`)")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.stem in CRASH_FILES:
            item.add_marker(pytest.mark.crash)

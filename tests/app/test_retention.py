"""The command line's limits against those of the configuration."""

from __future__ import annotations

from tideate_core.app import retention_of
from tideate_core.config import HistoryConfig
from tideate_core.store import Retention

CONFIGURED = HistoryConfig(keep_runs=7, max_age_days=2, max_mib=3)


def test_without_options_the_configuration_counts_with_its_size_in_bytes() -> None:
    assert retention_of(None, None, CONFIGURED) == Retention(7, 2, 3 * 1024 * 1024)
    assert retention_of(None, None, HistoryConfig()) == Retention(1000, None, None)


def test_one_option_replaces_all_of_the_configuration() -> None:
    assert retention_of(0, None, CONFIGURED) == Retention(0, None)
    assert retention_of(None, 5, CONFIGURED) == Retention(None, 5)

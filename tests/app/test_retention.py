"""Retention from options and configuration; files of pruned checkpoints."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from tests.store.past import NOON, Past
from tideate_core.app import opened_store, prune_runs, retention_of
from tideate_core.config import HistoryConfig
from tideate_core.engine import CheckpointManager
from tideate_core.project import Documents
from tideate_core.store import Retention

if TYPE_CHECKING:
    from pathlib import Path

DEFINITION = '{"name": "w", "steps": [{"id": "a"}, {"id": "b"}, {"id": "c"}]}'
CONFIGURED = HistoryConfig(keep_runs=7, max_age_days=2, max_mib=3)


def test_without_options_the_configuration_counts_with_its_size_in_bytes() -> None:
    assert retention_of(None, None, CONFIGURED) == Retention(7, 2, 3 * 1024 * 1024)
    assert retention_of(None, None, HistoryConfig()) == Retention(1000, None, None)


def test_one_option_replaces_all_of_the_configuration() -> None:
    assert retention_of(0, None, CONFIGURED) == Retention(0, None)
    assert retention_of(None, 5, CONFIGURED) == Retention(None, 5)


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    root = tmp_path / "project"
    (root / ".tideate").mkdir(parents=True)
    return root


def exported_files(root: Path) -> list[Path]:
    """Store two runs; export their checkpoints, newer run first; return the files."""

    async def exported() -> list[Path]:
        async with opened_store(root) as store:
            for number in (1, 2):
                await Past(store, number, at=NOON + number, request={"name": "w"}, text=DEFINITION).whole()
            rows = store.reader().checkpoints()
            return [await CheckpointManager(store).export(row.id) for row in rows]

    files = asyncio.run(exported())
    assert len(files) == 6
    return files


def test_with_a_run_the_files_of_its_checkpoints_go(root: Path) -> None:
    files = exported_files(root)
    other = root / ".tideate/checkpoints/checkpoint_of_another_tool.json"
    other.write_text("{}")
    assert len(prune_runs(root, Retention(keep_runs=1), changes=False, dry_run=True).ids) == 1
    assert all(file.exists() for file in files)
    prune_runs(root, Retention(keep_runs=1), changes=False, dry_run=False)
    assert [file.exists() for file in files] == [True] * 3 + [False] * 3
    assert other.exists()


def test_files_that_stay_after_a_pruning_are_named(root: Path) -> None:
    *_, kept, last = exported_files(root)
    kept.write_text("edited")
    done = prune_runs(root, Retention(keep_runs=1), changes=False, dry_run=False)
    assert (kept.exists(), last.exists()) == (True, False)
    assert done.left == f"checkpoints/{kept.name}"


def test_a_pruning_that_is_killed_between_files_and_rows_is_finished_by_the_next(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = exported_files(root)

    def killed(_documents: Documents, _name: str) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Documents, "remove", killed)
        with pytest.raises(KeyboardInterrupt):
            prune_runs(root, Retention(keep_runs=1), changes=False, dry_run=False)
    assert all(file.exists() for file in files)
    prune_runs(root, Retention(keep_runs=1), changes=False, dry_run=False)
    assert [file.exists() for file in files] == [True] * 3 + [False] * 3

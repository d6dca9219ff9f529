"""Pruning of old runs and their journals."""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tideate_core.app.control_requests import opened_store
from tideate_core.engine import forget_changes, forget_drafts, remove_exports, runs_with_changes
from tideate_core.project import project_state
from tideate_core.store import Pruned, Retention

if TYPE_CHECKING:
    from pathlib import Path

    from tideate_core.config import HistoryConfig

log = logging.getLogger(__name__)

MIB = 1024 * 1024
MOST_SHOWN = 10
"""Remaining files named in a message."""


@dataclass(frozen=True, slots=True)
class Pruning:
    """Result of a pruning or a dry run."""

    ids: tuple[str, ...]
    spared: int
    """Number of runs kept only because they can be rolled back."""
    left: str | None
    """Message about files that could not be removed; None if none."""


def prune_runs(root: Path | None, retention: Retention, *, changes: bool, dry_run: bool) -> Pruning:
    """Delete old runs from the store, with the journals of their changes.

    :param changes: include runs that can be rolled back.
    :raises TideateError: the store or the journal cannot be read or written.
    """
    private = project_state(root)
    changed = runs_with_changes(private)
    spare = frozenset() if changes else frozenset(changed)
    pruned, spared = asyncio.run(_prune(root, replace(retention, spare=spare), dry_run=dry_run))
    if not dry_run:
        for run in pruned.ids:
            if run in changed:
                forget_changes(private, run)
    return Pruning(pruned.ids, spared, pruned.left)


def retention_of(keep: int | None, days: int | None, configured: HistoryConfig) -> Retention:
    """Return the retention from the command's options, else from the configuration."""
    if keep is not None or days is not None:
        return Retention(keep, days)
    size = None if configured.max_mib is None else configured.max_mib * MIB
    return Retention(configured.keep_runs, configured.max_age_days, size)


async def _prune(root: Path | None, policy: Retention, *, dry_run: bool) -> tuple[Pruned, int]:
    """Return the pruned runs, and the number of runs kept only for a rollback."""
    now = time.time_ns() // 1_000_000
    async with opened_store(root) as store:
        unspared = await store.prune(replace(policy, spare=frozenset()), at=now, dry_run=True)
        pruned = await store.prune(policy, at=now, dry_run=True)
        if not dry_run:
            # files first: after a kill, the next pruning finds their rows
            stay = await asyncio.to_thread(remove_exports, store.documents, store.reader(), pruned.ids)
            pruned = await store.prune(policy, at=now)
            left = [*([pruned.left] if pruned.left else []), *_shown(stay)]
            pruned = replace(pruned, left="; ".join(left) or None)
            for run in pruned.ids:
                await forget_drafts(store.private, run, log.warning)
    return pruned, unspared.runs - pruned.runs


def _shown(names: list[str]) -> list[str]:
    """Return the first names and the number of the others."""
    return [*names[:MOST_SHOWN], *([f"{len(names) - MOST_SHOWN} more"] if len(names) > MOST_SHOWN else [])]

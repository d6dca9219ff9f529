"""`tideate history --prune`: forgets old runs."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from rich.text import Text

from tideate_core.cli.exits import DONE
from tideate_core.cli.output import messages, print_json, tell, visible
from tideate_core.cli.runs import short
from tideate_core.cli.wishes import opened
from tideate_core.engine import forget_changes, runs_with_changes
from tideate_core.project import project_state
from tideate_core.store import Retention

if TYPE_CHECKING:
    from pathlib import Path

    from tideate_core.cli.history import HistoryOptions
    from tideate_core.config import History
from tideate_core.store import Pruned

__all__ = ["prune"]

MIB = 1024 * 1024


def prune(options: HistoryOptions, root: Path | None, configured: History) -> int:
    """Forget runs, or name those that would be; returns the exit status.

    :param configured: what is kept where the options do not say it.
    :raises TideateError: the store or the journal cannot be read or written.
    """
    private = project_state(root)
    changed = runs_with_changes(private)
    spare = frozenset() if options.changes else frozenset(changed)
    policy = replace(_policy(options, configured), spare=spare)
    pruned, spared = asyncio.run(_pruned(root, policy, dry_run=options.dry_run))
    if not options.dry_run:
        for run in pruned.ids:
            if run in changed:
                forget_changes(private, run)
    if pruned.left:
        tell(messages(), Text(f"note: some files are left: {visible(pruned.left)}", style="yellow"))
    _tell(options, pruned.ids, spared)
    return DONE


def _policy(options: HistoryOptions, configured: History) -> Retention:
    if options.keep is not None or options.days is not None:
        return Retention(options.keep, options.days)
    size = None if configured.max_mib is None else configured.max_mib * MIB
    return Retention(configured.keep_runs, configured.max_age_days, size)


async def _pruned(root: Path | None, policy: Retention, *, dry_run: bool) -> tuple[Pruned, int]:
    """Return what was forgotten, and how many runs only their changes kept."""
    now = time.time_ns() // 1_000_000
    async with opened(root) as store:
        unspared = await store.prune(replace(policy, spare=frozenset()), at=now, dry_run=True)
        pruned = await store.prune(policy, at=now, dry_run=dry_run)
    return pruned, unspared.runs - pruned.runs


def _tell(options: HistoryOptions, going: tuple[str, ...], spared: int) -> None:
    if options.json:
        shape = {"ok": True, "dry_run": options.dry_run, "runs": going, "kept_for_rollback": spared}
        print_json(shape)
        return
    count = f"{len(going)} run{'' if len(going) == 1 else 's'}"
    if options.dry_run:
        for run in going:
            messages().print(short(run), style="dim")
    tell(messages(), Text(f"{count} would be forgotten" if options.dry_run else f"{count} forgotten"))
    if spared > 0:
        them = "1 more is kept, for it" if spared == 1 else f"{spared} more are kept, for they"
        tell(messages(), Text(f"{them} can be rolled back; --changes forgets what runs changed, too"))

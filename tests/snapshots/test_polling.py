"""A poll names the changed paths, and nothing below the directories that it leaves out."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from tideate_core.snapshots import ChangePoll, SnapshotLimits

if TYPE_CHECKING:
    from pathlib import Path

LIMITS = SnapshotLimits(ignored_directories=True, left_out=("node_modules",))


def test_changed_and_removed_paths_are_named_once(repository: Path) -> None:
    poll = ChangePoll(repository, LIMITS)
    assert {".env", "logs/a.log", "src/one.py"} <= poll.look().written
    assert not any(poll.look())
    (repository / "src/one.py").write_text("other\n")
    (repository / "src/new").mkdir()
    (repository / "src/new/two.py").write_text("new\n")
    (repository / "logs/a.log").unlink()
    (repository / "logs").rmdir()
    assert [*map(set, poll.look())] == [{"src/one.py", "src/new/two.py"}, {"logs/a.log"}]
    (repository / "run.sh").chmod(0o600)
    assert [*map(set, poll.look())] == [{"run.sh"}, set()]


def test_what_is_left_out_is_not_looked_at(repository: Path) -> None:
    poll = ChangePoll(repository, LIMITS)
    poll.look()
    (repository / "node_modules/left/pad.js").write_text("other\n")
    (repository / ".git/config").write_text("")
    (repository / ".tideate").mkdir()
    (repository / ".tideate/config.toml").write_text("")
    assert not any(poll.look())


def test_a_cache_is_left_out(repository: Path) -> None:
    cache = repository / "build"
    cache.mkdir()
    (cache / "CACHEDIR.TAG").write_bytes(b"Signature: 8a477f597d28d172789f06886806bc55")
    poll = ChangePoll(repository, LIMITS)
    poll.look()
    (cache / "a.o").write_text("x")
    assert not any(poll.look())


def test_a_write_within_the_same_size_is_seen_by_its_time(repository: Path) -> None:
    poll = ChangePoll(repository, LIMITS)
    poll.look()
    before = (repository / "run.sh").stat()
    (repository / "run.sh").write_bytes(b"#!/bin/ba\n")
    os.utime(repository / "run.sh", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert poll.look().written == {"run.sh"}

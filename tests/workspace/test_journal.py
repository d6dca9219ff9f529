"""Journal: a forged one restores nothing, and a killed apply or rollback can be continued."""

from __future__ import annotations

import json
import os
from itertools import count
from typing import TYPE_CHECKING

import pytest

from tests.workspace.killed import Killed, Work, forget
from tests.workspace.kinds import KINDS, lay_kinds
from tests.workspace.project import apply_changes, tree
from tests.workspace.test_transaction import EVERYTHING
from tideate_core.errors import WorkspaceError
from tideate_core.workspace import FileChange, Workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from tests.workspace.killed import Killed


def forged(**fields: object) -> Callable[[Path], object]:
    """Return a function that changes fields of a manifest's first file entry."""

    def forge(apply: Path) -> None:
        path = apply / "manifest.json"
        manifest = json.loads(path.read_text())
        next(entry for entry in manifest["entries"] if entry["kind"] == "file").update(fields)
        path.write_text(json.dumps(manifest))

    return forge


def in_place_of(path: Path, make: Callable[[Path], object]) -> None:
    path.rename(path.with_name("away"))
    make(path)


def link_to_itself(path: Path) -> None:
    path.symlink_to(path)


DAMAGE: dict[str, Callable[[Path], object]] = {
    "an absolute temporary name": forged(temp="/etc/hostname"),
    "a temporary name upwards": forged(temp="../.tideate-00.tmp"),
    "a temporary name of the person's": forged(temp="notes.txt"),
    "an absolute path": forged(path="/etc/hostname"),
    "a path upwards": forged(path="src/../../other.py"),
    "a path of git": forged(path=".GIT/hooks/pre-commit"),
    "a move from elsewhere": forged(moved_from="../other.py"),
    "another kind": forged(kind="command"),
    "a field more": forged(run="true"),
    "no digest": forged(before={"kind": "file", "digest": "", "mode": 0o644}),
    "another digest": forged(before={"kind": "file", "digest": "0" * 40, "mode": 0o644}),
    "a mode that is none": forged(before={"kind": "file", "digest": "0" * 40, "mode": 0o107777}),
    "images outside of the file": forged(offset=10**9),
    "a length below zero": forged(length=-1),
    "a manifest that is a link to itself": lambda apply: in_place_of(apply / "manifest.json", link_to_itself),
    "a manifest that is a pipe": lambda apply: in_place_of(apply / "manifest.json", os.mkfifo),
    "images that are a pipe": lambda apply: in_place_of(apply / "before", os.mkfifo),
    "a pipe for the applies of a run": lambda apply: in_place_of(apply.parent, os.mkfifo),
    "a link to itself for the applies of a run": lambda apply: in_place_of(apply.parent, link_to_itself),
    "no manifest syntax": lambda apply: (apply / "manifest.json").write_text("{"),
    "cut off images": lambda apply: (apply / "before").write_bytes(b"x"),
    "other images": lambda apply: (apply / "before").write_bytes(b"x" * 1000),
    "no images": lambda apply: (apply / "before").unlink(),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE.keys())
async def test_a_damaged_journal_restores_nothing_and_says_where_it_is(
    root: Path, private: Path, workspace: Workspace, damage: Callable[[Path], object]
) -> None:
    await apply_changes(workspace, *EVERYTHING)
    damage(private / "journal/run/0001")
    before = tree(root)
    with pytest.raises(WorkspaceError, match=r"journal/run"):
        await workspace.rollback("run")
    assert tree(root) == before


KILLED = pytest.mark.parametrize(
    ("work", "changes", "step"),
    [("apply", EVERYTHING, 3), pytest.param("change kinds", KINDS, 9, marks=pytest.mark.crash)],
    ids=["texts", "kinds"],
)


@pytest.mark.slow
@KILLED
async def test_an_apply_killed_at_any_moment_is_rolled_back(
    root: Path, private: Path, killed: Killed, work: Work, changes: Sequence[FileChange], step: int
) -> None:
    lay_kinds(root)
    before = tree(root)
    half_done = 0
    for _ in killed.ever_later(work, step=step):
        half_done += tree(root) != before
        await Workspace(root, private=private).rollback("run")
        assert tree(root) == before
        forget(private)
    assert half_done > 2
    assert tree(root) != before


@pytest.mark.slow
@KILLED
async def test_a_rollback_killed_at_any_moment_goes_on_where_it_stopped(
    root: Path, private: Path, killed: Killed, work: Work, changes: Sequence[FileChange], step: int
) -> None:
    lay_kinds(root)
    before = tree(root)
    half_done = 0
    for moment in count(1, step):
        await apply_changes(Workspace(root, private=private), *changes)
        after = tree(root)
        if not killed.at(moment, "roll back"):
            break
        half_done += tree(root) not in (before, after)
        await Workspace(root, private=private).rollback("run")
        assert tree(root) == before
        forget(private)
    assert half_done > 2
    assert tree(root) == before

"""A watch makes snapshots from which any foreign destruction can be undone."""

from __future__ import annotations

import asyncio
import shutil
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest

from tests.harness.project import git, write_files
from tests.snapshots.trees import looked_at
from tideate_core.app import make_snapshot_manager, watch_project
from tideate_core.config import Config
from tideate_core.errors import WorkspaceError
from tideate_core.project import project_state

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tideate_core.app import Watched

WITHIN = 20.0
FILES = {
    ".gitignore": ".env\ndata/\nnode_modules/\ntarget/\n",
    "src/a.py": "a = 1\n",
    "src/b.py": "b = 1\n",
}
WORK = {
    "src/a.py": "a = 2, not committed\n",
    "notes.txt": "untracked\n",
    ".env": "SECRET=1\n",
    "data/db/rows": "ignored, and nowhere else\n",
}
REBUILT = {
    "node_modules/left/pad.js": "x\n",
    "data/node_modules/pad.js": "x\n",
    "target/CACHEDIR.TAG": "Signature: 8a477f597d28d172789f06886806bc55\n",
    "target/debug/a.o": "x\n",
}
DESTRUCTIONS = {
    "reset": "git reset --quiet --hard",
    "clean": "git clean --quiet -fdx",
    "stash": "git -c user.name=a -c user.email=a@b stash --quiet --all",
    "checkout": "git checkout --quiet -- .",
    "rm": "rm -rf src data .env",
    "rm of all": "find . -mindepth 1 -maxdepth 1 ! -name .tideate -exec rm -rf {} +",
    "rules lost": "rm .gitignore; git clean --quiet -fdx",
}


class Watching:
    """A running watch and the snapshots that it made."""

    def __init__(self) -> None:
        self.made: asyncio.Queue[Watched] = asyncio.Queue()
        self.troubles: asyncio.Queue[str] = asyncio.Queue()

    async def next(self) -> Watched:
        return await asyncio.wait_for(self.made.get(), WITHIN)


@asynccontextmanager
async def watched(root: Path, **settings: object) -> AsyncIterator[Watching]:
    config = Config.model_validate({"watch": {"settle": 0.05, **settings}})
    watching = Watching()
    tell, trouble = watching.made.put_nowait, watching.troubles.put_nowait
    task = asyncio.create_task(watch_project(root, config, wait=False, tell=tell, trouble=trouble))
    try:
        yield watching
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    root.mkdir()
    git(root, "init", "--quiet")
    write_files(root, FILES)
    git(root, "add", ".")
    git(root, "commit", "--quiet", "-m", "one")
    write_files(root, WORK | REBUILT)
    return root


@pytest.mark.parametrize("how", DESTRUCTIONS)
async def test_a_restore_brings_back_all_that_a_foreign_command_took(root: Path, how: str) -> None:
    before = kept(root)
    async with watched(root) as watching:
        start = (await watching.next()).snapshot.id
        shell = await asyncio.create_subprocess_shell(DESTRUCTIONS[how], cwd=root)
        assert await shell.wait() == 0
        assert (await watching.next()).gone or how in ("reset", "checkout")
    assert kept(root) != before
    # as `tideate snapshot restore`, with the filter of the configuration for other snapshots
    await make_snapshot_manager(root, Config().snapshots).restore(start)
    assert kept(root) == before


def kept(root: Path) -> dict[bytes, object]:
    """Return all paths except those that a tool can build again."""
    return {
        path: image
        for path, image in looked_at(root).items()
        if b"node_modules" not in path and not path.startswith(b"target")
    }


async def test_only_what_can_be_built_again_is_left_out(root: Path) -> None:
    async with watched(root) as watching:
        made = await watching.next()
    snapshot = await make_snapshot_manager(root, Config().snapshots).get(made.snapshot.id)
    files = {entry.path for entry in snapshot.files if entry.kind == "file"}
    assert files == FILES.keys() | WORK.keys()


async def test_work_between_two_destructions_is_kept_too(root: Path) -> None:
    async with watched(root) as watching:
        await watching.next()
        (root / "src/new.py").write_text("new = 1\n")
        made = await watching.next()
        assert (made.changes, made.gone) == (1, 0)
        assert made.snapshot.name == "watch: 1 changed: src/new.py"
        (root / "src/new.py").unlink()
        assert (await watching.next()).gone == 1
    await make_snapshot_manager(root, Config().snapshots).restore(made.snapshot.id, paths=["src/new.py"])
    assert (root / "src/new.py").read_text() == "new = 1\n"


async def test_a_named_path_is_restored_with_its_folders_and_nothing_else(root: Path) -> None:
    async with watched(root) as watching:
        made = (await watching.next()).snapshot.id
    shutil.rmtree(root / "data")
    (root / ".env").unlink()
    (root / "src/a.py").write_text("mine\n")
    manager = make_snapshot_manager(root, Config().snapshots)
    assert [one.path for one in await manager.diff(made, paths=["data/db"], changes=False)] == [
        "data/db/rows"
    ]
    done = await manager.restore(made, paths=["data/db"])
    assert done.written == ("data/", "data/db/", "data/db/rows")
    assert not (root / ".env").exists()
    assert (root / "src/a.py").read_text() == "mine\n"


async def test_new_times_alone_make_no_snapshot(root: Path) -> None:
    async with watched(root) as watching:
        await watching.next()
        (root / "src/b.py").write_bytes((root / "src/b.py").read_bytes())
        (root / "node_modules/more.js").write_text("left out\n")
        (root / "end.txt").write_text("a change\n")
        assert "end.txt" in await paths_of(root, (await watching.next()).snapshot.id)
    assert len(await make_snapshot_manager(root, Config().snapshots).list()) == 2


async def paths_of(root: Path, snapshot_id: str) -> set[str]:
    snapshot = await make_snapshot_manager(root, Config().snapshots).get(snapshot_id)
    return {entry.path for entry in snapshot.files}


async def test_files_that_never_settle_are_kept_nevertheless(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tideate_core.app.watch.LONGEST", 0)
    monkeypatch.setattr("tideate_core.app.watch.OFTEN", 0.01)
    async with watched(root, settle=3600.0) as watching:
        await watching.next()
        (root / "log").write_text("more\n")
        assert (await watching.next()).changes == 1


async def test_a_second_watch_of_a_project_is_refused(root: Path) -> None:
    async with watched(root) as watching:
        await watching.next()
        with pytest.raises(WorkspaceError, match="another process watches"):
            await watch_project(root, Config(), wait=False, tell=print, trouble=print)


async def test_a_failed_snapshot_is_reported_and_made_again(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with watched(root) as watching:
        await watching.next()
        with monkeypatch.context() as patched:

            def full(_handle: int) -> None:
                raise OSError(28, "No space left on device")

            patched.setattr("os.fsync", full)
            (root / "late.txt").write_text("late\n")
            assert "No space left" in await asyncio.wait_for(watching.troubles.get(), WITHIN)
        assert "late.txt" in (await watching.next()).snapshot.name


async def test_a_directory_whose_ignore_rule_is_gone_is_neither_read_nor_deleted(root: Path) -> None:
    manager = make_snapshot_manager(root, Config().snapshots)
    made = await manager.create("with an uncommitted rule")
    (root / ".gitignore").write_text("")
    write_files(root, {"data/later/rows": "made since\n", "new.txt": "made since\n"})
    done = await manager.restore(made, delete_added=True)
    assert done.deleted == ("new.txt",)
    assert (root / "data/later/rows").read_text() == "made since\n"
    assert done.before is not None
    assert not any(path.startswith(("data", "node_modules")) for path in await paths_of(root, done.before))


@pytest.mark.slow
async def test_snapshots_of_a_watch_stay_within_their_disk_and_spare_the_others(root: Path) -> None:
    mine = await make_snapshot_manager(root, Config().snapshots).create("mine")
    async with watched(root, max_mib=1, keep=4) as watching:
        await watching.next()
        for number in range(12):
            # incompressible, and a pack that one small file keeps alive
            (root / "big.bin").write_bytes(random_bytes(number, 300_000))
            (root / f"small{number}.txt").write_text(f"{number}\n")
            await watching.next()
    known = await make_snapshot_manager(root, Config().snapshots).list()
    assert mine in {one.id for one in known}
    assert 2 <= len([one for one in known if one.series == "watch"]) <= 4
    packs = project_state(root) / "snapshots/packs"
    assert sum(path.stat().st_size for path in packs.iterdir()) < 1024 * 1024 + 10_000
    newest = known[-1]
    (root / "big.bin").unlink()
    await make_snapshot_manager(root, Config().snapshots).restore(newest.id)
    assert (root / "big.bin").read_bytes() == random_bytes(11, 300_000)


def random_bytes(seed: int, size: int) -> bytes:
    import random

    return random.Random(seed).randbytes(size)

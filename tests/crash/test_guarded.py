"""A process killed at any system call of a guarded copy loses nothing; the next one goes on.

Every moment is tried, in a child of this process.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import shutil
import signal
import subprocess
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.crash.kills import Kill, Killer
from tests.harness.project import git
from tests.snapshots.guarded.conftest import KINDS
from tests.snapshots.trees import looked_at
from tideate_core.app.guard import open_session, prepare_blocking
from tideate_core.config import OwnAgents
from tideate_core.process import Namespaces, run_program
from tideate_core.snapshots import GuardedCopy, GuardState, finish_session, list_sessions
from tideate_core.snapshots.guarded.layers import find_in_layers
from tideate_core.snapshots.guarded.preparing import prepare_copy
from tideate_core.workspace import read_image

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Literal

    Kind = Literal["overlay", "copy"]

pytestmark = [pytest.mark.crash, pytest.mark.slow]

LAID = {"src/unsaved": b"1", "gone": None}


def is_killed(work: Callable[[], object], at: int | None = None) -> bool:
    """Do work in a child process that dies after its system call of this number; False if it ended before.

    :param at: None: the work chooses the moment.
    """
    child = os.fork()
    if not child:
        try:
            if at is not None:
                Killer(Kill("call", at)).install()
            work()
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    for path in ("src/one", "src/two", "gone", "build/out", "last/file"):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(path)
    (root / "link").symlink_to("src")
    git(root, "init", "--quiet")
    (root / ".gitignore").write_text("build\n")
    return root


def change(root: Path) -> None:
    (root / "src/one").write_text("saved")
    (root / "src/three").write_text("3")
    (root / "link").unlink()
    (root / "link").mkdir()
    (root / "link/file").write_text("4")
    shutil.rmtree(root / "last")


def shown(copy: GuardedCopy, root: Path) -> dict[str, bool]:
    """Return the project's paths, and whether the copy shows them as the project has them."""
    place = copy.place
    layers = [place / "upper", place / "delta", place.parents[1] / "mirror" / (place / "mirror").read_text()]
    if copy.kind == "copy":
        layers = [place / "tree"]
    else:
        layers[-1] /= "tree"
    found = {}
    for directory, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name not in (".git", "build")]
        for name in (*folders, *names):
            path = str(Path(directory, name).relative_to(root))
            where = find_in_layers([str(layer) for layer in layers], path)
            found[path] = where is not None and read_image(where).state == read_image(root / path).state
    return found


def sessions(private: Path) -> list[str]:
    place = private / "sessions"
    return [path.name for path in place.iterdir()] if place.is_dir() else []


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("has_mirror", [False, True])
def test_a_killed_preparation_leaves_a_whole_copy_or_none(
    root: Path, tmp_path: Path, kind: Kind, has_mirror: bool
) -> None:
    private = tmp_path / "private"

    def prepare() -> None:
        prepare_copy(root, private, LAID, kind, threading.Event())

    if has_mirror:
        prepare()
        change(root)
    before = looked_at(root, ())
    for at in itertools.count(1):
        if not has_mirror:
            shutil.rmtree(private, ignore_errors=True)
        ended = not is_killed(prepare, at)
        assert looked_at(root, ()) == before
        for name in sessions(private):
            copy = GuardedCopy.attach(root, name, private=private)
            assert not asyncio.run(copy.difference())
            if not ended:
                asyncio.run(copy.discard())
        if ended:
            break
        prepare()
        (name,) = sessions(private)
        copy = GuardedCopy.attach(root, name, private=private)
        assert [path for path, same in shown(copy, root).items() if not same] == ["gone"]
        asyncio.run(copy.discard())
        assert list((private / "unfinished").iterdir()) == []
    assert at > 40


async def work_in(copy: GuardedCopy) -> None:
    """Change files as a program does."""
    await copy.open()
    script = "echo agent > src/one; echo agent > new; rm src/two; mkdir made; rm -r link; echo 1 > link"
    done = await run_program(copy.command(["sh", "-c", script]), cwd=copy.root, environment={"PATH": "/bin"})
    assert done.ok, done.printed
    await copy.close()


@pytest.mark.parametrize("script", ["echo 1 > new", "true"])
def test_a_killed_end_of_a_program_keeps_its_changes(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    session = prepare_blocking(root, OwnAgents(), ("sh", "-c", script))

    def run_to_end() -> None:
        program = open_session(root, OwnAgents(), session, Namespaces.start())
        subprocess.run(program.argv, cwd=program.copy.root, env=program.environment, check=True)
        killer.install()
        asyncio.run(program.end())
        asyncio.run(finish_session(root, session.id))

    before = looked_at(root, ())
    for at in itertools.count(1):
        killer = Killer(Kill("call", at))
        ended = not is_killed(run_to_end)
        assert looked_at(root, ()) == before
        found = list_sessions(root)
        if ended:
            break
        if not found:  # it was being removed
            assert script == "true"
            session = prepare_blocking(root, OwnAgents(), ("sh", "-c", script))
            continue
        assert found[0].state in (GuardState.INTERRUPTED, GuardState.WAITING)
        copy = GuardedCopy.attach(root, session.id)
        assert list(asyncio.run(copy.difference()).files) == ([] if script == "true" else ["new"])
    assert [one.state for one in found] == ([] if script == "true" else [GuardState.WAITING])
    assert at > 10


@pytest.mark.parametrize("kind", KINDS)
def test_a_killed_update_is_finished_or_did_not_begin(root: Path, tmp_path: Path, kind: Kind) -> None:
    private, original = tmp_path / "private", tmp_path / "original"
    shutil.copytree(root, original, symlinks=True)
    for at in itertools.count(1):
        shutil.rmtree(root)
        shutil.copytree(original, root, symlinks=True)
        copy = asyncio.run(GuardedCopy.prepare(root, {"src/unsaved": b"1"}, private=private, kind=kind))
        asyncio.run(work_in(copy))
        change(root)
        before = looked_at(root, ())

        def update(name: str = copy.id) -> None:
            found = GuardedCopy.attach(root, name, private=private)
            with found._locked() as lock:
                found._update({}, None, lock)

        ended = not is_killed(update, at)
        assert looked_at(root, ()) == before
        again = GuardedCopy.attach(root, copy.id, private=private)
        found = asyncio.run(again.difference())
        if found:  # it did not begin
            assert not ended
            assert sorted(found.files) == ["link", "new", "src/one", "src/two"]
            assert found.files["src/one"][0].data == b"src/one"
        else:
            assert all(shown(again, root).values())
        asyncio.run(again.update())
        assert not asyncio.run(again.difference())
        assert all(shown(again, root).values())
        assert looked_at(root, ()) == before
        asyncio.run(again.discard())
        if ended:
            break
    assert at > 20

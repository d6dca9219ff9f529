"""Real copies: times and modes as in the project, large directories by policy."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

import pytest

from tests.harness.project import git
from tests.snapshots.trees import looked_at
from tideate_core.errors import ScratchUnavailable
from tideate_core.snapshots import open_scratch
from tideate_core.snapshots.scratch import cloning, copying

if TYPE_CHECKING:
    from pathlib import Path

LINKED = "links to the project's own: writes to it change the project"


@pytest.fixture
def installed(root: Path) -> Path:
    """The project in git, with ignored dependencies and outputs and a tracked `build`."""
    git(root, "init", "--quiet")
    (root / ".gitignore").write_text("node_modules/\n.venv/\ntarget/\ndata/\n__pycache__/\n")
    for name in (
        "node_modules/pad",
        ".venv/bin",
        "web/node_modules",
        "target",
        "data",
        "src/__pycache__",
        "build",
    ):
        (root / name).mkdir(parents=True)
        (root / name / "file").write_text(name)
    return root


async def test_dependencies_are_linked_and_outputs_left_out_and_both_are_said(
    installed: Path, private: Path
) -> None:
    told: list[str] = []
    async with open_scratch(installed, private, kind="copy", notice=told.append) as scratch:
        seen = looked_at(scratch.root)
        assert {name for name in seen if b"/" not in name} >= {b"build", b"data", b"src", b".gitignore"}
        for linked in ("node_modules", ".venv", "web/node_modules"):
            assert seen[linked.encode()] == ("link", 0, os.fsencode(installed / linked))
        assert not {b"target", b"src/__pycache__"} & seen.keys()
        assert scratch.as_json() == {"kind": "copy", "root": str(scratch.root), "notices": told}
    links = [f"{name} {LINKED}" for name in (".venv", "node_modules", "web/node_modules")]
    assert told == [*links, "left out of the copy: src/__pycache__, target"]


async def test_what_is_built_in_the_copy_leaves_the_project_alone(installed: Path, private: Path) -> None:
    async with open_scratch(installed, private, kind="copy") as scratch:
        script = "mkdir target; echo 1 > target/new; rm node_modules; echo 1 > data/file"
        assert (await scratch.run(["sh", "-c", script])).ok
    assert (installed / "node_modules/pad/file").read_text() == "node_modules/pad"


async def test_where_copies_share_their_blocks_nothing_is_linked_or_left_out(
    installed: Path, private: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def shared(source: int, target: int) -> None:
        os.write(target, os.read(source, 1_000_000))

    monkeypatch.setattr(cloning, "_clone_on_linux", shared)
    async with open_scratch(installed, private, kind="copy") as scratch:
        assert looked_at(scratch.root, (".git",)) == looked_at(installed, (".git",))
        assert scratch.notices == ()


@pytest.mark.parametrize("number", [errno.EOPNOTSUPP, errno.EXDEV])
async def test_after_one_file_that_shares_no_blocks_no_other_is_tried(
    root: Path, private: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    tried: list[int] = []

    def fails(source: int, _target: int) -> None:
        tried.append(source)
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(cloning, "_clone_on_linux", fails)
    async with open_scratch(root, private, kind="copy") as scratch:
        assert looked_at(scratch.root) == looked_at(root)
    assert len(tried) == 2  # once to choose the policy


async def test_times_are_kept_so_that_nothing_is_built_anew(root: Path, private: Path) -> None:
    os.utime(root / "src/one.py", ns=(1_000_000_007, 2_000_000_009))
    os.utime(root / "src", ns=(1_000_000_007, 3_000_000_009))
    async with open_scratch(root, private, kind="copy") as scratch:
        for name in ("src/one.py", "src"):
            assert (scratch.root / name).stat().st_mtime_ns == (root / name).stat().st_mtime_ns


async def test_an_absolute_link_into_the_project_leads_into_the_copy(root: Path, private: Path) -> None:
    (root / "absolute").symlink_to(root / "src/one.py")
    async with open_scratch(root, private, kind="copy") as scratch:
        assert (await scratch.run(["sh", "-c", "echo changed > absolute"])).ok
        assert (scratch.root / "src/one.py").read_bytes() == b"changed\n"
    assert (root / "src/one.py").read_bytes() == b"a = 1\nb = 2\n"


async def test_what_cannot_be_copied_is_said(root: Path, private: Path) -> None:
    os.mkfifo(root / "pipe")
    async with open_scratch(root, private, kind="copy") as scratch:
        assert scratch.notices == (
            "pipe is not in the copy: it is neither a file nor a link nor a directory",
        )


async def test_too_much_for_a_copy_is_refused(
    root: Path, private: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copying, "MOST", 3)
    with pytest.raises(ScratchUnavailable, match="more than 3 files"):
        async with open_scratch(root, private, kind="copy"):
            pass
    assert not os.path.lexists(private)  # noqa: ASYNC240 it takes no time


async def test_the_private_state_below_a_home_directory_is_not_copied(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(root))
    monkeypatch.setenv("XDG_STATE_HOME", str(root / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(root / "config"))
    (root / "config/tideate").mkdir(parents=True)
    (root / "config/tideate/config.toml").write_text("# private\n")
    async with open_scratch(root) as scratch:
        assert scratch.kind == "copy"
        assert "below" in scratch.notices[0]
        assert not (scratch.root / "state/tideate").exists()
        assert not (scratch.root / "config/tideate").exists()
        assert (scratch.root / "src/one.py").exists()

"""`:Workflow land` in a real Neovim: unsaved buffers, conflicts, a killed host, a check."""

from __future__ import annotations

import asyncio
import os
import random
import secrets
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.editor.test_review_changes import DONE
from tests.harness.commands import MODULE
from tests.harness.dialogs import wait_focused
from tests.harness.project import git
from tests.harness.review import bar
from tideate_core.snapshots import GuardedCopy, GuardSession, GuardState, create_session

if TYPE_CHECKING:
    from pathlib import Path

    from tests.harness.editor import Editor

pytestmark = pytest.mark.slow

TEXT = "".join(f"line {number}\n" for number in range(1, 21))
LANDED = TEXT.replace("line 2\n", "TWO\n").replace("line 10\n", "TEN\n").replace("line 18\n", "EIGHTEEN\n")
KILLS = int(os.environ.get("TIDEATE_KILLS") or 20) // 10
SEED = int(os.environ.get("TIDEATE_SEED") or secrets.randbelow(1_000_000))
LANDING = 400
"""Milliseconds in which a landing ends."""
SCRIPT = "sed -i 's/line 2$/TWO/; s/line 10$/TEN/; s/line 18$/EIGHTEEN/' a.txt; rm b.txt; echo new > new.txt"


@pytest.fixture
def project(editor: Editor) -> Path:
    root = editor.cwd
    (root / "a.txt").write_text(TEXT)
    (root / "b.txt").write_text("b\n")
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "first")
    editor.lua(DONE)
    editor.command("set columns=80 lines=24")
    return root


def work(editor: Editor, script: str = SCRIPT) -> None:
    """Let a program work in a guarded copy of the project, and end."""

    async def guarded() -> None:
        copy = await GuardedCopy.prepare(editor.cwd, private=editor.state / "guard")
        session = GuardSession(id=copy.id, argv=("sh",), created=1, state=GuardState.WAITING)
        create_session(copy.place, session)
        await copy.open()
        try:
            argv = copy.command(["sh", "-ec", script])
            done = await asyncio.to_thread(
                subprocess.run, argv, cwd=copy.root, env=copy.environment(dict(os.environ)), check=False
            )
            assert done.returncode == 0
        finally:
            await copy.close()

    asyncio.run(guarded())


def test_hunks_land_in_an_unsaved_buffer_beside_what_was_typed(editor: Editor, project: Path) -> None:
    work(editor)
    editor.edit("a.txt")
    editor.feed("Otyped<Esc>11Gccmine<Esc>")
    editor.command("Workflow land")
    wait_focused(editor)
    assert "1 conflict" in bar(editor)
    editor.feed("gA")
    assert "1 conflict is left" in editor.messages()
    editor.feed("g<CR>")
    assert editor.wait("_G.ended") == "TideateWorkflowCompleted "
    lines = editor.lua("return vim.api.nvim_buf_get_lines(vim.fn.bufnr('a.txt'), 0, -1, true)")
    shown = (lines[0], lines[2], lines[10], lines[18])
    assert shown == ("typed", "TWO", "mine", "EIGHTEEN")
    assert (project / "a.txt").read_text() == TEXT
    assert not (project / "b.txt").exists()
    assert (project / "new.txt").read_text() == "new\n"
    editor.command("buffer a.txt")
    editor.feed("u")
    lines = editor.lines()
    assert (lines[0], lines[2], lines[10]) == ("typed", "line 2", "mine")


def test_a_landing_goes_on_after_its_host_was_killed(editor: Editor, project: Path) -> None:
    work(editor)
    editor.command("Workflow land")
    wait_focused(editor)
    editor.feed("ga")
    editor.lua("vim.uv.kill(require('tideate.host').info().pid, 9)")
    editor.wait("_G.ended")
    editor.lua("_G.ended = nil")
    editor.command("Workflow review")
    wait_focused(editor)
    editor.command("set columns=200")
    editor.wait_for(lambda: "1 accepted" in bar(editor), "the decision is kept")
    editor.feed("gA")
    editor.feed("g<CR>")
    assert editor.wait("_G.ended") == "TideateWorkflowCompleted "
    assert "TWO" in (project / "a.txt").read_text()
    assert not (project / "b.txt").exists()


@pytest.mark.crash
@pytest.mark.parametrize("number", range(KILLS))
def test_a_landing_whose_host_is_killed_at_any_moment_loses_nothing(
    editor: Editor, project: Path, number: int
) -> None:
    delay = random.Random(SEED + number).randint(0, LANDING)
    print(f"repeat with TIDEATE_SEED={SEED + number}: killed after {delay} ms")
    ends: dict[str, set[str | None]] = {
        "a.txt": {TEXT, LANDED},
        "b.txt": {"b\n", None},
        "new.txt": {None, "new\n"},
    }
    work(editor)
    editor.command("Workflow land")
    wait_focused(editor)
    editor.feed("gA")
    kill = "vim.uv.kill(require('tideate.host').info().pid, 9); _G.killed = true"
    editor.lua(f"vim.defer_fn(function() {kill} end, {delay})")
    editor.feed("g<CR>")
    editor.wait("_G.killed")
    editor.wait("_G.ended")
    for name, known in ends.items():
        assert (read(project / name)) in known, name
    environment = {**os.environ, "HOME": str(editor.home), "XDG_STATE_HOME": str(editor.home / "state")}
    if list((editor.state / "guard/sessions").iterdir()):
        command = [sys.executable, "-m", MODULE, "guard", "land", "--yes", "--root", str(project)]
        subprocess.run(command, cwd=project, env=environment, check=True)
    assert {name: read(project / name) for name in ends} == {
        "a.txt": LANDED,
        "b.txt": None,
        "new.txt": "new\n",
    }


def read(path: Path) -> str | None:
    return path.read_text() if path.exists() else None


def test_gc_tells_why_no_check_runs_and_the_review_goes_on(editor: Editor, project: Path) -> None:
    work(editor)
    editor.command("Workflow land")
    wait_focused(editor)
    editor.feed("gc")
    editor.wait_for(lambda: "no check can run here" in editor.messages(), "the reason is shown")
    editor.feed("gA")
    editor.feed("g<CR>")
    assert editor.wait("_G.ended") == "TideateWorkflowCompleted "

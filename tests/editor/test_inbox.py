"""The inbox in a real Neovim: questions of a job in a bare repository, answered from another clone."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from tests.harness.dialogs import wait_focused
from tests.harness.panel import go_to, open_panel, wait_line
from tests.harness.project import git
from tests.harness.remotes import SHOP, Job, clone_of, forge, name_person
from tests.harness.review import bar
from tests.harness.runs import configure

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.harness.editor import Editor, EditorFactory
    from tests.harness.model_server import ModelServer

pytestmark = pytest.mark.slow

EDIT = ("edit", "say it shorter", "--file", "shop.py:4-15")
FIRST = """```python
def total(prices):
    print("adding up")
    return sum(prices)


def names(products):
    return [product["name"] for product in products]
```"""
SECOND = FIRST.replace('    print("adding up")\n', "")
BECAUSE = "callers write to stdout themselves"
LANDED = SHOP.partition("def")[0] + SECOND.removeprefix("```python\n").removesuffix("```")
LISTED = "vim.bo.filetype == 'tideate-runs' and not require('tideate.client').busy()"


@pytest.fixture
def job(tmp_path: Path, server: ModelServer) -> Iterator[Job]:
    """A job in a clone of its own, with the scripted model."""
    job = Job(tmp_path / "job", {"shop.py": SHOP})
    job.use(server)
    server.answers("say it shorter", FIRST, times=1)
    server.answers(BECAUSE, SECOND)
    yield job
    job.close()


@pytest.fixture
def ana(job: Job, start_editor: EditorFactory, tmp_path: Path) -> Editor:
    """A reviewer's Neovim of 80 columns and 24 rows in another clone."""
    return reviewer("Ana", job, start_editor, tmp_path)


def reviewer(name: str, job: Job, start_editor: EditorFactory, folder: Path) -> Editor:
    editor = start_editor(cwd=clone_of(job.remote, folder / name), ui=(80, 24))
    name_person(editor.home, name)
    return editor


def listed(editor: Editor, remote: str = "") -> str:
    """Open the inbox, and return its lines when the fetch has ended."""
    editor.command(f"Workflow inbox {remote}")
    editor.wait(LISTED)
    return "\n".join(editor.lines())


def opened(editor: Editor) -> None:
    """Open the first question of the inbox."""
    assert "?" in listed(editor)
    editor.feed("<CR>")
    wait_focused(editor)


def ended(editor: Editor) -> None:
    editor.wait("#require('tideate.state').active() == 0 and not require('tideate.client').busy()")


def accept_all(editor: Editor) -> None:
    editor.feed("gA")
    editor.feed("g<CR>")
    ended(editor)


def test_a_review_is_answered_by_hunk_and_the_job_goes_on_and_lands(ana: Editor, job: Job) -> None:
    run = job.leave(*EDIT)["execution_id"]
    lines = listed(ana)
    for words in ("edit", "review", "origin", run[:8], "by Robot", "not verified", "just now"):
        assert words in lines
    ana.feed("<CR>")
    wait_focused(ana)
    assert "shop.py" in bar(ana)
    ana.feed(f"gb{BECAUSE}<CR>")
    ana.feed("gA")
    ana.feed("g<CR>")
    ended(ana)
    assert ana.read("shop.py") == SHOP, "nothing is written in the reviewer's clone"
    assert "answered by Ana" in listed(ana)
    ana.feed("q")
    second = job.run("resume", "--from", "origin", run, "--at-gate", "leave")
    assert second.returncode == 4, second.stderr
    assert "?" in listed(ana)
    ana.feed("<CR>")
    wait_focused(ana)
    accept_all(ana)
    job.ok("resume", "--from", "origin", run)
    assert job.read("shop.py") == LANDED
    assert "no question waits in origin" in listed(ana)


def test_the_second_of_two_reviewers_is_told_whose_answer_counts(
    ana: Editor, job: Job, start_editor: EditorFactory, tmp_path: Path
) -> None:
    job.leave(*EDIT)
    ben = reviewer("Ben", job, start_editor, tmp_path)
    opened(ana)
    opened(ben)
    accept_all(ana)
    accept_all(ben)
    assert "not sent: Ana <ana@shop.example> was first; the first answer counts" in ben.messages()
    assert "answered by Ana" in listed(ben)
    ben.feed("<CR>")
    ben.wait_screen("`a` continues the run here")


def test_a_review_that_was_left_opens_again_with_its_decisions_in_another_neovim(
    ana: Editor, job: Job, start_editor: EditorFactory
) -> None:
    job.leave(*EDIT)
    opened(ana)
    ana.feed("ga")
    ana.feed("q")
    ended(ana)
    opened(ana)
    assert "1 open" in bar(ana)
    ana.quit()
    state = {"TIDEATE_STATE": str(ana.home / "state" / "tideate")}
    again = start_editor(cwd=ana.cwd, ui=(80, 24), env=state)
    name_person(again.home, "Ana")
    opened(again)
    assert "1 open" in bar(again)
    accept_all(again)
    assert "answered by Ana" in listed(again)


def test_the_panel_lists_the_questions_and_answers_them(ana: Editor, job: Job) -> None:
    run = job.leave(*EDIT)["execution_id"]
    open_panel(ana)
    assert not ana.lua("return vim.fn.search('Inbox', 'nw') > 0"), "the panel fetches nothing"
    ana.feed("q")
    listed(ana)
    ana.feed("q")
    open_panel(ana)
    wait_line(ana, "Inbox  1 question waits")
    go_to(ana, f"edit {run[:8]}  review  origin  just now  not verified")
    ana.feed("<CR>")
    wait_focused(ana)
    accept_all(ana)
    wait_line(ana, "Inbox  all questions are answered")
    wait_line(ana, f"✓ edit {run[:8]} .* answered by Ana")


def test_a_run_continues_here_and_lands_in_this_clone(ana: Editor, job: Job, server: ModelServer) -> None:
    configure(ana, server)
    run = job.leave(*EDIT)["execution_id"]
    opened(ana)
    accept_all(ana)
    open_panel(ana)
    go_to(ana, f"✓ edit {run[:8]}")
    ana.feed("a")
    ana.wait_screen("Open the run edit")
    wait_focused(ana)
    shown = "\n".join(ana.lines())
    for fact in (
        f"run       {run} of edit, waits",
        "in the project",
        "in this repository",
        "answered  Ana <",
    ):
        assert fact in shown, shown
    ana.feed("y")
    ana.wait_for(lambda: ana.read("shop.py") != SHOP, "the changes are written here")
    ended(ana)
    assert "sum(prices)" in ana.read("shop.py")
    assert job.read("shop.py") == SHOP


def test_nothing_waits_and_a_remote_that_is_gone_is_named(ana: Editor, job: Job) -> None:
    assert "no question waits in origin" in listed(ana)
    ana.feed("q")
    git(ana.cwd, "remote", "add", "second", str(job.remote.with_name("none.git")))
    job.leave(*EDIT)
    lines = listed(ana)
    assert "? edit" in lines, "the other remote is listed"
    assert "✗ the remote second cannot be" in lines
    shutil.rmtree(job.remote)
    ana.feed("r")
    ana.wait(LISTED)
    assert "✗ the remote origin cannot be" in "\n".join(ana.lines())
    assert ana.lua("return vim.fn.getcompletion('Workflow inbox ', 'cmdline')") == ["origin", "second"]
    assert listed(ana, "nosuch") == " ✗ there is no remote nosuch; there is origin, second"


def test_new_questions_are_announced_and_counted_if_fetching_is_set_up(ana: Editor, job: Job) -> None:
    fetching = "require('tideate.inbox_fetching')"
    ana.lua(
        "vim.api.nvim_create_autocmd('User', { pattern = 'TideateInboxReceived',"
        " callback = function(event) _G.received = event.data end })"
    )
    ana.lua(f"{fetching}.limits = {{ minute = 300, first = 10 }}")
    ana.lua("require('tideate').setup({ inbox = { fetch_minutes = 1 } })")
    run = job.leave(*EDIT)["execution_id"]
    ana.wait("_G.received")
    assert ana.lua("return _G.received") == {"new": 1, "waiting": 1}
    notice = f"a review of edit {run[:8]} waits in origin: :Workflow inbox"
    assert notice in ana.messages()
    assert ana.lua("return require('tideate').statusline()") == "inbox: 1"
    ana.lua("require('tideate').setup({})")
    opened(ana)
    accept_all(ana)
    ana.wait("require('tideate').statusline() == ''")
    assert ana.messages().count(notice) == 1


def test_foreign_text_is_escaped_in_every_place(ana: Editor, job: Job) -> None:
    run = job.leave(*EDIT)["execution_id"]
    forge(job.remote, run, "e\u202evil", message="Apply\x1b]0;x\x07 it?\nnow", workflow="edit\x1b[31m\u200b")
    lines = listed(ana).splitlines()
    assert lines[0].startswith(" ? edit\\x1b[31m\\u200b  review  Apply\\x1b]0;x\\x07 it? now")
    assert "by e\\u202evil <x@example.org>" in lines[1]
    ana.feed("q")
    open_panel(ana)
    wait_line(ana, r"\? edit\\x1b\[31m\\u200b " + run[:8])
    ana.lua(
        "require('tideate.ui').notify(require('tideate.ui.inbox_words').news("
        "require('tideate.inbox').known(vim.fn.getcwd()).waiting))"
    )
    assert "edit\\x1b[31m" in ana.messages()
    forge(job.remote, run, "Mallory", kind="\x1b[31mworse")
    lines = listed(ana).splitlines()
    assert lines[0].startswith(f" ✗ origin  {run[:8]}  ")
    assert "the published question is invalid: kind" in lines[0]
    assert "\x1b" not in lines[0]
    ana.feed("<CR>")
    ana.wait_screen("the published question is invalid")
    assert ana.lua("return require('tideate').statusline()") == ""


def test_a_run_that_a_job_took_and_lost_is_shown_as_taken(ana: Editor, job: Job) -> None:
    run = job.leave(*EDIT)["execution_id"]
    opened(ana)
    accept_all(ana)
    hook = job.remote / "hooks" / "update"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\ncase $1 in refs/heads/tideate/*) echo protected >&2; exit 1;; esac\n")
    hook.chmod(0o755)
    job.fails(1, "protected", "resume", "--from", "origin", run, "--land", "branch")
    lines = listed(ana)
    assert "taken by Robot" in lines
    assert "answered by" not in lines
    ana.feed("<CR>")
    ana.wait_for(
        lambda: "just now; `a` continues the run here" in ana.messages(), "it is told to whom it went"
    )

"""Rollback of a run's saved edits in buffers of a real Neovim, in the buffer and its file."""

from __future__ import annotations

import asyncio
import queue
import threading
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

from tests.harness.model_server import ModelServer
from tests.harness.runs import accept_all, configure, result, start
from tests.workspace.project import BY_HAND, LONG, NAME, WANTED, TextFile, tree
from tideate_core.editor.frontend import EditorBuffers, EditorQuestions
from tideate_core.workspace import FileChange, RollbackResult, Workspace

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from pathlib import Path

    from tests.harness.editor import Editor

T = TypeVar("T")

ASK = """
local message, answer = ..., nil
package.loaded['tideate.client'] = { tell = function(_, params) answer = params end }
require('tideate.events').receive({ message })
package.loaded['tideate.client'] = nil
return answer
"""


class Host:
    """A workspace on the editor's buffers, with the messages of the host.

    It works in a thread, as the connection to the editor has its own loop.
    """

    def __init__(self, nvim: Editor, private: Path) -> None:
        self._nvim = nvim
        self._asked: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._asker = EditorQuestions(self._asked.put)
        self.private = private
        self.workspace = Workspace(nvim.cwd, buffers=EditorBuffers(self._asker), private=private)

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine of the workspace; answer its questions to the editor meanwhile."""
        loop: asyncio.AbstractEventLoop = asyncio.new_event_loop()
        task = loop.create_task(work)
        task.add_done_callback(lambda _: self._asked.put(None))

        def finish() -> None:
            loop.run_until_complete(asyncio.wait([task]))

        thread = threading.Thread(target=finish, daemon=True)
        thread.start()
        while (message := self._asked.get(timeout=60)) is not None:
            loop.call_soon_threadsafe(self._asker.answer, self._nvim.lua(ASK, message))
        thread.join(timeout=60)
        loop.close()
        return task.result()

    def run(self) -> None:
        """Let a run change the file as an agent's answer would."""
        (change,) = self.do(self.workspace.attach([FileChange(NAME, "modify", LONG, WANTED)]))
        assert change.buffer is not None
        self.apply(change)

    def apply(self, change: FileChange) -> None:
        self.do(self.workspace.apply([change], execution_id="run"))

    def save(self, *paths: str) -> list[str]:
        done = self.do(self.workspace.save(paths))
        assert done.unsaved == {}
        return list(done.saved)

    def unsaved(self, *paths: str) -> dict[str, str]:
        """Save files; return the reasons for unsaved files."""
        return self.do(self.workspace.save(paths)).unsaved

    def take_back(self) -> RollbackResult:
        return self.do(self.workspace.rollback_best_effort("run"))


@pytest.fixture
def long(editor: Editor) -> TextFile:
    file = TextFile(editor.cwd / NAME)
    file.path.parent.mkdir()
    file.write(LONG + "\n")
    return file


@pytest.fixture
def number(editor: Editor, long: TextFile) -> int:
    return editor.edit(long.path)


@pytest.fixture
def host(editor: Editor, number: int, tmp_path: Path) -> Host:
    assert number
    return Host(editor, tmp_path / "private")


def text(nvim: Editor, number: int) -> str:
    return "\n".join(nvim.lines(number))


def types(nvim: Editor, number: int, old: str, new: str) -> None:
    """Replace a line as a person does, with an undo block of its own."""
    nvim.command(f"buffer {number}")
    nvim.feed(f"/^{old}$<CR>cc{new}<Esc>")


def modified(nvim: Editor, number: int) -> bool:
    return bool(nvim.lua("return vim.bo[...].modified", number))


def by_hand(nvim: Editor, number: int) -> None:
    types(nvim, number, "line 10", "mine")
    types(nvim, number, "line 20", "line 20<CR>mine, too")


def test_saving_writes_exactly_what_the_buffer_has_and_nothing_of_other_files(
    editor: Editor, host: Host, number: int, long: TextFile
) -> None:
    editor.command("autocmd BufWritePre * call setline(1, 'formatted')")
    other = editor.edit("other.txt", "other\n")
    types(editor, other, "other", "typed")
    host.run()
    assert host.do(host.workspace.unsaved_files()) == ["other.txt", NAME]
    assert host.save(NAME) == [NAME]
    assert (long.text, text(editor, number)) == (WANTED + "\n", WANTED)
    assert host.do(host.workspace.unsaved_files()) == ["other.txt"]
    assert (editor.cwd / "other.txt").read_text() == "other\n"
    assert host.save(NAME) == []


@pytest.mark.parametrize(("keys", "mode"), [("ix", "i"), ("v", "v"), (":echo 1", "c"), ("R", "R")])
def test_saving_does_not_disturb_whatever_mode_the_person_is_in(
    editor: Editor, host: Host, long: TextFile, keys: str, mode: str
) -> None:
    host.run()
    editor.edit("other.txt", "other\n")
    editor.feed(keys)
    host.save(NAME)
    assert (long.text, editor.mode()) == (WANTED + "\n", mode)
    assert not editor.blocked()


def test_a_file_that_changed_under_its_buffer_is_not_overwritten(
    editor: Editor, host: Host, number: int, long: TextFile
) -> None:
    host.run()
    long.write("somebody else's, and longer\n" * 30)
    editor.lua("vim.uv.fs_utime(..., 1, 1)", str(long.path))
    assert host.unsaved(NAME) == {NAME: "its file changed on disk since it was read"}
    assert long.text == "somebody else's, and longer\n" * 30
    assert (modified(editor, number), editor.blocked()) == (True, False)


@pytest.mark.parametrize("of", ["buffer", "file"])
def test_a_buffer_that_is_read_only_is_not_saved(
    editor: Editor, host: Host, number: int, long: TextFile, of: str
) -> None:
    host.run()
    if of == "buffer":
        editor.lua("vim.bo[...].readonly = true", number)
    else:
        long.path.chmod(0o444)
    assert host.unsaved(NAME) == {NAME: "it is read-only"}
    assert long.text == LONG + "\n"


@pytest.mark.parametrize("data", [LONG, LONG + "\n", "\ufeff" + LONG.replace("\n", "\r\n")])
def test_buffer_and_file_go_back_byte_for_byte_in_one_undo_block(
    editor: Editor, tmp_path: Path, data: str
) -> None:
    number = editor.edit(NAME, data)
    host = Host(editor, tmp_path / "private")
    before = tree(editor.cwd)
    host.run()
    host.save(NAME)
    assert tree(editor.cwd) != before
    assert host.take_back() == RollbackResult([NAME], [], [])
    assert tree(editor.cwd) == before
    assert (text(editor, number), modified(editor, number)) == (LONG, False)
    editor.command(f"buffer {number} | checktime")
    assert not editor.blocked()
    editor.command("undo")
    assert text(editor, number) == WANTED


@pytest.mark.parametrize("saved_by_hand", [True, False])
def test_what_a_person_typed_since_stays_and_can_be_undone_by_itself(
    editor: Editor, host: Host, number: int, long: TextFile, saved_by_hand: bool
) -> None:
    host.run()
    host.save(NAME)
    by_hand(editor, number)
    if saved_by_hand:
        editor.command("write")
    assert host.take_back() == RollbackResult([], [NAME], [])
    assert (text(editor, number), long.text) == (BY_HAND[:-1], BY_HAND)
    assert not modified(editor, number)
    assert host.take_back() == RollbackResult([], [NAME], [])
    editor.command("undo")  # of what was taken back
    editor.command("undo")  # of the last that was typed
    assert "mine, too" not in text(editor, number)
    assert "mine" in editor.lines(number)


def test_a_file_written_on_disk_is_loaded_again_unless_something_was_typed(
    editor: Editor, host: Host, number: int, long: TextFile
) -> None:
    editor.command("bwipeout")
    host.apply(FileChange(NAME, "modify", LONG, WANTED))
    number = editor.edit(long.path)
    by_hand(editor, number)
    assert host.take_back() == RollbackResult([], [NAME], [])
    assert (text(editor, number), long.text) == (BY_HAND[:-1], BY_HAND)


def test_a_moved_and_saved_buffer_goes_back_under_its_old_name(
    editor: Editor, host: Host, number: int, long: TextFile
) -> None:
    before = tree(editor.cwd)
    move = FileChange(NAME, "move", LONG, WANTED, move_to="lib/long.py")
    host.apply(move)
    assert text(editor, number) == WANTED
    assert host.save("lib/long.py") == ["lib/long.py"]
    assert host.take_back().left == []
    assert tree(editor.cwd) == before
    assert editor.lua("return vim.api.nvim_buf_get_name(...)", number) == str(long.path)
    assert (text(editor, number), modified(editor, number)) == (LONG, False)
    editor.command(f"buffer {number} | write")


@pytest.mark.slow
def test_a_rollback_in_the_editor_goes_through_the_host(editor: Editor, long: TextFile) -> None:
    editor.write("pyproject.toml")
    plan = {"files": [{"action": "modify", "path": NAME, "why": "shorter"}]}
    with ModelServer() as server:
        server.answers("Which files have to be", plan)
        server.answers(f"Change {NAME}", f"```python\n{WANTED}\n```")
        configure(editor, server)
        number = editor.edit(long.path)
        accept_all(editor)
        identity = start(editor, "multi_file", "make it shorter")
        assert result(editor, 40)["ok"]
        editor.lua("vim.api.nvim_buf_call(..., vim.cmd.write)", number)
        assert long.text == WANTED + "\n"
        editor.command(f"sbuffer {number}")
        by_hand(editor, number)
        editor.lua("require('tideate').rollback(..., function(r) _G.back = r end)", identity)
        back: dict[str, Any] = editor.wait("_G.back")
    assert back["ok"], back
    assert (back["files"], back["merged"]) == ([NAME], [NAME])
    assert (text(editor, number), long.text) == (BY_HAND[:-1], BY_HAND)

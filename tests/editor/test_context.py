"""Editor context of a run."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any

from tests.harness.editor import REPOSITORY, find_nvim
from tests.harness.work import lua_work_of
from tideate_core.workflows import RunContext
from tideate_core.workflows.run_context import Cursor

if TYPE_CHECKING:
    from pathlib import Path

    from tests.harness.editor import Editor

CAPTURE = "return require('tideate.context').capture(...)"


def capture(editor: Editor, *args: Any) -> RunContext:
    """Return the context as parsed by Python, which refuses unknown keys."""
    return RunContext.model_validate(editor.lua(CAPTURE, *args))


def test_a_files_buffer_is_taken_with_its_cursor(editor: Editor) -> None:
    number = editor.edit("main.py", "one = 1\ntwo = 2\n")
    editor.nvim.api.win_set_cursor(0, [2, 3])
    context = capture(editor)
    assert context.cwd == str(editor.cwd)
    assert context.cursor is not None
    assert (context.cursor.line, context.cursor.column) == (2, 3)
    assert context.selection is None
    buffer = context.buffer
    assert buffer is not None
    assert buffer.path == str(editor.cwd / "main.py")
    assert buffer.text == "one = 1\ntwo = 2"
    assert buffer.filetype == "python"
    assert buffer.number == number
    assert buffer.tick == editor.nvim.api.buf_get_changedtick(number)
    assert buffer.modifiable
    assert not buffer.binary


def test_a_run_from_a_command_of_the_start_has_a_cursor(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text("one = 1\n")
    taken = "require('tideate.context').capture().cursor"
    cursor = "vim.api.nvim_win_get_cursor(0)"
    done = subprocess.run(
        [
            find_nvim(), "--clean", "--headless", "main.py",
            "--cmd", f"set rtp^={REPOSITORY}",
            "-c", f"lua io.stdout:write(vim.json.encode({{{cursor}, {taken}}}))",
            "-c", "qa!",
        ],
        cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    before, now = json.loads(done.stdout)
    assert before == [0, 0], "there is no cursor yet"
    assert Cursor.model_validate(now) == Cursor(line=1, column=0)


def test_unsaved_text_is_what_counts(editor: Editor) -> None:
    editor.edit("main.py", "old\n")
    editor.set_lines(["new"])
    assert capture(editor).buffer.text == "new"  # type: ignore[union-attr]


def test_the_visual_selection_is_whole_lines(editor: Editor) -> None:
    editor.set_lines(["1", "2", "3", "4"])
    for keys in ("jVj", "jvj", "j<C-v>j", "jjVk"):
        editor.feed(f"<Esc>gg{keys}")
        selection = capture(editor).selection
        assert selection is not None
        assert (selection.start, selection.end) == (2, 3)


def test_what_is_no_file_has_no_path(editor: Editor) -> None:
    for make in (
        "",
        "vim.api.nvim_buf_set_name(0, 'oil:///tmp/x')",
        "vim.cmd.enew() vim.api.nvim_buf_set_name(0, '/tmp/x') vim.bo.buftype = 'nofile'",
        "vim.cmd.help()",
    ):
        editor.lua(make)
        assert capture(editor).buffer.path == ""  # type: ignore[union-attr]


def test_a_buffer_that_is_not_to_be_changed_says_so(editor: Editor) -> None:
    for option in ("modifiable", "readonly"):
        editor.lua(f"vim.cmd.enew() vim.bo.{option} = not vim.bo.{option}")
        assert not capture(editor).buffer.modifiable  # type: ignore[union-attr]


TEXTS = [b"plain\n", "naïve 日本 😀\n".encode(), "\U0010ffff\ud7ff\ue000\u0800\u07ff\n".encode()]
BINARIES = [
    b"a\0b\n",
    b"caf\xe9\n",
    b"\xc0\xaf\n",
    b"\xed\xa0\x80\n",
    b"\xf5\x80\x80\x80\n",
    b"cut \xe2\x82\n",
    b"\xf0\x8f\xbf\xbf\n",
]


def test_binary_is_what_is_no_utf8_text(editor: Editor) -> None:
    for number, content in enumerate([*TEXTS, *BINARIES]):
        path = editor.cwd / f"{number}.bin"
        path.write_bytes(content)
        editor.command(f"edit ++enc=utf-8 ++bad=keep {path}")
        buffer = capture(editor).buffer
        assert buffer is not None
        binary = content in BINARIES
        assert (buffer.binary, buffer.text) == (binary, "" if binary else content.decode().removesuffix("\n"))


def test_a_latin1_file_is_text_to_neovim(editor: Editor) -> None:
    editor.edit("latin.txt", b"caf\xe9\n")
    buffer = capture(editor).buffer
    assert buffer is not None
    assert not buffer.binary
    assert buffer.text == "café"


def test_a_dos_file_has_no_carriage_returns_in_its_text(editor: Editor) -> None:
    editor.edit("dos.txt", b"one\r\ntwo\r\n")
    assert capture(editor).buffer.text == "one\ntwo"  # type: ignore[union-attr]


def test_the_work_of_taking_a_text_grows_with_its_lines(editor: Editor) -> None:
    def capture_lines(count: int) -> int:
        editor.lua(
            "local l = {} for i = 1, ... do l[i] = ('word '):rep(8) .. 'é' end "
            "vim.api.nvim_buf_set_lines(0, 0, -1, false, l)",
            count,
        )
        return lua_work_of(editor, "require('tideate.context').capture()")

    capture_lines(10)  # what is loaded once
    assert capture_lines(20_000) <= 5 * capture_lines(5_000)


def test_from_a_window_of_ours_the_persons_window_is_meant(editor: Editor) -> None:
    buf = editor.edit("a.txt", "one\ntwo\n")
    editor.lua(
        """
        local ours = vim.api.nvim_create_buf(false, true)
        vim.api.nvim_buf_set_name(ours, 'tideate://ask/1')
        vim.api.nvim_open_win(ours, true, { relative = 'editor', row = 1, col = 1, width = 20, height = 3 })
        """
    )
    context = editor.lua("return require('tideate.context').capture()")
    assert context["buffer"]["number"] == buf
    assert context["buffer"]["text"] == "one\ntwo"
    here = editor.lua("return require('tideate.context').capture({ 1, 1 })")
    assert here["buffer"]["number"] != buf

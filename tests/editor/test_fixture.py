"""Editor fixture of the other tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.harness.editor import Editor

if TYPE_CHECKING:
    from pathlib import Path


def test_an_editor_sees_the_plugin_and_nothing_of_the_person(editor: Editor) -> None:
    assert editor.lua("return vim.fn.exists(':Workflow')") == 2
    assert editor.lua("return vim.fn.stdpath('config')").startswith(str(editor.home))
    assert editor.lua("return vim.env.OPENAI_API_KEY") is None


def test_keys_are_handled_when_feed_returns(editor: Editor) -> None:
    editor.feed("ione<CR>two<Esc>")
    assert editor.lines() == ["one", "two"]


def test_waiting_for_a_key_does_not_hang_the_test(screen_editor: Editor) -> None:
    screen_editor.feed(":echo 'a' | echo 'b'<CR>")
    screen_editor.wait_screen("Press ENTER")
    assert screen_editor.blocked()
    screen_editor.feed("<CR>")
    assert not screen_editor.blocked()


def test_the_screen_is_never_older_than_what_the_test_already_knows(screen_editor: Editor) -> None:
    screen_editor.set_lines(["asked", "old"])
    screen_editor.wait_screen("asked")
    for number in range(200):
        screen_editor.set_lines(["asked", f"number {number}"])
        assert f"number {number}" in screen_editor.wait_screen("asked")
        assert f"number {number}" in screen_editor.screen()


def test_a_wait_that_fails_says_what_for(editor: Editor) -> None:
    with pytest.raises(AssertionError, match=r"vim\.g\.never"):
        editor.wait("vim.g.never", timeout=0.05)


@pytest.mark.slow
def test_a_child_that_outlives_neovim_fails_the_test(tmp_path: Path) -> None:
    editor = Editor(tmp_path)
    editor.lua("vim.fn.jobstart({'setsid', 'sh', '-c', 'trap \"\" TERM HUP; sleep 600'}, {detach = true})")
    editor.wait_for(editor.children, "a child")
    with pytest.raises(AssertionError, match="sleep 600"):
        editor.close(within=1)
    assert editor.brood.gone(within=60)

"""Editor fixture of the other tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.harness.editor import Editor

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.slow
def test_a_child_that_outlives_neovim_fails_the_test(tmp_path: Path) -> None:
    editor = Editor(tmp_path)
    editor.lua("vim.fn.jobstart({'setsid', 'sh', '-c', 'trap \"\" TERM HUP; sleep 600'}, {detach = true})")
    editor.wait_for(editor.children, "a child")
    with pytest.raises(AssertionError, match="sleep 600"):
        editor.close(within=1)
    assert editor.brood.gone(within=60)

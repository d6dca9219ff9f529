"""File modes of the private state after a run and a review, for each umask."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from tests.harness.modes import UMASKS, umask, wider_than_private
from tests.harness.runs import configure, result, start

if TYPE_CHECKING:
    from tests.harness.editor import EditorFactory
    from tests.harness.model_server import ModelServer

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("mask", UMASKS, ids=oct)
def test_all_of_the_state_is_the_persons_alone(
    start_editor: EditorFactory, server: ModelServer, mask: int
) -> None:
    with umask(mask):
        editor = start_editor(ui=(100, 30), env={"TIDEATE_PYTHON": sys.executable})
    configure(editor, server)
    server.answers("what must not change", "Nothing.")
    server.answers("in one fenced block", "```\ntwo\n```")
    editor.edit("a.txt", "one\n")
    start(editor, "refactor", "count", require_confirmation=False)
    editor.wait("vim.wo.winbar:find('1 open', 1, true)")
    editor.feed("ga")
    state = editor.home / "state" / "tideate"
    editor.wait_for(lambda: any(path.stat().st_size for path in state.rglob("*.jsonl")), "the draft")
    assert wider_than_private(state) == []
    editor.lua("require('tideate').cancel()")
    assert result(editor)["cancelled"]
    assert wider_than_private(state) == []
    assert {"host.log", "tideate.db"} <= {path.name for path in state.iterdir()}

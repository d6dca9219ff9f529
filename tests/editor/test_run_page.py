"""Page of a run in the editor: use of models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.harness.editor import Editor

SHOW = """
local page = require('tideate.ui.pages.run_page.text').show(...)
return vim.tbl_map(function(line)
  return table.concat(vim.tbl_map(function(chunk) return chunk[1] end, line))
end, page.lines)
"""


def page(editor: Editor, usage: dict[str, Any], **more: Any) -> str:
    run = {
        "execution_id": "0" * 32, "workflow": "ask", "state": "completed", "started_at": 0, "prompt": "hi",
        "completed_steps": 1, "failed_steps": 0, "total_steps": 1, "files": [], "usage": usage, **more,
    }  # fmt: skip
    result = {"run": run, "steps": [], "checkpoints": 0, "events": [], "gist": {}}
    return "\n".join(editor.lua(SHOW, result))


@pytest.mark.parametrize(
    ("usage", "words"),
    [
        (
            {"input_tokens": 12_300, "output_tokens": 1_200, "cached_tokens": 9_840, "cost": 0.04},
            "12.3k tokens in (80 % cached), 1.2k out, $0.04",
        ),
        ({"input_tokens": 2_000_000, "output_tokens": 7, "cost": 0.0004}, "2M tokens in, 7 out, $0.0004"),
    ],
)
def test_tokens_their_cached_share_and_cost_are_shown(
    editor: Editor, usage: dict[str, Any], words: str
) -> None:
    assert f" models    {words}" in page(editor, usage)


def test_a_run_of_a_comparison_names_its_models(editor: Editor) -> None:
    usage = {"input_tokens": 0, "output_tokens": 0}
    assert " compared  a, b" in page(editor, usage, compared=["a", "b"])
    assert "compared" not in page(editor, usage)


def test_a_run_that_asked_no_model_shows_none(editor: Editor) -> None:
    assert "tokens" not in page(editor, {"input_tokens": 0, "output_tokens": 0})

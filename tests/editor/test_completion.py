"""Completion source of mentions for blink.cmp and nvim-cmp, called as documented."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.harness.editor import Editor

BLINK = """
local line, column, row = ...
local got
local context = { line = line, cursor = { row or 1, column } }
require('tideate.completion').new({}, {}):get_completions(context, function(response)
  got = response
end)
return got
"""
CMP = """
local before = ...
local got
local source = require('tideate.completion').new()
local offset = vim.regex(source:get_keyword_pattern() .. '$'):match_str(before)
source:complete({
  offset = (offset or #before) + 1,
  context = { cursor_before_line = before, cursor = { row = 1, col = #before + 1 } },
}, function(response) got = response end)
return { got, offset }
"""


@pytest.fixture
def project(editor: Editor) -> Editor:
    """An editor in a project with files and one mention."""
    (editor.cwd / ".git").mkdir()
    editor.edit("src/main.py", "def first():\n    return 1\n")
    editor.lua(
        "require('tideate.mentions').set_host_mentions(...)", {"root": str(editor.cwd), "mentions": []}
    )
    return editor


def labels(response: dict[str, Any]) -> list[str]:
    return [item["label"] for item in response["items"]]


def test_blink_replaces_the_whole_mention(project: Editor) -> None:
    line = "ß see @fi and more"
    response = project.lua(BLINK, line, len("ß see @fi".encode()))
    assert labels(response) == ["@file"]
    (item,) = response["items"]
    assert item["textEdit"] == {
        "newText": "@file",
        "range": {"start": {"line": 0, "character": 7}, "end": {"line": 0, "character": 10}},
    }
    assert (item["kind"], item["labelDetails"]) == (18, {"description": "mention"})
    assert response["is_incomplete_forward"] is True
    assert labels(project.lua(BLINK, "@file:src/", 10)) == ["@file:src/main.py"]


def test_cmp_replaces_the_whole_mention(project: Editor) -> None:
    response, offset = project.lua(CMP, "see @file:src/m")
    assert labels(response) == ["@file:src/main.py"]
    assert offset == 4, "its keyword begins with the @"
    assert response["isIncomplete"] is True
    assert project.lua("return require('tideate.completion').new():get_trigger_characters()")[0] == "@"


def test_code_has_no_candidates_without_a_mention(project: Editor) -> None:
    assert labels(project.lua(BLINK, "first", 5)) == []
    assert labels(project.lua(CMP, "mail@fi")[0]) == []


def test_the_prompt_has_workflows_files_and_symbols_too(project: Editor) -> None:
    project.command("Workflow ask")
    assert project.lua("return vim.bo.filetype") == "tideate_prompt"
    assert "/refactor" in labels(project.lua(BLINK, "/ref", 4))
    assert labels(project.lua(BLINK, "/ref", 4, 2)) == [], "only a prompt's first word names a workflow"
    found = project.lua(BLINK, "look at fir", 11)["items"]
    assert [(item["label"], item["labelDetails"]["description"]) for item in found] == [("first", "def")]
    assert labels(project.lua(CMP, "look at src/m")[0]) == ["src/main.py"]
    assert "@selection" in labels(project.lua(CMP, "why @")[0])

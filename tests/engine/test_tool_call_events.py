"""One-line summaries of tool calls: short, even for unusual arguments."""

from __future__ import annotations

from typing import Any

import pytest

from tideate_core.engine.tool_call_events import LONGEST, summarize_call


@pytest.mark.parametrize(
    ("tool", "arguments", "line"),
    [
        ("read_file", {"path": "src/a.py"}, "read_file src/a.py"),
        ("read_file", {"path": "src/a.py", "first": 10, "last": 40}, "read_file src/a.py 10-40"),
        ("read_file", {"path": "src/a.py", "first": 1, "last": 40}, "read_file src/a.py 1-40"),
        ("read_file", {"path": "src/a.py", "first": 10}, "read_file src/a.py 10-"),
        ("read_file", {"path": "a.py", "ranges": [[1, 9], [20, 30]]}, "read_file a.py 1-9,20-30"),
        ("read_file", {"path": "a.py", "ranges": [[1, 2]] * 5}, "read_file a.py 1-2,1-2,1-2 and 2 more"),
        ("lsp_hover", {"path": "a.py", "line": 7, "symbol": "f"}, "lsp_hover a.py line 7 f"),
        ("search", {"pattern": "def total", "glob": "*.py"}, 'search "def total" in *.py'),
        ("search", {"pattern": "x", "literal": True, "context": 3}, 'search "x" literal context=3'),
        ("find_files", {"glob": "*.py"}, "find_files in *.py"),
        ("find_symbol", {"name": "total", "references": False}, "find_symbol total"),
        ("edit_file", {"path": "a.py", "edits": [{}, {}]}, "edit_file a.py (2 edits)"),
        ("edit_file", {"path": "a.py", "edits": [{}]}, "edit_file a.py (1 edit)"),
        ("write_file", {"path": "a.py", "text": "x" * 5000}, "write_file a.py (5000 characters)"),
        ("move_file", {"path": "a.py", "to": "b.py"}, "move_file a.py → b.py"),
        ("git_show", {"revision": "HEAD~1", "path": "a.py"}, "git_show a.py HEAD~1"),
        ("search", {"pattern": "a\nb"}, 'search "a b"'),
        ("git_status", {}, "git_status"),
    ],
)
def test_a_call_is_one_line_of_few_words(tool: str, arguments: dict[str, Any], line: str) -> None:
    assert summarize_call("", tool, arguments) == line


def test_a_tool_of_a_server_has_its_name() -> None:
    assert summarize_call("bare", "add", {"text": 7, "flag": True}) == "bare/add text=7 flag"


def test_what_a_model_gave_wrongly_is_shown_and_kept_short() -> None:
    wrong = {"path": ["a", "b"], "first": {"x": 1}, "edits": "all\nof it", "k" * 500: "v" * 5000}
    line = summarize_call("", "edit_file", wrong)
    assert line.startswith('edit_file ["a", "b"] {"x": 1}- edits=all of it kkkk')
    assert len(line) == LONGEST
    assert "\n" not in line

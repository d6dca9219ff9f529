from __future__ import annotations

import pytest

from tideate_core.errors import ConfigError
from tideate_core.workflows.tool_names import NamedTool, read_tool_name

OWN = ("look", "files", "git", "edits", "read_file")
SERVERS = ("git", "filesystem", "team")


@pytest.mark.parametrize(
    ("name", "tool"),
    [
        ("files", NamedTool("files")),
        ("read_file", NamedTool("read_file")),
        ("own:git", NamedTool("git")),
        ("git/*", NamedTool("*", "git")),
        ("git/git_log", NamedTool("git_log", "git")),
        ("team", NamedTool("*", "team")),
        ("files/read", NamedTool("read", "files")),
        ("elsewhere", NamedTool("*", "elsewhere")),
    ],
)
def test_a_name_says_whose_tool_is_meant(name: str, tool: NamedTool) -> None:
    assert read_tool_name(name, OWN, SERVERS) == tool


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("git", "'git' is both a tool of tideate and an MCP server; write `own:git` .* or `git/[*]`"),
        ("raed_file", "is called 'raed_file'; did you mean 'read_file'"),
        ("own:team", "of tideate is called 'team'"),
    ],
)
def test_a_name_that_is_two_or_none_says_how_to_write_it(name: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        read_tool_name(name, OWN, SERVERS)


def test_a_group_is_meant_where_no_server_has_its_name() -> None:
    assert read_tool_name("git", OWN, ()) == NamedTool("git")

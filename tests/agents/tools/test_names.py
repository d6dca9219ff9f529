from __future__ import annotations

from tideate_core.agents.tools.names import named_tools, own_tool_names
from tideate_core.agents.tools.table import GROUPS


def names(*wanted: str) -> list[str]:
    return [tool.name for tool in named_tools(wanted, ["git"]).own]


def test_all_groups_and_tools_have_names() -> None:
    assert {"look", *GROUPS, "read_file", "edit_file", "lsp_rename"} <= set(own_tool_names())


def test_look_is_all_that_only_reads() -> None:
    tools = named_tools(["look"], []).own
    assert {"read_file", "search", "find_symbol", "git_log", "diagnostics"} <= {one.name for one in tools}
    assert {one.effect for one in tools} == {"reads"}


def test_tools_come_once_and_in_the_order_of_the_table() -> None:
    assert names("edit_file", "files", "read_file") == ["read_file", "list_files", "find_files", "edit_file"]
    assert names("own:git") == ["git_status", "git_diff", "git_log", "git_show", "git_blame"]


def test_those_of_servers_come_once_with_their_servers() -> None:
    assert named_tools(["git/*", "team", "git/git_log", "team"], ["git", "team"]).of_servers == (
        "git/*",
        "team/*",
        "git/git_log",
    )

"""The table of tools: groups, names, and valid schemas."""

from __future__ import annotations

import json
import re

import pytest
from jsonschema import Draft202012Validator

from tideate_core.agents.tools.table import GROUPS, OF_EDITOR, named_tools, own_tool_names, tools_named
from tideate_core.errors import InvalidInput, ToolError


def names(*wanted: str, editor: bool = True) -> list[str]:
    return [tool.name for tool in tools_named(wanted, editor=editor)]


def test_tools_are_named_by_groups_and_one_by_one_and_come_once() -> None:
    assert names("files") == ["read_file", "list_files", "find_files"]
    assert names("edits") == ["edit_file", "write_file", "move_file", "delete_file"]
    assert names("search", "read_file", "files", "search") == [
        "read_file",
        "list_files",
        "find_files",
        "search",
    ]
    assert names() == []


def test_an_unknown_name_is_told_with_the_nearest() -> None:
    with pytest.raises(InvalidInput, match="'read_fiel'; did you mean 'read_file'"):
        names("read_fiel")
    with pytest.raises(InvalidInput, match="'serach'; did you mean 'search'"):
        names("serach")


def test_what_needs_an_editor_is_offered_only_there() -> None:
    assert not any(tool.needs_editor for tool in tools_named(GROUPS, editor=False))
    assert all(tool.needs_editor for tool in tools_named([OF_EDITOR], editor=True))
    assert names(OF_EDITOR, "read_file", editor=False) == ["read_file"]


@pytest.mark.parametrize("tool", tools_named(GROUPS, editor=True), ids=lambda tool: tool.name)
def test_every_tool_is_described_and_its_schema_is_one(tool) -> None:  # type: ignore[no-untyped-def]
    assert re.fullmatch(r"[a-z][a-z_]{1,40}", tool.name)
    assert 10 < len(tool.description) < 500
    Draft202012Validator.check_schema(tool.schema)
    assert not re.search("additionalProperties|maxLength|null", json.dumps(tool.schema))
    assert len(json.dumps(tool.schema)) < 2_000
    with pytest.raises(ToolError, match="nothing_like_it: extra inputs"):
        tool.parse({"nothing_like_it": 1})


# as files name them


def meant(*wanted: str) -> list[str]:
    return [tool.name for tool in named_tools(wanted, ["git"]).own]


def test_all_groups_and_tools_have_names() -> None:
    assert {"look", *GROUPS, "read_file", "edit_file", "lsp_rename"} <= set(own_tool_names())


def test_look_is_all_that_only_reads() -> None:
    tools = named_tools(["look"], []).own
    assert {"read_file", "search", "find_symbol", "git_log", "diagnostics"} <= {one.name for one in tools}
    assert {one.effect for one in tools} == {"reads"}


def test_tools_come_once_and_in_the_order_of_the_table() -> None:
    assert meant("edit_file", "files", "read_file") == ["read_file", "list_files", "find_files", "edit_file"]
    assert meant("own:git") == ["git_status", "git_diff", "git_log", "git_show", "git_blame"]


def test_those_of_servers_come_once_with_their_servers() -> None:
    assert named_tools(["git/*", "team", "git/git_log", "team"], ["git", "team"]).of_servers == (
        "git/*",
        "team/*",
        "git/git_log",
    )


def test_a_number_above_the_largest_is_taken_as_that() -> None:
    (search,) = (tool for tool in tools_named(["search"], editor=False) if tool.name == "search")
    assert search.parse({"pattern": "a", "context": 30, "limit": 5000}).context == 20
    with pytest.raises(ToolError, match="search: context: input should be greater"):
        search.parse({"pattern": "a", "context": -1, "limit": 5000})

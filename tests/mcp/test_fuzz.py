"""Hostile values in every string parameter of every tool of every server.

`make fuzz` (TIDEATE_HOSTILE=all) sets each parameter to all of them; else each gets a share, and the
parameters of a server have all of them together.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.mcp.conftest import COMMAND
from tests.mcp.hostile import LINKS, OPTIONS, SECRET, WAYS_OUT, Traced, TrappedRoot, known, spots, values
from tideate_core.mcp.servers.registry import SERVERS

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.slow

ALL = os.environ.get("TIDEATE_HOSTILE") == "all"
SHARES = {"git": 16, "filesystem": 4, "test": 6, "build": 1}
"""Of how many values a parameter gets one, as far as time goes."""
AT_ONCE = 16
"""How many calls are under way at once."""
LARGEST = 100_000
"""Characters of an answer, whatever was asked."""
CALLS: dict[str, dict[str, Any]] = {
    "git_commit": {"agent": "coder", "scope": "core", "description": "try it"},
    "git_add": {"files": ["a.txt"]},
    "git_create_branch": {"branch_name": "more"},
    "git_checkout": {"branch_name": "other"},
    "read_text_file": {"path": "a.txt"},
    "read_media_file": {"path": "a.txt"},
    "read_multiple_files": {"paths": ["a.txt"]},
    "write_file": {"path": "b.txt", "content": "three\n"},
    "edit_file": {"path": "a.txt", "edits": [{"old_text": "one", "new_text": "one"}]},
    "create_directory": {"path": "made"},
    "list_directory": {"path": "."},
    "list_directory_with_sizes": {"path": "."},
    "directory_tree": {"path": "."},
    "move_file": {"source": "b.txt", "destination": "c.txt"},
    "search_files": {"path": ".", "pattern": "a"},
    "search_text": {"text": "one"},
    "get_file_info": {"path": "a.txt"},
}
"""Arguments with which a tool does something, as far as it needs some."""
HARMLESS: dict[str, tuple[str, dict[str, Any]]] = {
    "git": ("git_status", {}),
    "filesystem": ("list_directory", {"path": "."}),
    "test": ("test_list", {}),
    "build": ("build_detect", {}),
}


PLACES = {"repo_path", "path", "paths", "files", "source", "destination"}
"""Arguments that name a place."""
JUNK = [
    b"not json",
    b"[" * 50_000,
    b"[]",
    b"null",
    b"",
    b"x" * 5_000_000,
    b'{"jsonrpc": "2.0"}',
    b"\xff\xfe",
    b'{"jsonrpc": "2.0", "id": 901, "method": "tools/call", "params": {"name": "a", "arguments": 1}}',
    b'{"jsonrpc": "2.0", "id": 902, "method": "tools/call"}',
    b'{"jsonrpc": "2.0", "id": {}, "method": "ping"}',
    b'{"jsonrpc": "2.0", "id": 903, "method": "no/such/method"}',
]


@pytest.fixture(params=SERVERS)
def name(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


@pytest.fixture
def place(tmp_path: Path) -> TrappedRoot:
    return TrappedRoot(tmp_path)


@pytest.fixture
def server(name: str, place: TrappedRoot) -> Iterator[Traced]:
    if name in ("build", "test"):
        place.trust()
    traced = Traced([*COMMAND, name, "--root", str(place.root)], place.environment(), place)
    yield traced
    traced.close()


def hostile_calls(
    name: str, tools: list[dict[str, Any]], place: TrappedRoot
) -> Iterator[tuple[str, dict[str, Any], bool]]:
    """Yield the calls: tool, arguments, and whether they must be refused."""
    every, out = values(place), known(place, WAYS_OUT)
    share = 1 if ALL else SHARES[name]
    number = 0
    for tool in tools:
        for argument, put in spots(tool["inputSchema"]):
            some = dict.fromkeys([*out, *known(place, LINKS + OPTIONS), *every[number % share :: share]])
            for value in some:
                given = {**CALLS.get(tool["name"], {}), argument: put(value)}
                yield tool["name"], given, argument in PLACES and value in out
            number += 1


def ask(server: Traced, calls: list[tuple[str, dict[str, Any], bool]], first: int) -> list[dict[str, Any]]:
    """Call tools concurrently; return the answers in order."""
    lines = [
        {
            "jsonrpc": "2.0",
            "id": first + at,
            "method": "tools/call",
            "params": {"name": tool, "arguments": given},
        }
        for at, (tool, given, _) in enumerate(calls)
    ]
    server.send("".join(json.dumps(line) + "\n" for line in lines).encode())
    answers = server.answers({first + at for at in range(len(calls))})
    return [answers[first + at] for at in range(len(calls))]


def test_there_are_enough_hostile_values(place: TrappedRoot) -> None:
    assert len(values(place)) >= 200


@pytest.mark.timeout(1800 if ALL else 120)
def test_no_hostile_value_leads_out_of_the_root(name: str, place: TrappedRoot, server: Traced) -> None:
    server.shake_hands()
    tools = server.request("tools/list")["result"]["tools"]
    calls = list(hostile_calls(name, tools, place))
    assert {tool for tool, *_ in calls} <= {tool["name"] for tool in tools}
    for start in range(0, len(calls), AT_ONCE):
        some = calls[start : start + AT_ONCE]
        for (tool, given, out), answer in zip(some, ask(server, some, 1_000 + start), strict=True):
            said = json.dumps(answer)
            about = f"{tool} {str(given)[:300]}"
            assert SECRET not in said, about
            assert len(said) < LARGEST, about
            assert "Traceback" not in said, about
            assert "result" in answer or "error" in answer, about
            assert not out or "error" in answer or answer["result"].get("isError"), about
        assert server.request("ping")["result"] == {}
    tool, given = HARMLESS[name]
    assert not server.call(tool, **given).get("isError")
    server.hang_up()
    assert server.ended() == 0
    assert b"Traceback" not in server.err
    place.unharmed()
    assert server.programs() <= {
        Path(sys.executable).resolve().name,
        Path(sys.executable).name,
        "git",
        "cargo",
    }
    if name == "test":
        assert "test" in place.called(), "the project's own command was started"
    strays = (str(place.outside), str(place.directory / "ws-evil"))
    opened = {os.path.realpath(place.root / path) for path in server.opened()}
    assert not [path for path in opened if path.startswith(strays)]


@pytest.mark.bulk
def test_after_a_bad_request_the_next_call_works(name: str, place: TrappedRoot, server: Traced) -> None:
    """CVE-2025-53365 and 53366."""
    server.shake_hands()
    for junk in JUNK:
        server.send(junk + b"\n")
    tool, given = HARMLESS[name]
    assert not server.call(tool, **given).get("isError")
    place.unharmed()


@pytest.mark.parametrize("name", ["git"], indirect=True)
def test_git_adds_nothing_from_outside(place: TrappedRoot, server: Traced) -> None:
    """CVE-2026-27735."""
    server.shake_hands()
    before = git_files(place.root)
    for path in (
        "../outside/secret",
        "../../x",
        str(place.outside / "secret"),
        "link/secret",
        "a/../../outside/secret",
    ):
        assert server.call("git_add", files=[path]).get("isError"), path
        assert server.call("git_add", files=["a.txt", path]).get("isError"), path
        assert server.call("git/commit", **CALLS["git_commit"], files=[path]).get("isError"), path
    assert git_files(place.root) == before, "neither index nor objects changed"


def git_files(root: Path) -> dict[str, bytes]:
    """Return the state of the repository."""
    return {
        str(path): path.read_bytes()
        for path in (root / ".git").rglob("*")
        if path.is_file() and "objects" in path.parts
    } | {"index": subprocess.run(["git", "ls-files", "-s"], cwd=root, check=True, capture_output=True).stdout}

"""Known vulnerabilities of such servers, tested on all servers concerned.

That a server command from a project's files needs trust (CVE-2026-30623) is the client's: tests/mcp/client.
That another host and site are refused (CVE-2025-66416 and 49596) is the transport's: tests/mcp/transport.
What a shell would read (CVE-2026-25546 and similar) is among the values of test_fuzz.
"""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from tests.mcp.conftest import COMMAND
from tests.mcp.hostile import SECRET, TrappedRoot, spots
from tests.mcp.served import Served
from tests.mcp.test_fuzz import CALLS, HARMLESS
from tideate_core.mcp.servers.registry import SERVERS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = [pytest.mark.bulk, pytest.mark.slow]

FREE_TEXT = {
    *(("git_commit", "description"), ("write_file", "content"), ("edit_file", "edits")),
    *(
        ("search_files", "pattern"),
        ("search_files", "exclude_patterns"),
        ("directory_tree", "exclude_patterns"),
    ),
    *(("test_run", "pattern"), ("search_text", "text")),
    *(("search_text", "pattern"), ("search_text", "exclude_patterns")),
}
"""Arguments that may say anything."""
PLACES = {"repo_path", "path", "paths", "files", "source", "destination"}
"""Arguments that name a place."""
WAYS_OUT = {
    "prefix": ("../ws-evil/secret", "{r}-evil/secret", "{r}-evil", "../ws-evil"),
    "link": (
        "linked.txt",
        "link/secret",
        "chain/secret",
        "inner/parent/secret",
        "dangling",
        "loop",
        "link/new",
    ),
    "parent": ("..", "../outside", "{o}", "{s}", "/", "{r}/..", "../../../../../../etc/passwd"),
}


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


@pytest.fixture(scope="module", params=SERVERS)
def name(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


@pytest.fixture(scope="module")
def place(name: str, tmp_path_factory: pytest.TempPathFactory) -> TrappedRoot:
    place = TrappedRoot(tmp_path_factory.mktemp("place"))
    if name in ("build", "test"):
        place.trust()
    return place


@pytest.fixture(scope="module")
def served(name: str, place: TrappedRoot) -> Iterator[Served]:
    served = Served([*COMMAND, name, "--root", str(place.root)], place.environment(), place.root)
    served.shake_hands()
    yield served
    served.close()


@pytest.fixture(autouse=True)
def unharmed(name: str, place: TrappedRoot, served: Served) -> Iterator[None]:
    """Check after each test that nothing outside was written, and that the next call works."""
    yield
    place.unharmed()
    tool, given = HARMLESS[name]
    assert not served.call(tool, **given).get("isError")


def calls_with(
    served: Served, value: str, wanted: Callable[[str, str], bool]
) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Set each matching argument to a value; yield tool, argument and result."""
    for tool in served.request("tools/list")["result"]["tools"]:
        for argument, put in spots(tool["inputSchema"]):
            if wanted(tool["name"], argument):
                given = {**CALLS.get(tool["name"], {}), argument: put(value)}
                yield tool["name"], argument, served.call(tool["name"], **given)


@pytest.mark.parametrize("way", WAYS_OUT)
def test_no_path_leads_out_of_the_root(place: TrappedRoot, served: Served, way: str) -> None:
    """CVE-2025-53110 (prefix), 53109 (links), 2025-68143 and 68145 (repositories elsewhere)."""
    for template in WAYS_OUT[way]:
        value = template.format(r=place.root, o=place.outside, s=place.outside / "secret")
        for tool, argument, result in calls_with(served, value, lambda _, argument: argument in PLACES):
            said = json.dumps(result)
            assert SECRET not in said, (tool, argument, value)
            # to name a link itself is allowed where it is not followed, as by git
            if way != "link":
                assert result.get("isError"), (tool, argument, value, said[:300])


def test_no_argument_is_taken_for_an_option(place: TrappedRoot, served: Served) -> None:
    """CVE-2025-68144 and similar. A file may have such a name; it is then a file, not an option."""
    for value in (f"--output={place.marker}", "-x", "--exec=touch"):
        for tool, argument, result in calls_with(served, value, lambda tool, a: (tool, a) not in FREE_TEXT):
            named = argument in PLACES and argument != "repo_path"
            assert named or result.get("isError"), (tool, argument, value, json.dumps(result)[:300])


def test_after_a_bad_request_the_next_call_works(served: Served) -> None:
    """CVE-2025-53365 and 53366."""
    for junk in JUNK:
        served.send(junk + b"\n")


@pytest.mark.parametrize("name", ["git"], indirect=True)
def test_git_adds_nothing_from_outside(place: TrappedRoot, served: Served) -> None:
    """CVE-2026-27735."""
    before = git_files(place.root)
    for path in (
        "../outside/secret",
        "../../x",
        str(place.outside / "secret"),
        "link/secret",
        "a/../../outside/secret",
    ):
        assert served.call("git_add", files=[path]).get("isError"), path
        assert served.call("git_add", files=["a.txt", path]).get("isError"), path
        assert served.call("git/commit", **CALLS["git_commit"], files=[path]).get("isError"), path
    assert git_files(place.root) == before, "neither index nor objects changed"


def git_files(root: Path) -> dict[str, bytes]:
    """Return the state of the repository."""
    return {
        str(path): path.read_bytes()
        for path in (root / ".git").rglob("*")
        if path.is_file() and "objects" in path.parts
    } | {"index": subprocess.run(["git", "ls-files", "-s"], cwd=root, check=True, capture_output=True).stdout}

"""Known vulnerabilities of such servers, tested on all servers concerned, over stdio and HTTP.

That a server command from a project's files needs trust (CVE-2026-30623) is the client's: tests/mcp/client.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import httpx2
import pytest

from tests.mcp.hostile import SECRET, TrappedRoot, spots
from tests.mcp.talk import JUNK, Talk
from tests.mcp.test_fuzz import CALLS, HARMLESS
from tideate_core.mcp.servers.registry import SERVERS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = pytest.mark.slow

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


@pytest.fixture(
    scope="module", params=[(name, over) for name in SERVERS for over in ("stdio", "http")], ids="-".join
)
def served(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, TrappedRoot, Talk]]:
    name, transport = request.param
    place = TrappedRoot(tmp_path_factory.mktemp("place"))
    if name in ("build", "test"):
        place.trust()
    talk = Talk(name, transport, place)
    yield name, place, talk
    talk.close()


def works(name: str, talk: Talk) -> None:
    tool, given = HARMLESS[name]
    assert not talk.call(tool, **given).get("isError"), "the next call works"


def calls_with(
    talk: Talk, value: str, wanted: Callable[[str, str], bool]
) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Set each matching argument to a value; yield tool, argument and result."""
    for tool in talk.tools():
        for argument, put in spots(tool["inputSchema"]):
            if wanted(tool["name"], argument):
                given = {**CALLS.get(tool["name"], {}), argument: put(value)}
                yield tool["name"], argument, talk.call(tool["name"], **given)


@pytest.mark.parametrize("way", WAYS_OUT)
def test_no_path_leads_out_of_the_root(served: tuple[str, TrappedRoot, Talk], way: str) -> None:
    """CVE-2025-53110 (prefix), 53109 (links), 2025-68143 and 68145 (repositories elsewhere)."""
    name, place, talk = served
    for template in WAYS_OUT[way]:
        value = template.format(r=place.root, o=place.outside, s=place.outside / "secret")
        for tool, argument, result in calls_with(talk, value, lambda _, argument: argument in PLACES):
            said = json.dumps(result)
            assert SECRET not in said, (tool, argument, value)
            # to name a link itself is allowed where it is not followed, as by git
            if way != "link":
                assert result.get("isError"), (tool, argument, value, said[:300])
    place.unharmed()
    works(name, talk)


def test_no_argument_is_taken_for_an_option(served: tuple[str, TrappedRoot, Talk]) -> None:
    """CVE-2025-68144 and similar. A file may have such a name; it is then a file, not an option."""
    name, place, talk = served
    for value in (f"--output={place.marker}", "-x", "--exec=touch"):
        for tool, argument, result in calls_with(talk, value, lambda tool, a: (tool, a) not in FREE_TEXT):
            named = argument in PLACES and argument != "repo_path"
            assert named or result.get("isError"), (tool, argument, value, json.dumps(result)[:300])
    place.unharmed()
    works(name, talk)


def test_after_a_bad_request_the_next_call_works(served: tuple[str, TrappedRoot, Talk]) -> None:
    """CVE-2025-53365 and 53366."""
    name, _place, talk = served
    for junk in JUNK:
        talk.send_junk(junk)
    if talk.url:
        for words in (b"GET", b"POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"):
            with socket.create_connection(("127.0.0.1", urlsplit(talk.url).port or 0)) as dropped:
                dropped.sendall(words)
    works(name, talk)


@pytest.mark.parametrize("served", [(name, "http") for name in SERVERS], indirect=True, ids="-".join)
def test_no_other_host_no_other_site_and_nobody_without_the_token(
    served: tuple[str, TrappedRoot, Talk],
) -> None:
    """CVE-2025-66416 and 49596."""
    name, _place, talk = served
    port = urlsplit(talk.url).port
    ping = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    for headers, status in [
        ({"Host": "evil.example"}, 421),
        ({"Host": f"127.0.0.1.evil.example:{port}"}, 421),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Authorization": ""}, 401),
        ({"Authorization": "Bearer wrong"}, 401),
    ]:
        assert talk.web.post(talk.url, json=ping, headers=headers).status_code == status, headers
    assert httpx2.post(talk.url, json=ping).status_code == 401
    works(name, talk)


def test_a_shell_sees_nothing_of_an_argument(served: tuple[str, TrappedRoot, Talk]) -> None:
    """CVE-2026-25546 and similar."""
    name, place, talk = served
    for template in ("; touch {p}", "$(touch {p})", "a`touch {p}`\ntouch {p}"):
        for tool, argument, result in calls_with(talk, template.format(p=place.marker), lambda *_: True):
            assert "Traceback" not in json.dumps(result), (tool, argument)
    place.unharmed()
    works(name, talk)


@pytest.mark.parametrize("served", [("git", "stdio"), ("git", "http")], indirect=True, ids="-".join)
def test_git_adds_nothing_from_outside(served: tuple[str, TrappedRoot, Talk]) -> None:
    """CVE-2026-27735."""
    _name, place, talk = served
    before = git_files(place.root)
    for path in (
        "../outside/secret",
        "../../x",
        str(place.outside / "secret"),
        "link/secret",
        "a/../../outside/secret",
    ):
        assert talk.call("git_add", files=[path]).get("isError"), path
        assert talk.call("git_add", files=["a.txt", path]).get("isError"), path
        assert talk.call("git/commit", **CALLS["git_commit"], files=[path]).get("isError"), path
    assert git_files(place.root) == before, "neither index nor objects changed"


def git_files(root: Path) -> dict[str, bytes]:
    """Return the state of the repository."""
    return {
        str(path): path.read_bytes()
        for path in (root / ".git").rglob("*")
        if path.is_file() and "objects" in path.parts
    } | {"index": subprocess.run(["git", "ls-files", "-s"], cwd=root, check=True, capture_output=True).stdout}


HOSTILE_CONFIG = """
[core]
    fsmonitor = {run}
    hooksPath = {hooks}
    pager = {run}
    editor = {run}
    sshCommand = {run}
    gitProxy = {run}
    askPass = {run}
    attributesFile = {attributes}
[commit]
    gpgSign = true
[gpg]
    program = {run}
[diff]
    external = {run}
[diff "x"]
    textconv = {run}
    command = {run}
[filter "x"]
    clean = {run}
    smudge = {run}
    process = {run}
    required = true
[merge "x"]
    driver = {run}
[credential]
    helper = !{run}
[alias]
    status = !{run}
    log = !{run}
[interactive]
    diffFilter = {run}
[pager]
    log = {run}
    diff = {run}
[uploadpack]
    packObjectsHook = {run}
"""


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_nothing_that_a_repository_brings_is_run(transport: str, tmp_path: Path) -> None:
    """Hostile `.git/config`, hooks and attributes in an untrusted project."""
    place = TrappedRoot(tmp_path)
    run = place.bin / "canary"
    run.write_text(f'#!/bin/sh\ntouch "{place.marker}"\nexec cat\n')
    run.chmod(0o755)
    hooks = place.root / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for hook in (
        "pre-commit",
        "commit-msg",
        "prepare-commit-msg",
        "post-commit",
        "post-checkout",
        "post-index-change",
        "reference-transaction",
        "fsmonitor-watchman",
        "pre-auto-gc",
    ):
        (hooks / hook).write_text(run.read_text())
        (hooks / hook).chmod(0o755)
    attributes = place.root / ".gitattributes"
    attributes.write_text("* filter=x diff=x merge=x\n")
    with (place.root / ".git" / "config").open("a") as config:
        config.write(HOSTILE_CONFIG.format(run=run, hooks=hooks, attributes=attributes))
    place.before = place.fingerprint()
    (place.root / "a.txt").write_text("one\nthree\n")
    os.utime(place.root / "a.txt", (1, 1))
    talk = Talk("git", transport, place)
    try:
        done = {}
        for tool in talk.tools():
            done[tool["name"]] = talk.call(tool["name"], **CALLS.get(tool["name"], {}))
        done["git_commit again"] = talk.call("git_commit", **CALLS["git_commit"], auto_stage=True)
        works("git", talk)
    finally:
        talk.close()
    place.unharmed()
    assert not done["git_status"].get("isError"), "it was looked at all the same"
    assert not done["git_log"].get("isError")

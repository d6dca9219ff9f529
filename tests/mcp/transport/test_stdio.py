"""The real command over stdin and stdout."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from mcp import Client, StdioServerParameters

from tests.mcp.conftest import HARBOUR
from tests.mcp.served import INITIALIZE
from tests.mcp.walker import structured, walk
from tideate_core.machines.language import Workflow
from tideate_core.mcp.transport.message_streams import MAX_MESSAGE

if TYPE_CHECKING:
    from tests.mcp.conftest import Home
    from tests.mcp.served import Served

pytestmark = pytest.mark.slow

MOVE = {"current_state": "*", "next_state": "approaching_quay"}


def client_of(home: Home, *options: str, mode: str = "auto", workflow: str = str(HARBOUR)) -> Client:
    command, *arguments = home.command(*options, workflow=workflow)
    return Client(
        StdioServerParameters(command=command, args=arguments, env=home.environment, cwd=home.project),
        mode=mode,
    )


def every_byte(served: Served, home: Home) -> bytes:
    """All output of the server: both streams and its log."""
    logs = b"".join(path.read_bytes() for path in home.state.rglob("*") if path.is_file())
    return served.out + served.err + logs


@pytest.mark.parametrize(
    ("workflow", "mode", "options"),
    [
        ("PLANNER", "legacy", ()),
        ("PLANNER", "auto", ("--obfuscate",)),
        (str(HARBOUR), "auto", ("--shared-position",)),
    ],
)
async def test_the_sdks_client_walks_to_the_end(
    home: Home, workflow: str, mode: str, options: tuple[str, ...]
) -> None:
    async with client_of(home, *options, mode=mode, workflow=workflow) as client:
        path = await walk(client)
        states = (await structured(client, "list_states"))["states"]
    assert path[0] == path[-1] == "*"
    assert set(path) <= {"*", *(state["name"] for state in states)}
    assert all(name.startswith("obf_") for name in path[1:-1]) == ("--obfuscate" in options)


async def test_tokens_are_the_same_after_a_restart(home: Home) -> None:
    async with client_of(home, "--obfuscate") as client:
        before = await walk(client)
    async with client_of(home, "--obfuscate") as client:
        assert await walk(client) == before
    (key,) = home.project.parent.rglob("workflow.key")
    assert key.stat().st_mode & 0o777 == 0o600


def test_no_original_name_leaves_an_obfuscated_server(home: Home) -> None:
    served = home.start("--obfuscate")
    served.shake_hands()
    for method in ("tools/list", "resources/list", "resources/templates/list", "prompts/list"):
        served.request(method)
    for uri in ("diagram", "definition", "nothing"):
        served.request("resources/read", {"uri": f"tideate://workflow/{uri}"})
    served.request("prompts/get", {"name": "walk", "arguments": {"task": "bring her in"}})
    states = served.call("list_states")["structuredContent"]["states"]
    for one in ["*", *(state["name"] for state in states)]:
        served.call("current_guidance", state=one)
        for other in ["*", *(state["name"] for state in states), "wrong", "Approaching Quay"[:4]]:
            served.call("transition", current_state=one, next_state=other)
    for plain in Workflow(HARBOUR.read_text()).definition.states:
        assert served.call("transition", current_state=plain, next_state="*")["isError"]
        assert served.call("current_guidance", state=plain)["isError"]
    served.call("path")
    served.call("transition", current_state=1)
    served.hang_up()
    assert served.ended() == 0
    left = every_byte(served, home).lower()
    assert b"obf_" in left
    for name in Workflow(HARBOUR.read_text()).definition.states:
        assert name.encode() not in left
        assert name.replace("_", " ").encode() not in left


def test_only_the_protocol_is_written_to_stdout(home: Home) -> None:
    served = home.start()
    served.shake_hands()
    served.call("nonsense")
    served.hang_up()
    assert served.ended() == 0
    assert served.err == b""
    assert all(json.loads(line)["jsonrpc"] == "2.0" for line in served.out.splitlines())


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"not json", -32700),
        (b"\0", -32700),
        (b"[" * 100_000, -32700),
        (b'{"jsonrpc": "2.0", "id": 1', -32700),
        (b'{"jsonrpc": "2.0", "id": 7, "method": "\xff"}', -32700),
        (b" " * (MAX_MESSAGE + 1), -32700),
        (b"[]", -32600),
        (b'{"jsonrpc": "1.0", "id": 7, "method": "ping"}', -32600),
    ],
    ids=["text", "nul", "deep", "cut", "not-utf-8", "long", "batch", "version"],
)
def test_a_line_that_is_no_message_is_answered(home: Home, line: bytes, code: int) -> None:
    served = home.start()
    served.send(line + b"\n")
    served.shake_hands()
    served.send(b"\n \r\n" + line + b"\n")
    assert served.call("transition", **MOVE)["structuredContent"]["status"] == "success"
    answers = [json.loads(answer) for answer in served.out.splitlines()]
    refusals = [answer for answer in answers if answer["id"] is None]
    assert [answer["error"]["code"] for answer in refusals] == [code, code], "blank lines have no answer"


def test_a_line_without_an_end_takes_no_memory_and_the_next_is_read(home: Home) -> None:
    served = home.start()
    served.shake_hands()
    before = _peak(served)
    for _ in range(64):
        served.send(b"x" * MAX_MESSAGE)
    served.send(b'{"jsonrpc": "2.0", "id": 950, "method": "ping"}\n')
    assert served.call("transition", **MOVE)["structuredContent"]["status"] == "success"
    assert b"950" not in served.out, "the tail of a line that is too long is not a message"
    assert _peak(served) - before < 8 * MAX_MESSAGE


def _peak(served: Served) -> int:
    status = Path(f"/proc/{served.process.pid}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 0), (signal.SIGHUP, 0)]
)
def test_a_signal_ends_it_without_a_trace(home: Home, number: signal.Signals, status: int) -> None:
    served = home.start()
    served.shake_hands()
    served.process.send_signal(number)
    assert served.ended() == status
    assert served.err == b""


def test_it_ends_when_the_client_closes_the_stream(home: Home) -> None:
    served = home.start()
    served.hang_up()
    assert served.ended() == 0
    assert (served.out, served.err) == (b"", b"")


@pytest.mark.parametrize("how", ["<&-", "0>/dev/null"], ids=["closed", "write-only"])
def test_it_ends_where_stdin_cannot_be_read(home: Home, how: str) -> None:
    command = ["sh", "-c", f'exec "$@" {how}', "sh", *home.command()]
    ended = subprocess.run(
        command, env=home.environment, cwd=home.project, capture_output=True, timeout=60, check=False
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, b"", b"")


def test_it_ends_when_nobody_reads_its_answers_any_more(home: Home) -> None:
    line = json.dumps(INITIALIZE).encode() + b"\n"
    with subprocess.Popen(
        home.command(), env=home.environment, cwd=home.project, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(line)
        process.stdin.flush()
        assert process.stdout.readline()
        process.stdout.close()
        process.stdin.write(line)
        process.stdin.flush()
        assert process.wait(timeout=60) == 0


def test_it_says_that_its_answers_cannot_be_written(home: Home) -> None:
    with Path("/dev/full").open("wb") as full:
        ended = subprocess.run(
            home.command(),
            env=home.environment,
            cwd=home.project,
            input=json.dumps(INITIALIZE).encode() + b"\n",
            stdout=full,
            stderr=subprocess.PIPE,
            timeout=60,
            check=False,
        )
    words = b"error: stdin or stdout cannot be used: No space left on device\n"
    assert (ended.returncode, ended.stderr) == (1, words)


def test_a_wrong_file_is_told_before_anything_is_served(home: Home) -> None:
    broken = home.project / "broken.workflow"
    broken.write_text("* to\n  one two\n")
    for workflow, words in [
        (str(broken), "broken.workflow:1:"),
        ("no_such_workflow", "no_such_workflow"),
        ("refactor", "not a state machine"),
        ("-", "stdin"),
        ("--obfuscate", "not the option"),
    ]:
        served = home.start(workflow=workflow)
        served.hang_up()
        assert served.ended() == 2, workflow
        assert words in served.err.decode()
        assert b"Traceback" not in served.err
        assert served.out == b""


def test_a_workflow_of_the_project_is_served_by_its_name(home: Home) -> None:
    folder = home.project / ".tideate" / "workflows"
    folder.mkdir(parents=True)
    (folder / "voyage.workflow").write_bytes(HARBOUR.read_bytes())
    served = home.start(workflow="voyage")
    served.shake_hands()
    assert served.call("list_states")["structuredContent"]["workflow"] == "voyage"

"""Clients of a hostile MCP server, and limits of an attack."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from contextlib import aclosing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tideate_core.mcp.client import MCPClient, ServerSpec, ToolPermissions

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["HOSTILE", "bounded", "command", "connected", "gone", "hostile", "pids", "said"]

HOSTILE: Final = Path(__file__).with_name("hostile_server.py")
MB: Final = 1 << 20


def command(folder: Path, behaviour: str = "") -> list[str]:
    """Return the command of the server."""
    return [sys.executable, "-I", "-S", str(HOSTILE), str(folder), behaviour]


def hostile(folder: Path, behaviour: str = "", **say: Any) -> ServerSpec:
    """Return a server that behaves so.

    :param say: what it says: `tools`, `result`, `error`, `server`.
    """
    folder.mkdir(exist_ok=True)
    (folder / "say.json").write_text(json.dumps(say), encoding="utf-8")
    return ServerSpec("evil", folder, tuple(command(folder, behaviour)))


def connected(folder: Path, behaviour: str = "", **say: Any) -> aclosing[MCPClient]:
    """Return a client of such a server, which is closed at the end."""
    return aclosing(MCPClient([hostile(folder, behaviour, **say)], permissions=ToolPermissions(folder)))


def said(folder: Path, name: str = "received") -> list[str]:
    """Return the server's notes."""
    path = folder / name
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def pids(folder: Path) -> list[int]:
    return [int(line) for line in said(folder, "pids")]


async def gone(folder: Path) -> bool:
    """Wait until no process of the server is left; False if that takes too long."""
    try:
        async with asyncio.timeout(60):
            while any(_alive(pid) for pid in pids(folder)):  # noqa: ASYNC110 of others' ends nobody is told
                await asyncio.sleep(0.01)
    except TimeoutError:
        return False
    return True


def _alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


@contextmanager
def bounded(megabytes: int = 300) -> Iterator[None]:
    """Limit the further memory of this process on Linux, so that unbounded work fails.

    :raises AssertionError: it took more.
    """
    refs = Path("/proc/self/clear_refs")
    before = 0
    if refs.exists():
        refs.write_text("5")  # from now on the peak counts anew
        before = _memory("VmRSS")
    yield
    more = (_memory("VmHWM") - before) // MB if before else 0
    assert more < megabytes, f"took {more} MB, and {megabytes} are allowed (of {os.getpid()})"


def _memory(name: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1]) * 1024
    return 0

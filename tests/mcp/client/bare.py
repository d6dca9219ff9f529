"""MCP server of the earlier protocol on the standard library alone, which starts in milliseconds.

``bare.py FOLDER``: it writes down there what it did, so that a test can look.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

FOLDER = Path(sys.argv[1])
LOOKS = {"readOnlyHint": True, "idempotentHint": True}

cancelled: dict[Any, threading.Event] = {}
writing = threading.Lock()


def note(name: str, text: str) -> None:
    with (FOLDER / name).open("a", encoding="utf-8") as file:
        file.write(text + "\n")


def send(message: dict[str, Any]) -> None:
    with writing:
        print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def tool(name: str, properties: dict[str, Any], hints: dict[str, Any], *required: str) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": list(required)}
    if (FOLDER / "odd").exists():
        hints = {"readOnlyHint": "yes"}  # the protocol wants a boolean, and the SDK takes this
    # what a tool says of itself may change from one start to the next
    said = (FOLDER / "description").read_text() if (FOLDER / "description").exists() else f"It is {name}."
    return {"name": name, "description": said, "inputSchema": schema, "annotations": hints}


def tools() -> list[dict[str, Any]]:
    text, number = {"type": "string"}, {"type": "number"}
    return [
        tool("echo", {"text": text, "times": {"type": "integer"}}, LOOKS, "text"),
        tool("work", {"seconds": number}, {}),
        tool("add", {"text": text}, {}, "text"),
        tool("fail", {"why": text}, {}, "why"),
        tool("look", {}, LOOKS),
        tool("die", {}, {}),
        tool("pid", {}, LOOKS),
        tool("environment", {}, LOOKS),
    ]


def work(key: Any, seconds: float, token: Any) -> None:
    note("works", "begun")
    if token is not None:
        progress = {"progressToken": token, "progress": 1, "total": 2, "message": "halfway"}
        send({"method": "notifications/progress", "params": progress})
    if cancelled[key].wait(seconds):
        note("works", "cancelled")
    else:
        note("works", "done")
        answer(key, "worked")


def answer(key: Any, text: str, *, is_error: bool = False) -> None:
    send({"id": key, "result": {"content": [{"type": "text", "text": text}], "isError": is_error}})


def call(key: Any, params: dict[str, Any]) -> None:
    name, given = params["name"], params.get("arguments") or {}
    if name == "echo":
        answer(key, given["text"] * given.get("times", 1))
    elif name == "add":
        note("added", given["text"])
        answer(key, f"added {given['text']}")
    elif name == "fail":
        answer(key, given["why"], is_error=True)
    elif name == "work":
        cancelled[key] = threading.Event()
        token = params.get("_meta", {}).get("progressToken")
        seconds = given.get("seconds", 60)
        threading.Thread(target=work, args=(key, seconds, token), daemon=True).start()
    elif name == "look":
        note("looks", "looked")
        if len((FOLDER / "looks").read_text().splitlines()) == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        answer(key, "looked twice")
    elif name == "die":
        note("deaths", "died")
        print("something is wrong with me", file=sys.stderr, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    elif name == "pid":
        child = subprocess.Popen(["sleep", "600"])
        away = subprocess.Popen(["/bin/sleep", "600"], env={}, start_new_session=True)
        answer(key, json.dumps([os.getpid(), child.pid, away.pid]))
    elif name == "environment":
        answer(key, "\n".join(sorted(os.environ)))


def main() -> None:
    note("starts", str(os.getpid()))
    if (FOLDER / "broken").exists():
        sys.exit("I cannot start: the folder is broken")
    for line in sys.stdin:
        message = json.loads(line)
        key, method, params = message.get("id"), message.get("method"), message.get("params") or {}
        if method == "initialize":
            server = {"name": "bare", "version": "1"}
            version = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}}
            send({"id": key, "result": {**version, "serverInfo": server}})
        elif method == "tools/list":
            send({"id": key, "result": {"tools": tools()}})
        elif method == "tools/call":
            call(key, params)
        elif method == "notifications/cancelled":
            cancelled[params["requestId"]].set()
        elif key is not None:
            send({"id": key, "error": {"code": -32601, "message": f"no method {method}"}})


main()

"""Edits by opencode: its real program, driven by a scripted model on loopback that calls its `edit` tool.

The program runs in a network of its own where the system lets it, so that it reaches nothing but that model.
One of three edits is measured, as each takes a quarter of a second.
"""

from __future__ import annotations

import atexit
import base64
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.edits_corpus import Case

PROGRAM: Final = Path(__file__).parent.parent / ".cache" / "edit-peers" / "node_modules/.bin/opencode"
BLOCK: Final = re.compile(
    r"^<{5,9} SEARCH[^\n]*\n(?P<old>.*?)^={5,9}\s*?\n(?P<new>.*?)^>{5,9} REPLACE", re.DOTALL | re.MULTILINE
)
APPLIED: Final = "Edit applied successfully"
LIMIT: Final = 60.0
"""Seconds for one edit, and for the program's start."""
SETTINGS: Final = {
    "OPENCODE_DISABLE_AUTOUPDATE": "1",
    "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
    "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
    "OPENCODE_DISABLE_MODELS_FETCH": "1",
}


def is_there() -> bool:
    """Tell whether the program is installed and answers."""
    return PROGRAM.exists() and _worker() is not None


def blocks_of(case: Case) -> list[tuple[str, str, str]]:
    """Return path, old and new text of each block of an answer, as a call of a tool has them."""
    found = []
    for block in BLOCK.finditer(case.answer):
        before = case.answer[: block.start()]
        named = {path: before.rfind(path) for path in case.files}
        path = max(named, key=lambda one: named[one])
        found.append((path, block["old"].removesuffix("\n"), block["new"].removesuffix("\n")))
    return found


def run_calls(case: Case) -> tuple[dict[str, bytes], str]:
    """Return the files after the calls, and the error of the one that failed; empty if none did.

    :raises RuntimeError: the program does not answer.
    """
    worker = _worker()
    if worker is None or worker.stdin is None or worker.stdout is None:
        raise RuntimeError("opencode does not answer")
    files = {path: base64.b64encode(data).decode() for path, data in case.files.items()}
    worker.stdin.write(json.dumps({"files": files, "calls": blocks_of(case)}) + "\n")
    worker.stdin.flush()
    answer = json.loads(worker.stdout.readline())
    return {path: base64.b64decode(data) for path, data in answer["files"].items()}, answer["error"]


@cache
def _worker() -> subprocess.Popen[str] | None:
    """Start the process that has the program and its model; None where it cannot be."""
    own = [sys.executable, "-m", "benchmarks.edits_opencode"]
    alone = ["unshare", "-rn", "sh", "-c", 'ip link set lo up && exec "$@"', "sh", *own]
    for command in (alone, own):
        try:
            worker = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
            )
        except FileNotFoundError:
            continue
        if worker.stdout is not None and worker.stdout.readline() == "ready\n":
            atexit.register(_end, worker)
            return worker
        worker.kill()
        worker.wait()
    return None


def _end(worker: subprocess.Popen[str]) -> None:
    if worker.stdin is not None:
        worker.stdin.close()
    worker.wait(timeout=LIMIT)


# -- in the worker --------------------------------------------------------------------------------------


class _Model(ThreadingHTTPServer):
    """Calls the tool for one block after the other, as long as none fails."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Requests)
        self.calls: list[dict[str, str]] = []
        self.error = ""

    def chunks(self, body: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Return the parts of the answer to a request."""
        done = [str(each["content"]) for each in body["messages"] if each["role"] == "tool"]
        if done and not done[-1].startswith(APPLIED):
            self.error = done[-1]
        if not body.get("tools") or self.error or len(done) == len(self.calls):
            yield {"role": "assistant", "content": "done"}
            return
        call = {"name": "edit", "arguments": json.dumps(self.calls[len(done)])}
        yield {
            "role": "assistant",
            "tool_calls": [{"index": 0, "id": f"call{len(done)}", "type": "function", "function": call}],
        }


class _Requests(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Model

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        deltas = list(self.server.chunks(body))
        why = "tool_calls" if "tool_calls" in deltas[-1] else "stop"
        parts: list[tuple[dict[str, Any], str | None]] = [*((delta, None) for delta in deltas), ({}, why)]
        text = "".join(
            "data: "
            + json.dumps(
                {
                    "id": "x",
                    "object": "chat.completion.chunk",
                    "created": 1,
                    "model": "m",
                    "choices": [{"index": 0, "delta": delta, "finish_reason": end}],
                }
            )
            + "\n\n"
            for delta, end in parts
        )
        data = f"{text}data: [DONE]\n\n".encode()
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def _configure(home: Path, address: str) -> None:
    model = {"name": "m", "tool_call": True, "limit": {"context": 1_000_000, "output": 100_000}}
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "scripted",
        "options": {"baseURL": address, "apiKey": "none"},
        "models": {"m": model},
    }
    config = {
        "autoupdate": False,
        "share": "disabled",
        "lsp": False,
        "formatter": False,
        "permission": {"edit": "allow", "bash": "deny", "webfetch": "deny"},
        "model": "scripted/m",
        "small_model": "scripted/m",
        "provider": {"scripted": provider},
    }
    place = home / ".config" / "opencode"
    place.mkdir(parents=True)
    (place / "opencode.json").write_text(json.dumps(config))


def _request(address: str, path: str, data: dict[str, Any] | None = None, limit: float = LIMIT) -> Any:
    request = urllib.request.Request(
        address + path,
        data=None if data is None else json.dumps(data).encode(),
        headers={"content-type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=limit) as answer:
        return json.loads(answer.read())


def _wait_until_up(address: str) -> None:
    until = time.monotonic() + LIMIT
    while True:
        try:
            _request(address, "/session", limit=1)  # one that comes too early is never answered
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.1)
        else:
            return


def _edit(address: str, model: _Model, project: Path, order: dict[str, Any]) -> dict[str, Any]:
    shutil.rmtree(project)
    for name, data in order["files"].items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_bytes(base64.b64decode(data))
    model.error = ""
    model.calls = [
        {"filePath": str(project / path), "oldString": old, "newString": new}
        for path, old, new in order["calls"]
    ]
    session = _request(address, "/session", {})
    message = {
        "model": {"providerID": "scripted", "modelID": "m"},
        "parts": [{"type": "text", "text": "go on"}],
    }
    _request(address, f"/session/{session['id']}/message", message)
    files = {name: base64.b64encode((project / name).read_bytes()).decode() for name in order["files"]}
    return {"files": files, "error": model.error}


def work() -> None:
    """Execute the lines of standard input, and answer each with a line."""
    model = _Model()
    threading.Thread(target=model.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as folder:
        home, project = Path(folder, "home"), Path(folder, "project")
        project.mkdir()
        _configure(home, f"http://127.0.0.1:{model.server_port}/v1")
        port = ThreadingHTTPServer(("127.0.0.1", 0), _Requests)
        address = f"http://127.0.0.1:{port.server_port}"
        port.server_close()  # a free one
        program = subprocess.Popen(
            [PROGRAM, "serve", "--hostname", "127.0.0.1", "--port", address.rpartition(":")[2]],
            cwd=project,
            env={"PATH": os.environ["PATH"], "HOME": str(home), **SETTINGS},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            _wait_until_up(address)
            print("ready", flush=True)
            for line in sys.stdin:
                print(json.dumps(_edit(address, model, project, json.loads(line))), flush=True)
        finally:
            program.terminate()
            program.wait()


if __name__ == "__main__":
    work()

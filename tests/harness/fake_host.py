"""A host that misbehaves on demand, for the tests of faults; everything else is tested with the real one.

Speaks the editor's protocol on stdin and stdout. `FAKE_START` says how it starts, the name of the
workflow how a run goes; what it hears is written to `FAKE_LOG`, one JSON object a line.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgpack  # type: ignore[import-untyped]  # has no types

RECEIVE = "require('tideate.events').receive(...)"


def say(*messages: dict[str, Any]) -> None:
    sys.stdout.buffer.write(msgpack.packb([2, "nvim_exec_lua", [RECEIVE, [list(messages)]]]))
    sys.stdout.buffer.flush()


def event(execution_id: str, name: str, /, **data: Any) -> dict[str, Any]:
    return {"type": "event", "name": f"SD_EVENT_{name}", "execution_id": execution_id, "at": 0, "data": data}


def reply(request: dict[str, Any], **result: Any) -> dict[str, Any]:
    return {"type": "reply", "id": request["id"], "result": result}


class FakeHost:
    """Workflows of the fake host: `run_NAME` executes NAME."""

    def __init__(self) -> None:
        self.runs: dict[str, dict[str, Any]] = {}

    def start(self) -> None:
        match os.environ.get("FAKE_START", "ready"):
            case "crash":
                print("ModuleNotFoundError: No module named 'pynvim'", file=sys.stderr)
                sys.exit(3)
            case "broken":
                say({"type": "broken", "error": "config.toml: no such key", "error_code": "ConfigError"})
            case "ready":
                config = {"adapter": "fake", "ui": {"output": "split"}}
                say({"type": "ready", "pid": os.getpid(), "version": "0"})
                say({"type": "configured", "config": config})
                say({"type": "notices", "notices": ["a notice"]})

    def request(self, request: dict[str, Any]) -> None:
        getattr(self, f"do_{request['method']}", self.accept)(request)

    def accept(self, request: dict[str, Any]) -> None:
        say(reply(request, ok=True))

    def do_answer(self, request: dict[str, Any]) -> None:
        run = self.runs[request["params"]["id"]]
        say(reply(run, ok=True, response=request["params"].get("result"), results={}))

    def do_ping(self, request: dict[str, Any]) -> None:
        say({"type": "pong", "id": request["id"]})

    def do_list(self, request: dict[str, Any]) -> None:
        ours = {"name": "team", "description": "of the project", "steps": ["one"], "source": "project"}
        ask = {"name": "ask", "description": "Answer", "steps": ["query"], "source": "builtin"}
        say(reply(request, ok=True, workflows=[ours, ask]))

    def do_health(self, request: dict[str, Any]) -> None:
        say(reply(request, ok=True, checks=[{"name": "adapter", "ok": False, "message": "unreachable"}]))

    def do_cancel(self, request: dict[str, Any]) -> None:
        wanted = request["params"].get("execution_id")
        for execution_id, run in list(self.runs.items()):
            if wanted in (None, execution_id):
                del self.runs[execution_id]
                say(
                    event(execution_id, "WORKFLOW_CANCELLED", reason="cancelled"),
                    reply(run, ok=False, cancelled=True, execution_id=execution_id),
                )
        say(reply(request, ok=True))

    def do_login_start(self, request: dict[str, Any]) -> None:
        """GitHub has an account, a provider called `elsewhere` an odd address, all others have keys."""
        provider = request["params"]["provider"]
        if provider not in ("github-copilot", "elsewhere"):
            return say(reply(request, ok=True, kind="key"))
        address = "https://github.com/login/device" if provider == "github-copilot" else "file:///etc/passwd"
        return say(reply(request, ok=True, kind="account", address=address, code="ABCD-1234", expires_in=900))

    def do_login_finish(self, request: dict[str, Any]) -> None:
        self.runs[request["id"]] = request

    def do_cancel_ask(self, request: dict[str, Any]) -> None:
        say(reply(self.runs.pop(request["params"]["id"]), ok=False, cancelled=True))

    def do_logins(self, request: dict[str, Any]) -> None:
        stored = {"provider": "anthropic", "kind": "key", "source": "login"}
        none = {"provider": "github-copilot", "kind": "none", "source": ""}
        say(reply(request, ok=True, providers=[stored, none]))

    def do_run(self, request: dict[str, Any]) -> None:
        params = request["params"]
        run = getattr(self, f"run_{params['name']}", self.run_unknown)
        run(request, params["execution_id"])

    def run_unknown(self, request: dict[str, Any], _: str) -> None:
        say(reply(request, ok=False, error="unknown workflow", error_code="UnknownWorkflow"))

    def run_ask(self, request: dict[str, Any], id_: str) -> None:
        say(
            event(id_, "WORKFLOW_STARTED", name="ask", steps=["query"], adapter="fake", demonstration=False),
            event(id_, "STEP_STARTED", step="query", index=1, total=1),
            event(id_, "TOKEN", step="query", text="forty"),
            event(id_, "TOKEN", step="query", text="-two"),
            event(id_, "STEP_COMPLETED", step="query", index=1, total=1, duration_ms=5),
            event(id_, "WORKFLOW_COMPLETED", response="forty-two", duration_ms=6, files=[]),
            reply(request, ok=True, response="forty-two", results={"query": "forty-two"}, execution_id=id_),
        )

    def run_hold(self, request: dict[str, Any], id_: str) -> None:
        self.runs[id_] = request
        say(
            event(id_, "WORKFLOW_STARTED", name="hold", steps=["one", "two", "three"], adapter="fake"),
            event(id_, "STEP_STARTED", step="two", index=2, total=3),
        )

    def run_twice(self, request: dict[str, Any], id_: str) -> None:
        say(reply(request, ok=True, response=1), reply(request, ok=True, response=2))

    def run_die(self, request: dict[str, Any], id_: str) -> None:
        self.run_hold(request, id_)
        print("Traceback: the end", file=sys.stderr, flush=True)
        os._exit(3)

    def run_child(self, request: dict[str, Any], id_: str) -> None:
        subprocess.Popen(["sleep", "60"])
        self.run_hold(request, id_)

    def run_stop(self, request: dict[str, Any], id_: str) -> None:
        self.run_hold(request, id_)
        os.kill(os.getpid(), signal.SIGSTOP)

    def run_rolled_back(self, request: dict[str, Any], id_: str) -> None:
        say(
            event(
                id_, "WORKFLOW_STARTED", name="rolled_back", kind="machine", states=["verifying"], steps=[]
            ),
            event(id_, "STEP_STARTED", step="verifying", index=1, state="verifying"),
            event(id_, "ROLLED_BACK", restored=["a.py"], merged=[], left=[], snapshot=None, error=None),
            event(id_, "WORKFLOW_FAILED", error="no", error_code="GateFailed", duration_ms=6, files=[]),
            reply(
                request, ok=False, error="no", error_code="GateFailed", rollback_performed=True, attempts=3
            ),
        )

    def run_garbage(self, request: dict[str, Any], id_: str) -> None:
        say({"type": "nonsense"}, event(id_, "NO_SUCH_EVENT"), {"type": "event"})
        self.run_ask(request, id_)

    def run_ask_back(self, request: dict[str, Any], id_: str) -> None:
        """Put the prompt, a JSON object of method and params, to the editor; its answer is the response."""
        self.runs["a1"] = request
        say({"type": "ask", "id": "a1"} | json.loads(request["params"]["prompt"]))

    def run_withdraw(self, request: dict[str, Any], id_: str) -> None:
        handler = {"execution_id": id_, "workflow": "lua", "step": "one", "state": {}}
        say(
            {"type": "ask", "id": "a1", "method": "handler", "params": handler},
            {"type": "withdraw", "id": "a1"},
        )
        self.run_ask(request, id_)


def main() -> None:
    host = FakeHost()
    unpacker = msgpack.Unpacker(raw=False)
    while data := os.read(0, 1 << 16):
        unpacker.feed(data)
        for _, method, arguments in unpacker:
            payload = arguments[0][0]
            name = method.rpartition(":")[2]
            with Path(os.environ["FAKE_LOG"]).open("a") as log:
                log.write(json.dumps({"call": name, "pid": os.getpid(), **payload}) + "\n")
            if name == "TideateStart":
                host.start()
            else:
                host.request(payload)


if __name__ == "__main__":
    main()

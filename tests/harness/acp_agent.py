"""Agent that speaks ACP and plays a script: ``python acp_agent.py SCRIPT``, without any library.

The script is JSON: `initialize`, `new`, `continue` are answers (or errors) to these requests, `turns` a list
of turns, each a list of actions. Messages are appended to `SCRIPT.log`, one JSON value a line. The number of
the next turn is kept in `SCRIPT.turn`, so that a process continues where the one before it ended.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

SCRIPT = Path(sys.argv[1])
WANTED = json.loads(SCRIPT.read_text())
SESSION = WANTED.get("session", "session-1")


def send(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def update(kind: str, /, **fields: Any) -> None:
    shape = {"sessionUpdate": kind, **fields}
    send({"method": "session/update", "params": {"sessionId": SESSION, "update": shape}})


def say(text: str, kind: str = "agent_message_chunk") -> None:
    update(kind, content={"type": "text", "text": text})


def receive() -> dict[str, Any]:
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    message: dict[str, Any] = json.loads(line)
    with SCRIPT.with_suffix(".log").open("a") as log:
        log.write(json.dumps(message) + "\n")
    return message


def receive_until(method: str) -> None:
    while receive().get("method") != method:
        pass


def ask_permission(call: dict[str, Any], kinds: list[str]) -> None:
    options = [{"optionId": f"id-{kind}", "name": kind, "kind": kind.split(":")[0]} for kind in kinds]
    asked = {"sessionId": SESSION, "toolCall": call, "options": options}
    send({"id": 900, "method": "session/request_permission", "params": asked})
    while (answer := receive()).get("id") != 900:
        pass
    outcome = answer["result"]["outcome"]
    say(f"[{outcome.get('optionId', outcome['outcome'])}]")


def act(action: dict[str, Any], prompt: str) -> None:  # noqa: C901 a table of actions
    match action:
        case {"text": text}:
            say(text)
        case {"thought": text}:
            say(text, "agent_thought_chunk")
        case {"echo": _}:
            say(prompt)
        case {"plan": entries}:
            shown = [{"content": text, "status": state, "priority": "low"} for text, state in entries]
            update("plan", entries=shown)
        case {"update": fields}:
            update(fields.pop("kind"), **fields)
        case {"call": fields}:
            update("tool_call", **fields)
        case {"write": [path, text]}:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            Path(path).write_text(text)
        case {"delete": path}:
            Path(path).unlink()
        case {"run": argv}:
            say(subprocess.run(argv, capture_output=True, text=True, check=False).stdout)
        case {"permission": call, "kinds": kinds}:
            ask_permission(call, kinds)
        case {"request": method}:
            send({"id": 901, "method": method, "params": {"sessionId": SESSION, "path": "/etc/passwd"}})
            answer = receive()
            say(json.dumps(answer.get("error") or answer.get("result")))
        case {"raw": text}:
            os.write(1, text.encode())
        case {"noise": size}:
            os.write(2, b"noise " * (size // 6))
        case {"receive": method}:
            receive_until(method)
        case {"hang": seconds}:
            time.sleep(seconds)
        case {"exit": code}:
            sys.stdout.flush()
            os._exit(code)


def play(message: dict[str, Any]) -> None:
    counter = SCRIPT.with_suffix(".turn")
    number = int(counter.read_text()) if counter.exists() else 0
    counter.write_text(str(number + 1))
    turns = WANTED["turns"]
    prompt = message["params"]["prompt"][0]["text"]
    result: dict[str, Any] = {"stopReason": "end_turn"}
    late: list[dict[str, Any]] = []
    for action in turns[min(number, len(turns) - 1)]:
        match action:
            case {"stop": reason}:
                result = action | {"stopReason": reason}
            case {"error": error}:
                send({"id": message["id"], "error": error})
                return
            case {"late": one}:
                late.append(one)
            case _:
                act(action, prompt)
    send({"id": message["id"], "result": result})
    for action in late:
        act(action, prompt)


def answer(message: dict[str, Any], wanted: Any) -> None:
    known = {"id": message["id"]}
    send(known | ({"error": wanted["error"]} if "error" in wanted else {"result": wanted}))


def main() -> None:  # noqa: C901 a table of requests
    for action in WANTED.get("before", ()):
        act(action, "")
    options = WANTED.get("options", [])
    while True:
        message = receive()
        match message.get("method"):
            case "initialize":
                greeting = {"protocolVersion": 1, "agentInfo": {"name": "scripted", "version": "7"}}
                answer(message, greeting | WANTED.get("initialize", {}))
            case "session/new":
                answer(message, {"sessionId": SESSION, "configOptions": options} | WANTED.get("new", {}))
            case "session/load" | "session/resume" as method:
                if method == "session/load":
                    say("an old text")
                answer(message, {"configOptions": options} | WANTED.get("continue", {}))
            case "session/set_config_option":
                wanted = message["params"]
                for option in options:
                    if option["id"] == wanted["configId"]:
                        option["currentValue"] = wanted["value"]
                answer(message, {"configOptions": options})
            case "session/prompt":
                play(message)


main()

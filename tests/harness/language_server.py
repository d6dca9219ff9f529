"""Scripted language server over stdio: answers from a table, stays silent, lies, or dies.

`python language_server.py SCRIPT.json LOG`; what it hears is appended to LOG, a JSON line each.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, BinaryIO

__all__ = ["serve"]


def read_message(stream: BinaryIO) -> dict[str, Any] | None:
    length = 0
    while (line := stream.readline()).strip():
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    return dict(json.loads(stream.read(length))) if length else None


def write_message(stream: BinaryIO, message: dict[str, Any]) -> None:
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    stream.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
    stream.flush()


def serve(script: dict[str, Any], log: Path) -> None:
    """Follow a script.

    `capabilities`, `answers` (a result by method), `errors` (a message by method), `silent` (methods),
    `silent_once` (methods that are not answered the first time that the log has them), `dies` (methods),
    `first` (messages by method, sent before the answer), `published` (diagnostics by URI, when the file is
    opened), `complains` (a diagnostic by a word, of each line with it: published, or given when it is asked
    for), `second` (what is other with every process but the first).
    """
    first = log.with_suffix(".first")
    script = {**script, **script.get("second", {})} if first.exists() else script
    first.touch()
    texts: dict[str, str] = {}
    while (message := read_message(sys.stdin.buffer)) is not None:
        method = message.get("method", "")
        with log.open("a") as file:
            file.write(json.dumps(message) + "\n")
        if method == "exit" or method in script.get("dies", ()):
            return
        for one in script.get("first", {}).get(method, ()):
            write_message(sys.stdout.buffer, one)
        if method == "textDocument/didOpen":
            uri = message["params"]["textDocument"]["uri"]
            found = script.get("published", {}).get(uri)
            if found is not None:
                params = {"uri": uri, "diagnostics": found}
                write_message(
                    sys.stdout.buffer, {"method": "textDocument/publishDiagnostics", "params": params}
                )
        if script.get("complains") and method in ("textDocument/didOpen", "textDocument/didChange"):
            publish(script, texts, message["params"])
        if method == "textDocument/diagnostic" and script.get("complains"):
            text = texts[message["params"]["textDocument"]["uri"]]
            script["answers"] = {method: {"kind": "full", "items": complaints(script, text)}}
        once = method in script.get("silent_once", ()) and log.read_text().count(f'"{method}"') == 1
        if "id" in message and method and not once and method not in script.get("silent", ()):
            write_message(sys.stdout.buffer, {"id": message["id"], **answer_to(script, method)})


def publish(script: dict[str, Any], texts: dict[str, str], params: dict[str, Any]) -> None:
    """Receive a text and publish its diagnostics, unless they are pulled."""
    document = params["textDocument"]
    uri = document["uri"]
    texts[uri] = document["text"] if "text" in document else params["contentChanges"][0]["text"]
    if "diagnosticProvider" not in script["capabilities"]:
        told = {"uri": uri, "version": document["version"], "diagnostics": complaints(script, texts[uri])}
        write_message(sys.stdout.buffer, {"method": "textDocument/publishDiagnostics", "params": told})


def complaints(script: dict[str, Any], text: str) -> list[dict[str, Any]]:
    return [
        {"range": {"start": {"line": number, "character": 0}, "end": {"line": number, "character": 1}}, **one}
        for number, line in enumerate(text.split("\n"))
        for word, one in script["complains"].items()
        if word in line
    ]


def answer_to(script: dict[str, Any], method: str) -> dict[str, Any]:
    if method in script.get("errors", {}):
        return {"error": {"code": -32603, "message": script["errors"][method]}}
    if method == "initialize":
        return {"result": {"capabilities": script.get("capabilities", {})}}
    return {"result": script.get("answers", {}).get(method)}


if __name__ == "__main__":
    serve(json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2]))

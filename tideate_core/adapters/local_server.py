"""Program that loads the bundled model and serves it on loopback until its stdin ends.

It reads its settings from stdin as one JSON line, prints one JSON line when it is ready, and ends when
stdin ends. The library can crash on unusual input, so it must not run in the host.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
from typing import Any


def start(settings: dict[str, Any]) -> Any:
    """Return the running server, on loopback, protected by the key in the settings."""
    sys.path.extend(settings["path"])
    xllamacpp: Any = importlib.import_module("xllamacpp")
    params = xllamacpp.CommonParams()
    params.model.path = settings["model"]
    params.model_alias = {settings["alias"]}
    params.api_keys = [settings["key"]]
    params.cors_origins = "null.invalid"  # the library's default admits any web page on this machine
    params.cors_credentials = False
    params.ui = False
    params.endpoint_slots = False
    params.offline = True
    params.verbosity = -1
    params.port = 0
    params.n_ctx = settings["context"]
    params.n_batch = params.n_ubatch = 128
    params.n_parallel = 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    return xllamacpp.Server(params)


def main() -> None:
    """Serve with the settings from stdin, report readiness, and stop when stdin ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C
    answers = os.dup(1)
    os.dup2(2, 1)  # the library's output must not mix with the ready line
    settings = json.loads(sys.stdin.readline())
    server = start(settings)
    os.write(answers, json.dumps({"url": server.listening_address}).encode() + b"\n")
    while sys.stdin.read(1):
        pass
    os._exit(0)


if __name__ == "__main__":
    main()

"""Run a program in an enclosure: ``python enclosed.py VALUES``, JSON with the arguments of `main`.

It is a program of its own, so that another user can run it. Prints the report as JSON at the end.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from tideate_core.process import Enclosure, EscapeReport, Namespaces, Overlay, Rules, enclosure, entering


def main(
    home: str,
    project: str,
    place: str,
    writable: list[str],
    hidden: list[str],
    rules: dict[str, Any],
    code: str,
) -> None:
    # the tests' own directories are in a private one
    enclosure.PRIVATE = tuple(name for name in enclosure.PRIVATE if name != rules.get("without"))
    rules.pop("without", None)
    layers = [Path(place, name) for name in ("upper", "work")]
    for layer in layers:
        layer.mkdir(parents=True, exist_ok=True)
    inside = Enclosure(Path(home), tuple(map(Path, writable)), tuple(map(Path, hidden)), rules=Rules(**rules))
    root = Path(project)
    held = Namespaces.hold(inside.mounts([Overlay(root, (root,), *layers)]), inside.rules)
    try:
        command = entering(held.pid, root, [sys.executable, "-I", "-S", "-c", code])
        done = subprocess.run(
            command, env={"HOME": home, "PATH": os.defpath}, capture_output=True, text=True, check=False
        )
    finally:
        held.close()
    values = {
        "status": done.returncode,
        "said": done.stdout,
        "failed": done.stderr,
        "report": EscapeReport.of(held.report).as_json(),
        "notices": held.notices,
    }
    sys.stdout.write(json.dumps(values))


if __name__ == "__main__":
    main(**json.loads(sys.argv[1]))

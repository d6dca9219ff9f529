"""Program that reads code files for the symbol index: ``python -I symbol_program.py REQUEST_FILE``.

A separate process keeps the host responsive. The request is a JSON file; each worker writes its results to
its own file beside it, one line of JSON for each code file.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def main() -> None:
    """Read the files of the request, with several workers."""
    place = Path(sys.argv[1])
    request = json.loads(place.read_bytes())
    sys.path[:] = request["path"]
    workers = request["workers"]
    for worker in range(1, workers):
        if os.fork() == 0:
            status = 1
            try:
                _read(request, place, worker)
                status = 0
            finally:
                os._exit(status)
    _read(request, place, 0)
    failed = sum(os.wait()[1] != 0 for _ in range(1, workers))
    sys.exit(1 if failed else 0)


def _read(request: dict[str, Any], place: Path, worker: int) -> None:
    # the host's own code, from the host's import path
    from tideate_core.mentions.code_files import MOST_NOT_PARSED, read_files

    names, workers = request["files"], request["workers"]
    with place.with_name(f"{worker}.jsonl").open("w", encoding="utf-8") as out:
        for row in read_files(
            Path(request["root"]), names[worker::workers], request["wanted"], MOST_NOT_PARSED // workers
        ):
            out.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()

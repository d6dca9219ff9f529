"""The command `tideate`, killed at a moment: `python -m tests.crash.guarding COUNTS KILL WORD…`.

KILL is JSON. The number of system calls and commits is written to the file COUNTS at the end.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tests.crash.kills import Kill, Killer
from tideate_core.cli.main import main


def run(counts: Path, kill: Kill | None, words: list[str]) -> None:
    killer = Killer(kill)
    killer.install()
    sys.argv = ["tideate", *words]
    try:
        main()
    finally:
        counts.write_text(json.dumps(killer.counts))


if __name__ == "__main__":
    shape = json.loads(sys.argv[2])
    run(Path(sys.argv[1]), Kill(**shape) if shape else None, sys.argv[3:])

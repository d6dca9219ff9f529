"""Reduce a recording to what the model said, so that it can be kept as a test.

    python -m scripts.reduce_recording IN OUT

Prompts, tool results and reasoning are left out; `replay:OUT` finds answers by what the model said before.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tideate_core.adapters.recordings import reduce_recording


def main(arguments: list[str]) -> int:
    """Return 0 if it was reduced, 2 where the arguments are not two files."""
    if len(arguments) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    recording, reduced = map(Path, arguments)
    print(f"{reduced}: {reduce_recording(recording, reduced)} exchanges")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Reduce a recording to what the model said, so that it can be kept as a test.

    python -m scripts.reduce_recording IN OUT

Prompts, tool results and reasoning are left out; `replay:OUT` finds answers by what the model said before.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tideate_core.adapters.recordings import Recording


def reduce_recording(path: Path, reduced: Path) -> int:
    """Write a recording without prompts, tool results and reasoning; return its number of exchanges.

    The model's own output remains: texts and calls with arguments, which include code.

    :raises AdapterUnavailable: the recording cannot be read.
    :raises OSError: the reduced recording cannot be written.
    """
    exchanges = Recording.load(path).exchanges
    lines: list[str] = []
    for place, exchange in enumerate(exchanges):
        turn = exchange.turn and {**exchange.turn, "raw": "", "made_by": "", "reasoning": ""}
        kept = {"key": "", "begun": place, "system": "", "user": "", "turn": turn}
        pieces = [exchange.text] if exchange.text else []
        one = exchange.model_copy(update={**kept, "pieces": pieces, "parts": []})
        lines.append(one.model_dump_json(exclude_defaults=True))
    reduced.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return len(lines)


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

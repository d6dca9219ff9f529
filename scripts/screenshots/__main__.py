"""Play the scenes in each size and colour, and write the pictures.

python -m scripts.screenshots [ACT…]
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Final

from scripts.screenshots import further_scenes, guard_scenes, inbox_scenes, scenes
from scripts.screenshots.stage import PICTURES, ROOT, SCREENS, Stage
from tests.harness.model_server import ModelServer

SIZES: Final = ((80, 24), (200, 50))
BACKGROUNDS: Final = ("dark", "light")
ACTS: Final = {"runs": scenes.play} | further_scenes.ACTS | guard_scenes.ACTS | inbox_scenes.ACTS


def _make(act: str, columns: int, rows: int, background: str) -> None:
    with (
        tempfile.TemporaryDirectory(prefix="screens-") as folder,
        ModelServer() as server,
        closing(Stage(Path(folder), server, columns, rows, background)) as stage,
    ):
        ACTS[act](stage)


def main() -> int:
    """Play the named acts, or all; four at a time, because most of the time is waiting."""
    acts = sys.argv[1:] or list(ACTS)
    SCREENS.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(4) as pool:
        played = [(act, *size, background) for act in acts for size in SIZES for background in BACKGROUNDS]
        made = [pool.submit(_make, *one) for one in played]
    failed = [(one, error) for one, future in zip(played, made, strict=True) if (error := future.exception())]
    for one, error in failed:
        print(f"{one}: {error!r}: {error}", file=sys.stderr)
    drawing = ["graph", "task", "-o", str(PICTURES / "task.svg")]
    subprocess.run([sys.executable, "-m", "tideate_core.cli.main", *drawing], cwd=ROOT, check=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

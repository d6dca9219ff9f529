"""Play the scenes in each size and colour, and write the pictures."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Final

from scripts.screenshots.picture import svg
from scripts.screenshots.scenes import FILES, play
from scripts.terminal import Terminal
from tests.support.model_server import ModelServer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyte.screens import Char

ROOT: Final = Path(__file__).resolve().parents[2]
PICTURES: Final = ROOT / "docs" / "pictures"
SIZES: Final = ((80, 24), (200, 50))
WIDE: Final = {"files", "beside", "panel"}
"""The scenes of which the wide screen has a picture: those that look another way on it."""
BACKGROUNDS: Final = ("dark", "light")
STEADY: Final = (
    (re.compile(r"\b[0-9a-f]{8}\b"), "3f2a9c1b"),
    (re.compile(r"(?<=127\.0\.0\.1:)\d{5}"), "11434"),
    (re.compile(r"[\u2801-\u28ff]"), "⠿"),
)
"""What differs from run to run on the screen, and what stands there instead, as wide."""


class Stage:
    """One Neovim in one size and colour, in a home, a project and a terminal of its own."""

    def __init__(self, folder: Path, server: ModelServer, columns: int, rows: int, background: str) -> None:
        self.server = server
        self.is_wide = columns > SIZES[0][0]
        self._suffix = f"{columns}-{background}"
        self._background = background
        self._private = (str(folder), os.uname().nodename, server.base_url)
        project = _project(folder)
        _configure(folder, server)
        nvim = os.environ.get("TIDEATE_NVIM") or str(Path(sys.executable).with_name("nvim"))
        command = [nvim, "-n", "-u", "NORC", "-i", "NONE", "shop.py"]
        before = f"set rtp^={ROOT} termguicolors background={background} noswapfile shortmess+=I"
        command[1:1] = ["--cmd", before, "-c", f"luafile {ROOT}/scripts/screenshots/steady.lua"]
        self._terminal = Terminal(command, env=_environment(folder), cwd=project, columns=columns, rows=rows)
        self.type = self._terminal.type
        self.wait_for = self._terminal.wait_for
        self.wait_gone = self._terminal.wait_gone
        self.close = self._terminal.close

    def take(self, scene: str) -> None:
        """Write the picture of the screen as it is, and print it where SHOW is set.

        :raises ValueError: something of this machine stands on it.
        """
        if self.is_wide and scene not in WIDE:
            return
        name = f"{scene}-{self._suffix}"
        cells = steady(self._terminal.cells())
        text = svg(cells, self._background)
        shown = "\n".join("".join(cell.data for cell in row) for row in cells)
        if found := [words for words in self._private if words in shown]:
            raise ValueError(f"{name}: {found} is on the screen:\n{shown}")
        path = PICTURES / f"{name}.svg"
        changed = not path.exists() or path.read_text(encoding="utf-8") != text
        path.write_text(text, encoding="utf-8")
        print(f"{path.relative_to(ROOT)}: {'written' if changed else 'unchanged'}", flush=True)
        if os.environ.get("SHOW"):
            print(shown, flush=True)


def steady(cells: Sequence[Sequence[Char]]) -> list[list[Char]]:
    """Return the cells with what differs from run to run replaced."""
    made = []
    for row in cells:
        text = "".join(cell.data or "\0" for cell in row)
        if len(text) == len(row):
            for pattern, instead in STEADY:
                text = pattern.sub(instead, text)
            row = [
                cell._replace(data="" if data == "\0" else data) for cell, data in zip(row, text, strict=True)
            ]
        made.append(list(row))
    return made


def _project(folder: Path) -> Path:
    project = folder / "shop"
    project.mkdir()
    for name, text in FILES.items():
        (project / name).write_text(text, encoding="utf-8")
    return project


def _configure(folder: Path, server: ModelServer) -> None:
    config = folder / "config" / "tideate"
    config.mkdir(parents=True)
    text = f'[adapters.mine]\nbase_url = "{server.base_url}"\nmodel = "qwen3-coder"\n'
    text += "context_tokens = 100000\ntools = false\n"
    (config / "config.toml").write_text(f'adapter = "mine"\n{text}', encoding="utf-8")


def _environment(folder: Path) -> dict[str, str]:
    places = {f"XDG_{kind.upper()}_HOME": str(folder / kind) for kind in ("config", "state", "data", "cache")}
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "LANG": "C.UTF-8",
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        "TIDEATE_PYTHON": sys.executable,
        **places,
    }


def _make(columns: int, rows: int, background: str) -> None:
    with (
        tempfile.TemporaryDirectory(prefix="screens-") as folder,
        ModelServer() as server,
        closing(Stage(Path(folder), server, columns, rows, background)) as stage,
    ):
        play(stage)


def main() -> int:
    """Make all pictures, those of two colours at a time."""
    with ThreadPoolExecutor(len(BACKGROUNDS)) as pool:
        made = [pool.submit(_make, *size, background) for size in SIZES for background in BACKGROUNDS]
    for each in made:
        each.result()
    drawing = [
        sys.executable,
        "-m",
        "tideate_core.cli.main",
        "graph",
        "task",
        "-o",
        str(PICTURES / "task.svg"),
    ]
    subprocess.run(drawing, cwd=ROOT, check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

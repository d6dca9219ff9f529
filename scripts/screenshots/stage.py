"""Neovim in a terminal, for pictures of its screen."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from scripts.screenshots.picture import svg
from scripts.screenshots.scenes import FILES
from scripts.terminal import Terminal
from tests.harness.processes import Brood

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyte.screens import Char

    from tests.harness.model_server import ModelServer

ROOT: Final = Path(__file__).resolve().parents[2]
PICTURES: Final = ROOT / "docs" / "pictures"
SCREENS: Final = ROOT / ".cache" / "screens"
"""Directory of all screens of the tour."""
NARROW: Final = 80
KEPT: Final = {
    NARROW: {
        "prompt", "streaming", "review", "because", "round", "edit", "syntax", "plan", "head", "panel",
        "lanes", "fork", "rollback", "written", "chat", "guard", "land", "sessions", "agent", "inbox",
    },
    200: {"beside", "compare"},
}  # fmt: skip
"""Scenes of the documents, by the columns of the screen."""
STEADY: Final = (
    (re.compile(r"\b[0-9a-f]{8}\b"), "3f2a9c1b"),
    (re.compile(r"(?<=127\.0\.0\.1:)\d{5}"), "11434"),
    (re.compile(r"[\u2801-\u28ff]"), "⠿"),
)
"""Patterns that differ between runs, and replacements of the same width."""
CONFIG: Final = """adapter = "mine"

[adapters.mine]
base_url = "{url}"
model = "qwen3-coder"
context_tokens = 100000
tools = false

[adapters.other]
base_url = "{url}"
model = "devstral"
context_tokens = 100000
tools = false
"""


class Stage:
    """A project and a home directory with an open Neovim, in one size and colour."""

    def __init__(self, folder: Path, server: ModelServer, columns: int, rows: int, background: str) -> None:
        self.server = server
        self.is_wide = columns > NARROW
        self.project = _project(folder)
        self._folder, self._size, self._background = folder, (columns, rows), background
        self._private = (str(folder), os.uname().nodename, server.base_url)
        _configure(folder, server)
        self.start()

    def start(self) -> None:
        """Open Neovim."""
        columns, rows = self._size
        nvim = os.environ.get("TIDEATE_NVIM") or str(Path(sys.executable).with_name("nvim"))
        before = f"set rtp^={ROOT} termguicolors background={self._background} noswapfile shortmess+=I"
        command = [nvim, "--cmd", before, "-c", f"luafile {ROOT}/scripts/screenshots/steady.lua"]
        command += ["-n", "-u", "NORC", "-i", "NONE", "shop.py"]
        self._brood = Brood()
        environment = _environment(self._folder) | self._brood.environment()
        self._terminal = Terminal(command, env=environment, cwd=self.project, columns=columns, rows=rows)
        self.type = self._terminal.type
        self.wait_for = self._terminal.wait_for
        self.wait_gone = self._terminal.wait_gone
        self.wait_for("A small shop")

    def close(self) -> None:
        """End Neovim and its child processes."""
        self._terminal.close()
        self._brood.kill()

    def kill(self) -> None:
        """Kill Neovim and its child processes with SIGKILL."""
        self._brood.kill()
        self._terminal.close()

    def take(self, scene: str) -> None:
        """Write a picture of the screen; print the screen if SHOW is set.

        :raises ValueError: the screen shows something of this machine.
        """
        columns, _ = self._size
        name = f"{scene}-{columns}-{self._background}"
        cells = steady(self._terminal.cells())
        text = svg(cells, self._background)
        shown = "\n".join("".join(cell.data for cell in row) for row in cells)
        if found := [words for words in self._private if words in shown]:
            raise ValueError(f"{name}: {found} is on the screen:\n{shown}")
        folder = PICTURES if scene in KEPT[columns] else SCREENS
        path = folder / f"{name}.svg"
        changed = not path.exists() or path.read_text(encoding="utf-8") != text
        path.write_text(text, encoding="utf-8")
        print(f"{path.relative_to(ROOT)}: {'written' if changed else 'unchanged'}", flush=True)
        if os.environ.get("SHOW"):
            print(shown, flush=True)


def steady(cells: Sequence[Sequence[Char]]) -> list[list[Char]]:
    """Replace the parts of the screen that differ between runs."""
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
    (config / "config.toml").write_text(CONFIG.format(url=server.base_url), encoding="utf-8")


def _environment(folder: Path) -> dict[str, str]:
    places = {f"XDG_{kind.upper()}_HOME": str(folder / kind) for kind in ("config", "state", "data", "cache")}
    return {
        "PATH": os.pathsep.join([str(folder / "bin"), os.environ["PATH"]]),
        "HOME": str(folder),
        "LANG": "C.UTF-8",
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        "TIDEATE_PYTHON": sys.executable,
        **places,
    }

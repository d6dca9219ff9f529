"""Duration of a new user's steps from the clone to the first reviewed edit.

`python -m scripts.first_edit` follows `docs/start/install.md` in an empty home directory. The model is a
scripted server on loopback that answers at once, so the times are tideate's own.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rich.console import Console
from rich.table import Table

from scripts import terminal
from scripts.try_install import PIP_SETTINGS
from tests.harness.model_server import ModelServer

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT: Final = Path(__file__).resolve().parent.parent
INSTALL_LIMIT: Final = 1200.0
"""Seconds; about a minute on a quiet machine with a warm cache of pip's."""
SHOP: Final = "def total(prices):\n    result = 0\n    for price in prices:\n        result += price\n"
ANSWER: Final = "```python\ndef total(prices):\n    return sum(prices)\n```"
CONFIG: Final = 'adapter = "mine"\n[adapters.mine]\nbase_url = "{}"\nmodel = "some-model"\ntools = false\n'


class Steps:
    """The steps that were taken, with their seconds."""

    def __init__(self) -> None:
        self.taken: list[tuple[str, float]] = []

    @contextmanager
    def step(self, what: str) -> Iterator[None]:
        began = time.monotonic()
        yield
        self.taken.append((what, time.monotonic() - began))

    def table(self) -> Table:
        table = Table("", "step", "seconds")
        for number, (what, seconds) in enumerate(self.taken, 1):
            table.add_row(str(number), what, f"{seconds:.1f}")
        table.add_section()
        table.add_row("", "all", f"{sum(seconds for _, seconds in self.taken):.1f}")
        return table


def _environment(home: Path) -> dict[str, str]:
    settings = {name: value for name, value in os.environ.items() if name.upper().startswith(PIP_SETTINGS)}
    places = {f"XDG_{kind.upper()}_HOME": str(home / kind) for kind in ("config", "state", "data", "cache")}
    own = {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8", "TERM": "xterm-256color"}
    return {**settings, **own, **places}


def _neovim(home: Path, project: Path, *words: str) -> terminal.Terminal:
    nvim = os.environ.get("TIDEATE_NVIM") or str(Path(sys.executable).with_name("nvim"))
    command = [nvim, "-u", "NORC", "-i", "NONE", *words]
    return terminal.Terminal(command, env=_environment(home), cwd=project, columns=100, rows=30)


def walk(home: Path, server: ModelServer, steps: Steps) -> None:
    """Perform all steps; each ends when its expected text appears.

    :raises TimeoutError: an expected text did not appear.
    """
    project = home / "shop"
    project.mkdir()
    (project / "shop.py").write_text(SHOP + "    return result\n", encoding="utf-8")
    plugin = home / "data" / "nvim" / "site" / "pack" / "tideate" / "start" / "tideate"
    with steps.step("git clone, into a directory of packages"):
        subprocess.run(["git", "clone", "--quiet", "--depth=1", f"file://{ROOT}", str(plugin)], check=True)
    terminal.LIMIT = INSTALL_LIMIT
    with closing(_neovim(home, project)) as nvim:
        nvim.wait_for("[No Name]")
        with steps.step(":Workflow install"):
            nvim.type(":Workflow install\r")
            nvim.wait_for("installed.")
    with steps.step("the address of the model, in config.toml"):
        (home / "config" / "tideate").mkdir(parents=True)
        (home / "config" / "tideate" / "config.toml").write_text(CONFIG.format(server.base_url))
    with closing(_neovim(home, project, "shop.py")) as nvim:
        nvim.wait_for("return result")
        with steps.step(":%Workflow refactor use sum(), until it asks whether to go on"):
            nvim.type(":%Workflow refactor use sum()\r")
            nvim.wait_for("y yes")
        with steps.step("y, until the review opens"):
            nvim.type("y")
            nvim.wait_for("ga accept")
        with steps.step("ga accepts, g<CR> finishes"):
            nvim.type("ga")
            nvim.wait_for("g<CR> finish")
            nvim.type("g\r")
            nvim.wait_for("done")
            nvim.wait_for("return sum(prices)")


def main() -> int:
    """Print the steps."""
    steps = Steps()
    with tempfile.TemporaryDirectory(prefix="tideate-first-") as home, ModelServer() as server:
        server.answers("what must not change", "`sum()` does that.")
        server.answers("Rewrite these lines", ANSWER)
        walk(Path(home), server, steps)
    Console().print(steps.table())
    return 0


if __name__ == "__main__":
    sys.exit(main())

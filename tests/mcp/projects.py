"""Small projects for the servers that run commands."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tests.harness.state import trust_all

if TYPE_CHECKING:
    from tests.harness.processes import Brood

OWN_PROGRAMS = Path(sys.executable).parent


class Project:
    """A directory with a project, trusted on request only.

    Programs are found in the environment of these tests, as if it was the project's own.
    """

    def __init__(self, directory: Path, brood: Brood) -> None:
        self.root = directory / "project"
        self.root.mkdir()
        self.private = self.root / ".tideate"
        config = directory / "config" / "tideate"
        config.mkdir(parents=True)
        marks = ", ".join(f'{name} = "{value}"' for name, value in brood.environment().items())
        (config / "config.toml").write_text(f"[verify]\nenvironment = {{{marks}}}\n")

    def write(self, **files: str) -> Project:
        """Write files; `__` in a name stands for `/`, `_` before its ending for a dot."""
        for name, text in files.items():
            stem, _, end = name.rpartition("_")
            path = self.root / (f"{stem}.{end}".replace("__", "/") if stem else name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return self

    def make(self, target: str, *lines: str, more: str = "") -> Project:
        """Write a Makefile with one target."""
        recipe = "".join(f"\t@{line}\n" for line in lines)
        (self.root / "Makefile").write_text(f".PHONY: {target} clean\n{target}:\n{recipe}{more}")
        return self

    def trust(self) -> Project:
        trust_all(self.root)
        return self

    def files(self) -> set[str]:
        return {str(path.relative_to(self.root)) for path in self.root.rglob("*")}


async def there(path: Path, within: float = 60) -> None:
    """Wait until a file exists."""
    async with asyncio.timeout(within):
        while not path.exists():  # noqa: ASYNC110, ASYNC240 another process makes it
            await asyncio.sleep(0.01)


def with_own_programs() -> str:
    """Return a PATH that starts with the programs of these tests."""
    return os.pathsep.join([str(OWN_PROGRAMS), os.environ["PATH"]])

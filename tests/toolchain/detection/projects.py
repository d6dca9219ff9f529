"""Projects for tests, and their detected commands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.toolchain.detection import detect_tools

if TYPE_CHECKING:
    from pathlib import Path

    from tideate_core.toolchain import Tool


NOTHING = {"PATH": ""}


def make(root: Path, files: dict[str, str], *programs: str) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    for name in programs:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("#!/bin/sh\necho $0 $@\n")
        (root / name).chmod(0o755)
    return root


def commands(root: Path) -> dict[str, str]:
    """Return the commands of each check, each after its folder, with ``&`` between two."""
    found = detect_tools(root, NOTHING).items()
    return {check.value: " & ".join(map(_words, tools)) for check, tools in found}


def _words(tool: Tool) -> str:
    command = " ".join(tool.argv)
    return f"{tool.folder}: {command}" if tool.folder else command

"""The tour with a person: Neovim on a copy of the sample project."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from scripts.tour.sample_project import ROOT, copy_sample

TMPDIR_NAME = "tideate-tour-"
BESIDE = 78
"""Columns of the text beside the code; a terminal without as many for the code shows the text in a tab."""


def show() -> int:
    """Open Neovim with the plugin and nothing else; the copy is removed when it ends."""
    nvim = os.environ.get("TIDEATE_NVIM") or str(Path(sys.executable).with_name("nvim"))
    with tempfile.TemporaryDirectory(prefix=TMPDIR_NAME) as temporary:
        project = copy_sample(Path(temporary))
        command = [nvim, "--clean", "-n", "--cmd", f"set runtimepath^={ROOT}", "shop.py"]
        wide = os.get_terminal_size().columns >= 2 * BESIDE
        place = f"topleft {BESIDE}vsplit" if wide else "0tabedit"
        command += ["-c", f"{place} TOUR.md | setlocal readonly nonumber winfixwidth conceallevel=0"]
        command += ["-c", f"silent! helptags {ROOT}/doc"]
        environment = {"TIDEATE_PYTHON": sys.executable, **os.environ}
        return subprocess.run(command, cwd=project, env=environment, check=False).returncode

"""`tideate completion` and `tideate --install-completion`: completion scripts for shells."""

from __future__ import annotations

import sys
from typing import Literal

from cyclopts.completion.install import create_install_completion_command

from tideate_core.cli.main import app

install = create_install_completion_command(app.install_completion, add_to_startup=True)


def completion(shell: Literal["bash", "zsh", "fish", "powershell"], /) -> int:
    """Print a completion script for a shell."""
    sys.stdout.write(app.generate_completion(shell=shell))
    return 0

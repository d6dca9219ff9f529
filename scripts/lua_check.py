"""Check that every Lua file loads in a real Neovim and sets no global variable."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main() -> int:
    """Return 0 if every file loads."""
    nvim = os.environ.get("TIDEATE_NVIM") or str(ROOT / ".venv" / "bin" / "nvim")
    command = [nvim, "--clean", "--headless", "-l", "scripts/lua_check.lua"]
    return subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, timeout=60, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())

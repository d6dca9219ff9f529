"""Write doc/tideate.txt: the prose of scripts/help.txt with what the plugin's Lua tables know."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TEMPLATE = ROOT / "scripts" / "help.txt"
HELP = ROOT / "doc" / "tideate.txt"
WIDTH = 80
PLACE = re.compile(r"^@@(\w+)@@$", re.MULTILINE)
LONG_HEADING = re.compile(r"^(?=.{80})(\S+) (\*\S+\*)$", re.MULTILINE)


def generated() -> dict[str, list[str]]:
    """Return the generated parts by name, as the plugin in a headless Neovim has them.

    :raises subprocess.CalledProcessError: a table could not be read.
    """
    nvim = os.environ.get("TIDEATE_NVIM") or str(Path(sys.executable).with_name("nvim"))
    command = [nvim, "--clean", "--headless", "-l", "scripts/help.lua"]
    done = subprocess.run(
        command, cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=True
    )
    parts: dict[str, list[str]] = json.loads(done.stdout or done.stderr)
    return parts


def render() -> str:
    """Return the whole help text.

    :raises KeyError: the template names a part that there is none of.
    """
    parts = generated()
    template = TEMPLATE.read_text(encoding="utf-8")
    text = PLACE.sub(lambda place: "\n".join(map(_fitting, parts[place[1]])).rstrip(), template)
    return LONG_HEADING.sub(lambda heading: f"{heading[2]:>78}\n{heading[1]}", text)


def _fitting(line: str) -> str:
    """Return the line of a key or a mapping, wrapped within 80 columns."""
    if len(line) <= WIDTH or "*tideate-" in line:
        return line
    indent = " " * (39 if line.startswith("    <Plug>") else 21)
    return textwrap.fill(
        line, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def main() -> int:
    """Write the file; say whether it was another one before."""
    text = render()
    before = HELP.read_text(encoding="utf-8") if HELP.exists() else ""
    HELP.write_text(text, encoding="utf-8")
    print(f"{HELP.relative_to(ROOT)}: {'unchanged' if text == before else 'written'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

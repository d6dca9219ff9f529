"""Run every case and print the failures: `python -m tests.hostile`."""

from __future__ import annotations

import argparse
import sys

from tests.hostile.runner import Options, run


def main() -> int:
    """Return 0 if no case failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.hostile", description=__doc__)
    parser.add_argument("--workers", type=int, default=0, help="processes side by side; default: one a core")
    parser.add_argument("--only", choices=("shell", "editor"), help="only these commands")
    parser.add_argument("--trees", default="", help="only trees with this text in their description")
    parser.add_argument("--commands", default="", help="only commands with this text in them")
    parser.add_argument("--all", action="store_true", help="every tree with every command: takes hours")
    parser.add_argument("--report", default="", help="a file for all outcomes, as JSON lines")
    given = parser.parse_args()
    options = Options(given.workers, given.only, given.trees, given.commands, given.all, given.report)
    return run(options)


if __name__ == "__main__":
    sys.exit(main())

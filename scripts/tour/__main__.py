"""Choose by whether a person sits at a terminal."""

from __future__ import annotations

import sys

from scripts.tour import headless, terminal


def main() -> int:
    """Show tideate; return the exit code."""
    if sys.stdin.isatty() and sys.stdout.isatty():
        return terminal.show()
    return headless.show()


if __name__ == "__main__":
    sys.exit(main())

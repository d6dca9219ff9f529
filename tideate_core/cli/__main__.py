"""The `tideate` command. What a client starts often, a server over stdio, starts without the other commands.

Whatever else stands on the line goes the long way, so that there is one help and one set of errors.
"""

from __future__ import annotations

import sys
from typing import Final

from tideate_core.cli.streams import with_streams

__all__ = ["main"]

WORDS: Final = ("mcp", "serve")
ROOT: Final = "--root"


def main() -> None:
    """Run the command line and exit with its status."""
    asked = _server_over_stdio(sys.argv[1:])
    if asked is None:
        from tideate_core.cli.main import main as all_commands

        all_commands()
        return
    name, root = asked
    from tideate_core.cli.mcp_serving import serve_project

    with_streams(lambda: sys.exit(serve_project(name, root)))


def _server_over_stdio(words: list[str]) -> tuple[str, str] | None:
    """Return the server's name and its root for exactly `mcp serve NAME --root DIR`, else None."""
    from tideate_core.mcp.servers import SERVERS

    match words:
        case [*before, name, option, root] if (
            (*before,) == WORDS and name in SERVERS and option == ROOT and not root.startswith("-")
        ):
            return name, root
    return None


if __name__ == "__main__":
    main()

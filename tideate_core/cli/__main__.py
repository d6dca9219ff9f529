"""Dispatch to the commands, with fast paths for MCP servers over stdio and for guarded programs.

All other command lines go through the full parser, for one help and one set of errors.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from tideate_core.util.garbage import collect_garbage_rarely

if TYPE_CHECKING:
    from tideate_core.cli.guarding import Guarding


def main() -> None:
    """Run the command line and exit with its status."""
    collect_garbage_rarely()
    if sys.argv[1:2] == ["guard"] and (request := _guarding(sys.argv[2:])) is not None:
        from tideate_core.cli.guarding import run_words
        from tideate_core.cli.process import with_streams

        with_streams(lambda: sys.exit(run_words(request)))
    server = _server_over_stdio(sys.argv[1:])
    if server is None:
        from tideate_core.cli.main import main as all_commands

        all_commands()
        return
    name, root = server
    from tideate_core.cli.mcp_server import serve_project
    from tideate_core.cli.process import with_streams

    with_streams(lambda: sys.exit(serve_project(name, root)))


def _guarding(words: list[str]) -> Guarding | None:
    from tideate_core.cli.guarding import read_words

    return read_words(words)


def _server_over_stdio(words: list[str]) -> tuple[str, str] | None:
    """Return server name and root if the words are exactly `mcp serve NAME --root DIR`, else None."""
    match words:
        case ["mcp", "serve", name, "--root", root] if not root.startswith("-"):
            from tideate_core.mcp.servers import SERVERS

            return (name, root) if name in SERVERS else None
    return None


if __name__ == "__main__":
    from tideate_core.entry import main as entry

    entry()

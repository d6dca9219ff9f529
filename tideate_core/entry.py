"""First module of the `tideate` command: handles Ctrl-C, then imports the rest.

It imports nothing that the interpreter has not loaded by itself, not even `__future__`.
"""

import _signal  # type: ignore[import-not-found]  # `signal` itself takes milliseconds, open to a Ctrl-C
import os

__all__ = ["main"]


def main() -> None:
    """Run the command line and exit with its status."""
    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        # also at the interpreter's end a Ctrl-C shows no traceback
        _signal.signal(_signal.SIGINT, lambda *_: os._exit(130))
    from tideate_core.cli.__main__ import main as command

    command()

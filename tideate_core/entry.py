"""Entry point of the `tideate` command: handle Ctrl-C, then import everything else.

It imports only modules that the interpreter has already loaded, not even `__future__`.
"""

import _signal  # type: ignore[import-not-found]  # `signal` itself takes milliseconds, open to a Ctrl-C
import os


def main() -> None:
    """Run the command line and exit with its status."""
    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        # no traceback for Ctrl-C, even during the interpreter's shutdown
        _signal.signal(_signal.SIGINT, lambda *_: os._exit(130))
    from tideate_core.cli.__main__ import main as command

    command()

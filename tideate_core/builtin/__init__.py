"""Built-in workflows: ask, summarize, refactor, generate, multi_file, the gated task and the handoff."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.util.lazy import exports

if TYPE_CHECKING:
    from tideate_core.builtin.handoff.files import FILES
    from tideate_core.builtin.registration import register_builtin

__all__ = ["FILES", "register_builtin"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = exports(
        __name__,
        {
            "handoff.files": ("FILES",),
            "registration": ("register_builtin",),
        },
    )

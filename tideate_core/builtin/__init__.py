"""Built-in workflows, from `ask` and `chat` to `task` and `handoff`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.util.lazy import exports

if TYPE_CHECKING:
    from tideate_core.builtin.handoff.file_formats import FILES as FILES
    from tideate_core.builtin.registration import register_builtin as register_builtin
else:
    __getattr__, __dir__, __all__ = exports(__name__)

"""The remote plugin: two RPC functions that hand over to `tideate_core.editor`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pynvim

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

if TYPE_CHECKING:
    from tideate_core.editor.host import Host


@pynvim.plugin
class Tideate:
    """Serves the plugin's own host and a classic `:UpdateRemotePlugins` alike."""

    def __init__(self, nvim: pynvim.Nvim) -> None:
        self._nvim = nvim
        self._host: Host | None = None

    @pynvim.function("TideateStart", sync=False, allow_nested=True)  # type: ignore[untyped-decorator]
    def start(self, args: list[Any]) -> None:
        """Start the engine; it answers with a `ready` message."""
        from tideate_core.editor.host import Host

        if self._host is None:
            self._host = Host(self._nvim)
        self._host.start(args[0])

    @pynvim.function("TideateSend", sync=False, allow_nested=True)  # type: ignore[untyped-decorator]
    def send(self, args: list[Any]) -> None:
        """Take a request; its answer comes as a message with the request's id."""
        if self._host is not None:
            self._host.send(args[0])

"""Trust in commands that run a project's code: a person has to have said that they may."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from tideate_core.project import Trust

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from tideate_core.toolchain.detection.tools import Tool

__all__ = ["CommandTrust"]


class CommandTrust:
    """Which commands a person trusts in a project.

    Trusted is a command as it is: its arguments, and what the project's own file makes of them (the script
    of package.json, the Makefile). Change either and it asks again. What such a command runs, the tests
    themselves for example, may change: that is what it is run for.
    """

    def __init__(self, root: Path) -> None:
        self._trust = Trust(root)

    def is_trusted(self, tool: Tool) -> bool:
        """Tell whether the person trusts this command here.

        :raises ConfigError: what is trusted cannot be read.
        """
        return self._trust.allows(tool.meaning)

    def trust(self, tools: Iterable[Tool]) -> None:
        """Trust these commands here.

        :raises ConfigError: what is trusted cannot be read or written.
        """
        for tool in tools:
            self._trust.allow(tool.meaning, f"`{shlex.join(tool.argv)}` ({tool.check})")

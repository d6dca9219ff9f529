"""Whether a command may run in a project: it runs the project's code, so a person has to have said so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.project import Trust

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from tideate_core.commands.detection import Tool

__all__ = ["CommandTrust"]


class CommandTrust:
    """Which commands a person trusts in a project.

    Trusted is a command as it is: its arguments, and what the project's own file makes of them (the script
    of package.json, the Makefile). Change either and it asks again. What such a command runs, the tests
    themselves for example, may change: that is what it is run for.
    """

    def __init__(self, root: Path, trust: Trust | None = None) -> None:
        self._root = root
        self._trust = trust or Trust()

    def is_trusted(self, tool: Tool) -> bool:
        """Tell whether the person trusts this command here.

        :raises ConfigError: what is trusted cannot be read.
        """
        return self._trust.knows_definition(self._root, tool.meaning)

    def trust(self, tools: Iterable[Tool]) -> None:
        """Trust these commands here.

        :raises ConfigError: what is trusted cannot be read or written.
        """
        for tool in tools:
            self._trust.keep_definition(self._root, tool.meaning)

    def revoke(self) -> bool:
        """Trust no command here any more; False if none was trusted.

        :raises ConfigError: what is trusted cannot be read or written.
        """
        return self._trust.revoke(self._root)

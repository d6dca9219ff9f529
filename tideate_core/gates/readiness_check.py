"""Whether a project can be verified at all, said before anything is run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from tideate_core.toolchain import (
    Check,
    ProjectTrust,
    declared_checks,
    select_tools,
    verification_environment,
)

if TYPE_CHECKING:
    from pathlib import Path

    from tideate_core.config import Verify
    from tideate_core.toolchain import Tool

__all__ = ["Readiness", "readiness"]


@dataclass(frozen=True, slots=True)
class Readiness:
    """How one check stands.

    ``declared``: only the project's configuration names its command, and that file is not trusted.
    """

    check: Check
    state: Literal["ready", "off", "missing", "declared", "untrusted"]
    tool: Tool | None = None

    @property
    def ready(self) -> bool:
        """It can run, or need not."""
        return self.state in ("ready", "off")


def readiness(root: Path, config: Verify) -> list[Readiness]:
    """Return how all five checks stand; nothing is run.

    :raises ConfigError: what is trusted cannot be read.
    """
    tools = select_tools(root, config, verification_environment(root, config))
    trust = ProjectTrust(root)
    declared = declared_checks(root)
    found = []
    for check in Check:
        tool = tools.get(check)
        if getattr(config, check.value) is None and check.value in declared:
            # a file that is trusted counts among the configured ones; what it names is not passed over
            found.append(Readiness(check, "declared"))
        elif tool is None:
            found.append(Readiness(check, "off" if check in tools else "missing"))
        else:
            found.append(Readiness(check, "ready" if trust.allows(tool) else "untrusted", tool))
    return found

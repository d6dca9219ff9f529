"""What a person is told of the checks that verify a project: whether they can run, and what to do if not."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tideate_core.gates import Readiness

__all__ = ["words_of"]

EXAMPLES: Final[Mapping[str, str]] = {
    "type_check": '["mypy", "src"]',
    "lint": '["ruff", "check"]',
    "tests": '["pytest", "-q"]',
    "build": '["make"]',
    "documentation": '["make", "docs"]',
}


def words_of(one: Readiness) -> str:
    """Say how a check stands."""
    if one.tool is not None:
        known = f"`{shlex.join(one.tool.argv)}` ({one.tool.reason})"
        return known if one.ready else f"{known} is not trusted: `tideate trust` lets it run here"
    if one.state == "off":
        return 'turned off by verify: "off"'
    if one.state == "declared":
        return "set in .tideate/config.toml, which is not trusted: look at it, then run `tideate trust`"
    return (
        f"no command was found; set verify.{one.check} in .tideate/config.toml, as "
        f'{EXAMPLES[one.check.value]}, or to "off" if the project has no such check'
    )

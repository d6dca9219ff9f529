"""Whether the configured servers could be started, as far as can be told without starting them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tideate_core.errors import CommandError
from tideate_core.mcp.client.specs import servers_of
from tideate_core.process import find_program, make_environment

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tideate_core.config import LoadedConfig
    from tideate_core.mcp.client.specs import ServerSpec

__all__ = ["Standing", "standing"]


@dataclass(frozen=True, slots=True)
class Standing:
    """One server."""

    name: str
    ready: bool
    words: str
    """What it is, or what it lacks and what to do."""


def standing(root: Path | None, loaded: LoadedConfig) -> Iterator[Standing]:
    """Say of every configured server of a project how it stands.

    :param root: the project's, None outside of any.
    """
    for spec in servers_of(loaded.config.mcp, root or Path.cwd(), own=root is not None):
        yield _of(spec, of_project=spec.name in loaded.project_servers)
    for name in loaded.untrusted_servers:
        words = "it comes from this project's .tideate/config.toml, which is not trusted; `tideate trust`"
        yield Standing(name, False, words)


def _of(spec: ServerSpec, *, of_project: bool) -> Standing:
    whose = " (of this project, trusted)" if of_project else ""
    if spec.command and not spec.own:
        try:
            find_program(spec.command[0], spec.cwd, make_environment(spec.environment, spec.inherit))
        except CommandError as error:
            return Standing(spec.name, False, f"{error}{whose}")
    return Standing(spec.name, True, f"{spec.shown}{whose}")

"""Requests about mentions: list them, and show what one adds to a prompt."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from pydantic import ValidationError

from tideate_core.errors import InvalidInput
from tideate_core.workflows import RunContext

if TYPE_CHECKING:
    from tideate_core.editor.projects import Projects
    from tideate_core.mentions import ContextResolver

__all__ = ["Contexts"]

SHOWN: Final = 4_000
"""Tokens of one mention that a preview shows."""


class Contexts:
    """Requests about the mentions of a folder's project."""

    def __init__(self, projects: Projects) -> None:
        self._projects = projects

    async def describe(self, params: dict[str, Any]) -> dict[str, Any]:
        """Return all mentions, and the root that paths in them are relative to.

        :raises ConfigError: `context.json` or the project's configuration is wrong.
        """
        resolver, root = self._resolver(params)
        return {"ok": True, "root": root, "mentions": [asdict(one) for one in await resolver.describe()]}

    async def show(self, params: dict[str, Any]) -> dict[str, Any]:
        """Return what a mention brings; of what seems to be a secret nothing.

        :raises TideateError: it cannot be resolved.
        """
        item = await self._resolver(params)[0].resolve(str(params["mention"]))
        shape = {**asdict(item), "tokens": item.tokens, "source": item.source}
        return {"ok": True, "item": shape}

    def _resolver(self, params: dict[str, Any]) -> tuple[ContextResolver, str | None]:
        # here, because the host is to be ready before they are loaded
        from tideate_core.engine import surroundings_of
        from tideate_core.mentions import ContextResolver

        try:
            context = RunContext.model_validate(params.get("context") or {})
        except ValidationError as error:
            raise InvalidInput(f"what the editor shows cannot be read: {error}") from error
        workspace = self._projects.workspace(params.get("folder"))
        resolver = ContextResolver(
            workspace.root,
            workspace=workspace,
            around=surroundings_of(context),
            budget=SHOWN,
            max_bytes=workspace.max_bytes,
        )
        return resolver, None if workspace.root is None else str(workspace.root)

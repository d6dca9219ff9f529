"""Requests about models: those that can be chosen, whether one exists, and loading what asks them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tideate_core.editor.projects import Projects

__all__ = ["ModelRequests"]


class ModelRequests:
    """Requests about the models of a folder's project."""

    def __init__(self, projects: Projects) -> None:
        self._projects = projects

    async def list(self, params: dict[str, Any]) -> dict[str, Any]:
        """Return the models that can be asked; nobody is asked for them without a `name`.

        :param params: `folder`; `name` of a provider or an adapter.
        :raises ConfigError: the project's configuration is wrong.
        :raises UnknownAdapter: there is nothing of this name.
        :raises AdapterError: it was asked and failed.
        """
        # here, because the host is to be ready before they are loaded
        from tideate_core.adapters import list_models

        listed = await list_models(self._projects.config(params.get("folder")), params.get("name"))
        return listed.as_json()

    async def check(self, params: dict[str, Any]) -> dict[str, Any]:
        """Find an adapter; nothing is imported or sent.

        :raises UnknownAdapter: there is none of this name.
        """
        from tideate_core.adapters import AdapterPool

        AdapterPool(self._projects.config(params.get("folder"))).get(str(params["name"]))
        return {"ok": True}

    async def load(self, params: dict[str, Any]) -> dict[str, Any]:
        """Import what asks a model, while the person still types.

        :param params: `folder`, `adapter`; by default that of the configuration.
        :raises AdapterUnavailable: the environment is broken.
        """
        from tideate_core.adapters import preload

        config = self._projects.config(params.get("folder"))
        await preload(config, str(params.get("adapter") or config.adapter))
        return {"ok": True}

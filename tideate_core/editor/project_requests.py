"""Handlers of Lua's requests about one project: trust, mentions, MCP servers and their tools."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from pydantic import ValidationError

from tideate_core.app import apply_trust
from tideate_core.editor.projects import FolderRequests, Projects
from tideate_core.errors import ConfigError, InvalidInput, TideateError, WorkspaceError
from tideate_core.util.escaping import label
from tideate_core.workflows import RunContext

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tideate_core.app import TrustPlan
    from tideate_core.mcp.client import MCPClient, Tool
    from tideate_core.mentions import ContextResolver

MOST_NAMES: Final = 200_000
"""Names of files sent for completion."""
MOST_CHANGED: Final = 200
MOST_PLANS: Final = 8
"""Plans kept for an answer; older plans are dropped."""
SHOWN: Final = 4_000
"""Tokens of one mention in a preview."""


class TrustRequests(FolderRequests):
    """Requests about trust, with the shown plans until their answers arrive."""

    def __init__(self, projects: Projects) -> None:
        super().__init__(projects)
        self._shown: dict[str, TrustPlan] = {}

    async def trust(self, params: dict[str, Any]) -> dict[str, Any]:
        """Return a plan of the files and commands to trust, or apply the shown plan with this `token`.

        :raises ConfigError: there is nothing to trust, or no shown plan has this token.
        """
        if token := params.get("token"):
            plan = self._shown.pop(str(token), None)
            if plan is None:
                raise ConfigError("this list of things to trust has expired; run :Workflow trust again")
            await asyncio.to_thread(apply_trust, plan)
            return {"paths": [item.name for item in plan.waiting]}
        plan = await asyncio.to_thread(self._projects.plan_trust, params.get("path"), params.get("folder"))
        self._shown[plan.token] = plan
        for old in list(self._shown)[:-MOST_PLANS]:
            del self._shown[old]
        return {"plan": plan.as_json()}


class MentionRequests(FolderRequests):
    """Requests about the mentions of a folder's project."""

    async def describe(self, params: dict[str, Any]) -> dict[str, Any]:
        """Return all mentions, and the root of the paths in them."""
        resolver, root = self._resolver(params)
        return {"root": root, "mentions": [asdict(one) for one in await resolver.describe()]}

    async def names(self, params: dict[str, Any]) -> dict[str, Any]:
        """Return the names of the project's files, as one text, and of its changed files."""
        # imported here: the host has to be ready before it is loaded
        from tideate_core.mentions import changed_files

        workspace = self._projects.workspace(params.get("folder"))
        if workspace.root is None:
            return {"root": None, "files": "", "changed": []}
        listed = (await workspace.list())[:MOST_NAMES]
        try:
            changed = (await changed_files(workspace.root))[:MOST_CHANGED]
        except WorkspaceError:  # no repository
            changed = []
        files = "".join(f"{name}\n" for name in listed if "\n" not in name)
        return {"root": str(workspace.root), "files": files, "changed": changed}

    async def show(self, params: dict[str, Any]) -> dict[str, Any]:
        """Return the content of a mention, without secrets."""
        item = await self._resolver(params)[0].resolve(str(params["mention"]))
        shape = {**asdict(item), "tokens": item.tokens, "source": item.source}
        return {"item": shape}

    def _resolver(self, params: dict[str, Any]) -> tuple[ContextResolver, str | None]:
        # imported here: the host has to be ready before they are loaded
        from tideate_core.engine import surroundings_of
        from tideate_core.mentions import ContextResolver

        try:
            context = RunContext.model_validate(params.get("context") or {})
        except ValidationError as error:
            raise InvalidInput(f"the editor sent an invalid context: {error}") from error
        workspace = self._projects.workspace(params.get("folder"))
        resolver = ContextResolver(
            workspace.root,
            workspace=workspace,
            around=surroundings_of(context),
            budget=SHOWN,
            max_bytes=workspace.max_bytes,
        )
        return resolver, None if workspace.root is None else str(workspace.root)


async def describe_servers(projects: Projects, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the MCP servers of a folder's project, with the tools of each connected server.

    :param params: `folder`; `connect`: names of servers to connect to first.
    """
    client = projects.servers(params.get("folder"))
    wanted = {str(name) for name in params.get("connect") or ()}
    servers = await asyncio.gather(*(_server(client, one.name, wanted) for one in client.status()))
    waiting = [
        {"name": name, "state": "untrusted", "shown": "", "own": False, "error": "", "tools": []}
        for name in client.untrusted
    ]
    return {"servers": [*servers, *waiting]}


async def _server(client: MCPClient, name: str, wanted: set[str]) -> dict[str, Any]:
    before = {one.name: one for one in client.status()}[name]
    tools: list[Tool] = []
    error = ""
    if name in wanted or before.state == "connected":
        try:
            tools = await client.tools(name)
            left_out = await client.left_out(name)
            error = "; ".join(f"{label(tool)} cannot be used: {why}" for tool, why in left_out.items())
        except TideateError as failure:
            error = str(failure)
    after = {one.name: one for one in client.status()}[name]
    listed = [{**_tool(tool), "allowed": client.permissions.allows(tool)} for tool in tools]
    return {**after.as_json(), "error": error or after.error, "tools": listed}


def _tool(tool: Tool) -> dict[str, Any]:
    shape = tool.as_json()
    return {key: shape[key] for key in ("name", "title", "description", "read_only", "destructive")}

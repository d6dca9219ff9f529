"""Tools of the filesystem server that write: write, edit, create, move."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from mcp_types import CallToolResult, ToolAnnotations
from pydantic import Field

from tideate_core.mcp.servers.filesystem.schemas import ChangeShape, Content, Edit, Path
from tideate_core.mcp.servers.schemas import tool_result

if TYPE_CHECKING:
    from tideate_core.mcp.servers.filesystem.changes import Changes
    from tideate_core.mcp.servers.filesystem.served_root import ServedRoot
    from tideate_core.mcp.servers.tool_server import ToolServer

__all__ = ["add_write_tools"]

REPLACING = ToolAnnotations(
    read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False
)
EDITING = ToolAnnotations(
    read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=False
)
MAKING = ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
MOVING = ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False
)

# The SDK evaluates the annotations of a tool's function, so what they name has to exist at run time.
ChangeAnswer: TypeAlias = Annotated[CallToolResult, ChangeShape]


class _LazyChanges:
    """`Changes`, made on first use: reading tools do without its imports."""

    def __init__(self, served: ServedRoot) -> None:
        self._served = served
        self._changes: Changes | None = None

    def get(self) -> Changes:
        if self._changes is None:
            from tideate_core.mcp.servers.filesystem.changes import Changes

            self._changes = Changes(self._served)
        return self._changes


def add_write_tools(server: ToolServer, served: ServedRoot) -> None:
    """Add the tools that write; one of them works at a time."""
    changes = _LazyChanges(served)
    _add_writing(server, changes)
    _add_moving(server, changes)


def _add_writing(server: ToolServer, changes: _LazyChanges) -> None:
    async def write_file(path: Path, content: Content) -> ChangeAnswer:
        return _change_result(await changes.get().write(path, content))

    async def edit_file(
        path: Path,
        edits: Annotated[list[Edit], Field(min_length=1, max_length=500, description="Made in this order.")],
        dry_run: Annotated[bool, Field(strict=True, description="Only show the diff.")] = False,
    ) -> ChangeAnswer:
        return _change_result(await changes.get().edit(path, edits, dry_run=dry_run))

    server.add_tool(
        write_file,
        title="Write a file",
        description="Make a file with this content, or replace all of what one has; directories that are "
        "missing are made. The content is written exactly as it is given.",
        annotations=REPLACING,
    )
    server.add_tool(
        edit_file,
        title="Edit a text",
        description="Replace places of a text, all or none. Each place is found by what stands there, word "
        "for word, or else by whole lines that differ in blanks only; it has to be the only one. Answers "
        "with a diff; with `dry_run` nothing is written. Line ends stay as the file has them.",
        annotations=EDITING,
    )


def _add_moving(server: ToolServer, changes: _LazyChanges) -> None:
    async def create_directory(path: Path) -> ChangeAnswer:
        return _change_result(await changes.get().make_directory(path))

    async def move_file(source: Path, destination: Path) -> ChangeAnswer:
        return _change_result(await changes.get().move(source, destination))

    server.add_tool(
        create_directory,
        title="Make a directory",
        description="Make a directory and those above it; one that is there stays as it is.",
        annotations=MAKING,
    )
    server.add_tool(
        move_file,
        title="Move or rename",
        description="Move a file, or a directory with all in it. Nothing is overwritten: the destination is "
        "the new path, and must not exist.",
        annotations=MOVING,
    )


def _change_result(change: dict[str, Any]) -> CallToolResult:
    lines = [f"{change['action']}: {change['path']}", *change.get("notes", ())]
    if change.get("diff"):
        lines.append(change["diff"])
    if change["rollback"]:
        lines.append(f"`tideate rollback {change['rollback']}` rolls it back")
    elif change["action"] != "unchanged":
        lines.append("nothing was written")
    return tool_result(change, "\n".join(lines))
